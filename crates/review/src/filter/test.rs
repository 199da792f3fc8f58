//! Tests of single files, compiled from the terms of a filter.
//!
//! Many files share a directory, so each test first judges the directory ([`Verdict`]). It examines
//! the names of the files only if the directory leaves the question open.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use globset::GlobSet;

use crate::filter::Condition;
use crate::filter::bound::Bound;
use crate::filter::needle::Needle;
use crate::filter::pattern::{PathTest, compile, may_match, needed_in_name};
use crate::filter::types::{Table, Type};
use crate::filter::verdict::Verdict;

/// A file as tests see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct File<'a> {
    pub(super) name: &'a [u8],
    /// The path of its directory, with a slash at the end. Only patterns for paths use it.
    pub(super) dir: &'a [u8],
    /// The seconds since it was modified.
    pub(super) age: u64,
}

/// A test of one file.
#[derive(Debug)]
pub(super) enum FileTest<'a> {
    Age(Bound),
    Type(&'a [Type], Table),
    Ext(&'a [String]),
    Name(GlobSet, Option<Needle>),
    Path(PathTest),
    Word(WordTest),
}

/// A part of a path.
#[derive(Debug)]
pub(super) struct WordTest {
    word: Needle,
    /// The parts up to the last slash and after it. The word may end with a slash.
    joint: Option<(Vec<u8>, Vec<u8>)>,
}

impl<'a> FileTest<'a> {
    /// Compiles a condition of files. Returns `None` for a condition of whole groups.
    pub(super) fn of(condition: &'a Condition) -> Option<FileTest<'a>> {
        Some(match condition {
            Condition::Is(_) | Condition::Size(_) | Condition::Copies(_) => return None,
            Condition::Age(bound) => FileTest::Age(*bound),
            Condition::Type(types) => FileTest::Type(types, Table::new()),
            Condition::Ext(extensions) => FileTest::Ext(extensions),
            // The parser has compiled all patterns before.
            Condition::Name(pattern) => {
                FileTest::Name(compile(pattern).unwrap_or_default(), needed_in_name(pattern))
            }
            Condition::Path(pattern) => FileTest::Path(PathTest::new(pattern)),
            Condition::Word(word) => FileTest::Word(WordTest::new(word.as_bytes())),
        })
    }

    /// Returns whether [`FileTest::judge`] uses the path of the directory.
    pub(super) fn judges_dirs(&self) -> bool {
        matches!(self, FileTest::Path(_) | FileTest::Word(_))
    }

    /// Judges a directory by its path, which ends with a slash. `above` is the verdict on its parent
    /// directory.
    pub(super) fn judge(&self, dir: &[u8], above: Verdict) -> Verdict {
        if above == Verdict::All {
            return Verdict::All;
        }
        match self {
            FileTest::Path(path) => path.judge(dir),
            FileTest::Word(word) => word.judge(dir),
            _ => Verdict::Names,
        }
    }

    /// Returns whether a file matches. `verdict` is the verdict on its directory.
    pub(super) fn matches(&self, file: &File<'_>, verdict: Verdict, path: &mut Vec<u8>) -> bool {
        match (verdict, self) {
            (Verdict::None, _) => false,
            (Verdict::All, _) => true,
            (_, FileTest::Age(bound)) => bound.holds(file.age),
            (_, FileTest::Type(types, table)) => types.contains(&table.type_of(file.name)),
            (_, FileTest::Ext(extensions)) => {
                extensions.iter().any(|extension| has_extension(file.name, extension.as_bytes()))
            }
            (_, FileTest::Name(glob, needed)) => {
                may_match(needed.as_ref(), file.name) && glob.is_match(OsStr::from_bytes(file.name))
            }
            (_, FileTest::Path(test)) => test.matches(file.name, file.dir, path),
            (verdict, FileTest::Word(word)) => word.matches(file.name, verdict),
        }
    }
}

impl WordTest {
    fn new(word: &[u8]) -> WordTest {
        let slash = word.iter().rposition(|&byte| byte == b'/');
        let joint = slash.map(|slash| (word[..=slash].to_vec(), word[slash + 1..].to_vec()));
        WordTest { word: Needle::new(word), joint }
    }

    fn judge(&self, dir: &[u8]) -> Verdict {
        if self.word.is_in(dir) {
            return Verdict::All;
        }
        // A name has no slash. A word with a slash can only match across the end of the directory.
        match &self.joint {
            None => Verdict::Names,
            Some((before, _)) if ends_with(dir, before) => Verdict::Joint,
            Some(_) => Verdict::None,
        }
    }

    fn matches(&self, name: &[u8], verdict: Verdict) -> bool {
        match (&self.joint, verdict) {
            (Some((_, after)), Verdict::Joint) => {
                name.get(..after.len()).is_some_and(|start| start.eq_ignore_ascii_case(after))
            }
            (Some(_), _) => false,
            (None, _) => self.word.is_in(name),
        }
    }
}

fn ends_with(text: &[u8], end: &[u8]) -> bool {
    let start = text.len().checked_sub(end.len());
    start.is_some_and(|start| text[start..].eq_ignore_ascii_case(end))
}

/// Returns whether a name ends with a dot and an extension, after at least one other byte.
fn has_extension(name: &[u8], extension: &[u8]) -> bool {
    let dot = name.len().checked_sub(extension.len() + 1).filter(|&dot| dot > 0);
    dot.is_some_and(|dot| name[dot] == b'.' && name[dot + 1..].eq_ignore_ascii_case(extension))
}
