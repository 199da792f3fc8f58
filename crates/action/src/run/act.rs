//! Performs the action on one file, depending on its kind.
//!
//! Before [`Worker::act`] is called, the file was found equal to the kept file, and its intent is
//! on the disk. `act` takes a lease, exchanges the name, and checks the entry that arrived in the
//! staging directory. Only then does it remove that entry or roll back. The order of these steps
//! must not change.

use std::io;

use fsops::{File, FileKey, Lease, Op, ShareOutcome, Stat, Volume};

use crate::error::Reason;
use crate::journal::lines::Lines;
use crate::journal::record::Record;
use crate::plan::kind::Kind;
use crate::plan::obstacle::{has_nothing_to_share, unsupported};
use crate::run::apply::Worker;
use crate::run::copy::CopyJob;
use crate::run::open::{OpenedFile, OwnChanges, Redundant};
use crate::staging::name_swap::{NameSwap, Substitute, TakenOut};
use crate::statuses::is_exclusive;

impl Worker<'_> {
    /// Performs the action on a file. Returns the number of bytes freed. If the file still has a
    /// name, also returns the file's status change time after the action.
    ///
    /// # Errors
    ///
    /// The reason why the action failed. The file has its name and content again, unless the reason
    /// is [`Reason::Stranded`]. For [`Reason::SubstituteKept`], the copy is still in the staging directory.
    pub(crate) fn act(
        &mut self,
        one: &Redundant<'_>,
        kept: &OpenedFile<'_>,
        ours: &OwnChanges,
    ) -> Result<(u64, Option<i64>), Reason> {
        let file = &one.opened.file;
        let lease = if one.staging.is_some() { file.take_lease() } else { Lease::Unknown };
        if let Lease::Written = lease {
            return Err(Reason::OpenForWriting);
        }
        let now = file.stat().map_err(Reason::failed(Op::Stat))?;
        let planned = ours.get(&now.key()).unwrap_or(&one.opened.stat);
        if !now.same_version(planned) {
            return Err(Reason::Changed);
        }
        let freed = self.frees(one, &now);
        let Some(staging) = &one.staging else {
            self.share(one, kept)?;
            // Sharing extents changes neither names nor the status change time.
            self.outcome.statuses.record(&now, Some(now));
            return Ok((freed, None));
        };
        self.remember_times(one)?;
        let names = NameSwap::for_action(&one.opened.dir, &one.opened.name, staging, one.n);
        let mut new = match (self.shared.options.kind, &one.link) {
            (Kind::Hardlink, _) => Substitute::Link(vec![kept.stat.key()]),
            (Kind::Separate, _) => self.copy(one, &names, &now)?,
            (_, Some(target)) => Substitute::Symlink(target.clone()),
            _ => Substitute::Nothing,
        };
        let copy = match new {
            Substitute::Copy { .. } => staging.dir.open_file(&names.new).ok(),
            _ => None,
        };
        let copy_lease = copy.as_ref().map(File::take_lease);
        match self.change_name(one, &names, kept, &mut new, &lease) {
            Ok(()) => {
                if let (Some(copy), Some(lease)) = (&copy, &copy_lease) {
                    self.record_copy(copy, &now, lease);
                }
                Ok((freed, self.record_status(one, &now, &lease)))
            }
            Err(reason) => {
                // A program may have opened the copy and written to it while the copy briefly had
                // the file's name.
                let is_untouched = || copy_lease.as_ref().is_none_or(Lease::holds);
                names.roll_back_if(&new, &is_untouched).and(Err(reason))
            }
        }
    }

    /// Records the status change time of a copy that replaced a file, unless a program may have
    /// written to the copy meanwhile.
    fn record_copy(&mut self, copy: &File, was: &Stat, lease: &Lease<'_>) {
        let copy = copy.stat_uncached().ok().filter(|copy| same_bytes(copy, was));
        if let Some(copy) = copy.filter(|_| is_exclusive(lease)) {
            self.outcome.statuses.record_made(&copy);
        }
    }

    /// Records the status change time that a file has after its name has been changed. Returns that
    /// time if the file still has a name.
    fn record_status(&mut self, one: &Redundant<'_>, was: &Stat, lease: &Lease<'_>) -> Option<i64> {
        let statuses = &mut self.outcome.statuses;
        if one.opened.stat.links < 2 && !self.shared.options.kind.fills_quarantine() {
            return None;
        }
        // The lease must still be held here, because a writer that waits for the lease can write as
        // soon as it is released. Without a lease (FUSE), any program may have written since the
        // name changed.
        let now = one.opened.file.stat_uncached().ok().filter(|_| is_exclusive(lease));
        statuses.record(was, now);
        statuses.of(was.key()).map(|status| status.after_ns)
    }

    fn change_name(
        &self,
        one: &Redundant<'_>,
        names: &NameSwap<'_>,
        kept: &OpenedFile<'_>,
        new: &mut Substitute,
        lease: &Lease<'_>,
    ) -> Result<(), Reason> {
        let staging = &names.staging.dir;
        let taken = match new {
            Substitute::Link(keys) => {
                let made = make_link(names, kept)?;
                self.journal_link(one.n, &made, keys)?;
                let taken = names.swap()?;
                if keys.len() > 1 {
                    self.journal_link_in_place(one.n, names, kept, keys)?;
                }
                taken
            }
            Substitute::Symlink(target) => {
                let failed = failed_link(Kind::Symlink, &one.opened.volume);
                staging.make_symlink(target, &names.new).map_err(failed)?;
                if kept.is_local() {
                    names.swap()?
                } else {
                    // If the kept file were an alias of this file, the server would follow the new
                    // symbolic link back to itself. The kept file is therefore checked while the
                    // name does not exist.
                    let new = Substitute::Symlink(target.clone());
                    names.swap_in_steps(|taken| check_kept(kept, &new, taken))?
                }
            }
            Substitute::Copy { .. } => names.swap()?,
            Substitute::Nothing => names.take_out()?,
        };
        check_taken(&taken, &one.opened)?;
        // The kept file must be checked after the name was taken out. If two runs each take out the
        // other's kept file, at least one of them then notices.
        check_kept(kept, new, &taken)?;
        check_unwritten(&taken, &one.opened.file, lease)?;
        if self.shared.options.kind.fills_quarantine() { Ok(()) } else { names.remove(&taken) }
    }

    /// Records in the journal the identity that the link has under its final name. On file systems
    /// that cannot exchange names, that identity can differ from the first one.
    fn journal_link_in_place(
        &self,
        n: u64,
        names: &NameSwap<'_>,
        kept: &OpenedFile<'_>,
        keys: &mut Vec<FileKey>,
    ) -> Result<(), Reason> {
        let now = names.dir.stat_child(names.name).map_err(Reason::failed(Op::Stat))?;
        let is_link = now.links > 1 && same_bytes(&now, &kept.stat);
        if is_link { self.journal_link(n, &now, keys) } else { Ok(()) }
    }

    /// Records the identity of a link in the journal if it is not already among `keys`.
    fn journal_link(&self, n: u64, link: &Stat, keys: &mut Vec<FileKey>) -> Result<(), Reason> {
        if keys.contains(&link.key()) {
            return Ok(());
        }
        keys.push(link.key());
        let mut lines = Lines::default();
        lines.push(&Record::Linked { n, inode: link.inode });
        let failed = |_| Reason::Failed { op: Op::Write, source: io::ErrorKind::Other.into() };
        self.shared.journal.append(&lines, false).map_err(failed)
    }

    /// Makes a copy of a file to replace the file, and syncs the copy to the disk.
    fn copy(
        &mut self,
        one: &Redundant<'_>,
        names: &NameSwap<'_>,
        now: &Stat,
    ) -> Result<Substitute, Reason> {
        let file = &one.opened.file;
        let xattrs = file.xattrs().map_err(Reason::failed(Op::Stat))?;
        let copy = CopyJob { source: file, like: now, xattrs: &xattrs, digest: false };
        let staging = &names.staging.dir;
        let made = copy.make(names, &mut self.scratch, &self.meter).and_then(|made| {
            if !made.has_owner {
                let source = io::ErrorKind::PermissionDenied.into();
                return Err(Reason::Failed { op: Op::Change, source });
            }
            let new = made.file;
            new.sync().map_err(Reason::failed(Op::Sync))?;
            let made = new.stat().map_err(Reason::failed(Op::Stat))?;
            staging
                .move_new(&names.temp, staging, &names.new)
                .map_err(Reason::failed(Op::Rename))?;
            Ok(Substitute::copy(&made))
        });
        if made.is_err() {
            names.remove_temp();
        }
        made
    }

    fn share(&self, one: &Redundant<'_>, kept: &OpenedFile<'_>) -> Result<(), Reason> {
        let file = &one.opened.file;
        if has_nothing_to_share(file, &kept.file) {
            return Err(Reason::IsKeptFile);
        }
        match file.share_extents_of(&kept.file, kept.stat.size, |bytes| self.meter.step(bytes)) {
            Ok(ShareOutcome::Whole) => Ok(()),
            Ok(ShareOutcome::Differs) => Err(Reason::Differs),
            Err(source) if source.kind() == io::ErrorKind::Unsupported => {
                Err(Reason::Unsupported { file_system: kept.volume.name(), kind: Kind::Reflink })
            }
            Err(source) => Err(Reason::Failed { op: Op::Share, source }),
        }
    }

    /// Returns how many bytes an action on a file frees. The action frees nothing if the file has
    /// other names, if all of its extents are shared, or if its bytes are inside the inode.
    fn frees(&self, one: &Redundant<'_>, now: &Stat) -> u64 {
        let kind = self.shared.options.kind;
        let moves = kind.fills_quarantine() || kind == Kind::Separate;
        let goes = kind == Kind::Reflink || now.links == 1 && !moves;
        if !goes || one.opened.file.frees_no_space() { 0 } else { now.allocated }
    }

    /// Saves the times of a file's directory if they must be restored later.
    fn remember_times(&mut self, one: &Redundant<'_>) -> Result<(), Reason> {
        if !self.shared.options.directory_times {
            return Ok(());
        }
        let stat = one.opened.dir.stat().map_err(Reason::failed(Op::Stat))?;
        let mut times = self.shared.times.lock();
        times.entry(stat.key()).or_insert((stat.atime, stat.mtime));
        self.touched.insert(stat.key(), one.opened.dir.clone());
        Ok(())
    }

    /// Restores the times of directories in which names were changed.
    pub(crate) fn restore_times(&mut self) {
        for (key, dir) in self.touched.drain() {
            let times = self.shared.times.lock();
            if let Some(&(atime, mtime)) = times.get(&key) {
                // The changed names matter more than the times, so a failure to set the times is
                // ignored.
                let _refused = dir.set_times(atime, mtime);
            }
        }
    }
}

