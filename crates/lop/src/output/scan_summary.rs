//! The summary of a scan: a few lines for people, JSON for programs.

use std::time::Duration;

use catalog::GroupTotals;
use serde::Serialize;
use walk::{Skipped, Tree};

use crate::output::formats::is_zero;
use crate::quantity::{count, counted, duration, size};

/// The figures of a scan.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Summary {
    /// Number of scanned files. A file with several names counts once.
    pub(crate) files: u64,
    /// Total size of the scanned files.
    pub(crate) bytes: u64,
    pub(crate) groups: u64,
    /// Files in groups, not counting one file of each group.
    pub(crate) redundant_files: u64,
    /// Disk space in bytes that would be freed if only one file of each group remained.
    pub(crate) reclaimable_bytes: u64,
    /// Files whose only copies are outside the scanned directories.
    pub(crate) elsewhere: u64,
    /// Remembered files of the scanned directories that are on a disk that is not mounted.
    pub(crate) offline: u64,
    /// Number of entries that were skipped on purpose, by reason. Only reasons that occurred are present.
    pub(crate) skipped: serde_json::Map<String, serde_json::Value>,
    /// Number of names whose file is new, changed or gone, if the scan examined only the entries that `lop watch` had
    /// noted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) changed_files: Option<u64>,
    /// Entries that could not be examined.
    pub(crate) problems: u64,
    /// Files whose metadata is unchanged but whose content differs from an earlier scan.
    pub(crate) damaged: u64,
    /// Files for which `--hash-all` computed no digest because their holes are too large.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) hollow: u64,
    /// Patterns that matched nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) unmatched_patterns: Vec<String>,
    pub(crate) seconds: f64,
    #[serde(skip)]
    skipped_text: String,
}

/// Returns the number of the files that the walk found, and their total size in bytes. A file with several names counts
/// once.
pub(crate) fn totals(tree: &Tree) -> (u64, u64) {
    let walked = (0u32..).zip(tree.files());
    let walked = walked.filter(|&(id, _)| !tree.is_remembered(walk::FileId(id)));
    let (names, bytes) = walked
        .fold((0, 0u64), |(names, bytes), (_, file)| (names + 1, bytes.saturating_add(file.size)));
    let further = tree.further_names();
    (names - further.count, bytes.saturating_sub(further.bytes))
}

impl Summary {
    /// Summarises a scan.
    pub(crate) fn new(tree: &Tree, found: &dupes::Found, time: Duration) -> Summary {
        let (files, bytes) = totals(tree);
        let reasons = reasons(&tree.skipped);
        let groups = &found.groups;
        let is_damaged = |problem: &&walk::Problem| matches!(problem.reason, walk::Reason::Damaged);
        let damaged = found.problems.iter().filter(is_damaged).count() as u64;
        Summary {
            files,
            bytes,
            groups: groups.len() as u64,
            redundant_files: groups.iter().map(|g| g.files.len() as u64 - 1).sum(),
            reclaimable_bytes: groups.iter().fold(0, |sum, g| g.reclaimable.saturating_add(sum)),
            elsewhere: found.elsewhere,
            offline: 0,
            skipped: reasons.iter().map(|r| (r.key.to_string(), r.number.into())).collect(),
            changed_files: None,
            problems: (tree.problems.len() + found.problems.len()) as u64 - damaged,
            damaged,
            hollow: 0,
            unmatched_patterns: Vec::new(),
            seconds: (time.as_secs_f64() * 1000.0).round() / 1000.0,
            skipped_text: skipped_text(&reasons),
        }
    }

    /// Sets the figures of a scan that examined only the files that `changed`: the number of all files below the roots
    /// and their size in bytes, and the groups of the whole catalog.
    pub(crate) fn count_all(
        &mut self,
        changed: u64,
        (files, bytes): (u64, u64),
        groups: GroupTotals,
    ) {
        self.changed_files = Some(changed);
        (self.files, self.bytes) = (files, bytes);
        self.groups = groups.groups;
        self.redundant_files = groups.redundant;
        self.reclaimable_bytes = groups.reclaimable;
    }

