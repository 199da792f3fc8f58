//! What a run mirrors and how, and whom it reports to.

use std::sync::Arc;

use device::{Disks, Threads};
use runtime::Throttle;
use walk::{Globs, OwnFiles};
use wire::{Change, Removal};

use crate::model::content::ContentHints;

/// The choices of a mirror run.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct Options {
    /// Changes nothing, and reports what a run would change.
    pub dry_run: bool,
    /// Deletes extraneous entries: those that the destination has and the source does not.
    pub delete: bool,
    /// Deletes nothing at all if more entries than this would be deleted.
    pub max_delete: Option<u64>,
    /// Deletes extraneous entries even if the source has nothing to mirror, or only directories.
    pub allow_empty: bool,
    /// Compares contents even if size and modification time are equal.
    pub checksum: bool,
    /// Reads every copy back from the disk and compares it.
    pub verify: bool,
    /// Waits until every copy is on the disk before the copy gets its name.
    pub fsync: bool,
    /// Creates directories that are mount points of other file systems, but does not mirror their content.
    pub one_file_system: bool,
    /// Patterns of the files to mirror; all files if there are no patterns.
    pub include: Globs,
    /// Patterns of the entries that are neither mirrored nor deleted.
    pub exclude: Globs,
    /// Limits the bytes copied per second, over all files together.
    pub bandwidth: Arc<Throttle>,
    /// Lop's own files. The run neither replaces nor deletes them in the destination.
    pub own: OwnFiles,
    /// What an earlier scan knows of contents. If given, files that the destination already has are reused.
    pub content_hints: Option<Arc<dyn ContentHints>>,
    /// The number of worker threads.
    pub threads: Threads,
    /// The disks, and what is known of each.
    pub disks: Arc<Disks>,
    /// The most directories that one worker keeps open.
    pub open_dirs: usize,
}

impl Options {
    /// Returns which patterns matched something, in the bits of [`wire::FromSender::Bye`].
    pub(crate) fn matched(&self) -> u64 {
        u64::from(self.include.matched()) | u64::from(self.exclude.matched()) << 32
    }

    /// Notes which patterns matched something on the sender's side.
    pub(crate) fn note_matched(&self, matched: u64) {
        let low = |bits: u64| u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(u32::MAX);
        self.include.note_matched(low(matched));
        self.exclude.note_matched(low(matched >> 32));
    }
}

/// A callback for each change. Several threads call it at once.
pub type OnChange<'a> = &'a (dyn Fn(&Change) + Sync);

/// A question to the user, asked once, whether the entries may be deleted.
pub type Consent<'a> = &'a dyn Fn(&Removal) -> bool;

/// How a run reports to its user, and asks.
#[derive(Clone, Copy, Default)]
pub struct User<'a> {
    /// Receives each change.
    pub on_change: Option<OnChange<'a>>,
    /// Answers before anything is deleted. Without it, and in a dry run, nobody is asked.
    pub consent: Option<Consent<'a>>,
}

impl<'a> User<'a> {
    /// Returns a user who receives changes and is not asked.
    pub fn reporting_to(on_change: OnChange<'a>) -> User<'a> {
        User { on_change: Some(on_change), consent: None }
    }
}
