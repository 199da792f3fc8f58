//! What a caller of a mirror run decides, and whom it reports to.

use std::sync::Arc;

use device::{Disks, Threads};
use runtime::Throttle;
use walk::{Globs, Own};

use crate::model::change::Change;
use crate::model::content::ContentHints;
use crate::outcome::Removal;

/// How to mirror.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct Options {
    /// Change nothing; tell what would be changed.
    pub dry_run: bool,
    /// Remove what the source has not.
    pub delete: bool,
    /// Remove nothing at all if it were more entries than this.
    pub max_delete: Option<u64>,
    /// Remove what the source has not even if there is nothing in the source that is mirrored.
    pub allow_empty: bool,
    /// Compare contents also where size and time of modification are equal.
    pub checksum: bool,
    /// Read every copy back from the disk and compare it.
    pub verify: bool,
    /// Wait until every copy is on the disk before it gets its name.
    pub fsync: bool,
    /// Make directories that other file systems are mounted on, but not what is in them.
    pub one_file_system: bool,
    /// Files that are mirrored; all if there are none.
    pub include: Globs,
    /// What is neither mirrored nor removed.
    pub exclude: Globs,
    /// Bytes that may be copied in a second, of all files together.
    pub bandwidth: Arc<Throttle>,
    /// Lop's own files, which are neither replaced nor removed in the destination.
    pub own: Own,
    /// What is remembered of contents, if those that the destination has are to be reused.
    pub content_hints: Option<Arc<dyn ContentHints>>,
    /// Workers.
    pub threads: Threads,
    /// The devices, and what is known of them.
    pub disks: Arc<Disks>,
    /// Descriptors that a worker may keep open.
    pub open_dirs: usize,
}

impl Options {
    /// Returns which patterns have matched something, as [`wire::FromSender::Bye`] says it.
    pub(crate) fn matched(&self) -> u64 {
        u64::from(self.include.matched()) | u64::from(self.exclude.matched()) << 32
    }

    /// Notes which patterns have matched something on the other side.
    pub(crate) fn note_matched(&self, matched: u64) {
        let low = |bits: u64| u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(u32::MAX);
        self.include.note_matched(low(matched));
        self.exclude.note_matched(low(matched >> 32));
    }
}

/// Who is told of each change; called by several threads.
pub type OnChange<'a> = &'a (dyn Fn(&Change) + Sync);

/// Who is asked, once, whether this may be removed.
pub type Consent<'a> = &'a dyn Fn(&Removal) -> bool;

/// Who mirrors, as far as they want to be told and asked.
#[derive(Clone, Copy, Default)]
pub struct User<'a> {
    /// Told of each change.
    pub on_change: Option<OnChange<'a>>,
    /// Asked before anything is removed; nobody, if that is given. Nothing is asked in a dry run.
    pub consent: Option<Consent<'a>>,
}

impl<'a> User<'a> {
    /// Returns one who is told and not asked.
    pub fn reporting_to(on_change: OnChange<'a>) -> User<'a> {
        User { on_change: Some(on_change), consent: None }
    }
}
