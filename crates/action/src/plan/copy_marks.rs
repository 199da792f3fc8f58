//! Copy marks: parts of a file's path that suggest that the file is a copy.
//!
//! The rule `tidy` ([`super::rules`]) keeps the file with the fewest marks. Only the path is
//! inspected.

/// The parts of a path that suggest that the file is a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CopyMarks {
    /// The directory names that suggest a copy, in their original spelling, each with a weight.
    folders: Vec<(u8, String)>,
    /// The part of the file's own name that suggests a copy.
    name: Option<String>,
}

/// Names of directories whose files may disappear at any time.
const TRANSIENT_DIRS: [&str; 14] = [
    "trash",
    ".trash",
    "$recycle.bin",
    "@recycle",
    "#recycle",
    "papierkorb",
    "corbeille",
    "papelera",
    "lost+found",
    "tmp",
    "temp",
    ".tmp",
    "cache",
    ".cache",
];

/// Names of directories for incoming files and for copies.
const INCOMING_DIRS: [&str; 8] =
    ["downloads", "download", "téléchargements", "descargas", "scaricati", "old", "bak", "copies"];

/// Words in the names of directories that contain copies.
const BACKUP_WORDS: [&str; 3] = ["backup", "backups", "bak"];

/// The words for "copy" that file managers append to the name of a copy, in several languages.
const COPY_WORDS: [&str; 5] = ["copy", "kopie", "copie", "copia", "cópia"];

/// Prefixes that file managers add to the name of a copy.
const COPY_PREFIXES: [&str; 6] =
    ["copy of ", "kopie von ", "copie de ", "copia de ", "copia di ", "cópia de "];

/// Suffixes of files that were set aside.
const ASIDE_SUFFIXES: [&str; 4] = [".bak", ".orig", ".old", ".tmp"];

impl CopyMarks {
    /// Returns the marks of a file with this path.
    pub(crate) fn of(path: &[u8]) -> CopyMarks {
        let path = String::from_utf8_lossy(path);
        let (dirs, name) = path.rsplit_once('/').unwrap_or(("", &path));
        CopyMarks { folders: dirs.split('/').filter_map(folder).collect(), name: mark_of(name) }
    }

    /// Returns a rank. The file with the lowest rank looks least like a copy. Directories weigh
    /// more than the file's own name.
    pub(crate) fn rank(&self) -> i64 {
        2 * self.weight() + i64::from(self.name.is_some())
    }

    /// Returns the total weight of all directories. Directories that two paths share add the same
    /// weight to both.
    fn weight(&self) -> i64 {
        self.folders.iter().map(|&(weight, _)| i64::from(weight)).sum()
    }

    /// Describes the advantage of this file over one that looks more like a copy.
    pub(crate) fn advantage_over(&self, other: &CopyMarks) -> String {
        let is_own = |dir: &String| self.folders.iter().any(|(_, own)| own == dir);
        let only_there =
            other.folders.iter().find(|(_, dir)| !is_own(dir)).or(other.folders.last());
        match (only_there, &other.name) {
            (Some((_, dir)), _) if other.weight() > self.weight() => format!("not in {dir}"),
            (_, Some(mark)) => format!("name without \"{mark}\""),
            _ => String::new(),
        }
    }
}

/// Returns the weight and the name of a directory that suggests a copy, and `None` for other
/// directories.
fn folder(name: &str) -> Option<(u8, String)> {
    let lower = name.to_lowercase();
    let is_transient = TRANSIENT_DIRS.contains(&lower.as_str()) || lower.starts_with(".trash-");
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    let is_incoming =
        INCOMING_DIRS.contains(&lower.as_str()) || words.any(|word| BACKUP_WORDS.contains(&word));
    let weight = if is_transient { 2 } else { u8::from(is_incoming) };
    (weight > 0).then(|| (weight, name.to_string()))
}

/// Returns the part of a file's name that suggests a copy.
fn mark_of(name: &str) -> Option<String> {
    let lower = name.to_lowercase();
    let suffix =
        ASIDE_SUFFIXES.iter().find(|suffix| lower.len() > suffix.len() && lower.ends_with(*suffix));
    if let Some(suffix) = suffix {
        return Some((*suffix).into());
    }
    if lower.len() > 1 && lower.ends_with('~') {
        return Some("~".into());
    }
    if let Some(of) = COPY_PREFIXES.iter().find(|of| lower.starts_with(*of)) {
        return Some(of.trim_end().into());
    }
    for conflict in ["sync-conflict", "conflicted copy"] {
        if lower.contains(conflict) {
            return Some(conflict.into());
        }
    }
    let stem = lower.rsplit_once('.').map_or(lower.as_str(), |(stem, _)| stem).trim_end();
    number_of(stem).or_else(|| copy_word(stem))
}

