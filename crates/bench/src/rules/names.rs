//! Invented names of programs and their directories. No two numbers have the same name.

/// Syllables of the names of programs.
const SYLLABLES: [&str; 20] = [
    "ba", "kor", "lu", "men", "dra", "vi", "tos", "pel", "na", "rik", "so", "fen", "gal", "hu",
    "jor", "wex", "ti", "mo", "zan", "que",
];

/// Number of different names of programs.
pub(super) const PROGRAMS: usize = 8_000;

/// Names of directories with junk. No guard of lop protects them.
const LEAVES: [&str; 16] = [
    "Cache",
    "Logs",
    "Temp",
    "Crash Reports",
    "GPUCache",
    "Dumps",
    "Updates",
    "Thumbnails",
    "Code Cache",
    "Media Cache",
    "Diagnostics",
    "Telemetry",
    "Installer Files",
    "WebCache",
    "Trace",
    "Journal Archive",
];

/// Returns the name of a program or its vendor.
pub(super) fn program(number: usize) -> String {
    // 7,919 has no common divisor with 8,000, so the names do not repeat.
    let code = number * 7_919 % PROGRAMS;
    let text = [code / 400, code / 20 % 20, code % 20].map(|at| SYLLABLES[at]).concat();
    let (first, rest) = text.split_at(1);
    format!("{}{rest}", first.to_uppercase())
}

/// Returns the name of a directory with junk.
pub(super) fn leaf(number: usize) -> String {
    match number / LEAVES.len() {
        0 => LEAVES[number].to_owned(),
        round => format!("{} {}", LEAVES[number % LEAVES.len()], round + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::{PROGRAMS, leaf, program};
    use std::collections::BTreeSet;

    #[test]
    fn all_names_are_different() {
        let programs: BTreeSet<String> = (0..PROGRAMS).map(program).collect();
        let leaves: BTreeSet<String> = (0..100).map(leaf).collect();
        assert_eq!((programs.len(), leaves.len()), (PROGRAMS, 100));
    }
}
