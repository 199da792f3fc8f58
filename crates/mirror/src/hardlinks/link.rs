//! Links a name to what another name of the same file became.

use std::io;
use std::sync::PoisonError;

use fsops::{FileKey, Kind, Op, Stat};

use crate::engine::dir_cache::Side;
use crate::engine::entry::Name;
use crate::engine::worker::Worker;
use crate::hardlinks::groups::Known;
use crate::hardlinks::groups::Leader;
use crate::hardlinks::groups::leader;
use crate::hardlinks::table::Key;
use crate::model::change::Differs;
use crate::model::change::Made;
use crate::model::change::What;
use crate::model::settled::Failure;
use crate::model::settled::Settled;
use crate::model::settled::destination;
use crate::outcome::Outcome;
use crate::reconcile::put_in_place::is_taken;

impl Worker<'_> {
    /// Has a name be one of the leader's file, or of another copy where there can be no more names of that;
    /// `stat` is the source's metadata if that is known already.
    pub(crate) fn link_or_copy(
        &mut self,
        name: Name<'_>,
        key: Key,
        leader: &Leader,
        stat: Option<&Stat>,
    ) {
        let linked = self.link(name, key, leader, stat);
        self.job.links.seen(key);
        self.done(name, linked.err().flatten());
    }

    fn link(
        &mut self,
        name: Name<'_>,
        key: Key,
        leader: &Leader,
        stat: Option<&Stat>,
    ) -> Result<(), Failure> {
        if let Some(there) = name.there {
            if there.kind == Kind::Dir {
                self.may_give_way(name)?;
            } else if self.is_linked(name, leader, key)? {
                return Ok(());
            }
        }
        if !self.imagines(name.site) {
            match self.try_to_link(name, leader) {
                Ok(()) => {}
                Err(e) if is_taken(&e) => {
                    let to = self.open(Side::Destination, &name.site.node);
                    let to = to.map_err(destination(Op::Open))?;
                    return Err(self.not_made(name, &to, Op::Link, e));
                }
                Err(e) if is_full(&e) => return self.copy_again(name, key, leader, stat),
                Err(e) => return Err(destination(Op::Link)(e)),
            }
        }
        self.was_linked(name, leader);
        Ok(())
    }

    fn was_linked(&mut self, name: Name<'_>, leader: &Leader) {
        let to = self.job.tell.map(|_| leader.node.child_path(leader.name.as_bytes()));
        let differs = Differs { links: name.there.is_some(), ..Differs::default() };
        self.note(name, Made { what: What::Linked, kind: Kind::File, size: 0, to, differs });
    }

    /// Returns whether what is there is the leader's file already, or another copy of one that has too many
    /// names.
    fn is_linked(&mut self, name: Name<'_>, leader: &Leader, key: Key) -> Result<bool, Failure> {
        let Some(there) = name.there else { return Ok(false) };
        let dir = self.open(Side::Destination, &name.site.node).map_err(destination(Op::Open))?;
        let mut there =
            FileKey { device: name.site.node.device_there().unwrap_or(0), inode: there.inode };
        if !name.site.manner.there_tells_inodes {
            let Ok(now) = dir.stat_child(name.name) else { return Ok(false) };
            there = now.key();
        }
        let leading = self.key_of_leader(name, leader);
        let links = &self.job.links;
        if Some(there) == leading || links.is_copy(key, there) {
            return Ok(true);
        }
        if !links.is_split(key) {
            return Ok(false);
        }
        let stat = self.source_stat(name)?;
        let Ok(now) = dir.stat_child(name.name) else { return Ok(false) };
        let is_alike = !self.compare(name, &stat, &now)?.at_all()
            && self.reads_like_leader(name, leader, &stat)?;
        Ok(is_alike && links.take_for_copy(key, now.key(), &self.job.claimed))
    }

    /// Returns which inode the leader is: where listings do not tell the right ones, files may be on another device
    /// than the directory that they are in.
    fn key_of_leader(&mut self, name: Name<'_>, leader: &Leader) -> Option<FileKey> {
        if name.site.manner.there_tells_inodes {
            return Some(leader.key());
        }
        let dir = self.open(Side::Destination, &leader.node).ok()?;
        dir.stat_child(&leader.name).ok().map(|stat| stat.key())
    }

    /// Returns whether a name has the content of the leader's file, if contents count and the source is on another
    /// host: with that the leader was compared.
    fn reads_like_leader(
        &mut self,
        name: Name<'_>,
        leader: &Leader,
        stat: &Stat,
    ) -> Result<bool, Failure> {
        let counts = self.job.options.checksum && name.record.is_some() && stat.size > 0;
        if !counts || stat.kind != Kind::File {
            return Ok(true);
        }
        let opened = |dir: std::rc::Rc<fsops::Dir>, name| dir.open_regular(name);
        let failed = || destination(Op::Open);
        let there = self.open(Side::Destination, &name.site.node).map_err(failed())?;
        let there = opened(there, name.name).map_err(failed())?;
        let leading = self.open(Side::Destination, &leader.node).map_err(failed())?;
        let leading = opened(leading, &leader.name).map_err(failed())?;
        Ok(!self.unlike(&leading, &there, stat.size)?)
    }

    fn try_to_link(&mut self, name: Name<'_>, leader: &Leader) -> io::Result<()> {
        let to = self.open(Side::Destination, &name.site.node)?;
        let from = self.open(Side::Destination, &leader.node)?;
        self.put_link(name, &to, name.there.is_some(), &from, &leader.name)
    }

    /// Begins another copy of a file that can have no more names, or not this one; further names are
    /// linked to that.
    fn copy_again(
        &mut self,
        name: Name<'_>,
        key: Key,
        before: &Leader,
        stat: Option<&Stat>,
    ) -> Result<(), Failure> {
        // One at a time, or each worker begins a copy of its own.
        let job = self.job;
        let _turn = job.splitting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Known::Yes(now) = job.links.look(key)
            && !now.is(before)
            && self.try_to_link(name, &now).is_ok()
        {
            self.was_linked(name, &now);
            return Ok(());
        }
        let stat = match stat {
            Some(stat) => *stat,
            None => self.source_stat(name)?,
        };
        let copies = |outcome: &Outcome| outcome.files + outcome.symlinks + outcome.specials;
        let before_this = copies(&self.outcome);
        if name.record.is_some() {
            // What is there may be a copy of its own already.
            job.links.expect_split(key);
            if self.is_linked(name, before, key)? {
                return Ok(());
            }
        }
        let inode = if name.record.is_some() {
            self.copy_leader(name, &stat, before)?
        } else {
            self.at_once = true;
            let settled = self.settle(name, &stat);
            self.at_once = false;
            self.ahead = 0;
            match settled? {
                Settled::Is(inode) => inode,
                Settled::Asked => return Err(None),
            }
        };
        let next = leader(&name.site.node, &name.called_there(&job.parts), inode, &stat);
        job.links.lead(key, &next, before.key());
        self.outcome.split += copies(&self.outcome) - before_this;
        Ok(())
    }
}

/// Returns whether another name of the file cannot be made here, and one of another copy can.
fn is_full(error: &io::Error) -> bool {
    let number = error.raw_os_error();
    // The leader may also have been removed by somebody.
    [libc::EMLINK, libc::EXDEV, libc::ENOENT].map(Some).contains(&number)
}
