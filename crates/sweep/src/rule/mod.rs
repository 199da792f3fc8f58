//! Rules, independent of the format of the file that they come from.
//!
//! A rule is plain data. It takes effect only on a target whose directories are bound to its
//! variables, and only after the guards accepted it.

pub mod glob;
pub mod pattern;
pub mod variable;

use std::fmt;
use std::time::Duration;

use fsops::Kind;

use crate::rule::glob::Glob;
use crate::rule::pattern::Pattern;

/// A rule: the entries that it takes, the entries that it keeps, and its conditions.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The identifier, unique among the loaded rules. It is shown, journaled, and used by `--skip`
    /// and `--allow`.
    pub id: String,
    /// One line that says what the rule takes.
    pub what: String,
    /// The loss to the user if the rule is applied.
    pub risk: Risk,
    /// Labels for `--only`.
    pub tags: Vec<String>,
    /// The rule takes each entry that matches one of these.
    pub takes: Vec<Take>,
    /// The rule keeps each entry that matches one of these, and everything below it.
    pub keeps: Vec<Pattern>,
    /// An entry is taken only if it meets all conditions.
    pub conditions: Conditions,
    /// The document that describes the files, such as a URL. Empty if the rule names none.
    pub reference: String,
    /// Where the rule is written.
    pub source: Source,
}

/// Entries that a rule takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Take {
    /// The pattern that the path of an entry must match.
    pub pattern: Pattern,
    /// Which entries at a matching path the rule takes.
    pub extent: Extent,
}

/// Which entries a rule takes at a path that matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// Files and symbolic links, but no directories.
    Files,
    /// The entry itself. A directory is taken with everything below it.
    Tree,
    /// A directory that is empty, or in which the rule takes everything. The files in it must match
    /// another pattern of the rule.
    Emptied,
}

/// The loss to the user if a rule is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    /// Programs create the files again by themselves.
    Regenerates,
    /// The files can be obtained again, at the cost of time or network traffic.
    Costs,
    /// The files are traces of the user's activity, which the user may want to keep.
    Privacy,
    /// The user must review each match, because the files may be the only copy.
    Review,
}

impl Risk {
    /// Every risk, mildest first.
    pub const ALL: [Risk; 4] = [Risk::Regenerates, Risk::Costs, Risk::Privacy, Risk::Review];

    /// Returns the name of the risk in rule files and in output.
    pub fn word(self) -> &'static str {
        match self {
            Risk::Regenerates => "regenerates",
            Risk::Costs => "costs",
            Risk::Privacy => "privacy",
            Risk::Review => "review",
        }
    }
}

impl fmt::Display for Risk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// The conditions of a rule. The default accepts every entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conditions {
    /// The minimum age of an entry. The age of a directory is that of the newest entry below it.
    pub older: Option<Age>,
    /// A file is taken only if its size in bytes exceeds this. Directories are not affected.
    pub larger: Option<u64>,
    /// A file is taken only if it begins with one of these byte strings. Empty if the first bytes
    /// do not matter.
    pub starts: Vec<Vec<u8>>,
    /// The directory that contains the entry must have an entry with one of these names. Empty if
    /// no such marker is needed.
    pub beside: Vec<Glob>,
    /// The directory itself must contain one of these markers. For [`Extent::Files`], the markers
    /// are in the directory that contains the file. Empty if no such marker is needed.
    pub inside: Vec<Marker>,
    /// An entry is taken only if git tracks neither it nor a file in it. A directory with a repository
    /// in it is not taken.
    pub untracked: bool,
    /// Limits the rule to empty files or broken links. Such a rule takes no directories.
    pub only: Option<Only>,
}

impl Conditions {
    /// Returns whether the conditions may accept an entry of this type, which is not a directory.
    pub(crate) fn may_take(&self, kind: Kind) -> bool {
        match self.only {
            Some(Only::BrokenLinks) => kind == Kind::Symlink,
            Some(Only::EmptyFiles) => kind == Kind::File,
            None => kind == Kind::File || self.larger.is_none() && self.starts.is_empty(),
        }
    }

    /// Returns whether the rule takes an entry only if it finds a marker.
    pub fn need_marker(&self) -> bool {
        !self.beside.is_empty() || !self.inside.is_empty()
    }
}

/// A minimum age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Age {
    /// The age.
    pub least: Duration,
    /// Whether the time of the last access counts, in addition to the times of modification and
    /// status change.
    pub counts_access: bool,
    /// Whether the birth time counts too.
    pub counts_birth: bool,
}

/// A file that proves what a directory is for.
#[derive(Clone, Debug, PartialEq)]
pub struct Marker {
    /// The name of the file.
    pub name: Glob,
    /// The file must be a regular file that begins with these bytes. `None` if the name suffices.
    pub starts: Option<Vec<u8>>,
}

/// The kinds of files to which a rule can be limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Only {
    /// Files of size 0.
    EmptyFiles,
    /// Relative symbolic links whose target does not exist, or that lead in a circle.
    BrokenLinks,
}

/// The location of a rule in a rule file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The name of the shipped rule set, or the path of the file as given.
    pub file: String,
    /// The line on which the rule begins, from 1. 0 if it is unknown.
    pub line: u32,
    /// Whether the rule is part of a shipped set.
    pub is_shipped: bool,
}
