//! The totals of a sweep, as text and as JSON.

use serde::Serialize;

use super::engine::Found;
use crate::quantity::{append_counts, counted, size};

/// The totals of a preview or of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Summary {
    pub(super) dry_run: bool,
    /// Number of the run, if entries were moved to quarantine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) run: Option<u64>,
    /// Number of entries that are taken. A tree counts as one.
    pub(super) matches: u64,
    pub(super) files: u64,
    /// Disk space of these files in bytes.
    pub(super) bytes: u64,
    /// Number of entries that were left alone.
    pub(super) failed: u64,
    /// Number of entries that could not be examined.
    pub(super) problems: u64,
}

impl Summary {
    /// Returns the totals of a preview.
    pub(super) fn of(found: &[Found]) -> Summary {
        let mut summary = Summary { dry_run: true, ..Summary::default() };
        for found in found {
            summary.problems += found.preview.problems.len() as u64;
            for totals in &found.preview.rules {
                summary.matches += totals.matches;
                summary.files += totals.files;
                summary.bytes = summary.bytes.saturating_add(totals.frees);
            }
        }
        summary
    }

    /// Returns the number of files and their size, such as `150,748 files (18.0 GiB)`. Directories without files are
    /// counted as entries.
    pub(super) fn amount(&self) -> String {
        format!("{} ({})", self.number(), size(self.bytes))
    }

    fn number(&self) -> String {
        match self.files {
            0 => counted(self.matches, "entry", "entries"),
            files => counted(files, "file", "files"),
        }
    }

    /// Returns the last line of a preview.
    pub(super) fn preview_text(&self) -> String {
        if self.matches == 0 {
            return "The rules take nothing. lop changed nothing.".into();
        }
        format!("lop changed nothing. --apply moves {} to quarantine.", self.amount())
    }

    /// Returns the last line of a run that took nothing.
    pub(super) fn nothing_text(&self) -> String {
        match self.failed {
            0 => "Nothing to take. lop changed nothing.".into(),
            _ => "Every entry was left alone. lop changed nothing.".into(),
        }
    }

    /// Returns the last line of a run that moved entries to quarantine.
    pub(super) fn moved_text(&self) -> String {
        if self.matches == 0 {
            return self.nothing_text();
        }
        let mut text = format!("Moved {} to quarantine", self.amount());
        append_counts(&mut text, [(self.failed, "left alone")]);
        if let Some(run) = self.run {
            text.push_str(&format!(". Undo with: lop undo {run}"));
        }
        text
    }

    /// Returns the last line of a run that removed entries.
    pub(super) fn removed_text(&self) -> String {
        if self.matches == 0 {
            return self.nothing_text();
        }
        let mut text = format!("Freed {}: {} removed", size(self.bytes), self.number());
        append_counts(&mut text, [(self.failed, "left alone")]);
        text
    }
}
