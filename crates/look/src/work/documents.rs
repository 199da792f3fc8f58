//! The documents that lop prints (`docs/formats.md`), and saved plans.

use std::cmp::Reverse;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

use action::plan::SavedAction;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

/// Folders that have files in common.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub(crate) struct Relation {
    #[serde(rename = "relation")]
    pub(crate) kind: FolderKind,
    /// Percentage of the bytes of the first folder that the other folders contain as well.
    pub(crate) percent: u32,
    pub(crate) files: u64,
    pub(crate) reclaimable_bytes: u64,
    pub(crate) dirs: Vec<PathOf>,
}

/// All folders that have files in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Related {
    pub(crate) relations: Vec<Relation>,
    /// The reasons why the list may be incomplete.
    pub(crate) remarks: Vec<String>,
}

/// The kind of relation between folders.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FolderKind {
    Equal,
    Contained,
    Overlapping,
    /// A relation that only later versions of lop know.
    #[serde(other)]
    Other,
}

impl FolderKind {
    /// Returns the relation in one word.
    pub(crate) fn word(self) -> &'static str {
        match self {
            FolderKind::Equal => "equal",
            FolderKind::Contained => "contained",
            FolderKind::Overlapping => "overlapping",
            FolderKind::Other => "related",
        }
    }
}

/// A path in a document.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub(crate) struct PathOf {
    path: String,
    path_base64: Option<String>,
}

impl PathOf {
    /// Returns the bytes of the path.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let bytes = self.path_base64.as_ref().and_then(|text| STANDARD.decode(text).ok());
        bytes.unwrap_or_else(|| self.path.clone().into_bytes())
    }
}

impl Relation {
    /// Reads the answer of `lop report --dirs --json`. The relations with the most reclaimable bytes come first.
    ///
    /// # Errors
    ///
    /// Fails if `document` is not such a document.
    pub(super) fn read(document: &[u8]) -> Result<Vec<Relation>, serde_json::Error> {
        #[derive(Deserialize)]
        struct Document {
            related: Vec<Relation>,
        }
        let mut related = serde_json::from_slice::<Document>(document)?.related;
        related.retain(|relation| !relation.dirs.is_empty());
        related.sort_by_key(|relation| Reverse(relation.reclaimable_bytes));
        Ok(related)
    }
}

/// A file without a copy outside the directory.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub(crate) struct Unique {
    #[serde(flatten)]
    pub(crate) path: PathOf,
    pub(crate) size: u64,
    /// Number of copies, if lop knows it.
    #[serde(default)]
    pub(crate) duplicates: Option<u64>,
    /// A remark about the file.
    pub(crate) state: Option<String>,
}

/// The files of a directory that have no copy outside it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Uniques {
    /// The files, sorted by size, largest first.
    pub(crate) files: Vec<Unique>,
    /// Number of all files of the directory.
    pub(crate) of: u64,
    /// Number of files that certainly have no copy.
    pub(crate) certain: u64,
    /// Total size of these files.
    pub(crate) bytes: u64,
    /// Number of files that may have a copy.
    pub(crate) unknown: u64,
    /// Whether lop knows of each file in the directory whether it has a copy outside.
    pub(crate) is_complete: bool,
    /// Number of entries that are neither unique nor copies: empty files, symbolic links and special files.
    pub(crate) not_counted: u64,
    /// The reasons why the list may be incomplete.
    pub(crate) remarks: Vec<String>,
}

impl Uniques {
    /// Reads the answer of `lop uniques --json`.
    ///
    /// # Errors
    ///
    /// Fails if `document` is not such a document.
    pub(super) fn read(document: &[u8]) -> Result<Uniques, serde_json::Error> {
        #[derive(Deserialize)]
        struct Document {
            files: Vec<Unique>,
            summary: Summary,
        }
        #[derive(Deserialize)]
        struct Summary {
            files: u64,
            uniques: u64,
            bytes: u64,
            #[serde(default)]
            unknown: u64,
            problems: u64,
            #[serde(default)]
            empty: u64,
            #[serde(default)]
            symlinks: u64,
            #[serde(default)]
            special_files: u64,
        }
        let Document { mut files, summary } = serde_json::from_slice(document)?;
        files.sort_by_key(|file| Reverse(file.size));
        let is_complete = summary.unknown == 0 && summary.problems == 0;
        let not_counted = summary.empty + summary.symlinks + summary.special_files;
        let Summary { files: of, uniques: certain, bytes, unknown, .. } = summary;
        let remarks = Vec::new();
        Ok(Uniques { files, of, certain, bytes, unknown, is_complete, not_counted, remarks })
    }
}

