//! What becomes of one name: it stays, is linked, is adjusted, or is made anew.

use std::ffi::CStr;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use fsops::{Dir, Kind, Op, Stat};
use wire::{Broken, LeftOut};

use crate::engine::batch::Listed;
use crate::engine::dir_cache::Side;
use crate::engine::dir_state::Shared;
use crate::engine::dir_state::Site;
use crate::engine::dir_state::Waiter;
use crate::engine::entry::Name;
use crate::engine::worker::Worker;
use crate::hardlinks::groups::Known;
use crate::hardlinks::groups::born;
use crate::hardlinks::groups::leader;
use crate::hardlinks::table::Key;
use crate::model::change::Differs;
use crate::model::change::Made;
use crate::model::dir_node::IMAGINED;
use crate::model::dir_node::Node;
use crate::model::dir_node::TOUCHED;
use crate::model::reason::Reason;
use crate::model::selection::is_store;
use crate::model::selection::takes;
use crate::model::settled::Failure;
use crate::model::settled::Settled;
use crate::model::settled::destination;
use crate::remote::receiver::pending::Basis;
use crate::remote::receiver::session::Lost;

impl Worker<'_> {
    /// Deals with a name that was listed.
    pub(crate) fn deal_with(&mut self, shared: &Arc<Shared>, index: usize) {
        let Listed { inode, is_dir, .. } = shared.window.get(index);
        let name = Name::of(shared, index);
        if let Some(far) = &self.job.far
            && !self.is_taken(name, is_dir)
        {
            return far.connection.break_off(Broken::Nonsense("a name that is to be left out"));
        }
        if self.is_own(&name.site.node, name.name) {
            return self.leave_own(name, (inode, is_dir));
        }
        if is_dir {
            return self.add_child(name, inode);
        }
        self.outcome.has_files = true;
        let inode = name.site.manner.tells_inodes.then_some(inode);
        self.put(name, inode);
    }

    /// Returns whether this name in the destination belongs to lop itself, whether the file exists or not.
    pub(crate) fn is_own(&self, node: &Node, name: &CStr) -> bool {
        let there = node.facts().and_then(|facts| facts.there);
        there.is_some_and(|there| self.job.options.own.has(there.key(), name.to_bytes()))
    }

    /// Leaves out a name that belongs to lop itself.
    fn leave_own(&mut self, name: Name<'_>, (inode, is_dir): (u64, bool)) {
        if let Some(far) = self.job.far.clone().filter(|_| is_dir) {
            self.lose(&far, inode, &Lost::LeftOut);
        }
        self.outcome.names += 1;
        let path = || name.site.node.child_path(name.name.to_bytes());
        self.outcome.leave_out(LeftOut::Catalog, path);
    }

    /// Returns whether something of this name is to be mirrored, or to be removed.
    fn is_taken(&self, name: Name<'_>, is_dir: bool) -> bool {
        let bytes = name.name.to_bytes();
        takes(self.job.options, bytes, || name.site.node.child_path(bytes), is_dir)
    }

    /// Notes a directory in a directory.
    fn add_child(&mut self, name: Name<'_>, inode: u64) {
        let far = self.job.far.clone();
        let instead = name.there.is_some() && !name.is_obstructed();
        let is_free = if instead { self.may_give_way(name) } else { self.must_be_free(name) };
        if let Err(failure) = is_free {
            match &far {
                Some(far) => self.lose(far, inode, &Lost::Failed(Arc::clone(&name.site.node))),
                None => self.count_missing(&name.site.node.child_path(name.name.to_bytes())),
            }
            return self.done(name, failure);
        }
        self.take_over(name);
        if let Some(far) = &far {
            self.expect(far, name, inode);
        } else {
            name.site.add_child(name.name, inode, name.there);
        }
        self.outcome.names += 1;
    }

    /// Deals with names that waited for others.
    pub(crate) fn deal_with_later(&mut self) {
        while let Some(waiter) = self.later.pop() {
            self.deal_with_waiter(&waiter);
        }
    }

    pub(crate) fn deal_with_waiter(&mut self, waiter: &Waiter) {
        let Waiter { shared, index } = waiter;
        self.put(Name::of(shared, *index), None);
        self.leave(&shared.site);
    }

    /// Has the destination get a name that is no directory; `inode` is the number that the listing gave.
    pub(crate) fn put(&mut self, name: Name<'_>, inode: Option<u64>) {
        let key = |inode| Key { device: name.site.manner.device, inode };
        if let Some(key) = inode.map(key) {
            match self.job.links.look(key) {
                Known::Yes(leader) if self.sure == Some(key) => {
                    return self.link_or_copy(name, key, &leader, None);
                }
                Known::Busy => return self.wait(name, key),
                Known::Yes(_) | Known::No => {}
            }
        }
        let stat = match self.source_stat(name) {
            Ok(stat) => stat,
            Err(failure) => return self.done(name, failure),
        };
        if stat.kind == Kind::Dir {
            return self.add_child(name, stat.inode);
        }
        if stat.links < 2 {
            let settled = self.settle(name, &stat);
            return self.conclude(name, &stat, settled);
        }
        self.put_linked(name, key(stat.inode), &stat);
    }

    /// Has the destination get a name of a file that has several.
    fn put_linked(&mut self, name: Name<'_>, key: Key, stat: &Stat) {
        match self.job.links.begin(key, born(stat)) {
            Known::Yes(leader) => {
                self.sure = Some(key);
                return self.link_or_copy(name, key, &leader, Some(stat));
            }
            Known::Busy => return self.wait(name, key),
            Known::No => {}
        }
        self.sure = Some(key);
        let settled = self.settle(name, stat);
        self.conclude(name, stat, settled);
    }

    /// Ends what was begun with a name, unless its content comes later.
    pub(crate) fn conclude(
        &mut self,
        name: Name<'_>,
        stat: &Stat,
        settled: Result<Settled, Failure>,
    ) {
        let settled = match settled {
            Ok(Settled::Asked) => return,
            Ok(Settled::Is(inode)) => Ok(inode),
            Err(failure) => Err(failure),
        };
        self.note_content(name, settled.is_ok());
        if stat.kind == Kind::File {
            let rest = stat.size.saturating_sub(std::mem::take(&mut self.ahead));
            self.job.progress.bytes_done.fetch_add(rest, Relaxed);
        }
        if stat.links < 2 {
            return self.done(name, settled.err().flatten());
        }
        let key = Key { device: name.site.manner.device, inode: stat.inode };
        let waiters = match settled {
            Ok(inode) => {
                let leader =
                    leader(&name.site.node, &name.called_there(&self.job.parts), inode, stat);
                if stat.links > name.site.manner.most_links {
                    self.job.links.expect_split(key);
                }
                let waiters = self.job.links.ready(key, &leader, stat.links - 1);
                self.done(name, None);
                waiters
            }
            Err(failure) => {
                self.done(name, failure);
                self.job.links.give_up(key)
            }
        };
        self.later.extend(waiters);
    }

    fn wait(&mut self, name: Name<'_>, key: Key) {
        self.later.extend(self.job.links.wait(key, name.waiter()));
    }

    /// Counts a name that was dealt with.
    pub(crate) fn done(&mut self, name: Name<'_>, failure: Failure) {
        self.outcome.names += 1;
        if let Some(reason) = failure {
            self.fail(&name.site.node, name.name.to_bytes(), reason);
        }
    }

    /// Has the destination get what has these metadata under this name.
    pub(crate) fn settle(&mut self, name: Name<'_>, stat: &Stat) -> Result<Settled, Failure> {
        match name.there {
            None => self.make(name, stat, None),
            Some(there) if there.kind == Kind::Dir => {
                self.may_give_way(name)?;
                let differs = Differs { kind: true, ..Differs::default() };
                self.make(name, stat, Some(differs))
            }
            Some(_) => self.renew(name, stat),
        }
    }

    /// Fails unless what the destination has of a name may be removed, as something of another kind is to take its
    /// place: a directory only with `--delete`, and nothing that is left out.
    pub(crate) fn may_give_way(&self, name: Name<'_>) -> Result<(), Failure> {
        let Some(there) = name.there else { return Ok(()) };
        let is_dir = there.kind == Kind::Dir;
        if is_dir && !self.job.options.delete {
            return Err(Some(Reason::Obstructed));
        }
        match (self.is_taken(name, is_dir), is_dir) {
            (true, _) => Ok(()),
            (false, false) => Err(Some(Reason::Excluded)),
            (false, true) if is_store(name.name.to_bytes()) => {
                Err(Some(purge::Reason::Store.into()))
            }
            (false, true) => Err(Some(Reason::HoldsExcluded)),
        }
    }

    /// Compares what is there with the source, and makes it alike.
    fn renew(&mut self, name: Name<'_>, stat: &Stat) -> Result<Settled, Failure> {
        let failed = |source| Some(Reason::Destination { op: Op::Stat, source });
        let dir = self.open(Side::Destination, &name.site.node).map_err(failed)?;
        let now = match dir.stat_child(name.name) {
            Ok(now) => now,
            Err(e) if e.kind() == ErrorKind::NotFound => return self.make(name, stat, None),
            Err(e) => return Err(failed(e)),
        };
        if now.kind == Kind::Dir {
            return Err(Some(Reason::Obstructed));
        }
        let mut differs = self.compare(name, stat, &now)?;
        // Its other names may be those of another file, or outside.
        let shared = now.links > 1;
        // A file that another name could take has to be known as one that stays.
        let may_be_taken = self.job.options.memory.is_some() && stat.kind == Kind::File;
        let claims = shared || may_be_taken;
        differs.links = claims && !self.job.claimed.claim(now.key());
        let mut anew = differs.kind || differs.content || differs.links;
        if shared && differs.at_all() && !anew && !differs.time {
            let has = dir.child_xattrs(name.name).map_err(destination(Op::Read))?;
            if self.would_be_no_better(name, stat, &now, has)? {
                return Ok(Settled::Is(now.inode));
            }
        }
        anew |= shared && differs.at_all();
        if !anew && differs.time && self.may_reuse(name, stat) {
            return self.renew_time(name, stat, (&dir, now), differs);
        }
        if anew || differs.time && stat.kind == Kind::File {
            return self.make(name, stat, Some(differs));
        }
        if self.job.options.checksum
            && name.record.is_some()
            && stat.kind == Kind::File
            && stat.size > 0
        {
            let basis = Basis::There(Box::new((now, differs)));
            let instead = Some(Differs { content: true, ..differs });
            return self.ask_whether_like(name, &dir, stat.size, instead, basis);
        }
        if differs.at_all() {
            self.adjust(name, stat, &now, differs)?;
        }
        Ok(Settled::Is(now.inode))
    }

    /// Gives a file its time, if that and other metadata is all that it lacks.
    fn renew_time(
        &mut self,
        name: Name<'_>,
        stat: &Stat,
        (dir, now): (&Dir, Stat),
        differs: Differs,
    ) -> Result<Settled, Failure> {
        if name.record.is_some() {
            let basis = Basis::There(Box::new((now, differs)));
            return self.ask_whether_like(name, dir, stat.size, Some(differs), basis);
        }
        if self.reads_differently(name, dir, stat.size)? {
            return self.make(name, stat, Some(differs));
        }
        self.adjust(name, stat, &now, differs)?;
        Ok(Settled::Is(now.inode))
    }

    /// Counts a name that was made, and tells of it; later, if a directory is in its way and has to go first.
    pub(crate) fn note(&mut self, name: Name<'_>, made: Made) {
        let node = &name.site.node;
        node.set(TOUCHED);
        if name.is_obstructed() {
            return self.job.surplus().obstruct(node, name.name, made);
        }
        self.outcome.count(&made);
        self.job.tell(|| made.change(node.child_path(name.name.to_bytes())));
    }

    /// Returns whether nothing is to be changed in this directory, which may not even be there.
    pub(crate) fn imagines(&self, site: &Site) -> bool {
        self.job.options.dry_run || site.node.is(IMAGINED)
    }
}
