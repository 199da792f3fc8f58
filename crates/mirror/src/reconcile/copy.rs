//! Copies one regular file: bytes, holes and metadata.
//!
//! The copy has a temporary name, unless its directory is new and has a temporary name itself. It gets its final name
//! after its content and metadata are complete, and after `--verify` and `--fsync` have succeeded.

use std::ffi::{CStr, CString};
use std::io;
use std::rc::Rc;

use fsops::{Dir, File, Kind, NewFile, Op, Stat, Time, Xattr, xattrs_differ};

use crate::engine::dir_cache::Side;
use crate::engine::dir_state::DirState;
use crate::engine::entry::Entry;
use crate::engine::worker::Worker;
use crate::model::attributes::Attributes;
use crate::model::dir_node::{CHANGED, DirNode};
use crate::model::ownership::{Owner, mode_after_chown};
use crate::model::reason::Reason;
use crate::model::settled::{DestInode, Failure, destination};
use crate::reconcile::copy_bytes::{Proof, copy_failure};

/// Maximum number of times that the copy of a changing file is started over. The result of the last attempt is kept.
const MAX_RETRIES: usize = 2;

/// A file that is being created.
#[derive(Debug)]
pub(crate) struct NewCopy {
    dir: Rc<Dir>,
    name: CString,
    /// Whether the file has a temporary name, because it replaces another entry or because its directory already has
    /// its final name.
    has_temp_name: bool,
    pub(crate) file: NewFile,
    created: Option<Stat>,
    /// Whether another process replaced the file under its temporary name. If so, the name is not removed.
    is_displaced: bool,
}

/// Metadata of a new file that could not be set, and the error.
type UnsetMetadata = (Op, io::Error);

/// Details of the content that was written to a new file.
#[derive(Debug)]
pub(crate) struct CopiedContent<'f> {
    /// Metadata of the source file when it was read.
    pub(crate) stat: Stat,
    /// Whether the source file was still unchanged after it was read.
    pub(crate) is_stable: bool,
    pub(crate) attributes: Attributes,
    /// Reference for verifying the copy on the disk.
    pub(crate) proof: Proof<'f>,
}

