//! Saved plans: files with one action per line. Users can read them and delete lines from them.
//!
//! Each line is self-contained. It has the action, the file, the kept file, and the versions of
//! both. [`load`] rejects a plan that contradicts itself, for example if one line keeps a file and
//! another line acts on it. It does not check the files themselves. [`crate::plan::Inspector`]
//! does.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead, Write};

use serde::{Deserialize, Serialize};

use crate::journal::json_bytes::JsonBytes;
use crate::plan::decide::Plan;
use crate::plan::kind::Kind;
use crate::plan::target::{Group, Target, Version};

/// The format version of the lines.
const FORMAT_VERSION: u32 = 1;

/// One line. Each line has the format version, because users may delete any of the other lines.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedLine {
    format_version: u32,
    action: Kind,
    path: JsonBytes,
    kept: JsonBytes,
    #[serde(default)]
    why: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    was: Version,
    kept_was: Version,
}

/// A plan that was read.
#[derive(Debug, PartialEq, Eq)]
pub struct Saved {
    /// The kind of action on each file.
    pub kind: Kind,
    /// The groups, in the order of the lines.
    pub groups: Vec<SavedGroup>,
}

/// A group of a plan that was read.
#[derive(Debug, PartialEq, Eq)]
pub struct SavedGroup {
    /// The files of the group.
    pub group: Group,
    /// The reason given in the plan for keeping the first file.
    pub why: String,
}

/// The reason why a plan cannot be used. Nothing was done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SavedError {
    /// The plan cannot be read.
    #[error(transparent)]
    Read(#[from] io::Error),
    /// The file is not a plan. Contains the defect of its first line.
    #[error("not a plan of lop: {0}")]
    NoPlan(String),
    /// One of the lines does not belong to a plan.
    #[error("line {line}: {why}")]
    Line {
        /// The line number, counted from 1.
        line: u64,
        /// The defect of the line.
        why: String,
    },
    /// The plan would remove a file that it relies on.
    #[error("line {line}: {} {what}", String::from_utf8_lossy(path))]
    Contradiction {
        /// The line number, counted from 1.
        line: u64,
        /// The path of the file.
        path: Vec<u8>,
        /// The contradiction.
        what: &'static str,
    },
}

