//! Makes what the destination has not, or has otherwise: aside, and then in its place.

use std::ffi::CStr;
use std::io;

use fsops::{Dir, Kind, Op, Stat, xattrs_differ};

use crate::engine::dir_cache::Side;
use crate::engine::entry::Name;
use crate::engine::worker::Worker;
use crate::model::attributes::Attributes;
use crate::model::change::Change;
use crate::model::change::Differs;
use crate::model::change::Made;
use crate::model::change::What;
use crate::model::dir_node::TOUCHED;
use crate::model::ownership::Owner;
use crate::model::ownership::allowed;
use crate::model::reason::Reason;
use crate::model::settled::Failure;
use crate::model::settled::Settled;
use crate::model::settled::destination;
use crate::reconcile::put_in_place::is_taken;
use crate::remote::receiver::pending::Basis;

/// Bytes of a file that take longer to copy than to look before whether its name is free.
const WORTH_A_LOOK: u64 = 64 << 10;

/// Right of the owner to write.
const WRITE: u32 = 0o200;

impl Worker<'_> {
    /// Makes what has these metadata in the source; `instead` says how what is there differs, if anything
    /// is.
    pub(crate) fn make(
        &mut self,
        name: Name<'_>,
        stat: &Stat,
        instead: Option<Differs>,
    ) -> Result<Settled, Failure> {
        if let Some(settled) = self.link_to_base(name, stat, instead)? {
            return Ok(settled);
        }
        if let Some(settled) = self.reuse(name, stat, instead)? {
            return Ok(settled);
        }
        if name.site.manner.is_made_up && stat.kind == Kind::File && stat.size == 0 {
            return Err(Some(Reason::MadeUp));
        }
        if stat.kind == Kind::File && stat.size >= WORTH_A_LOOK {
            self.must_be_free(name)?;
        }
        let inode = if self.imagines(name.site) {
            0
        } else if stat.kind == Kind::File && name.record.is_none() {
            let source = self.source_file(name)?;
            if self.puts_off(name, &source, stat, instead) {
                return Ok(Settled::Asked);
            }
            self.copy(name, &source, stat, instead.is_some())?
        } else if stat.kind == Kind::File && stat.size > 0 {
            return self.ask_for_the_rest(name, stat, instead);
        } else if stat.kind == Kind::File {
            self.make_empty(name, stat, instead.is_some())?
        } else {
            self.make_other(name, stat, instead.is_some())?
        };
        self.note_made(name, stat, instead);
        Ok(Settled::Is(inode))
    }

    /// Counts what was copied or made, and tells of it.
    pub(crate) fn note_made(&mut self, name: Name<'_>, stat: &Stat, instead: Option<Differs>) {
        let what = if instead.is_some() { What::Replaced } else { What::New };
        let (kind, size) = (stat.kind, stat.size);
        let differs = instead.unwrap_or_default();
        self.note(name, Made { what, kind, size, to: None, differs });
    }

    /// Makes a symbolic link, a FIFO, a socket or a device.
    fn make_other(&mut self, name: Name<'_>, stat: &Stat, instead: bool) -> Result<u64, Failure> {
        let node = &name.site.node;
        let to = self.open(Side::Destination, node).map_err(destination(Op::Open))?;
        node.set(TOUCHED);
        let part = self.job.parts.of(name.name);
        let made = if instead { part.as_c_str() } else { name.name };
        let created = if stat.kind == Kind::Symlink {
            to.make_symlink(&self.source_target(name)?, made)
        } else {
            to.make_node(made, stat)
        };
        created.map_err(|e| self.not_made(name, &to, Op::Create, e))?;
        let wanted = self.source_attributes(name);
        let dressed = wanted.and_then(|wanted| self.dress(name, (&to, made), stat, &wanted));
        let placed = dressed
            .and_then(|()| if instead { self.put_in_place(name, &to, made, None) } else { Ok(()) });
        if placed.is_err() {
            // What is left of it is no more than a name that lop knows as its own.
            let _left = to.remove_name(made);
        }
        placed?;
        if stat.links < 2 {
            return Ok(0);
        }
        Ok(to.stat_child(&name.called_there(&self.job.parts)).map_err(destination(Op::Stat))?.inode)
    }

    /// Gives a name its metadata, without following a link.
    fn dress(
        &mut self,
        name: Name<'_>,
        (dir, made): (&Dir, &CStr),
        stat: &Stat,
        wanted: &Attributes,
    ) -> Result<(), Failure> {
        let now = dir.stat_child(made).map_err(destination(Op::Stat))?;
        self.dress_as(name, (dir, made), stat, &now, wanted)
    }

    fn dress_as(
        &mut self,
        name: Name<'_>,
        (dir, made): (&Dir, &CStr),
        stat: &Stat,
        now: &Stat,
        wanted: &Attributes,
    ) -> Result<(), Failure> {
        let (node, rights) = (&name.site.node, &self.job.rights);
        let (keeps, owner) = (node.keeps(), (now.uid, now.gid));
        let to_be = rights.owner(keeps, owner, stat);
        let failed = to_be.is_some_and(|Owner { user, group }| {
            let set = dir.set_child_owner(made, user, group);
            self.note_unset(node, name.name, Op::SetOwner, set)
        });
        let wanted_mode = rights.mode(keeps, owner, stat).map(allowed(failed));
        let mut rights_now = now.mode & 0o7777;
        let has = dir.child_xattrs(made).map_err(destination(Op::SetAttributes))?;
        let has = wanted.counting(rights, keeps, has);
        let has_others = xattrs_differ(&has, wanted.all());
        if has_others {
            if !rights.is_root() && stat.kind == Kind::File && rights_now & WRITE == 0 {
                // Who may not write to it may not set attributes either.
                rights_now |= WRITE;
                dir.set_child_mode(made, rights_now).map_err(destination(Op::SetMode))?;
            }
            let set = dir.set_child_xattrs(made, &has, wanted.all());
            self.note_unset(node, name.name, Op::SetAttributes, set);
        }
        // To give a file away takes some rights off it, and an ACL has some of them.
        let other = to_be.is_some() || has_others || wanted_mode != Some(rights_now);
        if let Some(mode) = wanted_mode.filter(|_| stat.kind != Kind::Symlink && other) {
            self.note_unset(node, name.name, Op::SetMode, dir.set_child_mode(made, mode));
        }
        self.note_time(node, stat.mtime);
        dir.set_child_times(made, stat.atime, stat.mtime).map_err(destination(Op::SetTimes))
    }

    /// Gives what is there the metadata of the source, which it has no other name to get by.
    pub(crate) fn adjust(
        &mut self,
        name: Name<'_>,
        stat: &Stat,
        now: &Stat,
        differs: Differs,
    ) -> Result<(), Failure> {
        if !self.imagines(name.site) {
            let to = self.open(Side::Destination, &name.site.node);
            let to = to.map_err(destination(Op::Open))?;
            let wanted = self.source_attributes(name)?;
            self.dress_as(name, (&to, name.name), stat, now, &wanted)?;
        }
        self.outcome.adjusted += 1;
        let (what, path) = (What::Adjusted, || name.site.node.child_path(name.name.to_bytes()));
        let kind = stat.kind;
        self.job.tell(|| Change { what, path: path(), kind, size: None, to: None, differs });
        Ok(())
    }

    /// Links a name to a file of the tree that may be linked to, if it is the same there.
    fn link_to_base(
        &mut self,
        name: Name<'_>,
        stat: &Stat,
        instead: Option<Differs>,
    ) -> Result<Option<Settled>, Failure> {
        if self.job.roots.base.is_none() || stat.kind != Kind::File {
            return Ok(None);
        }
        let Ok(base) = self.open(Side::Base, &name.site.node) else { return Ok(None) };
        let Ok(there) = base.stat_child(name.name) else { return Ok(None) };
        let mut differs = self.differs_from_base(name, stat, &there);
        if differs.in_content() {
            return Ok(None);
        }
        let (wanted, keeps) = (self.source_attributes(name)?, name.site.node.keeps());
        let has = base.child_xattrs(name.name).map_err(destination(Op::Read))?;
        differs.xattrs = wanted.differ(&self.job.rights, keeps, has.clone());
        if differs.at_all() && !self.would_be_no_better(name, stat, &there, has)? {
            return Ok(None);
        }
        let compares = self.job.options.checksum && stat.size > 0;
        if compares && name.record.is_some() {
            let asked = self.ask_whether_like(name, &base, stat.size, instead, Basis::Base);
            return asked.map(Some);
        }
        if compares && name.record.is_none() && !self.reads_alike(name, &base, stat)? {
            return Ok(None);
        }
        Ok(self.link_to_like(name, stat, instead)?.map(Settled::Is))
    }

    /// Returns how a file of that tree differs, as far as its metadata tell.
    fn differs_from_base(&mut self, name: Name<'_>, stat: &Stat, there: &Stat) -> Differs {
        let mut differs = self.of_metadata(name.site.node.keeps(), stat, there);
        let time = (there.mtime, there.device);
        differs.time = differs.time && self.has_other_time(&name.site.node, stat.mtime, time);
        differs
    }

    /// Links a name to the file of the same name in the tree that may be linked to.
    pub(crate) fn link_to_like(
        &mut self,
        name: Name<'_>,
        stat: &Stat,
        instead: Option<Differs>,
    ) -> Result<Option<u64>, Failure> {
        let Ok(base) = self.open(Side::Base, &name.site.node) else { return Ok(None) };
        let Ok(there) = base.stat_child(name.name) else { return Ok(None) };
        if self.differs_from_base(name, stat, &there).in_content() {
            return Ok(None);
        }
        let elsewhere = self.job.roots.device.is_some_and(|device| device != there.device);
        if self.imagines(name.site) && elsewhere {
            // There it could not be done.
            return Ok(None);
        }
        // Two files of the source that are one there are to be two.
        if there.links > 1 && !self.job.claimed.claim(there.key()) {
            return Ok(None);
        }
        if !self.imagines(name.site) {
            let to = self.open(Side::Destination, &name.site.node);
            let to = to.map_err(destination(Op::Open))?;
            match self.put_link(name, &to, instead.is_some(), &base, name.name) {
                Ok(()) => {}
                Err(e) if is_taken(&e) => return Err(self.not_made(name, &to, Op::Link, e)),
                // There may be as many names as there can be, or it is on another file system.
                Err(_) => return Ok(None),
            }
        }
        let (what, differs) = (What::Linked, instead.unwrap_or_default());
        self.note(name, Made { what, kind: Kind::File, size: 0, to: None, differs });
        Ok(Some(there.inode))
    }

    /// Makes a name one of the file that is called `of` in `from`, aside if it is to be `instead` of something.
    pub(crate) fn put_link(
        &self,
        name: Name<'_>,
        to: &Dir,
        instead: bool,
        from: &Dir,
        of: &CStr,
    ) -> io::Result<()> {
        if !instead {
            return to.link_name(from, of, name.name);
        }
        let part = self.job.parts.of(name.name);
        to.link_name(from, of, &part)?;
        if name.is_obstructed() {
            return Ok(());
        }
        let placed = to.replace(&part, name.name);
        // A rename of two names of one file does nothing, and a failed one leaves the name too.
        if placed.is_err() || to.stat_child(&part).is_ok() {
            let _left = to.remove_name(&part);
        }
        placed
    }

    /// Returns whether a file of the tree that may be linked to has the content of the source.
    fn reads_alike(&mut self, name: Name<'_>, base: &Dir, stat: &Stat) -> Result<bool, Failure> {
        let one = self.source_file(name)?;
        let Ok(other) = base.open_regular(name.name) else { return Ok(false) };
        Ok(!self.unlike(&one, &other, stat.size)?)
    }
}
