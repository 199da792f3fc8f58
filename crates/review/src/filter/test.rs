//! Tests of single files, compiled from the terms of a filter.
//!
//! Many files share a directory, so each test first judges the directory ([`Verdict`]). It examines
//! the names of the files only if the directory leaves the question open.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::filter::Condition;
use crate::filter::bound::Bound;
use crate::filter::needle::Needle;
use crate::filter::types::{Table, Type};

/// The result of testing the path of a directory, for all files in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// No file directly in the directory matches.
    None,
    /// All files in the directory and in its subdirectories match.
    All,
    /// The names decide. The parts of a word before and after its last slash match separately.
    Joint,
    /// The names decide.
    Names,
}

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

/// A pattern for paths.
#[derive(Debug)]
pub(super) struct PathTest {
    glob: GlobSet,
    /// A word that the names of all matching files contain.
    needed: Option<Needle>,
    dirs_only: bool,
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
                FileTest::Name(compile_name(pattern).unwrap_or_default(), needed_in_name(pattern))
            }
            Condition::Path(pattern) => FileTest::Path(PathTest {
                glob: compile_path(pattern).unwrap_or_default(),
                needed: needed_in_name(pattern),
                dirs_only: pattern.ends_with('/'),
            }),
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
            FileTest::Path(path) if path.matches(dir) => Verdict::All,
            FileTest::Path(path) if path.dirs_only => Verdict::None,
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
            (_, FileTest::Path(test)) if !may_match(test.needed.as_ref(), file.name) => false,
            (_, FileTest::Path(test)) => {
                path.clear();
                path.extend_from_slice(file.dir);
                path.extend_from_slice(file.name);
                test.matches(path)
            }
            (verdict, FileTest::Word(word)) => word.matches(file.name, verdict),
        }
    }
}

impl PathTest {
    /// Returns whether the pattern matches an absolute path itself.
    fn matches(&self, path: &[u8]) -> bool {
        let below = path.strip_prefix(b"/").unwrap_or(path);
        let below = below.strip_suffix(b"/").unwrap_or(below);
        !below.is_empty() && self.glob.is_match(OsStr::from_bytes(below))
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

fn may_match(needed: Option<&Needle>, name: &[u8]) -> bool {
    needed.is_none_or(|needed| needed.is_in(name))
}

/// Returns a word that every file name must contain to match a pattern, because searching for a word
/// is much faster than matching a pattern. Returns `None` if the pattern has braces, sets or escapes,
/// in which a slash or a wildcard may have another meaning.
fn needed_in_name(pattern: &str) -> Option<Needle> {
    if !pattern.is_ascii() || pattern.contains(['{', '}', '[', ']', '\\']) {
        return None;
    }
    let last = pattern.rsplit('/').next()?;
    let word = last.split(['*', '?']).max_by_key(|word| word.len())?;
    (!word.is_empty()).then(|| Needle::new(word.as_bytes()))
}

/// Compiles a pattern for names.
pub(super) fn compile_name(pattern: &str) -> Result<GlobSet, globset::Error> {
    compile(pattern)
}

/// Compiles a pattern for absolute paths without their leading slash. Unless the pattern starts with
/// a slash, it may start at any directory.
pub(super) fn compile_path(pattern: &str) -> Result<GlobSet, globset::Error> {
    let bare = pattern.trim_end_matches('/');
    match bare.strip_prefix('/') {
        Some(rooted) => compile(rooted.trim_start_matches('/')),
        None => compile(&format!("**/{bare}")),
    }
}

fn compile(pattern: &str) -> Result<GlobSet, globset::Error> {
    let mut builder = GlobBuilder::new(pattern);
    builder.literal_separator(true).backslash_escape(true).case_insensitive(true);
    GlobSetBuilder::new().add(builder.build()?).build()
}