/// Writes the lines of a plan.
///
/// # Errors
///
/// Fails if writing fails. Some lines may have been written.
pub fn save(out: &mut impl Write, plan: &Plan, kind: Kind) -> io::Result<()> {
    for other in &plan.others {
        let line = SavedLine {
            format_version: FORMAT_VERSION,
            action: kind,
            path: JsonBytes(other.target.path.clone()),
            kept: JsonBytes(plan.keep.target.path.clone()),
            why: plan.why.to_string(),
            digest: plan.digest.map(|digest| digest.to_string()),
            was: other.target.version,
            kept_was: plan.keep.target.version,
        };
        serde_json::to_writer(&mut *out, &line)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// Reads a plan. Returns `None` if the plan has no lines.
///
/// # Errors
///
/// See [`SavedError`]. Fails with [`SavedError::Contradiction`] if the plan is readable but unsafe.
/// Nothing on disk changes.
pub fn load(from: impl BufRead) -> Result<Option<Saved>, SavedError> {
    let mut groups: Vec<SavedGroup> = Vec::new();
    let mut numbers: HashMap<(Vec<u8>, u64), usize> = HashMap::new();
    let mut checks = Checks::default();
    let mut kind = None;
    for (number, text) in (1u64..).zip(from.split(b'\n')) {
        let text = text?;
        if text.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let wrong = |why: String| SavedError::Line { line: number, why };
        if let Some(other) = other_version(&text) {
            return Err(wrong(format!("another version of lop wrote it (format {other})")));
        }
        let line = serde_json::from_slice::<SavedLine>(&text).map_err(|e| match kind {
            None => SavedError::NoPlan(e.to_string()),
            Some(_) => wrong(e.to_string()),
        })?;
        if *kind.get_or_insert(line.action) != line.action {
            return Err(wrong("another kind of action than in the lines before".into()));
        }
        if line.action == Kind::Sweep {
            return Err(wrong("a sweep has no plan of this kind".into()));
        }
        if !(line.path.0.starts_with(b"/") && line.kept.0.starts_with(b"/")) {
            return Err(wrong("a path is not absolute".into()));
        }
        checks.take(number, &line)?;
        let key = (line.kept.0.clone(), line.kept_was.inode);
        let at = *numbers.entry(key).or_insert_with(|| {
            let keep = Target { path: line.kept.0, version: line.kept_was, tag: u32::MAX };
            // The digest in the file is not used, because undo relies on the digest and the user
            // may have edited it. The run computes the digest itself.
            let group = Group { keep, others: Vec::new(), digest: None };
            groups.push(SavedGroup { group, why: line.why });
            groups.len() - 1
        });
        groups[at].group.others.push(Target {
            path: line.path.0,
            version: line.was,
            tag: u32::MAX,
        });
    }
    checks.end()?;
    let Some(kind) = kind else { return Ok(None) };
    for SavedGroup { group, .. } in &mut groups {
        bring_names_together(&mut group.others);
    }
    Ok(Some(Saved { kind, groups }))
}

/// One line of a saved plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedAction {
    /// The kind of action.
    pub kind: Kind,
    /// The file to act on.
    pub path: Vec<u8>,
    /// The file that stays.
    pub kept: Vec<u8>,
    /// The reason for keeping that file.
    pub why: String,
    /// The size of both files in bytes.
    pub size: u64,
}

impl SavedAction {
    /// Reads one line of a plan, to show it. Plans that are carried out are read by [`load`], which
    /// compares the lines with each other.
    ///
    /// # Errors
    ///
    /// Returns the defect if this is not a line of a plan.
    pub fn read(line: &[u8]) -> Result<SavedAction, String> {
        let line: SavedLine = serde_json::from_slice(line).map_err(|e| e.to_string())?;
        let SavedLine { action: kind, path, kept, why, was, .. } = line;
        Ok(SavedAction { kind, path: path.0, kept: kept.0, why, size: was.size })
    }
}

/// Returns the format version of a line if it differs from the current one.
fn other_version(line: &[u8]) -> Option<u32> {
    #[derive(Deserialize)]
    struct Versioned {
        format_version: u32,
    }
    let Versioned { format_version } = serde_json::from_slice(line).ok()?;
    (format_version != FORMAT_VERSION).then_some(format_version)
}

/// Moves all names of an inode to the position of its first name.
fn bring_names_together(others: &mut [Target]) {
    let inode = |other: &Target| (other.version.device, other.version.inode);
    let mut first = HashMap::new();
    for (at, other) in others.iter().enumerate() {
        first.entry(inode(other)).or_insert(at);
    }
    others.sort_by_key(|other| first[&inode(other)]);
}

/// Finds lines that contradict each other.
#[derive(Default)]
struct Checks {
    going: HashSet<Vec<u8>>,
    going_inodes: HashMap<(u64, u64), (u64, Vec<u8>)>,
    kept_inodes: HashSet<(u64, u64)>,
}

impl Checks {
    fn take(&mut self, number: u64, line: &SavedLine) -> Result<(), SavedError> {
        let what = if line.was.size != line.kept_was.size {
            Some("differs in size from the file that is kept for it")
        } else if !self.going.insert(line.path.0.clone()) {
            Some("occurs twice")
        } else {
            None
        };
        if let Some(what) = what {
            let path = line.path.0.clone();
            return Err(SavedError::Contradiction { line: number, path, what });
        }
        let inode = |version: &Version| (version.device, version.inode);
        self.going_inodes.insert(inode(&line.was), (number, line.path.0.clone()));
        self.kept_inodes.insert(inode(&line.kept_was));
        Ok(())
    }

    fn end(self) -> Result<(), SavedError> {
        let both = self.going_inodes.iter().filter(|(inode, _)| self.kept_inodes.contains(inode));
        match both.map(|(_, at)| at).min() {
            None => Ok(()),
            Some((line, path)) => Err(SavedError::Contradiction {
                line: *line,
                path: path.clone(),
                what: "would be acted on, but is kept for another file",
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Saved, SavedAction, SavedError, load};
    use crate::plan::kind::Kind;

    fn line(path: &str, inode: u64, keep: &str, kept: u64) -> String {
        let version =
            |inode| format!(r#"{{"device":1,"inode":{inode},"size":5,"mtime_ns":0,"ctime_ns":0}}"#);
        let (was, kept) = (version(inode), version(kept));
        format!(
            r#"{{"format_version":1,"action":"delete","path":"{path}","kept":"{keep}","was":{was},"kept_was":{kept}}}"#
        )
    }

    fn read(lines: &[String]) -> Result<Saved, SavedError> {
        load(lines.join("\n").as_bytes()).map(|saved| saved.expect("there are lines"))
    }

    #[test]
    fn lines_of_one_kept_file_are_a_group() {
        let saved = read(&[line("/b", 2, "/a", 1), line("/d", 4, "/c", 3), line("/e", 5, "/a", 1)]);
        let saved = saved.expect("is a plan");
        assert_eq!(saved.kind, Kind::Delete);
        let counts: Vec<usize> =
            saved.groups.iter().map(|saved| saved.group.others.len()).collect();
        assert_eq!(counts, [2, 1]);
    }

    #[test]
    fn one_line_can_be_read_alone() {
        let action = SavedAction::read(line("/b", 2, "/a", 1).as_bytes()).expect("is a line");
        let shown = (action.kind, &action.path[..], &action.kept[..], action.size);
        assert_eq!(shown, (Kind::Delete, &b"/b"[..], &b"/a"[..], 5));
        assert!(SavedAction::read(b"{}").is_err());
    }

    #[test]
    fn names_of_one_inode_move_to_the_position_of_the_first() {
        let lines = [("/d", 4), ("/b", 2), ("/e", 4), ("/c", 3)];
        let lines = lines.map(|(path, inode)| line(path, inode, "/a", 1));
        let saved = read(&lines).expect("is a plan");
        let others = &saved.groups[0].group.others;
        let paths: Vec<_> = others.iter().map(|o| str::from_utf8(&o.path).expect("is")).collect();
        assert_eq!(paths, ["/d", "/e", "/b", "/c"]);
    }

    #[test]
    fn a_plan_that_acts_on_files_it_keeps_is_rejected() {
        for lines in [
            [line("/b", 2, "/a", 1), line("/a", 1, "/b", 2)],
            [line("/b", 2, "/a", 1), line("/c", 3, "/b", 2)],
            [line("/b", 2, "/a", 1), line("/b", 2, "/a", 1)],
            // The same files under other paths.
            [line("/b", 2, "/a", 1), line("/other/a", 1, "/c", 3)],
        ] {
            assert!(matches!(read(&lines), Err(SavedError::Contradiction { .. })), "{lines:?}");
        }
    }

    #[test]
    fn lines_of_another_format_version_are_rejected() {
        let first = line("/b", 2, "/a", 1);
        let later = first.replace("\"format_version\":1", "\"format_version\":2,\"new\":0");
        let Err(SavedError::Line { line: 1, why }) = read(&[later]) else { panic!("refused") };
        assert_eq!(why, "another version of lop wrote it (format 2)");
        let none = first.replace("\"format_version\":1,", "");
        assert!(matches!(read(&[none]), Err(SavedError::NoPlan(_))));
    }

    #[test]
    fn invalid_plans_are_rejected_with_the_line() {
        for text in ["{}", "nonsense", r#"{"action":"delete"}"#, "\u{0}"] {
            assert!(matches!(load(text.as_bytes()), Err(SavedError::NoPlan(_))), "{text}");
        }
        let second = [line("/b", 2, "/a", 1), "nonsense".into()];
        assert!(matches!(read(&second), Err(SavedError::Line { line: 2, .. })));
        for empty in ["", "\n \n"] {
            assert!(load(empty.as_bytes()).is_ok_and(|saved| saved.is_none()));
        }
        let relative = line("b", 2, "/a", 1);
        assert!(matches!(read(&[relative]), Err(SavedError::Line { line: 1, .. })));
    }
}
