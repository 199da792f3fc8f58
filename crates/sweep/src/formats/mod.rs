//! Reads rule files. Each format becomes plain [`Rule`]s; a part that cannot be expressed as a
//! [`Rule`] drops the whole rule, because a rule without its exclusions would take too much.

use std::collections::BTreeMap;

use crate::rule::Rule;

/// The rules of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loaded {
    /// The rules.
    pub rules: Vec<Rule>,
    /// Number of entries that were dropped, by reason.
    pub dropped: BTreeMap<Dropped, u64>,
    /// Dropped entries with their names and lines, for a detailed report.
    pub dropped_entries: Vec<(String, u32, Dropped)>,
    /// Number of parts that lop has no use for, such as registry keys, by kind.
    pub skipped_parts: BTreeMap<&'static str, u64>,
}

/// The reason why an entry of a rule file was dropped.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dropped {
    /// The entry contains only parts that lop has no use for, such as registry keys.
    NothingToTake,
    /// The entry uses a variable that lop does not know.
    UnknownVariable(String),
    /// A path contains `..`, a drive letter or another component that is not allowed.
    UnsafePath,
    /// An exclusion cannot be expressed.
    Exclusion,
    /// The entry uses a feature that lop does not support, named here.
    Unsupported(&'static str),
}

/// The format of a rule file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// TOML, the format of lop.
    Toml,
    /// `winapp2.ini`.
    Winapp2,
    /// CleanerML of BleachBit (XML).
    CleanerMl,
    /// `tmpfiles.d` of systemd.
    Tmpfiles,
}

impl Format {
    /// Returns the format of a file by the extension of its name.
    pub fn of_extension(extension: &str) -> Option<Format> {
        match extension {
            "toml" => Some(Format::Toml),
            "ini" => Some(Format::Winapp2),
            "xml" => Some(Format::CleanerMl),
            "conf" => Some(Format::Tmpfiles),
            _ => None,
        }
    }
}
