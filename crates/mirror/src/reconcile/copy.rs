//! Copies one regular file: bytes, holes and metadata, under a name that is not its own yet.

use std::ffi::{CStr, CString};
use std::io;
use std::rc::Rc;

use fsops::{Dir, File, Kind, NewFile, Op, Stat, Time, Xattr, xattrs_differ};

use crate::engine::dir_cache::Side;
use crate::engine::dir_state::Site;
use crate::engine::entry::Name;
use crate::engine::worker::Worker;
use crate::model::attributes::Attributes;
use crate::model::dir_node::Node;
use crate::model::dir_node::TOUCHED;
use crate::model::ownership::Owner;
use crate::model::ownership::allowed;
use crate::model::reason::Reason;
use crate::model::settled::Failure;
use crate::model::settled::destination;
use crate::reconcile::copy_bytes::Proof;
use crate::reconcile::copy_bytes::copy_failure;

/// A file that keeps changing is copied as it was the last time.
const ATTEMPTS: usize = 2;

/// A file that is being made.
#[derive(Debug)]
pub(crate) struct Making {
    to: Rc<Dir>,
    made: CString,
    /// It is to take the place of something, or to be in a directory that is in use.
    aside: bool,
    pub(crate) new: NewFile,
    now: Option<Stat>,
    /// What has its temporary name is something else.
    is_displaced: bool,
}

/// Something of a new file's metadata that could not be set, and why.
type Unset = (Op, io::Error);

/// What a file was filled with.
#[derive(Debug)]
pub(crate) struct Filled<'f> {
    /// The metadata of the source when it was read.
    pub(crate) stat: Stat,
    /// It was the same when it had been read.
    pub(crate) is_stable: bool,
    pub(crate) attributes: Attributes,
    /// What is to be on the disk, if that is to be looked at.
    pub(crate) proof: Proof<'f>,
}