/// Returns the parenthesized number at the end of a stem, as in "(1)".
fn number_of(stem: &str) -> Option<String> {
    let (before, number) = stem.strip_suffix(')')?.rsplit_once('(')?;
    let is_small = (1..=3).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit());
    (is_small && !before.is_empty()).then(|| format!("({number})"))
}

/// Returns the word for "copy" at the end of a stem. The word may be in parentheses or followed by
/// a number.
fn copy_word(stem: &str) -> Option<String> {
    let end = stem.trim_end_matches(|c: char| c.is_ascii_digit() || " ()".contains(c));
    let word = COPY_WORDS.iter().find(|word| end.ends_with(*word))?;
    let before = end[..end.len() - word.len()].chars().next_back()?;
    (!before.is_alphanumeric()).then(|| (*word).into())
}

#[cfg(test)]
mod tests {
    use super::{CopyMarks, mark_of};

    #[test]
    fn names_of_copies_are_recognized() {
        for (name, mark) in [
            ("IMG_0001 (1).jpg", "(1)"),
            ("IMG_0001(12).jpg", "(12)"),
            ("letter copy.txt", "copy"),
            ("letter copy 2.txt", "copy"),
            ("letter - Copy.txt", "copy"),
            ("letter - Copy (2).txt", "copy"),
            ("letter (another copy).txt", "copy"),
            ("letter_copy", "copy"),
            ("Brief (Kopie).odt", "kopie"),
            ("Brief - Kopie.odt", "kopie"),
            ("Copy of letter.txt", "copy of"),
            ("Kopie von Brief.txt", "kopie von"),
            ("lettre - Copie.txt", "copie"),
            ("carta (copia).txt", "copia"),
            ("notes.txt~", "~"),
            ("notes.BAK", ".bak"),
            ("notes.txt.orig", ".orig"),
            ("a.sync-conflict-20240101-123456-ABC.txt", "sync-conflict"),
            ("a (Ann's conflicted copy 2024-01-01).txt", "conflicted copy"),
        ] {
            // A number after the word for "copy" is a mark too, and is found first.
            let found = mark_of(name).unwrap_or_default();
            assert!(found == mark || found == "(2)", "{name}: {found:?}");
        }
        for name in [
            "photocopy.pdf",
            "copy",
            "copy.txt",
            "Movie (2010).mkv",
            "f(x).txt",
            "(1).txt",
            "~",
            "a~b",
            "copyright.txt",
            "old",
            ".bak",
            "version 2.txt",
            "Xerocopy (final).txt",
        ] {
            assert_eq!(mark_of(name), None, "{name}");
        }
    }

    #[test]
    fn directories_weigh_more_than_the_name() {
        let rank = |path: &str| CopyMarks::of(path.as_bytes()).rank();
        let better = |one: &str, other: &str| assert!(rank(one) < rank(other), "{one}, {other}");
        better("/home/me/photos/2020/a.jpg", "/home/me/Downloads/a (1).jpg");
        better("/home/me/photos/a (1).jpg", "/home/me/Downloads/a.jpg");
        better("/home/me/photos/a.jpg", "/home/me/photos/a copy.jpg");
        better("/home/me/a", "/mnt/Backup of laptop/a");
        better("/home/me/a", "/mnt/backup-2020/a");
        better("/home/me/Downloads/a", "/home/me/.local/share/Trash/files/a");
        better("/home/me/Downloads/a", "/tmp/a");
        better("/tmp/x/photos/a", "/tmp/x/Downloads/a");
        assert_eq!(rank("/home/me/golden oldies/a"), 0);
        assert_eq!(rank("/a"), 0);
    }

    #[test]
    fn the_reason_names_the_mark_of_the_other_file() {
        let marks = |path: &str| CopyMarks::of(path.as_bytes());
        let why = |one: &str, other: &str| marks(one).advantage_over(&marks(other));
        assert_eq!(why("/p/a", "/Downloads/a (1)"), "not in Downloads");
        assert_eq!(why("/p/a", "/p/a (1)"), "name without \"(1)\"");
        assert_eq!(why("/Downloads/a", "/Downloads/a~"), "name without \"~\"");
        assert_eq!(why("/backup/a", "/tmp/a"), "not in tmp");
        assert_eq!(why("/tmp/x/a", "/tmp/x/Downloads/a (1)"), "not in Downloads");
    }
}