    /// Returns the summary for people. No line is wider than 80 columns.
    pub(crate) fn text(&self) -> String {
        let row = |number, [one, many]: [&str; 2], rest: &str| match number {
            0 => String::new(),
            number => counted(number, one, many) + rest,
        };
        let (files, remembered) = (["file", "files"], ["remembered file", "remembered files"]);
        let differ = ["file differs", "files differ"];
        let rows = [
            ("Scanned", self.scanned()),
            ("Found", self.found()),
            ("Elsewhere", row(self.elsewhere, files, " with copies outside of what was scanned")),
            ("Offline", row(self.offline, remembered, ", on a disk that is not mounted")),
            ("Skipped", self.skipped_text.clone()),
            ("No digest", row(self.hollow, files, " with over 1 TiB of holes")),
            ("Damaged", row(self.damaged, differ, " from what was scanned before")),
            ("Problems", row(self.problems, ["entry", "entries"], " could not be examined")),
        ];
        let rows = rows.into_iter().filter(|(_, text)| !text.is_empty());
        let lines = rows.map(|(name, text)| format!("{name:<10}{text}\n"));
        lines.collect()
    }

    /// Returns a line for each kind of failure.
    pub(crate) fn failures(&self) -> Vec<String> {
        let damaged = counted(self.damaged, "file differs", "files differ");
        let damaged = (self.damaged > 0).then(|| format!("{damaged} from what was scanned before"));
        let problems =
            (self.problems > 0).then(|| crate::output::problems::unexamined(self.problems));
        problems.into_iter().chain(damaged).collect()
    }

    fn scanned(&self) -> String {
        let time = duration(Duration::from_secs_f64(self.seconds));
        let all = format!("{}, {}", counted(self.files, "file", "files"), size(self.bytes));
        match self.changed_files {
            None => format!("{all} in {time}"),
            Some(changed) => {
                let changed = counted(changed, "changed file", "changed files");
                format!("{changed} in {time}; in all, {all}")
            }
        }
    }

    fn found(&self) -> String {
        found_text(self.groups, self.redundant_files, self.reclaimable_bytes)
    }
}

/// Returns the number of groups, of their redundant files, and the reclaimable space in bytes, as text.
pub(crate) fn found_text(groups: u64, redundant: u64, reclaimable: u64) -> String {
    if groups == 0 {
        return "no duplicates".into();
    }
    format!(
        "{}: {}, {} reclaimable",
        counted(groups, "group", "groups"),
        counted(redundant, "redundant file", "redundant files"),
        size(reclaimable)
    )
}

/// A reason for skipping entries, and the number of entries that were skipped for it.
struct Reason {
    key: &'static str,
    number: u64,
    one: &'static str,
    many: &'static str,
}

fn reasons(skipped: &Skipped) -> Vec<Reason> {
    let reason = |key, number, one, many| Reason { key, number, one, many };
    let all = [
        reason("empty", skipped.empty, "empty", "empty"),
        reason("too_small", skipped.too_small, "too small", "too small"),
        reason("too_large", skipped.too_large, "too large", "too large"),
        reason("excluded", skipped.excluded, "excluded", "excluded"),
        reason("quarantine", skipped.quarantine, "quarantine folder", "quarantine folders"),
        reason("hidden", skipped.hidden, "hidden", "hidden"),
        reason("symlinks", skipped.symlinks, "symbolic link", "symbolic links"),
        reason("fifos", skipped.fifos, "FIFO", "FIFOs"),
        reason("sockets", skipped.sockets, "socket", "sockets"),
        reason("device_files", skipped.devices, "device", "devices"),
        reason("dirs", skipped.directories, "directory in the list", "directories in the list"),
        reason(
            "other_file_systems",
            skipped.other_file_systems,
            "other file system",
            "other file systems",
        ),
        reason(
            "pseudo_file_systems",
            skipped.pseudo_file_systems,
            "pseudo file system",
            "pseudo file systems",
        ),
        reason("system_dirs", skipped.system_dirs, "system folder", "system folders"),
        reason("seen_before", skipped.seen_before, "seen before", "seen before"),
    ];
    all.into_iter().filter(|reason| reason.number > 0).collect()
}