/// Creates another name of the kept file in the staging directory. Returns the metadata of the
/// link.
///
/// The identity of the link is read from the link itself. It differs from that of the kept file on
/// file systems where each name has its own inode number (FUSE), or if the file was copied to
/// create the link (overlayfs).
fn make_link(names: &NameSwap<'_>, kept: &OpenedFile<'_>) -> Result<Stat, Reason> {
    let staging = &names.staging.dir;
    let failed = failed_link(Kind::Hardlink, &kept.volume);
    staging.link_file(&kept.file, &names.new).map_err(failed)?;
    let made = staging.stat_child(&names.new).map_err(Reason::failed(Op::Stat))?;
    if made.links < 2 {
        // The file system does not count links (sshfs), so a link could not be distinguished from
        // the last name of a file.
        staging.remove_name(&names.new).map_err(Reason::failed(Op::Remove))?;
        let (file_system, kind) = (kept.volume.name(), Kind::Hardlink);
        return Err(Reason::Unsupported { file_system, kind });
    }
    Ok(made)
}

/// Converts the error of creating a link into a reason.
fn failed_link(kind: Kind, volume: &Volume) -> impl Fn(io::Error) -> Reason {
    move |source| {
        unsupported(kind, volume, &source).unwrap_or(Reason::Failed { op: Op::Link, source })
    }
}

