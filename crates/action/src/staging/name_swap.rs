//! One name and what is done to it, so that at every moment each file has one of two names: its own, or
//! one in the run's private directory.
//!
//! A name is never overwritten and never removed where somebody else could put another file under it
//! at that moment. It is exchanged with, or moved to, a name in the private directory; then what came
//! is looked at, and either that is what was meant, or it is given back.

use std::ffi::{CStr, CString};
use std::io;
use std::rc::Rc;

use fsops::{Dir, FileKey, Kind as Entry, Op, Stat};

use crate::error::Reason;
use crate::staging::dir::Staging;

/// How often something that keeps changing is given back before that is given up.
const ATTEMPTS: u32 = 16;

/// A name in a user's directory, and the names beside it that an intent may use.
#[derive(Debug)]
pub(crate) struct NameSwap<'a> {
    pub(crate) dir: &'a Rc<Dir>,
    pub(crate) name: &'a CStr,
    pub(crate) staging: &'a Staging,
    /// In the private directory: what is made for the place, and then what was exchanged with it.
    pub(crate) new: CString,
    /// In the private directory: what was taken out where nothing can be exchanged.
    pub(crate) old: CString,
    /// In the private directory: what is not ready yet. It can be made again, and nothing else ever has
    /// this name.
    pub(crate) temp: CString,
    /// In the private directory: the link or copy that was made for the place, if others may have written to it.
    touched: CString,
}

/// What was made to take a file's place; known again by this.
#[derive(Clone, Debug)]
pub(crate) enum Substitute {
    /// Nothing: the file only goes.
    Nothing,
    /// A further name of the kept file. Where each name has an inode number of its own, or the file was
    /// copied to get one (overlayfs), it is known by others than the kept file's.
    Link(Vec<FileKey>),
    /// A symbolic link with this in it.
    Symlink(Vec<u8>),
    /// A file that was made for it, as it was made: what somebody has written to since is theirs.
    Copy { inode: u64, size: u64, mtime_ns: i64 },
}

impl Substitute {
    /// Returns a file that was made for the place and is as `made` says.
    pub(crate) fn copy(made: &Stat) -> Substitute {
        Substitute::Copy { inode: made.inode, size: made.size, mtime_ns: made.mtime_ns() }
    }
}

/// Where the file is that was in the place.
#[derive(Debug)]
pub(crate) struct TakenOut {
    name: CString,
    pub(crate) stat: Stat,
}

impl<'a> NameSwap<'a> {
    /// Returns the place of a file that intent `n` is about.
    pub(crate) fn for_action(
        dir: &'a Rc<Dir>,
        name: &'a CStr,
        staging: &'a Staging,
        n: u64,
    ) -> Self {
        let [new, old] = NameSwap::names_of(staging, n);
        let [temp, touched] = ["part", "touched"].map(|what| staging.name(&format!("{n}.{what}")));
        NameSwap { dir, name, staging, new, old, temp, touched }
    }

    /// Returns the names in a private directory that the file of intent `n` may have.
    pub(crate) fn names_of(staging: &Staging, n: u64) -> [CString; 2] {
        [staging.name_of(n), staging.name(&format!("{n}.old"))]
    }

    /// Returns the place as undo uses it, beside what the action may have left.
    pub(crate) fn for_undo(dir: &'a Rc<Dir>, name: &'a CStr, staging: &'a Staging, n: u64) -> Self {
        let (new, old) = (staging.name(&format!("{n}.copy")), staging.name(&format!("{n}.over")));
        NameSwap { new, old, ..NameSwap::for_action(dir, name, staging, n) }
    }

    /// Takes the file out into the private directory.
    pub(crate) fn take_out(&self) -> Result<TakenOut, Reason> {
        self.dir
            .take_out(self.name, &self.staging.dir, &self.new)
            .map_err(Reason::failed(Op::Rename))?;
        self.taken(&self.new)
    }

    /// Puts what is ready in the private directory in the place of the file, which then is there.
    pub(crate) fn swap(&self) -> Result<TakenOut, Reason> {
        let staging = &self.staging.dir;
        match self.dir.exchange(self.name, staging, &self.new) {
            Ok(()) => self.taken(&self.new),
            Err(e) if cannot_exchange(&e) => self.swap_in_steps(|_| Ok(())),
            Err(source) => Err(Reason::Failed { op: Op::Rename, source }),
        }
    }

    /// Does so in two steps, so that for a moment nothing is there, and calls `between` them.
    pub(crate) fn swap_in_steps(
        &self,
        between: impl FnOnce(&TakenOut) -> Result<(), Reason>,
    ) -> Result<TakenOut, Reason> {
        let (staging, failed) = (&self.staging.dir, Reason::failed(Op::Rename));
        self.dir.take_out(self.name, staging, &self.old).map_err(&failed)?;
        let taken = self.taken(&self.old)?;
        between(&taken)?;
        staging.move_new(&self.new, self.dir, self.name).map_err(&failed)?;
        Ok(taken)
    }

    fn taken(&self, name: &CStr) -> Result<TakenOut, Reason> {
        let stat = self.staging.dir.stat_child_now(name).map_err(Reason::failed(Op::Stat))?;
        Ok(TakenOut { name: name.into(), stat })
    }