/// The numbers of the summary of a plan, a run or an undo. A number that the summary does not contain is 0.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default)]
pub(super) struct Summary {
    /// The number of the run that changed files, or that was undone.
    pub(super) run: u64,
    /// Number of files that the run changed.
    pub(super) done: u64,
    /// Number of files that the undo restored.
    pub(super) restored: u64,
    /// Number of restored files with another owner or group than before.
    pub(super) other_owner: u64,
    /// Number of files that were left alone, or that could not be restored.
    pub(super) failed: u64,
    pub(super) freed_bytes: u64,
    pub(super) reclaimable_bytes: u64,
}

impl Summary {
    /// Reads the summary of a document. Returns zeros if the document is missing or incomplete.
    pub(super) fn read(document: &[u8]) -> Summary {
        #[derive(Deserialize)]
        struct Document {
            summary: Summary,
        }
        serde_json::from_slice(document).map(|Document { summary }| summary).unwrap_or_default()
    }
}

/// A plan in a file. The plan may be larger than the memory, so `PlanFile` stores only the positions of its lines.
#[derive(Debug)]
pub(crate) struct PlanFile {
    file: File,
    /// The positions at which the lines start, and the end of the last line.
    starts: Vec<u64>,
    /// Number of bytes that the plan frees.
    pub(crate) frees: u64,
    pub(crate) messages: Vec<String>,
}

impl PlanFile {
    /// Finds the lines of a plan.
    ///
    /// # Errors
    ///
    /// Fails if a read from the file fails.
    pub(super) fn index(mut file: File, frees: u64, messages: Vec<String>) -> io::Result<PlanFile> {
        file.seek(SeekFrom::Start(0))?;
        let (mut from, mut starts) = (BufReader::new(&file), vec![0]);
        let (mut line, mut end) = (Vec::new(), 0);
        while from.read_until(b'\n', &mut line)? > 0 {
            end += line.len() as u64;
            starts.push(end);
            line.clear();
        }
        Ok(PlanFile { file, starts, frees, messages })
    }

    /// Returns the number of files to act on.
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns an action of the plan, or `None` if reading it from the file fails.
    pub(crate) fn action(&self, at: usize) -> Option<SavedAction> {
        let (start, end) = (*self.starts.get(at)?, *self.starts.get(at + 1)?);
        let mut line = vec![0; usize::try_from(end - start).ok()?];
        self.file.read_exact_at(&mut line, start).ok()?;
        SavedAction::read(&line).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::{FolderKind, Relation, Uniques};

    #[test]
    fn relations_are_sorted_and_may_be_of_a_later_version() {
        let relation = |kind: &str, bytes: u64, dirs: &str| {
            format!(
                r#"{{"relation":"{kind}","percent":50,"files":1,"bytes":9,"reclaimable_bytes":{bytes},"dirs":[{dirs}]}}"#
            )
        };
        let document = format!(
            r#"{{"format_version":1,"related":[{},{},{}],"summary":{{}}}}"#,
            relation("akin", 1, r#"{"path":"/a"}"#),
            relation("equal", 2, r#"{"path":"/b\ufffd","path_base64":"L2L/"}"#),
            relation("equal", 3, "")
        );
        let all = Relation::read(document.as_bytes()).expect("a document");
        let kinds: Vec<FolderKind> = all.iter().map(|relation| relation.kind).collect();
        assert_eq!(kinds, [FolderKind::Equal, FolderKind::Other]);
        assert_eq!(all[0].dirs[0].bytes(), b"/b\xff");
        Relation::read(b"{}").expect_err("not such a document");
    }

    #[test]
    fn uniques_are_sorted_by_size() {
        let document =
            br#"{"format_version":1,"files":[{"path":"/a","size":1,"duplicates":0,"digest":null},
            {"path":"/b","size":2,"duplicates":0,"digest":null,"state":"changed"}],
            "summary":{"files":7,"uniques":2,"bytes":3,"unknown":1,"problems":0}}"#;
        let uniques = Uniques::read(document).expect("a document");
        let paths: Vec<_> = uniques.files.iter().map(|file| file.path.bytes()).collect();
        assert_eq!(paths, [b"/b", b"/a"]);
        assert_eq!((uniques.of, uniques.unknown, uniques.is_complete), (7, 1, false));
        assert_eq!(uniques.files[0].state.as_deref(), Some("changed"));
    }
}
