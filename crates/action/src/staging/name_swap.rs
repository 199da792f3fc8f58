//! Moves one name in and out of a staging directory. At every moment, the file has either its own
//! name or a name in the staging directory.
//!
//! A name is never overwritten. It is also never removed from a directory where another process
//! could replace the file at that moment. Instead, the file is exchanged with an entry in the
//! staging directory, or moved there. The entry that arrived is then checked. If it is not the
//! expected one, it is moved back.

use std::ffi::{CStr, CString};
use std::io;
use std::rc::Rc;

use fsops::{Dir, FileKey, Kind as Entry, Op, Stat};

use crate::error::Reason;
use crate::staging::dir::Staging;

/// Number of attempts to move back an entry that keeps changing before [`NameSwap`] gives up.
const MAX_ROLL_BACK_ATTEMPTS: u32 = 16;

/// A name in one of the user's directories, with the names in the staging directory that its intent
/// may use.
#[derive(Debug)]
pub(crate) struct NameSwap<'a> {
    pub(crate) dir: &'a Rc<Dir>,
    pub(crate) name: &'a CStr,
    pub(crate) staging: &'a Staging,
    /// Name in the staging directory for the substitute, and after the exchange for the file
    /// itself.
    pub(crate) new: CString,
    /// Name in the staging directory for the file if names cannot be exchanged.
    pub(crate) old: CString,
    /// Name in the staging directory for an unfinished substitute. The substitute can be made
    /// again, and no other entry ever gets this name.
    pub(crate) temp: CString,
    /// Name in the staging directory of a substitute that had the file's name. Other programs may have
    /// written to the substitute.
    touched: CString,
}

/// The substitute for a file, with the data that identifies it later.
#[derive(Clone, Debug)]
pub(crate) enum Substitute {
    /// There is no substitute, because the file is only removed.
    Nothing,
    /// Another name of the kept file, with its possible identities. They differ from that of the
    /// kept file if each name has its own inode number, or if the file was copied to create the
    /// link (overlayfs).
    Link(Vec<FileKey>),
    /// A symbolic link with this target.
    Symlink(Vec<u8>),
    /// A file that lop made, with its metadata at that time. Once another program has written to
    /// the file, lop no longer treats it as its own.
    Copy { inode: u64, size: u64, mtime_ns: i64 },
}

impl Substitute {
    /// Returns the substitute for a file that lop just made, with the metadata `made`.
    pub(crate) fn copy(made: &Stat) -> Substitute {
        Substitute::Copy { inode: made.inode, size: made.size, mtime_ns: made.mtime_ns() }
    }
}

/// The file that was taken out, with its name in the staging directory.
#[derive(Debug)]
pub(crate) struct TakenOut {
    name: CString,
    pub(crate) stat: Stat,
}

impl<'a> NameSwap<'a> {
    /// Returns the names for the action of intent `n`.
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

    /// Returns the names that the file of intent `n` may have in a staging directory.
    pub(crate) fn names_of(staging: &Staging, n: u64) -> [CString; 2] {
        [staging.name_of(n), staging.name(&format!("{n}.old"))]
    }

    /// Returns the names for the undo of intent `n`. They differ from those that the action may
    /// have left behind.
    pub(crate) fn for_undo(dir: &'a Rc<Dir>, name: &'a CStr, staging: &'a Staging, n: u64) -> Self {
        let (new, old) = (staging.name(&format!("{n}.copy")), staging.name(&format!("{n}.over")));
        NameSwap { new, old, ..NameSwap::for_action(dir, name, staging, n) }
    }

    /// Moves the file into the staging directory.
    ///
    /// # Errors
    ///
    /// Fails if the rename fails, nothing has changed. If the file cannot be inspected after the rename,
    /// it is in the staging directory, and the caller must roll back.
    pub(crate) fn take_out(&self) -> Result<TakenOut, Reason> {
        self.dir
            .take_out(self.name, &self.staging.dir, &self.new)
            .map_err(Reason::failed(Op::Rename))?;
        self.taken(&self.new)
    }

    /// Exchanges the file with its substitute, so that the name exists at all times. If the file
    /// system cannot exchange names, falls back to two steps.
    ///
    /// # Errors
    ///
    /// Fails if the exchange fails, nothing has changed. For all other errors, the caller must roll back.
    pub(crate) fn swap(&self) -> Result<TakenOut, Reason> {
        let staging = &self.staging.dir;
        match self.dir.exchange(self.name, staging, &self.new) {
            Ok(()) => self.taken(&self.new),
            Err(e) if cannot_exchange(&e) => self.swap_in_steps(|_| Ok(())),
            Err(source) => Err(Reason::Failed { op: Op::Rename, source }),
        }
    }

