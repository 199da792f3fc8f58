//! One directory: found or made, put in its place, given its metadata when nothing in it changes any more.

use std::ffi::CStr;
use std::io::{Error, ErrorKind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Release;

use fsops::{Dir, Kind, Op, Stat, Volume, Xattr};
use wire::LeftOut;

use crate::engine::dest_listing::Present;
use crate::engine::dest_listing::There;
use crate::engine::dir_cache::Side;
use crate::engine::dir_state::Manner;
use crate::engine::dir_state::Site;
use crate::engine::estimate::names_below;
use crate::engine::job::Job;
use crate::engine::worker::Worker;
use crate::model::attributes::Attributes;
use crate::model::change::Change;
use crate::model::change::Differs;
use crate::model::change::What;
use crate::model::dir_node::ASIDE;
use crate::model::dir_node::Facts;
use crate::model::dir_node::IMAGINED;
use crate::model::dir_node::INSTEAD;
use crate::model::dir_node::Node;
use crate::model::dir_node::THERE;
use crate::model::dir_node::TOUCHED;
use crate::model::metadata_support::Keeps;
use crate::model::ownership::Owner;
use crate::model::ownership::allowed;
use crate::model::reason::Reason;
use crate::model::selection::takes;
use crate::model::settled::Failure;
use crate::model::settled::destination;
use crate::model::temp_name::is_part;
use crate::reconcile::put_in_place::is_still;
use crate::reconcile::put_in_place::is_taken;
use crate::remote::receiver::connection::Room;
use crate::remote::receiver::session::Entered;

/// Rights of the owner, without which nothing can be put into a directory.
const OWNER: u32 = 0o700;

impl Worker<'_> {
    /// Opens or makes a directory, and lists what the destination has in it; nothing if it is the destination
    /// itself, or gone.
    pub(crate) fn begin(&mut self, node: &Arc<Node>) -> Result<Option<Arc<Site>>, Reason> {
        let source = |op| move |source| Reason::Source { op, source };
        let from = match self.open(Side::Source, node) {
            Err(e) if e.kind() == ErrorKind::NotFound && node.parent().is_some() => {
                self.outcome.vanished += 1;
                return Ok(None);
            }
            Err(e) if e.kind() == ErrorKind::PermissionDenied && node.parent().is_some() => {
                return self.begin_unread(node, e).map(Some);
            }
            from => from.map_err(source(Op::Open))?,
        };
        let stat = from.stat().map_err(source(Op::Stat))?;
        let roots = self.job.roots;
        let volume = self.job.volume(&from, stat.device).map_err(source(Op::Stat))?;
        if roots.is_destination(&from, &stat, &volume) {
            self.outcome.leave_out(LeftOut::Destination, || node.path());
            return Ok(None);
        }
        let attributes = Attributes::read(from.xattrs(), || from.acls());
        let attributes = attributes.map_err(source(Op::Read))?;
        let is_made_up = volume.is_synthetic();
        let is_passed_over = is_made_up && !self.job.source_is_synthetic();
        if is_passed_over {
            self.outcome.leave_out(LeftOut::Pseudo, || node.path());
        }
        let is_entered = self.job.enters(stat.device) && !is_passed_over;
        let mounts_below = roots.source.as_ref().is_some_and(|source| source.mounts_below);
        let manner = Manner {
            device: self.job.links.device(stat.device),
            tells_inodes: volume.lists_inodes() && !mounts_below,
            is_made_up,
            ..Manner::default()
        };
        self.begin_at(
            node,
            Entered { stat, attributes, is_listed: is_entered, room: Room::default() },
            manner,
            Some(volume),
        )
        .map(Some)
    }

    /// Does the same for a directory that cannot be read: it gets its owner, rights and ACLs, and what the
    /// destination has in it stays.
    fn begin_unread(&mut self, node: &Arc<Node>, refused: Error) -> Result<Arc<Site>, Reason> {
        let source = |op| move |source| Reason::Source { op, source };
        let Some(parent) = node.parent() else { return Err(source(Op::Open)(refused)) };
        let above = self.open(Side::Source, parent).map_err(source(Op::Open))?;
        let stat = above.stat_child(node.name()).map_err(source(Op::Stat))?;
        if stat.kind != Kind::Dir {
            return Err(source(Op::Open)(refused));
        }
        let acls = above.child_acls(node.name()).map_err(source(Op::Read))?;
        self.outcome.unread += 1;
        self.fail(node, b"", source(Op::Open)(refused));
        let attributes = Attributes::new(acls, true);
        let entered = Entered { stat, attributes, is_listed: false, room: Room::default() };
        self.begin_at(node, entered, Manner::default(), None)
    }

    /// Does the same for a directory of another host.
    pub(crate) fn begin_far(
        &mut self,
        node: &Arc<Node>,
        entered: Entered,
    ) -> Result<Arc<Site>, Reason> {
        let device = u16::try_from(entered.stat.device).unwrap_or(u16::MAX);
        self.begin_at(node, entered, Manner { device, ..Manner::default() }, None)
    }

    /// Opens or makes what is to be like a directory of the source.
    fn begin_at(
        &mut self,
        node: &Arc<Node>,
        entered: Entered,
        mut manner: Manner,
        volume: Option<Volume>,
    ) -> Result<Arc<Site>, Reason> {
        let Entered { stat, attributes, is_listed: is_entered, room: _room } = entered;
        let failed = |failure: Failure| failure.unwrap_or(Reason::Changed);
        let to = self.begin_there(node, &mut manner).map_err(failed)?;
        let mut present = Present::default();
        let (mut there, mut xattrs_there, mut keeps) = (None, None, Keeps::ALL);
        if let Some(to) = to {
            let now = to.stat().map_err(destination(Op::Stat)).map_err(failed)?;
            let volume_there = self.job.volume(&to, now.device);
            let volume_there = volume_there.map_err(destination(Op::Stat)).map_err(failed)?;
            manner.there_tells_inodes = volume_there.lists_inodes();
            manner.most_links = volume_there.most_links().unwrap_or(u32::MAX);
            manner.clones = volume.is_some_and(|volume| volume.shares_extents_with(&volume_there));
            manner.hands_down_acl = !self.job.options.dry_run && to.hands_down_acl();
            if !manner.direct {
                let listed = self.present(&to);
                present = listed.map_err(destination(Op::List)).map_err(failed)?;
                xattrs_there = self.open_up(&to, node, &now).map_err(failed)?;
            }
            keeps = self.keeps(node, &volume_there, now.device);
            there = Some(now);
        }
        if attributes.is_partial() && is_entered {
            self.fail(node, b"", Reason::Attributes);
        }
        let attributes = attributes.settable(&self.job.rights, keeps);
        node.know(Facts { stat, attributes, there, xattrs_there, keeps, is_entered });
        Ok(Site::new(Arc::clone(node), present, manner))
    }

    /// Opens the directory at the destination, or makes one aside.
    fn begin_there(
        &mut self,
        node: &Arc<Node>,
        manner: &mut Manner,
    ) -> Result<Option<Rc<Dir>>, Failure> {
        if node.is(IMAGINED) {
            return Ok(None);
        }
        if node.is(THERE) {
            let opened = match self.open(Side::Destination, node) {
                Err(e) if e.kind() == ErrorKind::PermissionDenied => self.open_closed(node, e),
                opened => opened,
            };
            return opened.map(Some).map_err(destination(Op::Open));
        }
        if self.job.options.dry_run {
            node.set(IMAGINED);
            return Ok(None);
        }
        let Some(parent) = node.parent() else { return Ok(None) };
        let above = self.open(Side::Destination, parent).map_err(destination(Op::Open))?;
        // Also if it comes to nothing: the directory above is another one than before.
        parent.set(TOUCHED);
        match above.make_private_dir(&self.job.parts.of(node.name())) {
            Ok(()) => manner.direct = true,
            // What a killed run had in it already was taken over.
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(destination(Op::Create)(e)),
        }
        node.set(ASIDE | TOUCHED);
        self.open(Side::Destination, node).map(Some).map_err(destination(Op::Open))
    }

    /// Opens a directory of the destination whose rights are those of its owner, who has none.
    fn open_closed(&mut self, node: &Arc<Node>, refused: Error) -> std::io::Result<Rc<Dir>> {
        let Some(parent) = node.parent() else { return Err(refused) };
        if self.job.options.dry_run {
            return Err(refused);
        }
        let above = self.open(Side::Destination, parent)?;
        let now = above.stat_child(node.name())?;
        above.set_child_mode(node.name(), now.mode | OWNER)?;
        node.set(TOUCHED);
        self.open(Side::Destination, node)
    }

    /// Lets the owner put things into a directory that only others may change: see to it that it gets its
    /// rights back. Returns the attributes that it had before, if that was done.
    fn open_up(&self, to: &Dir, node: &Node, now: &Stat) -> Result<Option<Vec<Xattr>>, Failure> {
        if self.job.rights.is_root() || self.job.options.dry_run || now.mode & OWNER == OWNER {
            return Ok(None);
        }
        node.set(TOUCHED);
        let xattrs = to.xattrs().map_err(destination(Op::Read))?;
        to.set_mode(now.mode | OWNER).map_err(destination(Op::SetMode))?;
        Ok(Some(xattrs))
    }

    /// Gives up a directory that could not be entered.
    pub(crate) fn abandon(&mut self, node: &Arc<Node>) {
        self.leave_behind(node);
        self.held.close(node);
        self.release(node);
    }

    /// Has a directory removed at the end that did not get its name.
    fn leave_behind(&self, node: &Arc<Node>) {
        if let Some(parent) = node.parent().filter(|_| node.is(ASIDE)) {
            self.job.surplus().leave_behind(parent, &self.job.parts.of(node.name()));
        }
    }

    /// Ends the work on a directory's own names: it gets its name if it is new, and directories in it
    /// are begun.
    pub(crate) fn complete(&mut self, site: &Arc<Site>) {
        let node = &site.node;
        let whole = site.whole.load(std::sync::atomic::Ordering::Relaxed);
        if whole {
            self.note_surplus(site);
        }
        let placed = match self.place(node) {
            Ok(()) => true,
            Err(failure) => {
                // What has its temporary name now is not what was made here.
                if !matches!(failure, Some(Reason::Displaced)) {
                    self.leave_behind(node);
                }
                if let Some(reason) = failure {
                    self.fail(node, b"", reason);
                }
                false
            }
        };
        let children = site.take_children();
        for child in children {
            if self.stopped() {
                break;
            }
            let inner = Node::child(node, &child.name, child_state(node, child.there));
            if placed {
                self.push(child.inode, inner);
            } else {
                self.miss(&inner);
            }
        }
        self.release(node);
    }

    /// Counts a directory, and what is below it, which is not there as the one that it is in is not.
    fn miss(&mut self, node: &Arc<Node>) {
        if let Some(source) = self.job.roots.source() {
            let below = names_below(source, &node.path(), self.job.options, &|| self.stopped());
            self.outcome.missing += 1;
            self.miss_below(&below);
        }
        self.release(node);
    }

    /// Puts a directory in its place, with all its metadata but for what has to wait.
    fn place(&mut self, node: &Arc<Node>) -> Result<(), Failure> {
        let Some(facts) = node.facts() else { return Ok(()) };
        let now = facts.there;
        let mut differs = now
            .map_or_else(Differs::default, |now| self.of_metadata(facts.keeps, &facts.stat, &now));
        if let Some(now) = now {
            let times = (now.mtime, now.device);
            differs.time = differs.time && self.has_other_time(node, facts.stat.mtime, times);
            let to = self.open(Side::Destination, node).map_err(destination(Op::Open))?;
            differs.xattrs = self.dress_dir(&to, node, facts)?;
            if node.is(ASIDE) {
                self.give_name(node)?;
            }
        }
        if node.is(THERE) {
            self.tell_adjusted(node, differs);
        } else if node.parent().is_some() {
            self.outcome.dirs += 1;
            let (what, kind) =
                if node.is(INSTEAD) { (What::Replaced, true) } else { (What::New, false) };
            self.tell_of(node, what, Differs { kind, ..Differs::default() });
        }
        Ok(())
    }

    /// Tells of a directory that had other metadata.
    fn tell_adjusted(&mut self, node: &Node, mut differs: Differs) {
        if node.parent().is_none() && self.job.roots.made {
            return node.set(TOUCHED);
        }
        // Its time may differ just because something in it did.
        differs.time &= !node.is(TOUCHED);
        if differs.at_all() {
            self.outcome.adjusted += 1;
            node.set(TOUCHED);
            self.tell_of(node, What::Adjusted, differs);
        }
    }

    fn tell_of(&self, node: &Node, what: What, differs: Differs) {
        let change = || {
            let (path, kind) = (node.path(), Kind::Dir);
            Change { what, path, kind, size: None, to: None, differs }
        };
        self.job.tell(change);
    }

    /// Gives a directory owner, rights and attributes; returns whether the attributes were others.
    fn dress_dir(&mut self, to: &Dir, node: &Node, facts: &Facts) -> Result<bool, Failure> {
        let rights = &self.job.rights;
        let Some(now) = facts.there else { return Ok(false) };
        let has = to.xattrs().map_err(destination(Op::Read))?;
        let (wanted, keeps) = (&facts.attributes, facts.keeps);
        let had = facts.xattrs_there.as_ref().unwrap_or(&has);
        let has_others = wanted.differ(rights, keeps, had.clone());
        let has = wanted.counting(rights, keeps, has);
        if self.job.options.dry_run {
            return Ok(has_others);
        }
        let owner = (now.uid, now.gid);
        let to_be = rights.owner(facts.keeps, owner, &facts.stat);
        let failed = to_be.is_some_and(|Owner { user, group }| {
            self.note_unset(node, c"", Op::SetOwner, to.set_owner(user, group))
        });
        let mode = rights.mode(facts.keeps, owner, &facts.stat).map(allowed(failed));
        let set = if has_others { to.set_xattrs(&has, wanted.all()) } else { Ok(()) };
        // An ACL has some of the rights.
        let others = to_be.is_some() || has_others;
        let has = now.mode & 0o7777;
        if let Some(mode) = mode.filter(|mode| others || mode | OWNER != has && *mode != has) {
            self.note_unset(node, c"", Op::SetMode, to.set_mode(mode | OWNER));
        }
        self.note_unset(node, c"", Op::SetAttributes, set);
        Ok(has_others)
    }

    /// Gives a directory that was filled its name.
    fn give_name(&mut self, node: &Arc<Node>) -> Result<(), Failure> {
        let Some(parent) = node.parent() else { return Ok(()) };
        let above = self.open(Side::Destination, parent).map_err(destination(Op::Open))?;
        let part = self.job.parts.of(node.name());
        is_still(&above, &part, node.facts().and_then(|facts| Some(facts.there?.key())))?;
        if node.is(INSTEAD) {
            self.exchange(&above, &part, node.name()).map_err(destination(Op::Rename))?;
        } else if let Err(e) = above.rename_new(&part, node.name()) {
            let other = if is_taken(&e) { self.other_spelling(&above, node.name())? } else { None };
            return Err(other.or(Some(Reason::Destination { op: Op::Rename, source: e })));
        }
        node.unset(ASIDE);
        self.job.placed.fetch_add(1, Release);
        if node.is(INSTEAD) {
            above.remove_name(&part).map_err(destination(Op::Remove))
        } else {
            Ok(())
        }
    }

    /// Exchanges the names of a directory that is ready and of what it is to replace, in one step where the file
    /// system can do that.
    fn exchange(&self, dir: &Dir, part: &CStr, name: &CStr) -> std::io::Result<()> {
        match dir.exchange(part, dir, name) {
            Err(e) if matches!(e.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS)) => {
                let aside = self.job.parts.of(part);
                dir.rename_new(name, &aside)?;
                let placed = dir.rename_new(part, name);
                let back = if placed.is_ok() { part } else { name };
                placed.and(dir.rename_new(&aside, back))
            }
            exchanged => exchanged,
        }
    }

    /// Notes that one thing is done in a directory; after the last one it, and those above it, get
    /// their times.
    pub(crate) fn release(&mut self, node: &Arc<Node>) {
        let mut node = Arc::clone(node);
        while node.release() {
            if let Err(Some(reason)) = self.finish(&node) {
                self.fail(&node, b"", reason);
            }
            self.held.close(&node);
            let Some(parent) = node.parent() else { return self.job.finish() };
            node = Arc::clone(parent);
        }
    }

    /// Gives a directory the rest of its metadata.
    fn finish(&mut self, node: &Arc<Node>) -> Result<(), Failure> {
        let Some(facts) = node.facts() else { return Ok(()) };
        if self.job.options.dry_run || node.is(IMAGINED) || !node.is(TOUCHED) {
            return Ok(());
        }
        let to = self.open(Side::Destination, node).map_err(destination(Op::Open))?;
        self.job.dress_finally(&to, facts)?;
        if self.job.options.fsync {
            to.sync().map_err(destination(Op::Sync))?;
        }
        Ok(())
    }

    /// Notes what the source has not, and removes what a run left that was killed.
    fn note_surplus(&mut self, site: &Arc<Site>) {
        let node = &site.node;
        let mut surplus = Vec::new();
        let clears = site.present.has_parts() && !self.is_anothers(node);
        for (name, kind) in site.present.unwanted() {
            let bytes = name.to_bytes();
            if is_part(bytes) {
                if clears {
                    self.job.surplus().leave_behind(node, name);
                }
            } else if self.job.options.delete
                && takes(self.job.options, bytes, || node.child_path(bytes), kind == Kind::Dir)
            {
                if self.is_own(node, name) {
                    self.outcome.leave_out(LeftOut::Catalog, || node.child_path(bytes));
                } else {
                    surplus.push(name);
                }
            }
        }
        if !surplus.is_empty() {
            self.job.surplus().add(node, &surplus);
        }
    }
}

