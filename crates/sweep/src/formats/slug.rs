//! Identifiers of imported rules. Every identifier consists of `a-z`, `0-9`, dots, hyphens and
//! underscores, so that the user can type it.

use std::collections::{HashMap, HashSet};

/// The length to which a name is shortened.
const MAX_BYTES: usize = 120;

/// Returns a name in lower case, with a dot for each run of characters that are not letters or
/// digits of ASCII.
pub(super) fn of(name: &str) -> String {
    let mut slug = String::with_capacity(name.len().min(MAX_BYTES));
    let mut needs_dot = false;
    for byte in name.bytes() {
        if slug.len() >= MAX_BYTES {
            break;
        }
        if !byte.is_ascii_alphanumeric() {
            needs_dot = !slug.is_empty();
            continue;
        }
        if needs_dot {
            slug.push('.');
            needs_dot = false;
        }
        slug.push(char::from(byte.to_ascii_lowercase()));
    }
    if slug.is_empty() { "unnamed".to_string() } else { slug }
}

/// Returns an identifier in lower case, with a dot for each character that is not a letter, a digit,
/// a hyphen or an underscore.
pub(super) fn word(id: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
    let plain = |char: char| if is_plain(char) { char.to_ascii_lowercase() } else { '.' };
    let word: String = id.chars().take(MAX_BYTES).map(plain).collect();
    if word.is_empty() { "unnamed".to_string() } else { word }
}

/// The identifiers in use.
#[derive(Debug, Default)]
pub(super) struct Ids {
    used: HashSet<String>,
    numbers: HashMap<String, u32>,
}

impl Ids {
    /// Returns an identifier that is not in use yet: `id` itself, or `id` with a number.
    pub(super) fn unique(&mut self, id: String) -> String {
        if self.used.insert(id.clone()) {
            return id;
        }
        let number = self.numbers.entry(id.clone()).or_insert(1);
        loop {
            *number += 1;
            let numbered = format!("{id}.{number}");
            if self.used.insert(numbered.clone()) {
                return numbered;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Ids, of};

    #[test]
    fn an_identifier_has_only_letters_digits_and_dots() {
        assert_eq!(of("7-Zip (x86)  Logs!"), "7.zip.x86.logs");
        assert_eq!(of("§"), "unnamed");
        assert!(of(&"ab-".repeat(100)).len() < 125);
    }

    #[test]
    fn identifiers_are_unique() {
        let mut ids = Ids::default();
        let all = ["a", "a.2", "a", "a", "a.2"].map(|id| ids.unique(id.to_string()));
        assert_eq!(all, ["a", "a.2", "a.3", "a.4", "a.2.2"]);
    }
}
