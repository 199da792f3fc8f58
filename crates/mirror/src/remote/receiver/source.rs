//! A source on another host, accessed through a [`Session`].

use std::sync::Arc;

use device::WaitMeter;
use fsops::Stat;
use wire::{ConnectionError, ContentHint, Differences, KnownPrefix};

use crate::engine::batch::RemoteEntry;
use crate::engine::entry::Entry;
use crate::engine::task::Arrival;
use crate::engine::worker::Worker;
use crate::engine::worker::source::{ComparedFile, ContentComparison, Reuse, Source};
use crate::hardlinks::groups::Leader;
use crate::hardlinks::table::SourceInode;
use crate::model::attributes::Attributes;
use crate::model::content::{ContentCandidate, ContentHints};
use crate::model::reason::Reason;
use crate::model::settled::{DestInode, Failure, Settled};
use crate::remote::receiver::pending::{Basis, PendingRequest};
use crate::remote::receiver::session::{DirLoss, Session};
use crate::reuse::contents::Lookup;

impl Source for Session {
    fn is_local(&self) -> bool {
        false
    }

    fn stat(&self, _: &mut Worker<'_>, entry: Entry<'_>) -> Result<Stat, Failure> {
        Ok(listed(entry)?.stat)
    }

    fn attributes(&self, _: &mut Worker<'_>, entry: Entry<'_>) -> Result<Attributes, Failure> {
        Ok(listed(entry)?.attributes.clone())
    }

    fn symlink_target(&self, _: &mut Worker<'_>, entry: Entry<'_>) -> Result<Vec<u8>, Failure> {
        Ok(listed(entry)?.target.clone())
    }

    fn content_hint(
        &self,
        _: &dyn ContentHints,
        entry: Entry<'_>,
        _: &Stat,
    ) -> Option<ContentHint> {
        entry.remote?.hint.as_deref().cloned()
    }

    fn look_up_content(
        &self,
        worker: &Worker<'_>,
        entry: Entry<'_>,
        stat: &Stat,
        digest: [u8; 32],
    ) -> Lookup {
        // The names of a hard-linked file already wait for its first name, so they need not wait
        // for the same content elsewhere.
        worker.job.contents.look_up(digest, entry, stat.links < 2)
    }

    fn compare_file(
        &self,
        worker: &mut Worker<'_>,
        entry: Entry<'_>,
        with: ComparedFile<'_>,
    ) -> Result<ContentComparison, Failure> {
        let ComparedFile { file, size: length, replaces, basis } = with;
        let digest = worker.digest(file, length)?;
        let only = worker.is_dry_run(entry.dir);
        self.request_content(entry, replaces, Some(KnownPrefix { length, digest, only }), basis);
        Ok(ContentComparison::Requested)
    }

    /// Requests the file. If the destination has a prefix of the file, requests only the remaining
    /// bytes.
    fn create_file(
        &self,
        worker: &mut Worker<'_>,
        entry: Entry<'_>,
        stat: &Stat,
        replaces: Option<Differences>,
    ) -> Result<Settled, Failure> {
        if stat.size == 0 {
            return worker.create_empty(entry, stat, replaces.is_some()).map(Settled::Done);
        }
        Ok(match worker.find_prefix(entry, stat)? {
            Some((name, have)) => {
                self.request_content(entry, replaces, Some(have), Basis::Prefix(Box::new(name)))
            }
            None => self.request_content(entry, replaces, None, Basis::Absent),
        })
    }

    /// Asks the sender whether the source file has the same content as the file found at the
    /// destination.
    fn reuse_file(
        &self,
        worker: &mut Worker<'_>,
        entry: Entry<'_>,
        _: &Stat,
        Reuse { found, digest: wanted, replaces }: Reuse<'_>,
    ) -> Result<Option<Settled>, Failure> {
        let length = found.stat.size;
        let Ok(digest) = worker.digest(&found.file, length) else { return Ok(None) };
        if wanted.is_some_and(|wanted| wanted != digest) {
            return Ok(None);
        }
        let candidate = ContentCandidate { holder: found.holder.clone(), stat: found.stat };
        let have = KnownPrefix { length, digest, only: false };
        let basis = Basis::Candidate(Box::new(candidate));
        Ok(Some(self.request_content(entry, replaces, Some(have), basis)))
    }

    fn copy_again(
        &self,
        worker: &mut Worker<'_>,
        entry: Entry<'_>,
        stat: &Stat,
        leader: &Leader,
        key: SourceInode,
    ) -> Result<Option<DestInode>, Failure> {
        worker.job.link_groups.expect_copies(key);
        if worker.is_linked(entry, leader, key)? {
            return Ok(None);
        }
        worker.copy_leader(entry, stat, leader).map(Some)
    }

    fn admits(&self, worker: &Worker<'_>, entry: Entry<'_>, is_dir: bool) -> bool {
        let is_selected = worker.is_selected(entry, is_dir);
        if !is_selected {
            self.connection.break_off(ConnectionError::ProtocolViolation(
                "a name that the patterns leave out",
            ));
        }
        is_selected
    }

    fn add_dir(&self, worker: &mut Worker<'_>, entry: Entry<'_>, inode: u64) {
        worker.expect_dir(self, entry, inode);
    }

    fn count_missing_dir(&self, worker: &mut Worker<'_>, entry: Entry<'_>, inode: u64) {
        worker.give_up_dir(self, inode, &DirLoss::Failed(Arc::clone(&entry.dir.node)));
    }

    fn skip_dir(&self, worker: &mut Worker<'_>, inode: u64) {
        worker.give_up_dir(self, inode, &DirLoss::LeftOut);
    }

    fn dispatch(&self, worker: &mut Worker<'_>, arrival: &Arc<Arrival>, meter: &mut WaitMeter<'_>) {
        worker.dispatch(self, arrival, meter);
    }

    fn flush(&self, worker: &mut Worker<'_>) {
        self.connection.flush();
        worker.publish();
    }

    fn is_lost(&self) -> bool {
        self.connection.is_broken()
    }

    fn finish(&self) {
        self.connection.finish();
    }
}

impl Session {
    /// Requests the content of a file. If the source file starts with the bytes that `have`
    /// describes, the sender skips them.
    pub(crate) fn request_content(
        &self,
        entry: Entry<'_>,
        replaces: Option<Differences>,
        have: Option<KnownPrefix>,
        basis: Basis,
    ) -> Settled {
        self.request(PendingRequest { waiter: entry.waiter(), replaces, have, basis });
        Settled::Pending
    }
}

/// Returns the metadata of a name from its listing.
fn listed(entry: Entry<'_>) -> Result<&RemoteEntry, Failure> {
    entry.remote.ok_or(Failure::Failed(Reason::Changed))
}
