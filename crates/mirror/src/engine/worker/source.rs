//! The operations whose implementation depends on whether the source is local or remote.
//!
//! [`LocalSource`](crate::reconcile::local_source::LocalSource) reads the tree directly.
//! [`Session`](crate::remote::receiver::session::Session) takes metadata from the sender's listings and requests file
//! contents over the connection. An operation that needs a file's content may therefore return [`Settled::Pending`].
//! Another worker completes the operation once the content has arrived.

use std::sync::Arc;

use device::WaitMeter;
use fsops::{File, Stat};
use wire::{ContentHint, Differences};

use super::Worker;
use crate::engine::entry::Entry;
use crate::engine::task::Arrival;
use crate::hardlinks::groups::Leader;
use crate::hardlinks::table::SourceInode;
use crate::model::attributes::Attributes;
use crate::model::content::{ContentHints, FoundFile};
use crate::model::settled::{DestInode, Failure, Settled};
use crate::remote::receiver::pending::Basis;
use crate::reuse::contents::Lookup;

/// Access to the source of a run. The methods that deal with a connection do nothing by default.
pub(crate) trait Source: Sync {
    /// Returns true if the source is on this host, so that its files can be opened.
    fn is_local(&self) -> bool;

    /// Returns the metadata of an entry.
    fn stat(&self, worker: &mut Worker<'_>, entry: Entry<'_>) -> Result<Stat, Failure>;

    /// Returns the extended attributes of an entry.
    fn attributes(&self, worker: &mut Worker<'_>, entry: Entry<'_>) -> Result<Attributes, Failure>;

    /// Returns the target of a symbolic link.
    fn symlink_target(&self, worker: &mut Worker<'_>, entry: Entry<'_>)
    -> Result<Vec<u8>, Failure>;

    /// Returns what an earlier scan recorded about the content of a file.
    fn content_hint(
        &self,
        hints: &dyn ContentHints,
        entry: Entry<'_>,
        stat: &Stat,
    ) -> Option<ContentHint>;

    /// Searches the contents that were received or requested in this run for the content of `entry`.
    fn look_up_content(
        &self,
        worker: &Worker<'_>,
        entry: Entry<'_>,
        stat: &Stat,
        digest: [u8; 32],
    ) -> Lookup;

    /// Compares the content of a source file with the content of a destination file.
    fn compare_file(
        &self,
        worker: &mut Worker<'_>,
        entry: Entry<'_>,
        with: ComparedFile<'_>,
    ) -> Result<ContentComparison, Failure>;

    /// Creates a regular file with the content of the source file.
    fn create_file(
        &self,
        worker: &mut Worker<'_>,
        entry: Entry<'_>,
        stat: &Stat,
        replaces: Option<Differences>,
    ) -> Result<Settled, Failure>;

    /// Creates a regular file from `found` if it has the content of the source file. Returns `None` if the contents
    /// differ.
    fn reuse_file(
        &self,
        worker: &mut Worker<'_>,
        entry: Entry<'_>,
        stat: &Stat,
        reuse: Reuse<'_>,
    ) -> Result<Option<Settled>, Failure>;

    /// Creates another copy of the file that `leader` names. Returns `None` if the destination already has such a copy
    /// under this name.
    fn copy_again(
        &self,
        worker: &mut Worker<'_>,
        entry: Entry<'_>,
        stat: &Stat,
        leader: &Leader,
        key: SourceInode,
    ) -> Result<Option<DestInode>, Failure>;

    /// Returns true if the name may be processed. A name that the patterns exclude is refused.
    fn admits(&self, _worker: &Worker<'_>, _entry: Entry<'_>, _is_dir: bool) -> bool {
        true
    }

    /// Adds a subdirectory. The listing refers to it by the number `inode`.
    fn add_dir(&self, worker: &mut Worker<'_>, entry: Entry<'_>, inode: u64);

    /// Counts everything in a subdirectory as missing, because the subdirectory cannot be created.
    fn count_missing_dir(&self, worker: &mut Worker<'_>, entry: Entry<'_>, inode: u64);

    /// Skips a subdirectory that is left out, including everything below it.
    fn skip_dir(&self, _worker: &mut Worker<'_>, _inode: u64) {}

    /// Processes an arrival from the sender.
    fn dispatch(&self, _: &mut Worker<'_>, _: &Arc<Arrival>, _: &mut WaitMeter<'_>) {}

    /// Sends pending messages and publishes the tasks in the worker's outbox.
    fn flush(&self, _worker: &mut Worker<'_>) {}

    /// Returns true if the connection to the source is lost.
    fn is_lost(&self) -> bool {
        false
    }

    /// Ends the conversation with the sender after the top directory is finished.
    fn finish(&self) {}
}

/// A destination file to compare with a source file.
pub(crate) struct ComparedFile<'a> {
    pub(crate) file: &'a File,
    /// Size of both files in bytes.
    pub(crate) size: u64,
    /// Differences between the source file and the destination entry that a new file would replace.
    pub(crate) replaces: Option<Differences>,
    /// Purpose of the destination file if the contents are the same.
    pub(crate) basis: Basis,
}

/// A destination file that may have the content of a source file.
pub(crate) struct Reuse<'a> {
    pub(crate) found: &'a FoundFile,
    /// Digest of the source file according to an earlier scan.
    pub(crate) digest: Option<[u8; 32]>,
    /// Differences between the source file and the destination entry that the new file replaces.
    pub(crate) replaces: Option<Differences>,
}

/// The result of comparing a source file with a destination file.
pub(crate) enum ContentComparison {
    Same,
    Different,
    /// The sender compares the contents, and sends the source file if they differ.
    Requested,
}
