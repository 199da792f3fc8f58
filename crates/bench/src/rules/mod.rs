//! Rule files of the size and shape of `winapp2.ini`, for the races of `lop sweep`.
//!
//! The rules are made from a seed. Programs, directories and descriptions are invented, and only
//! the counts are those of the real file: entries, patterns, wildcards, exclusions. The same rules
//! are written in the format of each tool ([`mod@write`]), and a part of them has matching files on the
//! made disk (`corpus::windows`), so that the right answer is known.
//!
//! A change of the generator changes the disk too. No pattern may match files of another pattern's
//! directory, or the answers of the tools would differ for reasons that say nothing about them.

#[cfg(test)]
mod counts;
mod generate;
mod names;
pub(crate) mod write;

pub(crate) use generate::{INSTALLED, generate, junk_rules};

/// The number of patterns of the whole rule file: pairs of a directory and a name pattern.
pub(crate) const PATTERNS: usize = 17_681;

/// The directory that the path of a rule starts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Base {
    /// `AppData\Local` of each profile.
    Local,
    /// `AppData\Roaming` of each profile.
    Roaming,
    /// `AppData\LocalLow` of each profile.
    LocalLow,
    /// `Program Files` and `Program Files (x86)`.
    ProgramFiles,
    /// `ProgramData`.
    ProgramData,
    /// The profile itself.
    Profile,
    /// `Windows`.
    Windows,
    /// `Documents` of each profile.
    Documents,
}

impl Base {
    /// Returns the variable of `winapp2.ini`.
    pub(crate) fn variable(self) -> &'static str {
        match self {
            Self::Local => "%LocalAppData%",
            Self::Roaming => "%AppData%",
            Self::LocalLow => "%LocalLowAppData%",
            Self::ProgramFiles => "%ProgramFiles%",
            Self::ProgramData => "%ProgramData%",
            Self::Profile => "%UserProfile%",
            Self::Windows => "%WinDir%",
            Self::Documents => "%Documents%",
        }
    }

    /// Returns the path on Windows XP, in which the rules of the script are written. `*` stands for
    /// each user.
    pub(crate) fn on_xp(self) -> &'static str {
        match self {
            Self::Local => "Documents and Settings/*/Local Settings/Application Data",
            Self::Roaming => "Documents and Settings/*/Application Data",
            Self::LocalLow => "Users/*/AppData/LocalLow",
            Self::ProgramFiles => "Program Files",
            Self::ProgramData => "Documents and Settings/All Users/Application Data",
            Self::Profile => "Documents and Settings/*",
            Self::Windows => "WINDOWS",
            Self::Documents => "Documents and Settings/*/My Documents",
        }
    }

    /// Returns the paths on Windows 10. `*` stands for each user.
    pub(crate) fn paths(self) -> &'static [&'static str] {
        match self {
            Self::Local => &["Users/*/AppData/Local"],
            Self::Roaming => &["Users/*/AppData/Roaming"],
            Self::LocalLow => &["Users/*/AppData/LocalLow"],
            Self::ProgramFiles => &["Program Files", "Program Files (x86)"],
            Self::ProgramData => &["ProgramData"],
            Self::Profile => &["Users/*"],
            Self::Windows => &["Windows"],
            Self::Documents => &["Users/*/Documents"],
        }
    }
}

/// How far a pattern reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Files in the directory.
    Files,
    /// Files in the directory and below it (`RECURSE`).
    Below,
    /// The directory and everything in it (`REMOVESELF`).
    Itself,
}

/// A directory with the patterns of the names that a rule takes there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) base: Base,
    /// The components below the base, some of which have wildcards.
    pub(crate) dir: Vec<String>,
    /// Patterns of names. `*.*` stands for every name.
    pub(crate) names: Vec<String>,
    pub(crate) reach: Reach,
}

impl Key {
    /// Returns true if the key takes files of every name.
    pub(crate) fn takes_all(&self) -> bool {
        self.names == ["*.*"]
    }
}

/// An entry of the rule file: the rule for one program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// A file that shows that the program is installed, as in `DetectFile`.
    pub(crate) detect: Option<(Base, String)>,
    pub(crate) keys: Vec<Key>,
    /// The index of a key that takes every file, and the name of a file that the rule keeps there.
    pub(crate) keep: Option<(usize, String)>,
    /// Whether the entry also has registry keys, which no tool on Linux can use.
    pub(crate) has_registry_key: bool,
    /// Whether the made disk has files for the entry.
    pub(crate) is_installed: bool,
}

/// The rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RuleSet {
    pub(crate) entries: Vec<Entry>,
}

impl RuleSet {
    /// Returns the rules with the first `patterns` patterns.
    pub(crate) fn first(&self, patterns: usize) -> Self {
        let mut left = patterns;
        let mut entries = Vec::new();
        for entry in &self.entries {
            let mut entry = entry.clone();
            for key in &mut entry.keys {
                key.names.truncate(left);
                left -= key.names.len();
            }
            entry.keys.retain(|key| !key.names.is_empty());
            if entry.keys.is_empty() {
                break;
            }
            entry.keep = entry.keep.filter(|(key, _)| *key < entry.keys.len());
            entries.push(entry);
        }
        Self { entries }
    }

    /// Returns the same rules for files that are not on any made disk. They reach the same directories,
    /// except for the last ones.
    pub(crate) fn without_files(&self) -> Self {
        let mut rules = self.clone();
        for key in rules.entries.iter_mut().flat_map(|entry| &mut entry.keys) {
            if let Some(last) = key.dir.iter_mut().rev().find(|name| !name.contains('*')) {
                last.push_str(" of nobody");
            }
        }
        rules
    }

    /// Returns all keys.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.entries.iter().flat_map(|entry| &entry.keys)
    }
}
