//! Reads rule files of several formats into plain [`Rule`]s. If a part of an entry cannot be
//! expressed, the whole entry is dropped, because a rule without its exclusions would take too
//! much.
//!
//! | module | contents |
//! |---|---|
//! | `toml` | the format of lop |
//! | `winapp2` | `winapp2.ini` |
//! | `cleanerml` | `CleanerML` |
//! | `tmpfiles` | tmpfiles.d |
//! | `spelling` | environment variables and directory names of Windows |
//! | `unix` | paths of Unix rule files |
//! | `slug` | identifiers of imported rules |
//! | `file` | opens a rule file and checks whether it can be trusted |
//! | [`shipped`] | the rule sets that are part of lop |
//! | `limits` | the maximum size of a file, and of the rules that it produces |

mod cleanerml;
mod file;
mod limits;
pub mod shipped;
mod slug;
mod spelling;
mod tmpfiles;
mod toml;
mod unix;
mod winapp2;

use std::collections::BTreeMap;
use std::io;

use crate::rule::Rule;

pub use file::read_rule_file;

/// The rules of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loaded {
    /// One line that says what the rules are for. Empty if the file does not say.
    pub about: String,
    /// The rules.
    pub rules: Vec<Rule>,
    /// Number of entries that were dropped, by reason.
    pub dropped: BTreeMap<Dropped, u64>,
    /// Dropped entries with their names and lines, for a detailed report.
    pub dropped_entries: Vec<(String, u32, Dropped)>,
    /// Number of parts that lop has no use for, such as registry keys, by kind.
    pub skipped_parts: BTreeMap<&'static str, u64>,
}

impl Loaded {
    /// Adds the rule of an entry, or records the reason why the entry was dropped.
    fn add(&mut self, name: &str, line: u32, result: Result<Rule, Dropped>) {
        match result {
            Ok(rule) => self.rules.push(rule),
            Err(reason) => {
                *self.dropped.entry(reason.clone()).or_default() += 1;
                self.dropped_entries.push((name.to_string(), line, reason));
            }
        }
    }
}

/// The reason why an entry of a rule file was dropped.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Dropped {
    /// The entry contains only parts that lop has no use for, such as registry keys.
    #[error("contains nothing that lop can remove")]
    NothingToTake,
    /// The entry uses a variable that lop does not know.
    #[error("uses the unknown variable {0}")]
    UnknownVariable(String),
    /// A path contains `..`, a drive letter or another component that is not allowed.
    #[error("has a path that could lead to another directory")]
    UnsafePath,
    /// An exclusion cannot be expressed.
    #[error("has an exclusion that lop cannot express")]
    Exclusion,
    /// The entry uses a feature that lop does not support, named here.
    #[error("uses {0}, which lop does not support")]
    Unsupported(&'static str),
    /// The entry is malformed, as the text explains.
    #[error("is malformed: {0}")]
    Malformed(String),
}

/// The reason why no rule of a file can be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The file is malformed as a whole, or too large.
    #[error("{file}:{line}: {why}")]
    Malformed {
        /// The file as given.
        file: String,
        /// The line, from 1.
        line: u32,
        /// The defect.
        why: String,
    },
    /// Somebody other than the user and root could have written the file, or the file is not a
    /// rule file (guard 4).
    #[error("{file} {why}")]
    Untrusted {
        /// The file as given.
        file: String,
        /// The objection, as the rest of a sentence: "is not a regular file".
        why: String,
    },
    /// The file cannot be read.
    #[error("cannot read {file}: {source}")]
    Unreadable {
        /// The file as given.
        file: String,
        /// The error.
        source: io::Error,
    },
}

/// The format of a rule file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// TOML, the format of lop.
    Toml,
    /// `winapp2.ini`.
    Winapp2,
    /// `CleanerML`, the XML format of `BleachBit`.
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

/// Parses the contents of a rule file. `file` is the name of the file for messages and for
/// [`crate::rule::Source`].
///
/// Every entry of the file either becomes a rule or is recorded in [`Loaded::dropped_entries`].
/// The memory in use is proportional to the size of the file, and bounded by the limits on the
/// number of rules and patterns.
///
/// # Errors
///
/// Fails if the file as a whole is malformed, or exceeds a limit.
pub fn parse(format: Format, bytes: &[u8], file: &str) -> Result<Loaded, FormatError> {
    let malformed = |(line, why)| FormatError::Malformed { file: file.to_string(), line, why };
    if bytes.len() > limits::MAX_FILE_BYTES {
        return Err(malformed((1, "the file is larger than 16 MiB".to_string())));
    }
    let text = std::str::from_utf8(bytes).map_err(|e| {
        let line = limits::Lines::new(bytes).at(e.valid_up_to());
        malformed((line, "the file is not UTF-8".to_string()))
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match format {
        Format::Toml => toml::parse(text, file),
        Format::Winapp2 => winapp2::parse(text, file),
        Format::CleanerMl => cleanerml::parse(text, file),
        Format::Tmpfiles => tmpfiles::parse(text, file),
    }
    .map_err(malformed)
}

/// A defect of a whole file: the line, and the explanation.
type Defect = (u32, String);