    /// Like [`NameSwap::swap`], but in two steps, and calls `between` between them. For a moment,
    /// the name does not exist.
    ///
    /// # Errors
    ///
    /// Same as for [`NameSwap::swap`], or the error of `between`. The file may be in the staging
    /// directory, and the caller must roll back.
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
        let stat = self.staging.dir.stat_child_uncached(name).map_err(Reason::failed(Op::Stat))?;
        Ok(TakenOut { name: name.into(), stat })
    }

    /// Returns whether the entry that was taken out is the given substitute.
    pub(crate) fn is_expected(&self, taken: &TakenOut, substitute: &Substitute) -> bool {
        match substitute {
            // The link may be the last name of its file. It may still be removed, because the copy
            // that replaced it has the same content.
            Substitute::Link(keys) => keys.contains(&taken.stat.key()),
            other => is_substitute(&self.staging.dir, &taken.name, &taken.stat, other)
                .is_ok_and(|is_substitute| is_substitute),
        }
    }

    /// Removes the unfinished substitute.
    pub(crate) fn remove_temp(&self) {
        // There may be no unfinished substitute. If there is one that cannot be removed, making a
        // new one will fail.
        let _none = self.staging.dir.remove_name(&self.temp);
    }

    /// Removes the file that was taken out.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be removed. It then remains in the staging directory.
    pub(crate) fn remove(&self, taken: &TakenOut) -> Result<(), Reason> {
        self.staging.dir.remove_name(&taken.name).map_err(Reason::failed(Op::Remove))
    }

    /// Restores the state before the intent, regardless of how far the action got. Removes the
    /// substitute, and moves the file back to its name.
    ///
    /// # Errors
    ///
    /// [`Reason::Stranded`] if another entry has the name, or the file cannot be moved back. The
    /// file then stays in the staging directory.
    pub(crate) fn roll_back(&self, substitute: &Substitute) -> Result<(), Reason> {
        self.roll_back_if(substitute, &|| true)
    }

    /// Like [`NameSwap::roll_back`], but removes the substitute only if `is_untouched` returns
    /// true. Otherwise renames the substitute within the staging directory.
    ///
    /// # Errors
    ///
    /// [`Reason::SubstituteKept`] if the substitute was renamed; the file has its name again. Otherwise
    /// see [`NameSwap::roll_back`].
    pub(crate) fn roll_back_if(
        &self,
        substitute: &Substitute,
        is_untouched: &dyn Fn() -> bool,
    ) -> Result<(), Reason> {
        // The first name is emptied twice. If names cannot be exchanged, moving the file back from
        // `old` moves the substitute to `new`.
        for name in [&self.new, &self.old, &self.new] {
            self.empty_name(name, substitute, is_untouched).map_err(|_| {
                if self.staging.dir.stat_child(&self.touched).is_ok() {
                    Reason::SubstituteKept { at: self.staging.path_of(&self.touched) }
                } else {
                    Reason::Stranded { at: self.staging.path_of(name) }
                }
            })?;
        }
        Ok(())
    }

    /// Frees one name in the staging directory. Removes the entry if it is the substitute, and
    /// moves it back otherwise.
    fn empty_name(
        &self,
        name: &CStr,
        substitute: &Substitute,
        is_untouched: &dyn Fn() -> bool,
    ) -> io::Result<()> {
        let staging = &self.staging.dir;
        for _ in 0..MAX_ROLL_BACK_ATTEMPTS {
            let Some(here) = stat_if_exists(staging, name)? else { return Ok(()) };
            if is_substitute(staging, name, &here, substitute)? {
                if is_untouched() {
                    return staging.remove_name(name);
                }
                staging.move_new(name, staging, &self.touched)?;
                return Err(io::ErrorKind::ResourceBusy.into());
            }
            let given = match stat_if_exists(self.dir, self.name)? {
                None => staging.move_new(name, self.dir, self.name),
                // The file has both names, either because it is a hard link or because a rename in
                // two steps was interrupted.
                Some(there) if there.key() == here.key() => staging.remove_name(name),
                Some(there) if is_substitute(self.dir, self.name, &there, substitute)? => {
                    self.exchange_or_move(name)
                }
                Some(_) => return Err(io::ErrorKind::AlreadyExists.into()),
            };
            match given {
                Ok(()) => {}
                // Another process changed the name meanwhile, so try again.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(e),
            }
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    /// Exchanges a name in the staging directory with the user's name, in two steps if necessary.
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

/// Returns whether an entry is the given substitute and may be removed.
fn is_substitute(dir: &Dir, name: &CStr, stat: &Stat, substitute: &Substitute) -> io::Result<bool> {
    Ok(match substitute {
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

/// Returns whether a symbolic link has the target `target`. sshfs does not show links that lead out
/// of the mounted tree. The targets of such links are compared only by length.
pub(crate) fn leads_to(dir: &Dir, name: &CStr, stat: &Stat, target: &[u8]) -> io::Result<bool> {
    match dir.read_symlink(name) {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            Ok(usize::try_from(stat.size) == Ok(target.len()))
        }
        text => Ok(text? == target),
    }
}

fn stat_if_exists(dir: &Dir, name: &CStr) -> io::Result<Option<Stat>> {
    match dir.stat_child(name) {
        Ok(stat) => Ok(Some(stat)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

/// Returns whether an error means that the file system cannot exchange names.
fn cannot_exchange(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}