    /// Returns whether what was taken out is this.
    pub(crate) fn is_expected(&self, taken: &TakenOut, new: &Substitute) -> bool {
        match new {
            // The copy that took its place is equal to it, so it may be the last name.
            Substitute::Link(keys) => keys.contains(&taken.stat.key()),
            other => is_new(&self.staging.dir, &taken.name, &taken.stat, other)
                .is_ok_and(|is_new| is_new),
        }
    }

    /// Removes what was not ready.
    pub(crate) fn remove_temp(&self) {
        // It may not be there. If it cannot be removed, no other can be made.
        let _none = self.staging.dir.remove_name(&self.temp);
    }

    /// Removes what was taken out.
    pub(crate) fn remove(&self, taken: &TakenOut) -> Result<(), Reason> {
        self.staging.dir.remove_name(&taken.name).map_err(Reason::failed(Op::Remove))
    }

    /// Brings everything back to what it was before the intent, from whatever has become of it: what was
    /// made is removed, and what was taken out gets its name back.
    ///
    /// # Errors
    ///
    /// [`Reason::Stranded`] if something else has the name, or it cannot be given back. It then stays in the
    /// private directory.
    pub(crate) fn roll_back(&self, new: &Substitute) -> Result<(), Reason> {
        self.roll_back_if(new, &|| true)
    }

    /// Like [`NameSwap::roll_back`], but removes what was made only if `is_untouched` returns true. Otherwise renames it
    /// within the private directory.
    ///
    /// # Errors
    ///
    /// See [`NameSwap::roll_back`].
    pub(crate) fn roll_back_if(
        &self,
        new: &Substitute,
        is_untouched: &dyn Fn() -> bool,
    ) -> Result<(), Reason> {
        // Where nothing can be exchanged, what was in the place comes to the first name when the second is
        // given back.
        for name in [&self.new, &self.old, &self.new] {
            self.empty_name(name, new, is_untouched).map_err(|_| {
                let is_touched = self.staging.dir.stat_child(&self.touched).is_ok();
                let name = if is_touched { &self.touched } else { name };
                Reason::Stranded { at: self.staging.path_of(name) }
            })?;
        }
        Ok(())
    }

    /// Empties one name of the private directory.
    fn empty_name(
        &self,
        name: &CStr,
        new: &Substitute,
        is_untouched: &dyn Fn() -> bool,
    ) -> io::Result<()> {
        let staging = &self.staging.dir;
        for _ in 0..ATTEMPTS {
            let Some(here) = look(staging, name)? else { return Ok(()) };
            if is_new(staging, name, &here, new)? {
                if is_untouched() {
                    return staging.remove_name(name);
                }
                staging.move_new(name, staging, &self.touched)?;
                return Err(io::ErrorKind::ResourceBusy.into());
            }
            let given = match look(self.dir, self.name)? {
                None => staging.move_new(name, self.dir, self.name),
                // Two names of it, as a rename in two steps leaves them, or a hard link.
                Some(there) if there.key() == here.key() => staging.remove_name(name),
                Some(there) if is_new(self.dir, self.name, &there, new)? => {
                    self.exchange_or_move(name)
                }
                Some(_) => return Err(io::ErrorKind::AlreadyExists.into()),
            };
            match given {
                Ok(()) => {}
                // Something came in between: look again.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(e),
            }
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    /// Exchanges what is in the private directory with what is in the place.
    fn exchange_or_move(&self, name: &CStr) -> io::Result<()> {
        let staging = &self.staging.dir;
        match self.dir.exchange(self.name, staging, name) {
            Err(e) if cannot_exchange(&e) => {
                let free = if name == self.new.as_c_str() { &self.old } else { &self.new };
                self.dir.take_out(self.name, staging, free)?;
                staging.move_new(name, self.dir, self.name)
            }
            answer => answer,
        }
    }
}

/// Returns whether an entry is what was made for this intent, and may be removed.
fn is_new(dir: &Dir, name: &CStr, stat: &Stat, new: &Substitute) -> io::Result<bool> {
    Ok(match new {
        Substitute::Nothing => false,
        Substitute::Link(keys) => keys.contains(&stat.key()) && stat.links > 1,
        Substitute::Symlink(target) => {
            stat.kind == Entry::Symlink && leads_to(dir, name, stat, target)?
        }
        Substitute::Copy { inode, size, mtime_ns } => {
            stat.kind == Entry::File
                && (stat.inode, stat.size, stat.mtime_ns()) == (*inode, *size, *mtime_ns)
        }
    })
}

/// Returns whether a symbolic link has this in it. sshfs shows no link that leads out of what it shows: there the
/// length has to do.
pub(crate) fn leads_to(dir: &Dir, name: &CStr, stat: &Stat, target: &[u8]) -> io::Result<bool> {
    match dir.read_symlink(name) {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            Ok(usize::try_from(stat.size) == Ok(target.len()))
        }
        text => Ok(text? == target),
    }
}

fn look(dir: &Dir, name: &CStr) -> io::Result<Option<Stat>> {
    match dir.stat_child(name) {
        Ok(stat) => Ok(Some(stat)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

/// Returns whether an error says that the file system has no exchange.
fn cannot_exchange(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}
