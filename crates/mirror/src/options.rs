//! The options of a run, and the callbacks for its user.

use std::sync::Arc;

use device::{Disks, Threads};
use runtime::Throttle;
use walk::{Globs, OwnFiles};
use wire::{Change, Removal};

use crate::model::content::ContentHints;

/// The options of a mirror run.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct Options {
    /// Reports what a run would change, but changes nothing.
    pub dry_run: bool,
    /// Deletes extraneous entries, which exist in the destination but not in the source.
    pub delete: bool,
    /// Deletes nothing if the number of entries to delete exceeds this limit.
    pub max_delete: Option<u64>,
    /// Deletes extraneous entries even if the source has nothing to mirror except directories.
    pub allow_empty: bool,
    /// Compares the contents of two files even if their sizes and modification times are equal.
    pub checksum: bool,
    /// Reads every copy back from the disk and compares it with the data that was written.
    pub verify: bool,
    /// Waits until the data of a copy is on the disk before the copy gets its final name.
    pub fsync: bool,
    /// Creates directories that are mount points of other file systems, but does not mirror their entries.
    pub one_file_system: bool,
    /// Patterns for the files to mirror. If there are none, all files are mirrored.
    pub include: Globs,
    /// Patterns for entries that are neither mirrored nor deleted.
    pub exclude: Globs,
    /// Limit on the number of bytes copied per second, shared by all files.
    pub bandwidth: Arc<Throttle>,
    /// The catalog in use, its journals and its lock. The run neither replaces nor deletes these files in the
    /// destination.
    pub own: OwnFiles,
    /// Results of earlier scans. If given, the run reuses destination files with the right content instead of copying.
    pub content_hints: Option<Arc<dyn ContentHints>>,
    /// Number of worker threads.
    pub threads: Threads,
    /// The disks of this host, with the facts that are known about each.
    pub disks: Arc<Disks>,
    /// Maximum number of directories that one worker keeps open.
    pub open_dirs: usize,
}

impl Options {
    /// Returns the set of patterns that matched something, as a bit set in the format of [`wire::FromSender::Bye`].
    pub(crate) fn matched(&self) -> u64 {
        u64::from(self.include.matched()) | u64::from(self.exclude.matched()) << 32
    }

    /// Records the patterns that matched something on the sender's host.
    pub(crate) fn note_matched(&self, matched: u64) {
        let low = |bits: u64| u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(u32::MAX);
        self.include.note_matched(low(matched));
        self.exclude.note_matched(low(matched >> 32));
    }
}

/// A callback for each change. Several threads may call it at the same time.
pub type OnChange<'a> = &'a (dyn Fn(&Change) + Sync);

/// A callback that asks the user once whether the entries may be deleted.
pub type Consent<'a> = &'a dyn Fn(&Removal) -> bool;

/// The callbacks that a run uses to report to its user and to ask questions.
#[derive(Clone, Copy, Default)]
pub struct User<'a> {
    /// Receives each change.
    pub on_change: Option<OnChange<'a>>,
    /// Is called before anything is deleted. The user is not asked if there is no callback, or in a dry run.
    pub consent: Option<Consent<'a>>,
}

impl<'a> User<'a> {
    /// Returns a user who is informed of changes and is never asked.
    pub fn reporting_to(on_change: OnChange<'a>) -> User<'a> {
        User { on_change: Some(on_change), consent: None }
    }
}
