//! Patterns for names and paths.
//!
//! Matching a pattern takes about a microsecond, so a pattern for paths is matched once for each directory
//! as far as possible, and only its last component is matched with the names of files.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::filter::needle::Needle;
use crate::filter::verdict::Verdict;

/// A pattern for paths.
#[derive(Debug)]
pub(super) struct PathTest {
    glob: GlobSet,
    /// Words that all matching paths contain.
    words: Vec<Needle>,
    parts: Option<Parts>,
    /// A word that the names of all matching files contain.
    needed: Option<Needle>,
    dirs_only: bool,
}

/// A pattern that is divided at its last slash.
#[derive(Debug)]
struct Parts {
    dir: GlobSet,
    /// Words that the paths of all matching directories contain.
    words: Vec<Needle>,
    /// Whether the part for directories ends with `**`, which may stand for no directory at all.
    is_open: bool,
    /// The pattern for names; `None` matches all.
    name: Option<GlobSet>,
}

impl PathTest {
    pub(super) fn new(pattern: &str) -> PathTest {
        PathTest {
            // The parser has compiled the pattern before.
            glob: compile_path(pattern).unwrap_or_default(),
            words: words(pattern),
            parts: Parts::of(&anchored(pattern)),
            needed: needed_in_name(pattern),
            dirs_only: pattern.ends_with('/'),
        }
    }

    /// Judges a directory by its path, which ends with a slash.
    pub(super) fn judge(&self, dir: &[u8]) -> Verdict {
        if contains_all(dir, &self.words) && matches(&self.glob, dir) {
            return Verdict::All;
        }
        match &self.parts {
            _ if self.dirs_only => Verdict::None,
            Some(parts) if !parts.match_dir(dir) => Verdict::None,
            Some(Parts { name: None, .. }) => Verdict::All,
            _ => Verdict::Names,
        }
    }

    /// Returns whether a file matches. Its directory `dir` MUST have the verdict [`Verdict::Names`].
    pub(super) fn matches(&self, name: &[u8], dir: &[u8], path: &mut Vec<u8>) -> bool {
        if !may_match(self.needed.as_ref(), name) {
            return false;
        }
        if let Some(Parts { name: Some(glob), .. }) = &self.parts {
            return glob.is_match(OsStr::from_bytes(name));
        }
        path.clear();
        path.extend_from_slice(dir);
        path.extend_from_slice(name);
        matches(&self.glob, path)
    }
}

impl Parts {
    /// Divides a pattern. Returns `None` if it has one component only, or if it has braces, sets or
    /// escapes, in which a slash may have another meaning.
    fn of(pattern: &str) -> Option<Parts> {
        if has_sets(pattern) {
            return None;
        }
        let (dirs, name) = pattern.rsplit_once('/')?;
        // All names match `**`, and at least one must follow the directories.
        let (dirs, name) = if name == "**" { (pattern, None) } else { (dirs, Some(name)) };
        Some(Parts {
            dir: compile(dirs).ok()?,
            words: words(dirs),
            is_open: dirs == "**" || dirs.ends_with("/**"),
            name: name.map(compile).transpose().ok()?,
        })
    }

    fn match_dir(&self, dir: &[u8]) -> bool {
        if !contains_all(dir, &self.words) {
            return false;
        }
        if self.is_open {
            matches(&self.dir, &[dir, b"x"].concat())
        } else {
            matches(&self.dir, dir)
        }
    }
}

/// Returns whether a pattern matches an absolute path itself.
fn matches(glob: &GlobSet, path: &[u8]) -> bool {
    let below = path.strip_prefix(b"/").unwrap_or(path);
    let below = below.strip_suffix(b"/").unwrap_or(below);
    !below.is_empty() && glob.is_match(OsStr::from_bytes(below))
}

fn contains_all(path: &[u8], words: &[Needle]) -> bool {
    words.iter().all(|word| word.is_in(path))
}

/// Returns the words between the slashes and wildcards of a pattern, or none if it has braces, sets or
/// escapes. Searching for a word is much faster than matching a pattern.
fn words(pattern: &str) -> Vec<Needle> {
    if !pattern.is_ascii() || has_sets(pattern) {
        return Vec::new();
    }
    let words = pattern.split(['/', '*', '?']).filter(|word| !word.is_empty());
    words.map(|word| Needle::new(word.as_bytes())).collect()
}

