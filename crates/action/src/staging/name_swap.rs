//! Moves one name in and out of a staging directory, so that at every moment the file has one of two names: its own,
//! or one in the staging directory.
//!
//! A name is never overwritten, and never removed where another process could put another file under it at that
//! moment. It is exchanged with a name in the staging directory, or moved to one. Then the entry that arrived is
//! checked, and either it is the expected one or it is moved back.

use std::ffi::{CStr, CString};
use std::io;
use std::rc::Rc;

use fsops::{Dir, FileKey, Kind as Entry, Op, Stat};

use crate::error::Reason;
use crate::staging::dir::Staging;

/// How often an entry that keeps changing is moved back before [`NameSwap`] gives up.
const MAX_ROLL_BACK_ATTEMPTS: u32 = 16;

/// A name in a directory of the user, and the names in the staging directory that its intent may use.
#[derive(Debug)]
pub(crate) struct NameSwap<'a> {
    pub(crate) dir: &'a Rc<Dir>,
    pub(crate) name: &'a CStr,
    pub(crate) staging: &'a Staging,
    /// In the staging directory: the substitute for the file, and after the exchange the file itself.
    pub(crate) new: CString,
    /// In the staging directory: the file, where names cannot be exchanged.
    pub(crate) old: CString,
    /// In the staging directory: an unfinished substitute. It can be made again, and no other entry ever has this
    /// name.
    pub(crate) temp: CString,
    /// In the staging directory: a substitute that had the file's name, if other programs may have written to it.
    touched: CString,
}

/// The substitute for a file, with what identifies it later.
#[derive(Clone, Debug)]
pub(crate) enum Substitute {
    /// No substitute: the file is only removed.
    Nothing,
    /// Another name of the kept file, with its possible identities. They differ from the kept file's where each name
    /// has an inode number of its own, or where the file was copied to get another name (overlayfs).
    Link(Vec<FileKey>),
    /// A symbolic link with this content.
    Symlink(Vec<u8>),
    /// A file that lop made, with its metadata at that time. After another program has written to it, it no longer
    /// counts as lop's.
    Copy { inode: u64, size: u64, mtime_ns: i64 },
}

impl Substitute {
    /// Creates the substitute for a file that lop just made, with the metadata `made`.
    pub(crate) fn copy(made: &Stat) -> Substitute {
        Substitute::Copy { inode: made.inode, size: made.size, mtime_ns: made.mtime_ns() }
    }
}

/// The file that was taken out, and its name in the staging directory.
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

    /// Returns the names in a staging directory that the file of intent `n` may have.
    pub(crate) fn names_of(staging: &Staging, n: u64) -> [CString; 2] {
        [staging.name_of(n), staging.name(&format!("{n}.old"))]
    }

    /// Returns the names for the undo of intent `n`, distinct from those that the action may have left.
    pub(crate) fn for_undo(dir: &'a Rc<Dir>, name: &'a CStr, staging: &'a Staging, n: u64) -> Self {
        let (new, old) = (staging.name(&format!("{n}.copy")), staging.name(&format!("{n}.over")));
        NameSwap { new, old, ..NameSwap::for_action(dir, name, staging, n) }
    }

    /// Moves the file into the staging directory.
    ///
    /// # Errors
    ///
    /// If the rename fails, nothing has changed. If the file cannot be inspected afterwards, it is in the staging
    /// directory, and the caller must roll back.
    pub(crate) fn take_out(&self) -> Result<TakenOut, Reason> {
        self.dir
            .take_out(self.name, &self.staging.dir, &self.new)
            .map_err(Reason::failed(Op::Rename))?;
        self.taken(&self.new)
    }

    /// Exchanges the file with its substitute, so that the name always exists.
    ///
    /// # Errors
    ///
    /// If the exchange fails, nothing has changed. Otherwise the caller must roll back.
    pub(crate) fn swap(&self) -> Result<TakenOut, Reason> {
        let staging = &self.staging.dir;
        match self.dir.exchange(self.name, staging, &self.new) {
            Ok(()) => self.taken(&self.new),
            Err(e) if cannot_exchange(&e) => self.swap_in_steps(|_| Ok(())),
            Err(source) => Err(Reason::Failed { op: Op::Rename, source }),
        }
    }

    /// Like [`NameSwap::swap`], but in two steps, with `between` called in between. For a moment the name does not
    /// exist.
    ///
    /// # Errors
    ///
    /// As for [`NameSwap::swap`], or the error of `between`. The file may be in the staging directory, and the
    /// caller must roll back.
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

    /// Returns whether the entry that was taken out is this substitute.
    pub(crate) fn is_expected(&self, taken: &TakenOut, substitute: &Substitute) -> bool {
        match substitute {
            // The copy that replaced the link equals it, so it may be the last name of its file.
            Substitute::Link(keys) => keys.contains(&taken.stat.key()),
            other => is_substitute(&self.staging.dir, &taken.name, &taken.stat, other)
                .is_ok_and(|is_substitute| is_substitute),
        }
    }

    /// Removes the unfinished substitute.
    pub(crate) fn remove_temp(&self) {
        // There may be none. If it cannot be removed, no other can be made.
        let _none = self.staging.dir.remove_name(&self.temp);
    }

    /// Removes the file that was taken out.
    ///
    /// # Errors
    ///
    /// If the file cannot be removed. It is still in the staging directory.
    pub(crate) fn remove(&self, taken: &TakenOut) -> Result<(), Reason> {
        self.staging.dir.remove_name(&taken.name).map_err(Reason::failed(Op::Remove))
    }

    /// Restores the state before the intent, however far the action has come: removes the substitute, and gives the
    /// file its name back.
    ///
    /// # Errors
    ///
    /// [`Reason::Stranded`] if another entry has the name, or the file cannot be moved back. The file then stays in
    /// the staging directory.
    pub(crate) fn roll_back(&self, substitute: &Substitute) -> Result<(), Reason> {
        self.roll_back_if(substitute, &|| true)
    }

    /// Like [`NameSwap::roll_back`], but removes the substitute only if `is_untouched` returns true. Otherwise
    /// renames it within the staging directory.
    ///
    /// # Errors
    ///
    /// See [`NameSwap::roll_back`].
    pub(crate) fn roll_back_if(
        &self,
        substitute: &Substitute,
        is_untouched: &dyn Fn() -> bool,
    ) -> Result<(), Reason> {
        // Where names cannot be exchanged, moving the second name back moves the substitute to the first one.
        for name in [&self.new, &self.old, &self.new] {
            self.empty_name(name, substitute, is_untouched).map_err(|_| {
                let is_touched = self.staging.dir.stat_child(&self.touched).is_ok();
                let name = if is_touched { &self.touched } else { name };
                Reason::Stranded { at: self.staging.path_of(name) }
            })?;
        }
        Ok(())
    }

    /// Frees one name of the staging directory: removes it if it is the substitute, and otherwise moves it back.
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
                // The file has both names, as a rename in two steps leaves it, or as a hard link.
                Some(there) if there.key() == here.key() => staging.remove_name(name),
                Some(there) if is_substitute(self.dir, self.name, &there, substitute)? => {
                    self.exchange_or_move(name)
                }
                Some(_) => return Err(io::ErrorKind::AlreadyExists.into()),
            };
            match given {
                Ok(()) => {}
                // Another process changed the name in between: try again.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(e),
            }
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    /// Exchanges a name in the staging directory with the user's name.
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

/// Returns whether an entry is the substitute of this intent, and may be removed.
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

/// Returns whether a symbolic link has this content. sshfs does not show links that lead out of the mounted tree;
/// there only the length is compared.
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
