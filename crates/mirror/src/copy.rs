//! Copies one regular file: bytes, holes and metadata, under a name that is not its own yet.

use std::ffi::CStr;
use std::io::{self, ErrorKind};

use fsops::{Dir, File, Kind, NewFile, Op, Stat};

use crate::compare::destination;
use crate::held::Side;
use crate::name::{Failure, Name};
use crate::outcome::Reason;
use crate::part::part_name;
use crate::rights::Owner;
use crate::site::Site;
use crate::worker::Worker;

/// Files up to this size are read and written by one call each.
const SMALL: u64 = 192 << 10;

/// Bytes copied by one call within the kernel: a stop is heard between two.
const STEP: u64 = 8 << 20;

/// A file that keeps changing is copied as it was the last time.
const ATTEMPTS: usize = 2;

impl Worker<'_> {
    /// Copies a file; returns the copy's inode, or 0 if it has no other names.
    pub(crate) fn copy(
        &mut self,
        name: Name<'_>,
        stat: &Stat,
        instead: bool,
    ) -> Result<u64, Failure> {
        let Name { site, name: called, .. } = name;
        let from = self.open(Side::Source, &site.node);
        let from = from.map_err(|e| self.source_failure(Op::Open, e))?;
        let to = self.open(Side::Destination, &site.node).map_err(destination(Op::Open))?;
        let source =
            from.open_file_quietly(called).map_err(|e| self.source_failure(Op::Open, e))?;
        let part = part_name(called);
        let aside = instead || !site.manner.direct;
        let made = if aside { part.as_c_str() } else { called };
        // Before it is there, there is nothing of ours to take back.
        let created = self.create(site, &to, made, stat)?;
        let copied = self.fill_and_dress(site, created, &source, stat).and_then(|copied| {
            if aside {
                to.replace(made, called).map_err(destination(Op::Rename))?;
            }
            Ok(copied)
        });
        match copied {
            Ok((inode, stable)) => {
                if !stable {
                    self.fail(&site.node, called.to_bytes(), Reason::Changed);
                }
                Ok(inode)
            }
            Err(failure) => {
                let _left = to.remove_name(made);
                Err(failure)
            }
        }
    }

    /// Makes a new file the copy; returns its inode if it is to be known, and whether the source was at rest.
    fn fill_and_dress(
        &mut self,
        site: &Site,
        (new, mut now): (NewFile, Option<Stat>),
        source: &File,
        listed: &Stat,
    ) -> Result<(u64, bool), Failure> {
        let mut stat = *listed;
        let mut stable = false;
        for _ in 0..ATTEMPTS {
            let read = self.copy_bytes(site, source, &new, &stat);
            let after = source.stat().map_err(|e| self.source_failure(Op::Stat, e))?;
            stable = after.same_content(&stat);
            if stable {
                read.map_err(copy_failure)?;
                break;
            }
            if after.kind != Kind::File {
                return Err(Some(Reason::Changed));
            }
            // What was read belongs to no version, and may be longer than this one.
            new.set_size(0).map_err(destination(Op::Write))?;
            stat = after;
        }
        if !stable {
            // Its time is that of before the last bytes were read: the next run looks again.
            let read = self.copy_bytes(site, source, &new, &stat);
            read.map_err(copy_failure)?;
        }
        self.dress_new(site, &new, source, &stat, &mut now)?;
        if self.job.options.verify {
            self.verify(&new, source, &stat)?;
        }
        if self.job.options.fsync {
            new.sync().map_err(destination(Op::Sync))?;
        }
        if stat.links < 2 && !self.job.options.verify {
            return Ok((0, stable));
        }
        let inode = match now {
            Some(now) => now.inode,
            None => new.stat().map_err(destination(Op::Stat))?.inode,
        };
        Ok((inode, stable))
    }

    /// Makes a file that nobody may read who may not read the original; returns its metadata if these had to
    /// be looked at.
    fn create(
        &mut self,
        site: &Site,
        to: &Dir,
        made: &CStr,
        stat: &Stat,
    ) -> Result<(NewFile, Option<Stat>), Failure> {
        let known = site.new_owner.get().copied();
        let is_own = known.is_some_and(|owner| self.job.rights.owner(owner, stat).is_none());
        let rights = if is_own && !site.manner.hands_down_acl { stat.mode & 0o777 } else { 0o600 };
        let open = || to.create_file_with(made, rights | 0o200);
        let new = match open() {
            Err(e)
                if e.kind() == ErrorKind::AlreadyExists
                    && crate::part::is_part(made.to_bytes()) =>
            {
                to.remove_name(made).and_then(|()| open())
            }
            new => new,
        };
        let new = new.map_err(destination(Op::Create))?;
        let now = if known.is_none() || !is_own || site.manner.hands_down_acl {
            let now = new.stat().map_err(destination(Op::Stat))?;
            site.learn_owner(&now);
            Some(now)
        } else {
            None
        };
        Ok((new, now))
    }

    /// Gives a new file the metadata of `stat` and the attributes of the source.
    fn dress_new(
        &mut self,
        site: &Site,
        new: &NewFile,
        source: &File,
        stat: &Stat,
        now: &mut Option<Stat>,
    ) -> Result<(), Failure> {
        let failed = || destination(Op::Change);
        let rights = &self.job.rights;
        let owner =
            now.map_or_else(|| site.new_owner.get().copied(), |now| Some((now.uid, now.gid)));
        let owner = owner.unwrap_or_default();
        let to_be = rights.owner(owner, stat);
        if let Some(Owner { user, group }) = to_be {
            new.set_owner_to(user, group).map_err(failed())?;
        }
        let mode = rights.mode(owner, stat);
        let made_with =
            now.map_or_else(|| rights.of_new(stat.mode | 0o200), |now| now.mode & 0o7777);
        if to_be.is_some() || made_with != mode {
            new.set_mode(mode).map_err(failed())?;
        }
        let wanted = source.xattrs().map_err(|e| self.source_failure(Op::Read, e))?;
        let wanted = self.job.rights.settable(wanted);
        if site.manner.hands_down_acl || !wanted.is_empty() {
            let has = self.job.rights.settable(new.xattrs().map_err(failed())?);
            new.set_xattrs_to(&has, &wanted).map_err(failed())?;
        }
        new.set_times(stat.atime_ns, stat.mtime_ns).map_err(failed())
    }

    /// Copies the bytes.
    fn copy_bytes(
        &mut self,
        site: &Site,
        source: &File,
        new: &NewFile,
        stat: &Stat,
    ) -> io::Result<()> {
        if stat.size == 0 {
            return Ok(());
        }
        let is_limited = self.job.options.bandwidth.rate().is_some();
        if site.manner.clones && !is_limited && new.clone_from(source)? {
            return Ok(());
        }
        let has_holes = stat.allocated < stat.size;
        if stat.size <= SMALL && !has_holes {
            return self.copy_stretch(source, new, 0, stat.size, false);
        }
        let mut at = 0;
        while at < stat.size {
            let (from, to) = if has_holes {
                let Some(from) = source.next_data(at)? else { break };
                (from, source.next_hole(from)?.min(stat.size))
            } else {
                (0, stat.size)
            };
            if from >= stat.size {
                break;
            }
            self.copy_stretch(source, new, from, to, true)?;
            at = to;
        }
        if has_holes { new.set_size(stat.size) } else { Ok(()) }
    }

    /// Copies the bytes from one place to another.
    fn copy_stretch(
        &mut self,
        source: &File,
        new: &NewFile,
        mut at: u64,
        end: u64,
        mut in_kernel: bool,
    ) -> io::Result<()> {
        while at < end {
            let step = self.step().min(end - at);
            if !self.job.options.bandwidth.pass_some(step, self.job.watch) || self.stopped() {
                return Err(ErrorKind::Interrupted.into());
            }
            if in_kernel {
                match new.copy_range(source, at, step)? {
                    Some(0) => return Err(ErrorKind::UnexpectedEof.into()),
                    Some(copied) => at += copied,
                    None => in_kernel = false,
                }
                continue;
            }
            let buffer = self.buffer.get(&self.job.buffers);
            let length = usize::try_from(step).unwrap_or(usize::MAX).min(buffer.len());
            let read = source.read_at(&mut buffer[..length], at)?;
            if read == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            new.write_at(&buffer[..read], at)?;
            at += read as u64;
        }
        Ok(())
    }

    /// Returns how many bytes to copy at once: a fraction of a second's, if there is a limit.
    fn step(&self) -> u64 {
        self.job
            .options
            .bandwidth
            .rate()
            .map_or(STEP, |rate| (rate.get() / 16).clamp(1 << 12, STEP))
    }

    /// Reads the copy back, from the disk, and compares it.
    fn verify(&mut self, new: &NewFile, source: &File, stat: &Stat) -> Result<(), Failure> {
        new.sync_and_forget().map_err(destination(Op::Sync))?;
        let copy = new.reader().map_err(destination(Op::Open))?;
        if stat.size > 0 && self.unlike(source, &copy, stat.size)? {
            return Err(Some(Reason::Unlike));
        }
        Ok(())
    }
}

/// Returns how copying bytes failed; who asked to stop need not be told.
fn copy_failure(error: io::Error) -> Failure {
    match error.kind() {
        ErrorKind::Interrupted => None,
        ErrorKind::UnexpectedEof => Some(Reason::Changed),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            destination(Op::Write)(error)
        }
        _ => Some(Reason::Source { op: Op::Read, source: error }),
    }
}
