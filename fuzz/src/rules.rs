//! The properties of every rule file: the parser returns, and every pattern of a rule is what its text
//! says.

use sweep::formats::{Format, parse};
use sweep::rule::pattern::Pattern;

/// Parses a file, and checks the rules that it produces.
pub fn check(format: Format, data: &[u8]) {
    let Ok(loaded) = parse(format, data, "file") else { return };
    let dropped: u64 = loaded.dropped.values().sum();
    assert_eq!(dropped, loaded.dropped_entries.len() as u64);
    let mut ids: Vec<&str> = loaded.rules.iter().map(|rule| rule.id.as_str()).collect();
    ids.sort_unstable();
    assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "an id is used twice");
    for rule in &loaded.rules {
        assert!(!rule.takes.is_empty());
        for pattern in rule.takes.iter().map(|take| &take.pattern).chain(&rule.keeps) {
            let text = pattern.to_string();
            assert_eq!(Pattern::parse(&text), Ok(vec![pattern.clone()]), "{text}");
        }
    }
}