impl Worker<'_> {
    /// Copies a file of this host; returns the copy's inode, or 0 if it has no other names.
    pub(crate) fn copy(
        &mut self,
        name: Name<'_>,
        source: &File,
        stat: &Stat,
        instead: bool,
    ) -> Result<u64, Failure> {
        let mut making = self.begin_copy(name, stat, instead)?;
        let filled = self.fill_from(name.site, &making.new, source, stat);
        let gone = || source.stat().is_ok_and(|now| is_gone(stat, &now));
        let filled = if !matches!(filled, Ok((_, true))) && gone() {
            self.outcome.vanished += 1;
            Err(None)
        } else {
            filled
        };
        let filled = filled.and_then(|(now, is_stable)| {
            if stat.links > 1 && now.inode != stat.inode {
                // Its other names are to be linked to this one.
                return Err(Some(Reason::Changed));
            }
            let stat = Stat { links: stat.links, ..now };
            let attributes = self.file_attributes(name, source)?;
            Ok(Filled { stat, is_stable, attributes, proof: Proof::Original(source) })
        });
        let ended = filled.and_then(|filled| self.end_copy(name, &mut making, filled));
        ended.inspect_err(|_| making.undo())
    }

    /// Makes an empty file, under another name if its own is in use.
    pub(crate) fn begin_copy(
        &mut self,
        name: Name<'_>,
        stat: &Stat,
        instead: bool,
    ) -> Result<Making, Failure> {
        if instead || !name.site.manner.direct {
            return self.begin_copy_aside(name, stat);
        }
        self.create(name, name.name.to_owned(), false, stat)
    }

    /// Makes an empty file under a temporary name.
    pub(crate) fn begin_copy_aside(
        &mut self,
        name: Name<'_>,
        stat: &Stat,
    ) -> Result<Making, Failure> {
        self.create(name, self.job.parts.of(name.name), true, stat)
    }

    /// Gives a file that is filled its metadata and its name; returns its inode if it is to be known.
    pub(crate) fn end_copy(
        &mut self,
        name: Name<'_>,
        making: &mut Making,
        filled: Filled<'_>,
    ) -> Result<u64, Failure> {
        let Filled { stat, is_stable, attributes, proof } = filled;
        let unset = self.dress_new(name.site, making, &stat, &attributes)?;
        self.note_all_unset(name, unset);
        self.note_time(&name.site.node, stat.mtime);
        let Making { new, now, .. } = making;
        if self.job.options.verify {
            self.verify(new, &proof, &stat)?;
        }
        let mtime = if is_stable { stat.mtime } else { unlike(stat.mtime) };
        // To read it is to access it.
        new.set_times(stat.atime, mtime).map_err(destination(Op::SetTimes))?;
        if self.job.options.fsync {
            new.sync().map_err(destination(Op::Sync))?;
        }
        // Before it can be found under its name: it is not one that is to go.
        let is_claimed = self.job.options.memory.is_some();
        let inode = match now {
            _ if stat.links < 2 && !self.job.options.verify && !is_claimed => 0,
            Some(now) => self.claimed(now, is_claimed),
            None => {
                let now = new.stat().map_err(destination(Op::Stat))?;
                self.claimed(&now, is_claimed)
            }
        };
        if making.aside {
            let made = making.now.map(|now| now.key());
            let placed = self.put_in_place(name, &making.to, &making.made, made);
            making.is_displaced = matches!(placed, Err(Some(Reason::Displaced)));
            placed?;
        }
        if !is_stable {
            self.fail(&name.site.node, name.name.to_bytes(), Reason::Changed);
        }
        Ok(inode)
    }

    /// Returns the inode of a file that was made; claims it for its name if others may look for its content.
    fn claimed(&self, now: &Stat, is_claimed: bool) -> u64 {
        if is_claimed {
            self.job.claimed.claim(now.key());
        }
        now.inode
    }

    /// Makes a new file have the bytes of a file of this host; returns what that was like, and whether it was at
    /// rest.
    pub(crate) fn fill_from(
        &mut self,
        site: &Site,
        new: &NewFile,
        source: &File,
        listed: &Stat,
    ) -> Result<(Stat, bool), Failure> {
        let (mut stat, mut left) = (*listed, ATTEMPTS);
        loop {
            let read = self.copy_bytes(site, source, new, &stat);
            let after = source.stat_now().map_err(|e| self.source_failure(Op::Stat, e))?;
            let is_stable = after.same_version(&stat);
            if is_stable || left == 0 {
                read.map_err(copy_failure)?;
                return Ok((stat, is_stable));
            }
            if after.kind != Kind::File || is_gone(&stat, &after) {
                return Err(Some(Reason::Changed));
            }
            // What was read belongs to no version, and may be longer than this one.
            new.set_size(0).map_err(destination(Op::Write))?;
            stat = after;
            left -= 1;
        }
    }

    /// Makes a file that nobody may read who may not read the original; returns its metadata if these had to
    /// be looked at.
    fn create(
        &mut self,
        name: Name<'_>,
        made: CString,
        aside: bool,
        stat: &Stat,
    ) -> Result<Making, Failure> {
        let site = name.site;
        let to = self.open(Side::Destination, &site.node).map_err(destination(Op::Open))?;
        let (known, keeps) = (site.new_owner.get().copied(), site.node.keeps());
        let is_own = known.is_some_and(|owner| self.job.rights.owner(keeps, owner, stat).is_none());
        let rights = if is_own && !site.manner.hands_down_acl { stat.mode & 0o777 } else { 0o600 };
        let new = match to.create_file_with(&made, rights | 0o200) {
            Ok(new) => new,
            Err(e) if aside => return Err(destination(Op::Create)(e)),
            Err(e) => return Err(self.not_made(name, &to, Op::Create, e)),
        };
        if aside {
            // Also if it comes to nothing: the directory is another one than before.
            site.node.set(TOUCHED);
        }
        let now = if aside || known.is_none() || !is_own || site.manner.hands_down_acl {
            let now = new.stat().map_err(destination(Op::Stat))?;
            site.learn_owner(&now);
            Some(now)
        } else {
            None
        };
        Ok(Making { to, made, aside, new, now, is_displaced: false })
    }

    /// Gives a new file the metadata of `stat`, but for times, and these attributes; returns what could not be set.
    fn dress_new(
        &self,
        site: &Site,
        Making { new, now, .. }: &Making,
        stat: &Stat,
        wanted: &Attributes,
    ) -> Result<Vec<Unset>, Failure> {
        let (rights, keeps) = (&self.job.rights, site.node.keeps());
        let mut unset = Vec::new();
        let mut try_to = |op, set: io::Result<()>| {
            let failed = set.is_err();
            unset.extend(set.err().map(|source| (op, source)));
            failed
        };
        let owner =
            now.map_or_else(|| site.new_owner.get().copied(), |now| Some((now.uid, now.gid)));
        let owner = owner.unwrap_or_default();
        let to_be = rights.owner(keeps, owner, stat);
        let failed = to_be.is_some_and(|Owner { user, group }| {
            try_to(Op::SetOwner, new.set_owner_to(user, group))
        });
        let mode = rights.mode(keeps, owner, stat).map(allowed(failed));
        let made_with =
            now.map_or_else(|| rights.of_new(stat.mode | 0o200), |now| now.mode & 0o7777);
        let has_others = site.manner.hands_down_acl || !wanted.all().is_empty();
        // While it may be written to: later its own rights may forbid that.
        if has_others {
            let has = new.xattrs().map_err(destination(Op::SetAttributes))?;
            let has = wanted.counting(rights, keeps, has);
            try_to(Op::SetAttributes, new.set_xattrs_to(&has, wanted.all()));
        }
        if let Some(mode) = mode
            && (to_be.is_some() || has_others || made_with != mode)
        {
            try_to(Op::SetMode, new.set_mode(mode));
        }
        Ok(unset)
    }

    /// Returns whether a copy of a file would have the owner, the permissions and the attributes that what is there
    /// has, as the destination cannot hold others; then notes what it cannot.
    ///
    /// Who copied it all the same would do so in each run.
    pub(crate) fn would_be_no_better(
        &mut self,
        name: Name<'_>,
        stat: &Stat,
        there: &Stat,
        has: Vec<Xattr>,
    ) -> Result<bool, Failure> {
        if self.imagines(name.site) || stat.kind != Kind::File {
            return Ok(false);
        }
        let wanted = self.source_attributes(name)?;
        let making = self.begin_copy_aside(name, stat)?;
        let tried = self.dress_new(name.site, &making, stat, &wanted).and_then(|unset| {
            let (now, xattrs) = (making.new.stat(), making.new.xattrs());
            Ok((unset, now.map_err(destination(Op::Stat))?, xattrs.map_err(destination(Op::Read))?))
        });
        making.undo();
        let (unset, now, xattrs) = tried?;
        let keeps = name.site.node.keeps();
        let counting = |xattrs| wanted.counting(&self.job.rights, keeps, xattrs);
        let is_alike = (now.uid, now.gid, now.mode) == (there.uid, there.gid, there.mode)
            && !xattrs_differ(&counting(xattrs), &counting(has));
        if is_alike {
            self.note_all_unset(name, unset);
        }
        Ok(is_alike)
    }

    fn note_all_unset(&mut self, name: Name<'_>, unset: Vec<Unset>) {
        for (op, source) in unset {
            self.note_unset(&name.site.node, name.name, op, Err(source));
        }
    }

    /// Notes if owner, permissions or attributes could not be set, and returns whether: what has the others is worth
    /// having.
    pub(crate) fn note_unset(
        &mut self,
        node: &Node,
        name: &CStr,
        op: Op,
        set: io::Result<()>,
    ) -> bool {
        let Err(source) = set else { return false };
        self.fail(node, name.to_bytes(), Reason::Destination { op, source });
        true
    }
}

impl Making {
    /// Removes what was made.
    pub(crate) fn undo(&self) {
        if !self.is_displaced {
            self.remove_beside(&self.made);
        }
    }

    /// Removes a temporary file in the same directory.
    pub(crate) fn remove_beside(&self, part: &CStr) {
        // What cannot be removed has a name that the next run knows as lop's own.
        let _left = self.to.remove_name(part);
    }
}

/// Returns the modification time for a copy that may mix several versions of its file. It differs from that of the file
/// even where timestamps are coarse, so the next run copies the file again although an edit restored its time.
fn unlike(mtime: Time) -> Time {
    Time { s: mtime.s.saturating_sub(10), ..mtime }
}

/// Returns whether a file that is open has lost its last name; some file systems never say that there is one.
pub(crate) fn is_gone(before: &Stat, after: &Stat) -> bool {
    after.links == 0 && before.links > 0
}