fn has_sets(pattern: &str) -> bool {
    pattern.contains(['{', '}', '[', ']', '\\'])
}

pub(super) fn may_match(needed: Option<&Needle>, name: &[u8]) -> bool {
    needed.is_none_or(|needed| needed.is_in(name))
}

/// Returns a word that every file name must contain to match a pattern, because searching for a word
/// is much faster than matching a pattern. Returns `None` if the pattern has braces, sets or escapes,
/// in which a slash or a wildcard may have another meaning.
pub(super) fn needed_in_name(pattern: &str) -> Option<Needle> {
    if !pattern.is_ascii() || has_sets(pattern) {
        return None;
    }
    let last = pattern.rsplit('/').next()?;
    let word = last.split(['*', '?']).max_by_key(|word| word.len())?;
    (!word.is_empty()).then(|| Needle::new(word.as_bytes()))
}

/// Compiles a pattern for absolute paths without their leading slash. Unless the pattern starts with
/// a slash, it may start at any directory.
pub(super) fn compile_path(pattern: &str) -> Result<GlobSet, globset::Error> {
    compile(&anchored(pattern))
}

fn anchored(pattern: &str) -> String {
    let bare = pattern.trim_end_matches('/');
    match bare.strip_prefix('/') {
        Some(rooted) => rooted.trim_start_matches('/').to_owned(),
        None => format!("**/{bare}"),
    }
}

/// Compiles a pattern for names.
pub(super) fn compile(pattern: &str) -> Result<GlobSet, globset::Error> {
    let mut builder = GlobBuilder::new(pattern);
    builder.literal_separator(true).backslash_escape(true).case_insensitive(true);
    GlobSetBuilder::new().add(builder.build()?).build()
}

#[cfg(test)]
mod tests {
    use super::{PathTest, Verdict, compile_path, matches};

    /// Paths of directories, and names.
    const DIRS: [&str; 8] = ["/", "/a/", "/a/b/", "/b/", "/b/a/", "/a/a/b/", "/ab/", "/a/ab/b/a/"];
    const NAMES: [&str; 4] = ["a", "b", "ab", "x"];

    #[test]
    fn a_divided_pattern_matches_the_same_files_as_the_whole() {
        let parts = ["a", "b", "*", "a*", "**", "*b", "?"];
        let mut patterns: Vec<String> = parts.iter().map(ToString::to_string).collect();
        for one in parts {
            for two in parts {
                patterns.push(format!("{one}/{two}"));
                patterns.extend(parts.iter().map(|three| format!("{one}/{two}/{three}")));
            }
        }
        let rooted: Vec<String> = patterns.iter().map(|pattern| format!("/{pattern}")).collect();
        let mut matched = 0;
        for pattern in patterns.iter().chain(&rooted) {
            let (test, whole) = (PathTest::new(pattern), compile_path(pattern).expect("compiles"));
            for dir in DIRS {
                for name in NAMES {
                    let path = format!("{dir}{name}");
                    let is_below = above(dir).any(|dir| matches(&whole, dir.as_bytes()));
                    let expected = is_below || matches(&whole, path.as_bytes());
                    let found = match test.judge(dir.as_bytes()) {
                        Verdict::None => {
                            above(dir).any(|dir| test.judge(dir.as_bytes()) == Verdict::All)
                        }
                        Verdict::All => true,
                        _ => {
                            above(dir).any(|dir| test.judge(dir.as_bytes()) == Verdict::All)
                                || test.matches(name.as_bytes(), dir.as_bytes(), &mut Vec::new())
                        }
                    };
                    assert_eq!(found, expected, "{pattern} {path}");
                    matched += u32::from(found);
                }
            }
        }
        assert!(matched > 1000);
    }

    /// Returns a directory and those above it.
    fn above(dir: &str) -> impl Iterator<Item = &str> {
        dir.match_indices('/').map(|(at, _)| &dir[..=at])
    }
}