/// Checks that the entry that was taken out is the file that was compared, and that it is
/// unchanged.
///
/// While the file is open, no other file can have its inode number. If the numbers differ, the
/// number of the open file is read again, because a rename may have changed it (overlayfs).
fn check_taken(taken: &TakenOut, opened: &OpenedFile<'_>) -> Result<(), Reason> {
    let key = taken.stat.key();
    let is_held = key == opened.stat.key()
        || opened.file.stat_uncached().map_err(Reason::failed(Op::Stat))?.key() == key;
    match is_held {
        true if same_bytes(&taken.stat, &opened.stat) => Ok(()),
        true => Err(Reason::Changed),
        false => Err(Reason::Swapped),
    }
}

/// Checks that the kept file still has its name and has not changed.
///
/// A stacked or network file system may still show the file that was just taken out under the name
/// of the kept file, as if it were a different file. But the rename changed that file's status
/// change time, and this change is visible under the name of the kept file too. If the substitute
/// is a hard link, the link itself proves that the kept file exists. Making the link changes the
/// status change time, so only size and modification time are compared.
///
/// Where the kernel only relays metadata, the metadata may come from a cache. In that case, the
/// kept file is opened again by name, which forces a lookup on every file system (sshfs, network
/// file systems).
fn check_kept(kept: &OpenedFile<'_>, new: &Substitute, taken: &TakenOut) -> Result<(), Reason> {
    let now = match new {
        Substitute::Link(_) | Substitute::Copy { .. } => kept.file.stat(),
        _ if kept.is_local() => kept.dir.stat_child_uncached(&kept.name),
        _ => kept.dir.open_file(&kept.name).and_then(|file| file.stat_uncached()),
    };
    let is_link = matches!(new, Substitute::Link(_) | Substitute::Copy { .. });
    match now {
        Ok(now) if now.same_version(&kept.stat) || is_link && same_bytes(&now, &kept.stat) => {
            Ok(())
        }
        // The rename gave both names the same status change time to the nanosecond, so both are the
        // same file.
        Ok(now) if same_bytes(&now, &kept.stat) && now.ctime_ns == taken.stat.ctime_ns => {
            Err(Reason::IsKeptFile)
        }
        Ok(now) if now.key() == kept.stat.key() || is_link => Err(Reason::KeptChanged),
        Ok(_) => Err(Reason::KeptGone),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Err(Reason::KeptGone),
        Err(source) => Err(Reason::KeptFailed { op: Op::Stat, source }),
    }
}

/// Checks that no program has written to the file since it was taken out, and that none is waiting
/// to write. This is the last check before the removal. A program that opened the file before its
/// name changed would otherwise write to a file without a name.
fn check_unwritten(taken: &TakenOut, file: &File, lease: &Lease<'_>) -> Result<(), Reason> {
    if !lease.holds() {
        return Err(Reason::OpenForWriting);
    }
    if let Lease::LeaseGuard(_) = lease {
        return Ok(());
    }
    let now = file.stat_uncached().map_err(Reason::failed(Op::Stat))?;
    if now.same_version(&taken.stat) { Ok(()) } else { Err(Reason::Changed) }
}

/// Returns whether two stats of a file have the same size and modification time, and therefore
/// presumably the same content.
pub(crate) fn same_bytes(one: &Stat, other: &Stat) -> bool {
    (one.size, one.mtime_ns()) == (other.size, other.mtime_ns())
}
