//! The operations that depend on where the source is.
//!
//! [`LocalSource`](crate::reconcile::local_source::LocalSource) reads the tree itself.
//! [`Session`](crate::remote::receiver::session::Session) takes metadata from the sender's listings and requests
//! content, so an operation on content may end with [`Settled::Pending`]: another worker concludes it when the content
//! has arrived.

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

/// Access to the source of a run.
pub(crate) trait Source: Sync {
    /// Returns true if the tree is on this host, so that its files can be opened.
    fn is_local(&self) -> bool;

    /// Returns the metadata of a name.
    fn stat(&self, worker: &mut Worker<'_>, entry: Entry<'_>) -> Result<Stat, Failure>;

    /// Returns the extended attributes of a name.
    fn attributes(&self, worker: &mut Worker<'_>, entry: Entry<'_>) -> Result<Attributes, Failure>;

    /// Returns the target of a symbolic link.
    fn symlink_target(&self, worker: &mut Worker<'_>, entry: Entry<'_>)
    -> Result<Vec<u8>, Failure>;

    /// Returns the content of a file according to an earlier scan.
    fn content_hint(
        &self,
        hints: &dyn ContentHints,
        entry: Entry<'_>,
        stat: &Stat,
    ) -> Option<ContentHint>;

    /// Looks up the content of `entry` among the contents that arrived in this run or were requested.
    fn look_up_content(
        &self,
        worker: &Worker<'_>,
        entry: Entry<'_>,
        stat: &Stat,
        digest: [u8; 32],
    ) -> Lookup;

    /// Compares the content of a source file with a file of the destination.
    fn compare_file(
        &self,
        worker: &mut Worker<'_>,
        entry: Entry<'_>,
        with: ComparedFile<'_>,
    ) -> Result<ContentComparison, Failure>;

    /// Creates a regular file with the content of the source.
    fn create_file(
        &self,
        worker: &mut Worker<'_>,
        entry: Entry<'_>,
        stat: &Stat,
        replaces: Option<Differences>,
    ) -> Result<Settled, Failure>;

    /// Creates a regular file from `found` if that has the content of the source. Returns `None` if it has not.
    fn reuse_file(
        &self,
        worker: &mut Worker<'_>,
        entry: Entry<'_>,
        stat: &Stat,
        reuse: Reuse<'_>,
    ) -> Result<Option<Settled>, Failure>;

    /// Creates another copy of the file that `leader` names. Returns `None` if the entry of the destination is such a
    /// copy already.
    fn copy_again(
        &self,
        worker: &mut Worker<'_>,
        entry: Entry<'_>,
        stat: &Stat,
        leader: &Leader,
        key: SourceInode,
    ) -> Result<Option<DestInode>, Failure>;

    /// Returns true if the name may be processed. Refuses a name that the patterns exclude.
    fn admits(&self, worker: &Worker<'_>, entry: Entry<'_>, is_dir: bool) -> bool;

    /// Adds a subdirectory, which the listing contains under the number `inode`.
    fn add_dir(&self, worker: &mut Worker<'_>, entry: Entry<'_>, inode: u64);

    /// Counts the content of a subdirectory that cannot be created as missing.
    fn count_missing_dir(&self, worker: &mut Worker<'_>, entry: Entry<'_>, inode: u64);

    /// Skips a subdirectory that is left out, with everything below it.
    fn skip_dir(&self, worker: &mut Worker<'_>, inode: u64);

    /// Processes an arrival.
    fn dispatch(&self, worker: &mut Worker<'_>, arrival: &Arc<Arrival>, meter: &mut WaitMeter<'_>);

    /// Sends pending messages, and publishes the tasks in the worker's outbox.
    fn flush(&self, worker: &mut Worker<'_>);

    /// Returns true if the connection to the source is lost.
    fn is_lost(&self) -> bool;

    /// Ends the conversation: the top directory is finished.
    fn finish(&self);
}

/// A file of the destination to compare with a source file.
pub(crate) struct ComparedFile<'a> {
    pub(crate) file: &'a File,
    /// Size of both files in bytes.
    pub(crate) size: u64,
    /// Differences of the entry that a new file would replace.
    pub(crate) replaces: Option<Differences>,
    /// Use of the file if the contents are the same.
    pub(crate) basis: Basis,
}

/// A file of the destination that may have the content of a source file.
pub(crate) struct Reuse<'a> {
    pub(crate) found: &'a FoundFile,
    /// Digest of the source's content according to an earlier scan.
    pub(crate) digest: Option<[u8; 32]>,
    /// Differences of the entry that the new file replaces.
    pub(crate) replaces: Option<Differences>,
}

/// The result of comparing a source file with a file of the destination.
pub(crate) enum ContentComparison {
    Same,
    Different,
    /// The sender compares. It sends the content if it differs.
    Requested,
}
