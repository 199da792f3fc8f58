//! Links names to the leader of their file, and makes another copy of a file that reached the link limit.

use std::io;

use fsops::{FileKey, Kind, Op, Stat};

use crate::engine::dir_cache::Side;
use crate::engine::entry::Entry;
use crate::engine::worker::Worker;
use crate::hardlinks::groups::{GroupState, Leader};
use crate::hardlinks::table::SourceInode;
use crate::model::change::CreatedEntry;
use crate::model::settled::{Failure, destination};
use crate::outcome::Outcome;
use crate::reconcile::put_in_place::name_exists;
use wire::{Action, Differences};

impl Worker<'_> {
    /// Links a name to the leader, or to another copy if the leader cannot have more names. `stat` is the metadata of
    /// the source file.
    pub(crate) fn link_or_copy(
        &mut self,
        entry: Entry<'_>,
        key: SourceInode,
        leader: &Leader,
        stat: &Stat,
    ) {
        let linked = self.link(entry, key, leader, stat);
        self.job.link_groups.name_done(key);
        self.record_done(entry, linked.err());
    }

    fn link(
        &mut self,
        entry: Entry<'_>,
        key: SourceInode,
        leader: &Leader,
        stat: &Stat,
    ) -> Result<(), Failure> {
        if let Some(dest) = entry.dest {
            if dest.kind == Kind::Dir {
                self.check_replaceable(entry)?;
            } else if self.is_linked(entry, leader, key)? {
                return Ok(());
            }
        }
        if !self.is_dry_run(entry.dir) {
            match self.try_to_link(entry, leader) {
                Ok(()) => {}
                Err(e) if name_exists(&e) => {
                    let to = self.open(Side::Destination, &entry.dir.node);
                    let to = to.map_err(destination(Op::Open))?;
                    return Err(self.creation_failure(entry, &to, Op::Link, e));
                }
                Err(e) if is_at_link_limit(&e) => return self.copy_again(entry, key, leader, stat),
                Err(e) => return Err(destination(Op::Link)(e)),
            }
        }
        self.record_linked(entry, leader);
        Ok(())
    }

    fn record_linked(&mut self, entry: Entry<'_>, leader: &Leader) {
        let to = self.job.on_change.map(|_| leader.node.child_path(leader.name.as_bytes()));
        let differences = Differences { links: entry.dest.is_some(), ..Differences::default() };
        self.record_made(
            entry,
            CreatedEntry { action: Action::Linked, kind: Kind::File, size: 0, to, differences },
        );
    }

    /// Returns whether the destination's entry is already a link to the leader's file, or to another copy of a file
    /// that exceeds the link limit.
    pub(crate) fn is_linked(
        &mut self,
        entry: Entry<'_>,
        leader: &Leader,
        key: SourceInode,
    ) -> Result<bool, Failure> {
        let Some(dest) = entry.dest else { return Ok(false) };
        let dir = self.open(Side::Destination, &entry.dir.node).map_err(destination(Op::Open))?;
        let mut dest =
            FileKey { device: entry.dir.node.dest_device().unwrap_or(0), inode: dest.inode };
        if !entry.dir.traits.dest_lists_inodes {
            let Ok(now) = dir.stat_child(entry.name) else { return Ok(false) };
            dest = now.key();
        }
        let leading = self.key_of_leader(entry, leader);
        let links = &self.job.link_groups;
        if Some(dest) == leading || links.is_copy(key, dest) {
            return Ok(true);
        }
        if !links.has_copies(key) {
            return Ok(false);
        }
        let stat = self.source.stat(self, entry)?;
        let Ok(now) = dir.stat_child(entry.name) else { return Ok(false) };
        let is_equal = !self.compare(entry, &stat, &now)?.any()
            && self.reads_like_leader(entry, leader, &stat)?;
        Ok(is_equal && links.adopt_copy(key, now.key(), &self.job.claimed_inodes))
    }

    /// Returns the key of the leader's inode. Looks it up if directory listings have no reliable inode numbers, because
    /// files may then be on a different device than their directory.
    fn key_of_leader(&mut self, entry: Entry<'_>, leader: &Leader) -> Option<FileKey> {
        if entry.dir.traits.dest_lists_inodes {
            return Some(leader.key());
        }
        let dir = self.open(Side::Destination, &leader.node).ok()?;
        dir.stat_child(&leader.name).ok().map(|stat| stat.key())
    }

    /// Returns whether an entry has the same content as the leader. This matters for `--checksum` with a remote source,
    /// where only the leader was compared with the source.
    fn reads_like_leader(
        &mut self,
        entry: Entry<'_>,
        leader: &Leader,
        stat: &Stat,
    ) -> Result<bool, Failure> {
        let counts = self.job.options.checksum && !self.source.is_local() && stat.size > 0;
        if !counts || stat.kind != Kind::File {
            return Ok(true);
        }
        let opened = |dir: std::rc::Rc<fsops::Dir>, entry| dir.open_regular(entry);
        let failed = || destination(Op::Open);
        let dest = self.open(Side::Destination, &entry.dir.node).map_err(failed())?;
        let dest = opened(dest, entry.name).map_err(failed())?;
        let leading = self.open(Side::Destination, &leader.node).map_err(failed())?;
        let leading = opened(leading, &leader.name).map_err(failed())?;
        Ok(!self.contents_differ(&leading, &dest, stat.size)?)
    }

    fn try_to_link(&mut self, entry: Entry<'_>, leader: &Leader) -> io::Result<()> {
        let to = self.open(Side::Destination, &entry.dir.node)?;
        let from = self.open(Side::Destination, &leader.node)?;
        self.link_under(entry, &to, entry.dest.is_some(), &from, &leader.name)
    }

    /// Makes another copy of a file, because the leader cannot have this name or any more names. The remaining names
    /// are linked to the new copy.
    fn copy_again(
        &mut self,
        entry: Entry<'_>,
        key: SourceInode,
        before: &Leader,
        stat: &Stat,
    ) -> Result<(), Failure> {
        // Only one worker at a time does this. Otherwise each worker would make its own copy.
        let job = self.job;
        let _turn = job.second_copy_lock.lock();
        if let GroupState::Placed(now) = job.link_groups.state(key)
            && !now.is(before)
            && self.try_to_link(entry, &now).is_ok()
        {
            self.record_linked(entry, &now);
            return Ok(());
        }
        let copies = |outcome: &Outcome| {
            outcome.counts.files + outcome.counts.symlinks + outcome.counts.specials
        };
        let before_this = copies(&self.outcome);
        let Some(inode) = self.source.copy_again(self, entry, stat, before, key)? else {
            return Ok(());
        };
        let next =
            Leader::new(&entry.dir.node, &entry.provisional_name(&job.temp_names), inode, stat);
        job.link_groups.set_leader(key, &next, before.key());
        self.outcome.counts.link_limit_copies += copies(&self.outcome) - before_this;
        Ok(())
    }
}

/// Returns whether an error means that the leader cannot have this name, but another copy might.
fn is_at_link_limit(error: &io::Error) -> bool {
    let number = error.raw_os_error();
    // `ENOENT` means that another process removed the leader.
    [libc::EMLINK, libc::EXDEV, libc::ENOENT].map(Some).contains(&number)
}