impl Worker<'_> {
    /// Copies a file on this host. Returns the inode of the copy.
    pub(crate) fn copy(
        &mut self,
        entry: Entry<'_>,
        source: &File,
        stat: &Stat,
        replaces: bool,
    ) -> Result<DestInode, Failure> {
        let mut new_copy = self.begin_copy(entry, stat, replaces)?;
        let filled = self.fill_from(entry.dir, &new_copy.file, source, stat);
        let gone = || source.stat().is_ok_and(|now| has_lost_last_name(stat, &now));
        let filled = if !matches!(filled, Ok((_, true))) && gone() {
            self.outcome.counts.vanished += 1;
            Err(Failure::Vanished)
        } else {
            filled
        };
        let filled = filled.and_then(|(now, is_stable)| {
            if stat.links > 1 && (now.inode, now.born_ns) != (stat.inode, stat.born_ns) {
                // The name now belongs to another file. Names of the listed file must not be linked to this copy.
                return Err(Failure::Failed(Reason::Changed));
            }
            let stat = Stat { links: stat.links, ..now };
            let attributes = self.file_attributes(entry, source)?;
            Ok(CopiedContent { stat, is_stable, attributes, proof: Proof::Original(source) })
        });
        let ended = filled.and_then(|filled| self.finish_copy(entry, &mut new_copy, filled));
        ended.inspect_err(|_| new_copy.undo())
    }

    /// Creates an empty file under its final name if possible, and under a temporary name otherwise.
    pub(crate) fn begin_copy(
        &mut self,
        entry: Entry<'_>,
        stat: &Stat,
        replaces: bool,
    ) -> Result<NewCopy, Failure> {
        if replaces || !entry.dir.traits.is_unpublished {
            return self.begin_temp_copy(entry, stat);
        }
        self.create(entry, entry.name.to_owned(), false, stat)
    }

    /// Creates an empty file under a temporary name.
    pub(crate) fn begin_temp_copy(
        &mut self,
        entry: Entry<'_>,
        stat: &Stat,
    ) -> Result<NewCopy, Failure> {
        self.create(entry, self.job.temp_names.of(entry.name), true, stat)
    }

    /// Sets the metadata of a filled file, and gives the file its final name. Returns the inode of the file.
    pub(crate) fn finish_copy(
        &mut self,
        entry: Entry<'_>,
        new_copy: &mut NewCopy,
        filled: CopiedContent<'_>,
    ) -> Result<DestInode, Failure> {
        let CopiedContent { stat, is_stable, attributes, proof } = filled;
        let unset = self.set_new_metadata(entry.dir, new_copy, &stat, &attributes)?;
        self.record_all_unset(entry, unset);
        self.note_clamped_time(&entry.dir.node, stat.mtime);
        let NewCopy { file: new, created, .. } = new_copy;
        if self.job.options.verify {
            self.verify(new, &proof, &stat)?;
        }
        let mtime = if is_stable { stat.mtime } else { mtime_of_mixed_copy(stat.mtime) };
        // Times are set after verification, because reading the copy changes its access time.
        new.set_times(stat.atime, mtime).map_err(destination(Op::SetTimes))?;
        if self.job.options.fsync {
            new.sync().map_err(destination(Op::Sync))?;
        }
        // The inode is claimed before the file gets its final name. Otherwise another worker could find the file first
        // and mistake it for one that will be deleted.
        let is_claimed = self.job.options.content_hints.is_some();
        let inode = match created {
            _ if stat.links < 2 && !self.job.options.verify && !is_claimed => DestInode::NotNeeded,
            Some(now) => self.claim_copy(now, is_claimed),
            None => {
                let now = new.stat().map_err(destination(Op::Stat))?;
                self.claim_copy(&now, is_claimed)
            }
        };
        if new_copy.has_temp_name {
            let made = new_copy.created.map(|now| now.key());
            let placed = self.put_in_place(entry, &new_copy.dir, &new_copy.name, made);
            new_copy.is_displaced = matches!(placed, Err(Failure::Failed(Reason::Displaced)));
            placed?;
        }
        if !is_stable {
            self.fail(&entry.dir.node, entry.name.to_bytes(), Reason::Changed);
        }
        Ok(inode)
    }

    /// Returns the inode of a new file, and claims it if other workers may search for its content.
    fn claim_copy(&self, now: &Stat, is_claimed: bool) -> DestInode {
        if is_claimed {
            self.job.claimed_inodes.claim(now.key());
        }
        DestInode::Known(now.inode)
    }

    /// Fills a new file with the bytes of a file on this host. Returns the metadata of the copied version, and whether
    /// the source file stayed unchanged during the copy.
    pub(crate) fn fill_from(
        &mut self,
        dir_state: &DirState,
        new: &NewFile,
        source: &File,
        listed: &Stat,
    ) -> Result<(Stat, bool), Failure> {
        let (mut stat, mut left) = (*listed, MAX_RETRIES);
        loop {
            let read = self.copy_bytes(dir_state, source, new, &stat);
            let after = source.stat_uncached().map_err(|e| self.source_failure(Op::Stat, e))?;
            let is_stable = after.same_version(&stat);
            if is_stable || left == 0 {
                read.map_err(copy_failure)?;
                return Ok((stat, is_stable));
            }
            if after.kind != Kind::File || has_lost_last_name(&stat, &after) {
                return Err(Failure::Failed(Reason::Changed));
            }
            // The bytes copied so far may mix two versions and may be longer than the new version, so they are
            // discarded.
            new.set_size(0).map_err(destination(Op::Write))?;
            stat = after;
            left -= 1;
        }
    }

    /// Creates a file that only users who can read the original can read. Skips the lookup of the new file's metadata
    /// if its owner is known and its inode is not needed.
    fn create(
        &mut self,
        entry: Entry<'_>,
        made: CString,
        has_temp_name: bool,
        stat: &Stat,
    ) -> Result<NewCopy, Failure> {
        let dir_state = entry.dir;
        let to = self.open(Side::Destination, &dir_state.node).map_err(destination(Op::Open))?;
        let (known, support) =
            (dir_state.owner_of_new_files.get().copied(), dir_state.node.support());
        let is_own =
            known.is_some_and(|owner| self.job.privileges.owner(support, owner, stat).is_none());
        let permissions =
            if is_own && !dir_state.traits.inherits_acl { stat.mode & 0o777 } else { 0o600 };
        let new = match to.create_file(&made, permissions | 0o200) {
            Ok(new) => new,
            Err(e) if has_temp_name => return Err(destination(Op::Create)(e)),
            Err(e) => return Err(self.creation_failure(entry, &to, Op::Create, e)),
        };
        if has_temp_name {
            // Creating the file changes the directory, even if the copy fails later.
            dir_state.node.set(CHANGED);
        }
        let now = if has_temp_name || known.is_none() || !is_own || dir_state.traits.inherits_acl {
            let now = new.stat().map_err(destination(Op::Stat))?;
            dir_state.learn_owner(&now);
            Some(now)
        } else {
            None
        };
        Ok(NewCopy {
            dir: to,
            name: made,
            has_temp_name,
            file: new,
            created: now,
            is_displaced: false,
        })
    }

    /// Sets the metadata of a new file, except for its times. Returns the metadata that could not be set.
    fn set_new_metadata(
        &self,
        dir_state: &DirState,
        NewCopy { file: new, created: now, .. }: &NewCopy,
        stat: &Stat,
        wanted: &Attributes,
    ) -> Result<Vec<UnsetMetadata>, Failure> {
        let (privileges, support) = (&self.job.privileges, dir_state.node.support());
        let mut unset = Vec::new();
        let mut try_to = |op, set: io::Result<()>| {
            let failed = set.is_err();
            unset.extend(set.err().map(|source| (op, source)));
            failed
        };
        let owner = now.map_or_else(
            || dir_state.owner_of_new_files.get().copied(),
            |now| Some((now.uid, now.gid)),
        );
        let owner = owner.unwrap_or_default();
        let to_be = privileges.owner(support, owner, stat);
        let failed = to_be
            .is_some_and(|Owner { user, group }| try_to(Op::SetOwner, new.set_owner(user, group)));
        let mode = privileges.mode(support, owner, stat).map(mode_after_chown(failed));
        let made_with =
            now.map_or_else(|| privileges.mode_of_new(stat.mode | 0o200), |now| now.mode & 0o7777);
        let has_others = dir_state.traits.inherits_acl || !wanted.all().is_empty();
        // Attributes are set while the file is writable, because its final permissions may prevent that.
        if has_others {
            let has = new.xattrs().map_err(destination(Op::SetAttributes))?;
            let has = wanted.comparable(privileges, support, has);
            try_to(Op::SetAttributes, new.set_xattrs(&has, wanted.all()));
        }
        if let Some(mode) = mode
            && (to_be.is_some() || has_others || made_with != mode)
        {
            try_to(Op::SetMode, new.set_mode(mode));
        }
        Ok(unset)
    }

    /// Returns true if the destination cannot store the owner, permissions or attributes of the source, and a new copy
    /// would therefore have the same ones as the existing entry. If so, records what it cannot store.
    ///
    /// Without this check, every run would copy the file again.
    pub(crate) fn copy_would_be_equal(
        &mut self,
        entry: Entry<'_>,
        stat: &Stat,
        dest: &Stat,
        has: Vec<Xattr>,
    ) -> Result<bool, Failure> {
        if self.is_dry_run(entry.dir) || stat.kind != Kind::File {
            return Ok(false);
        }
        let wanted = self.source_attributes(entry)?;
        let new_copy = self.begin_temp_copy(entry, stat)?;
        let attempt =
            self.set_new_metadata(entry.dir, &new_copy, stat, &wanted).and_then(|unset| {
                let (now, xattrs) = (new_copy.file.stat(), new_copy.file.xattrs());
                Ok((
                    unset,
                    now.map_err(destination(Op::Stat))?,
                    xattrs.map_err(destination(Op::Read))?,
                ))
            });
        new_copy.undo();
        let (unset, now, xattrs) = attempt?;
        let support = entry.dir.node.support();
        let comparable = |xattrs| wanted.comparable(&self.job.privileges, support, xattrs);
        let is_equal = (now.uid, now.gid, now.mode) == (dest.uid, dest.gid, dest.mode)
            && !xattrs_differ(&comparable(xattrs), &comparable(has));
        if is_equal {
            self.record_all_unset(entry, unset);
        }
        Ok(is_equal)
    }

    fn record_all_unset(&mut self, entry: Entry<'_>, unset: Vec<UnsetMetadata>) {
        for (op, source) in unset {
            self.record_unset(&entry.dir.node, entry.name, op, Err(source));
        }
    }

    /// Records that the owner, permissions or attributes of an entry could not be set. Returns true if `set` is an
    /// error. The entry is kept with the rest of its metadata.
    pub(crate) fn record_unset(
        &mut self,
        node: &DirNode,
        name: &CStr,
        op: Op,
        set: io::Result<()>,
    ) -> bool {
        let Err(source) = set else { return false };
        self.fail(node, name.to_bytes(), Reason::Destination { op, source });
        true
    }
}

impl NewCopy {
    /// Removes the new file.
    pub(crate) fn undo(&self) {
        if !self.is_displaced {
            self.remove_beside(&self.name);
        }
    }

    /// Removes a temporary file in the directory of the new file.
    pub(crate) fn remove_beside(&self, name: &CStr) {
        // If this fails, the next run recognises the file as a leftover by its temporary name.
        let _left = self.dir.remove_name(name);
    }
}

/// Returns the modification time for a copy that may mix several versions of a file. It is 10 seconds earlier than the
/// time of the file, so it differs even if timestamps are coarse. The next run therefore copies the file again, even if
/// an edit restored the original time.
fn mtime_of_mixed_copy(mtime: Time) -> Time {
    Time { s: mtime.s.saturating_sub(10), ..mtime }
}

/// Returns whether an open file has lost its last name. Some file systems report a link count of 0 for every file, so
/// the earlier count matters too.
pub(crate) fn has_lost_last_name(before: &Stat, after: &Stat) -> bool {
    after.links == 0 && before.links > 0
}
