//! The rule sets that are part of lop, in the format of lop.
//!
//! The sets are compiled into the program, so no other user can change them. Each rule has an
//! identifier that is unique among all sets, because several sets can be loaded together.

use super::{Format, Loaded, parse};

/// The names and texts, in the order in which they are listed.
macro_rules! sets {
    ($($name:literal),* $(,)?) => {
        const NAMES: &[&str] = &[$($name),*];
        const TEXTS: &[&str] = &[$(include_str!(concat!("../../rules/", $name, ".toml"))),*];
    };
}

sets![
    "thumbnails",
    "droppings",
    "windows-temp",
    "unix-temp",
    "browser-caches",
    "package-caches",
    "build-dirs",
    "macos-caches",
    "cachedir-tag",
    "crash-dumps",
    "bins",
    "nas",
    "windows-setup",
    "windows-backup",
    "lint",
];

/// Returns the names of all sets.
pub fn names() -> &'static [&'static str] {
    NAMES
}

/// Returns the rules of a set.
///
/// # Panics
///
/// Panics if the set is malformed. The tests parse every set.
pub fn load(name: &str) -> Option<Loaded> {
    let text = text(name)?;
    let mut loaded =
        parse(Format::Toml, text.as_bytes(), name).expect("a shipped set is well formed");
    for rule in &mut loaded.rules {
        rule.source.is_shipped = true;
    }
    Some(loaded)
}

/// Returns the text of a set, in the format of lop.
pub fn text(name: &str) -> Option<&'static str> {
    let at = NAMES.iter().position(|&known| known == name)?;
    Some(TEXTS[at])
}

/// Returns one line that says what a set is for.
pub fn about(name: &str) -> Option<&'static str> {
    let line = text(name)?.lines().find_map(|line| line.strip_prefix("about = \""))?;
    line.strip_suffix('"')
}
