//! Creates entries that are missing or different in the destination, and adjusts metadata.
//!
//! An entry that replaces another one is first created under a temporary name, and then renamed over the old entry.

use std::ffi::CStr;
use std::io;

use fsops::{Dir, Kind, Op, Stat, xattrs_differ};

use crate::engine::dir_cache::Side;
use crate::engine::entry::Entry;
use crate::engine::worker::Worker;
use crate::engine::worker::source::{ComparedFile, ContentComparison};
use crate::model::attributes::Attributes;
use crate::model::change::CreatedEntry;
use crate::model::dir_node::CHANGED;
use crate::model::ownership::{Owner, mode_after_chown};
use crate::model::reason::Reason;
use crate::model::settled::{DestInode, Failure, Settled, destination};
use crate::reconcile::put_in_place::name_exists;
use crate::remote::receiver::pending::Basis;
use wire::{Action, Change, Differences};

/// Minimum size of files whose names are checked in advance. Smaller files take less time to copy than to check.
const MIN_CHECKED_BYTES: u64 = 64 << 10;

/// Permission bit that lets the owner write.
const OWNER_WRITE: u32 = 0o200;

impl Worker<'_> {
    /// Creates an entry with the metadata `stat` of the source. If an existing entry is replaced, `replaces` contains
    /// the differences between the two entries.
    pub(crate) fn create_entry(
        &mut self,
        entry: Entry<'_>,
        stat: &Stat,
        replaces: Option<Differences>,
    ) -> Result<Settled, Failure> {
        if let Some(settled) = self.link_to_base(entry, stat, replaces)? {
            return Ok(settled);
        }
        if let Some(settled) = self.reuse(entry, stat, replaces)? {
            return Ok(settled);
        }
        if entry.dir.traits.is_synthetic && stat.kind == Kind::File && stat.size == 0 {
            return Err(Failure::Failed(Reason::MadeUp));
        }
        if stat.kind == Kind::File && stat.size >= MIN_CHECKED_BYTES {
            self.check_name_free(entry)?;
        }
        let inode = if self.is_dry_run(entry.dir) {
            DestInode::NotNeeded
        } else if stat.kind == Kind::File {
            match self.source.create_file(self, entry, stat, replaces)? {
                Settled::Done(inode) => inode,
                Settled::Pending => return Ok(Settled::Pending),
            }
        } else {
            self.create_special(entry, stat, replaces.is_some())?
        };
        self.record_created(entry, stat, replaces);
        Ok(Settled::Done(inode))
    }

    /// Counts and reports an entry that was created.
    pub(crate) fn record_created(
        &mut self,
        entry: Entry<'_>,
        stat: &Stat,
        replaces: Option<Differences>,
    ) {
        let action = if replaces.is_some() { Action::Replaced } else { Action::New };
        let (kind, size) = (stat.kind, stat.size);
        let differences = replaces.unwrap_or_default();
        self.record_made(entry, CreatedEntry { action, kind, size, to: None, differences });
    }

    /// Creates a symbolic link, a FIFO, a socket or a device.
    fn create_special(
        &mut self,
        entry: Entry<'_>,
        stat: &Stat,
        replaces: bool,
    ) -> Result<DestInode, Failure> {
        let node = &entry.dir.node;
        let to = self.open(Side::Destination, node).map_err(destination(Op::Open))?;
        node.set(CHANGED);
        let temp = self.job.temp_names.of(entry.name);
        let made = if replaces { temp.as_c_str() } else { entry.name };
        let created = if stat.kind == Kind::Symlink {
            to.make_symlink(&self.source.symlink_target(self, entry)?, made)
        } else {
            to.make_node(made, stat)
        };
        created.map_err(|e| self.creation_failure(entry, &to, Op::Create, e))?;
        let wanted = self.source_attributes(entry);
        let dressed = wanted.and_then(|wanted| self.set_metadata(entry, &to, made, stat, &wanted));
        let placed = dressed.and_then(|()| {
            if replaces { self.put_in_place(entry, &to, made, None) } else { Ok(()) }
        });
        if placed.is_err() {
            // If a temporary name cannot be removed, the next run recognises it as a leftover.
            let _left = to.remove_name(made);
        }
        placed?;
        if stat.links < 2 {
            return Ok(DestInode::NotNeeded);
        }
        let named = to.stat_child(&entry.provisional_name(&self.job.temp_names));
        Ok(DestInode::Known(named.map_err(destination(Op::Stat))?.inode))
    }

    /// Sets the metadata of an entry without following symbolic links.
    fn set_metadata(
        &mut self,
        entry: Entry<'_>,
        dir: &Dir,
        made: &CStr,
        stat: &Stat,
        wanted: &Attributes,
    ) -> Result<(), Failure> {
        let now = dir.stat_child(made).map_err(destination(Op::Stat))?;
        self.set_metadata_from(entry, dir, made, stat, &now, wanted)
    }

    fn set_metadata_from(
        &mut self,
        entry: Entry<'_>,
        dir: &Dir,
        made: &CStr,
        stat: &Stat,
        now: &Stat,
        wanted: &Attributes,
    ) -> Result<(), Failure> {
        let (node, privileges) = (&entry.dir.node, &self.job.privileges);
        let (support, owner) = (node.support(), (now.uid, now.gid));
        let to_be = privileges.owner(support, owner, stat);
        let failed = to_be.is_some_and(|Owner { user, group }| {
            let set = dir.set_child_owner(made, user, group);
            self.record_unset(node, entry.name, Op::SetOwner, set)
        });
        let wanted_mode = privileges.mode(support, owner, stat).map(mode_after_chown(failed));
        let mut rights_now = now.mode & 0o7777;
        let has = dir.child_xattrs(made).map_err(destination(Op::SetAttributes))?;
        let has = wanted.comparable(privileges, support, has);
        let has_others = xattrs_differ(&has, wanted.all());
        if has_others {
            if !privileges.is_root() && stat.kind == Kind::File && rights_now & OWNER_WRITE == 0 {
                // Without write permission, the user cannot set attributes either.
                rights_now |= OWNER_WRITE;
                dir.set_child_mode(made, rights_now).map_err(destination(Op::SetMode))?;
            }
            let set = dir.set_child_xattrs(made, &has, wanted.all());
            self.record_unset(node, entry.name, Op::SetAttributes, set);
        }
        // Changing the owner clears some permissions, and setting an ACL can change others.
        let other = to_be.is_some() || has_others || wanted_mode != Some(rights_now);
        if let Some(mode) = wanted_mode.filter(|_| stat.kind != Kind::Symlink && other) {
            self.record_unset(node, entry.name, Op::SetMode, dir.set_child_mode(made, mode));
        }
        self.note_clamped_time(node, stat.mtime);
        dir.set_child_times(made, stat.atime, stat.mtime).map_err(destination(Op::SetTimes))
    }

    /// Sets the metadata of an existing entry that has no other names.
    pub(crate) fn adjust(
        &mut self,
        entry: Entry<'_>,
        stat: &Stat,
        now: &Stat,
        differences: Differences,
    ) -> Result<(), Failure> {
        if !self.is_dry_run(entry.dir) {
            let to = self.open(Side::Destination, &entry.dir.node);
            let to = to.map_err(destination(Op::Open))?;
            let wanted = self.source_attributes(entry)?;
            self.set_metadata_from(entry, &to, entry.name, stat, now, &wanted)?;
        }
        self.outcome.counts.adjusted += 1;
        self.job.report(|| Change {
            action: Action::Adjusted,
            path: entry.dir.node.child_path(entry.name.to_bytes()),
            file_type: stat.kind.mode_bits(),
            size: None,
            to: None,
            differences,
        });
        Ok(())
    }

    /// Links a name to the file of the same name in the base tree, if that file is identical to the source file.
    fn link_to_base(
        &mut self,
        entry: Entry<'_>,
        stat: &Stat,
        replaces: Option<Differences>,
    ) -> Result<Option<Settled>, Failure> {
        if self.job.roots.base.is_none() || stat.kind != Kind::File {
            return Ok(None);
        }
        let Ok(base) = self.open(Side::Base, &entry.dir.node) else { return Ok(None) };
        let Ok(dest) = base.stat_child(entry.name) else { return Ok(None) };
        let mut differences = self.differs_from_base(entry, stat, &dest);
        if differences.affect_content() {
            return Ok(None);
        }
        let (wanted, support) = (self.source_attributes(entry)?, entry.dir.node.support());
        let has = base.child_xattrs(entry.name).map_err(destination(Op::Read))?;
        differences.xattrs = wanted.differ(&self.job.privileges, support, has.clone());
        if differences.any() && !self.copy_would_be_equal(entry, stat, &dest, has)? {
            return Ok(None);
        }
        if self.job.options.checksum && stat.size > 0 {
            let Ok(file) = base.open_regular(entry.name) else { return Ok(None) };
            let (size, basis) = (stat.size, Basis::Base);
            let with = ComparedFile { file: &file, size, replaces, basis };
            match self.source.compare_file(self, entry, with)? {
                ContentComparison::Requested => return Ok(Some(Settled::Pending)),
                ContentComparison::Different => return Ok(None),
                ContentComparison::Same => {}
            }
        }
        Ok(self.link_to_base_file(entry, stat, replaces)?.map(Settled::Done))
    }

    /// Returns the differences in metadata between a file in the base tree and the source file.
    fn differs_from_base(&mut self, entry: Entry<'_>, stat: &Stat, dest: &Stat) -> Differences {
        let mut differences = self.compare_metadata(entry.dir.node.support(), stat, dest);
        differences.time = differences.time && self.time_differs(&entry.dir.node, stat.mtime, dest);
        differences
    }

    /// Links a name to the file of the same name in the base tree. Returns `None` if the file cannot be linked.
    pub(crate) fn link_to_base_file(
        &mut self,
        entry: Entry<'_>,
        stat: &Stat,
        replaces: Option<Differences>,
    ) -> Result<Option<DestInode>, Failure> {
        let Ok(base) = self.open(Side::Base, &entry.dir.node) else { return Ok(None) };
        let Ok(dest) = base.stat_child(entry.name) else { return Ok(None) };
        if self.differs_from_base(entry, stat, &dest).affect_content() {
            return Ok(None);
        }
        let elsewhere = self.job.roots.device.is_some_and(|device| device != dest.device);
        if self.is_dry_run(entry.dir) && elsewhere {
            // The base tree is on another file system, so a hard link is impossible.
            return Ok(None);
        }
        // Two source files may correspond to one file in the base tree. Only one of them may be linked to that file.
        if dest.links > 1 && !self.job.claimed_inodes.claim(dest.key()) {
            return Ok(None);
        }
        if !self.is_dry_run(entry.dir) {
            let to = self.open(Side::Destination, &entry.dir.node);
            let to = to.map_err(destination(Op::Open))?;
            match self.link_under(entry, &to, replaces.is_some(), &base, entry.name) {
                Ok(()) => {}
                Err(e) if name_exists(&e) => {
                    return Err(self.creation_failure(entry, &to, Op::Link, e));
                }
                // The file may have reached the link limit, or be on another file system.
                Err(_) => return Ok(None),
            }
        }
        let (action, differences) = (Action::Linked, replaces.unwrap_or_default());
        self.record_made(
            entry,
            CreatedEntry { action, kind: Kind::File, size: 0, to: None, differences },
        );
        Ok(Some(DestInode::Known(dest.inode)))
    }

    /// Links the file `of` in the directory `from` to the name of the entry. If `replaces` is set, the link is made
    /// under the temporary name first, and then renamed over the existing entry.
    pub(crate) fn link_under(
        &self,
        entry: Entry<'_>,
        to: &Dir,
        replaces: bool,
        from: &Dir,
        of: &CStr,
    ) -> io::Result<()> {
        if !replaces {
            return to.link_name(from, of, entry.name);
        }
        let temp = self.job.temp_names.of(entry.name);
        to.link_name(from, of, &temp)?;
        if entry.is_obstructed() {
            return Ok(());
        }
        let placed = to.replace(&temp, entry.name);
        // The temporary name still exists if the rename failed. It also still exists if both names belong to one file,
        // because the rename then did nothing.
        if placed.is_err() || to.stat_child(&temp).is_ok() {
            let _left = to.remove_name(&temp);
        }
        placed
    }
}