/// JSON keys of the reasons for which a scan skips a whole tree.
const TREES: [&str; 5] =
    ["dirs", "other_file_systems", "pseudo_file_systems", "quarantine", "system_dirs"];

/// Returns the reasons on one line of at most 70 columns. Reasons for skipping trees come first, then the most
/// frequent ones. Reasons for which there is no room are combined into one number.
fn skipped_text(reasons: &[Reason]) -> String {
    const COLUMNS: usize = 70;
    let mut order: Vec<&Reason> = reasons.iter().collect();
    order.sort_by_key(|reason| (!TREES.contains(&reason.key), std::cmp::Reverse(reason.number)));
    let lines = (0..=order.len()).rev().map(|named| {
        let (named, rest) = order.split_at(named);
        let mut parts: Vec<String> =
            named.iter().map(|reason| counted(reason.number, reason.one, reason.many)).collect();
        if !rest.is_empty() {
            let rest = rest.iter().map(|reason| reason.number).sum();
            parts.push(format!("{} more", count(rest)));
        }
        parts.join(", ")
    });
    lines.into_iter().find(|line| line.len() <= COLUMNS).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(skipped: &Skipped) -> Summary {
        let mut tree = Tree::default();
        tree.skipped = *skipped;
        Summary::new(&tree, &dupes::Found::default(), Duration::from_millis(420))
    }

    #[test]
    fn an_empty_scan_has_two_lines() {
        let text = "Scanned   0 files, 0 B in 0.42 s\nFound     no duplicates\n";
        assert_eq!(summary(&Skipped::default()).text(), text);
    }

    #[test]
    fn a_full_summary_has_one_line_for_each_figure() {
        let mut summary =
            summary(&Skipped { empty: 1204, symlinks: 1, system_dirs: 2, ..Skipped::default() });
        summary.files = 203_114;
        summary.bytes = 13_314_398_618;
        (summary.groups, summary.redundant_files) = (8120, 21_032);
        summary.reclaimable_bytes = 1_288_490_189;
        (summary.elsewhere, summary.problems) = (1, 2);
        let expected = "\
Scanned   203,114 files, 12.4 GiB in 0.42 s
Found     8,120 groups: 21,032 redundant files, 1.2 GiB reclaimable
Elsewhere 1 file with copies outside of what was scanned
Skipped   2 system folders, 1,204 empty, 1 symbolic link
Problems  2 entries could not be examined
";
        assert_eq!(summary.text(), expected);
        let json = serde_json::to_value(&summary).expect("serialises");
        assert_eq!(
            json["skipped"],
            serde_json::json!({ "empty": 1204, "symlinks": 1, "system_dirs": 2 })
        );
        assert_eq!(json["seconds"], 0.42);
    }

    #[test]
    fn no_line_is_wider_than_80_columns() {
        let many = 123_456_789;
        let skipped = Skipped {
            empty: many,
            too_small: many,
            too_large: many,
            excluded: many,
            quarantine: many,
            hidden: many,
            symlinks: many,
            fifos: many,
            sockets: many,
            devices: many,
            directories: many,
            other_file_systems: many,
            pseudo_file_systems: many,
            system_dirs: many,
            seen_before: many,
        };
        let mut summary = summary(&skipped);
        (summary.files, summary.bytes) = (many, u64::MAX);
        (summary.groups, summary.redundant_files) = (many / 10, many);
        summary.reclaimable_bytes = 999 << 40;
        let text = summary.text();
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        assert!(text.contains(" more\n"), "{text}");
    }
}