impl Job<'_> {
    /// Lets the owner remove things from a directory that is finished.
    pub(crate) fn open_up(&self, to: &Dir) -> Result<(), Failure> {
        if self.rights.is_root() || self.options.dry_run {
            return Ok(());
        }
        let now = to.stat().map_err(destination(Op::Stat))?;
        if now.mode & OWNER == OWNER {
            return Ok(());
        }
        to.set_mode(now.mode | OWNER).map_err(destination(Op::SetMode))
    }

    /// Gives a directory that nothing is put into any more its rights, which may not allow that, and times.
    pub(crate) fn dress_finally(&self, to: &Dir, facts: &Facts) -> Result<(), Failure> {
        if facts.stat.mode & OWNER != OWNER {
            let now = to.stat().map_err(destination(Op::Stat))?;
            let mode = self.rights.final_mode(facts.keeps, (now.uid, now.gid), &facts.stat);
            let set = mode.map_or(Ok(()), |mode| to.set_mode(mode));
            set.map_err(destination(Op::SetMode))?;
        }
        to.set_times(facts.stat.atime, facts.stat.mtime).map_err(destination(Op::SetTimes))
    }
}

/// Returns the state of a directory in `parent`, of whose name the destination has this.
pub(crate) fn child_state(parent: &Node, there: Option<There>) -> u8 {
    let imagined = if parent.is(IMAGINED) { IMAGINED } else { 0 };
    match there {
        None => imagined,
        Some(there) if there.kind == Kind::Dir => THERE,
        Some(_) => imagined | INSTEAD,
    }
}
