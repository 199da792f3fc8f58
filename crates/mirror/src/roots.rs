//! Opens the two top directories and checks them before anything is changed.
//!
//! [`Roots::check`] refuses a source and a destination if a run would change the source, or if another run uses the
//! destination. It locks and marks the destination until the [`Roots`] are dropped. It creates the destination if
//! necessary, but no directories above it.

pub(crate) mod aliases;
pub(crate) mod empty;
pub(crate) mod lookalike;
pub(crate) mod refusal;

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use fsops::{Dir, DirLocation, DirMark, FileKey, Kind, Mounts, OperandError, Stat, Volume};
use wire::LeftOut;

use crate::Options;
use crate::model::selection::is_quarantine;
use crate::roots::aliases::Marker;
use crate::roots::refusal::Refusal;

/// The source and the destination of a run.
#[derive(Debug)]
pub struct Roots {
    /// The source, or `None` if it is on another host.
    pub(crate) source: Option<Source>,
    /// The destination, or `None` if it does not exist in a dry run.
    pub(crate) destination: Option<TopDir>,
    /// The device of the destination, even if the destination does not exist yet.
    pub(crate) device: Option<u64>,
    /// The base tree. Names in the destination may be linked to its files.
    pub(crate) base: Option<Dir>,
    /// True if this run created the destination.
    pub(crate) was_created: bool,
    /// The directories above the destination, which are marked as such.
    parent_dirs: Vec<Dir>,
    /// The marker that identifies the destination if another file system shows the same directory.
    pub(crate) marker: Option<Marker>,
    /// The error that prevented the creation of the marker. Set only if the destination may contain the source.
    pub(crate) marker_error: Option<io::Error>,
}

/// A tree to mirror from.
#[derive(Debug)]
pub struct Source {
    pub(crate) top: TopDir,
    /// True if a file system is mounted inside the source.
    pub(crate) mounts_below: bool,
    /// True if the source is on a pseudo file system, whose content the kernel generates.
    pub(crate) is_synthetic: bool,
}

/// A top directory.
#[derive(Debug)]
pub(crate) struct TopDir {
    pub(crate) dir: Dir,
    pub(crate) stat: Stat,
    pub(crate) absolute: PathBuf,
}

impl Source {
    /// Opens the top directory of a source.
    ///
    /// # Errors
    ///
    /// Fails with [`Refusal::Open`] if the directory cannot be opened.
    pub fn open(path: &Path) -> Result<Source, Refusal> {
        let top = open_source(path)?;
        let absolute = top.absolute.as_os_str().as_bytes();
        let mounts_below = Mounts::read().any_below(absolute);
        let is_synthetic = top.dir.volume().is_ok_and(|volume| volume.is_synthetic());
        Ok(Source { top, mounts_below, is_synthetic })
    }

    /// Returns the reason why the entries of a directory are left out regardless of the patterns, or `None` if they
    /// are not left out.
    pub(crate) fn left_out_dir(&self, volume: &Volume) -> Option<LeftOut> {
        (volume.is_synthetic() && !self.is_synthetic).then_some(LeftOut::Pseudo)
    }

    /// Returns true if a run mirrors the entries of a directory.
    pub(crate) fn enters(&self, options: &Options, stat: &Stat, volume: &Volume) -> bool {
        let is_outside = options.one_file_system && stat.device != self.top.stat.device;
        !is_outside && self.left_out_dir(volume).is_none()
    }

    /// Returns the absolute path of the source.
    pub fn absolute(&self) -> &Path {
        &self.top.absolute
    }

    /// Refuses a destination if a run would change the source.
    pub(crate) fn check_not_source(&self, dest: FileKey) -> Result<(), Refusal> {
        if self.top.stat.key() == dest {
            return Err(Refusal::Same);
        }
        let is_it = |path: &Path| {
            Stat::of_path(path).is_ok_and(|stat| stat.kind == Kind::Dir && stat.key() == dest)
        };
        if self.top.absolute.ancestors().skip(1).any(is_it) {
            return Err(Refusal::SourceInside);
        }
        Ok(())
    }

    /// Refuses a destination on this host if a run would change the source.
    fn check_destination(&self, dest: &TopDir) -> Result<(), Refusal> {
        self.check_not_source(dest.stat.key())?;
        let mounts = Mounts::read();
        let [source, dest_path] = [&self.top, dest].map(|top| top.absolute.as_os_str().as_bytes());
        let is_inside = |source: &Option<DirLocation>, dest: &Option<DirLocation>| {
            source.as_ref().zip(dest.as_ref()).is_some_and(|(source, dest)| source.is_below(dest))
        };
        // The source may be visible inside the destination through another mount.
        let (mounted, dest_mounted) = (mounts.location(source), mounts.location(dest_path));
        if is_inside(&mounted, &dest_mounted) {
            return Err(Refusal::SourceInside);
        }
        // It may also be visible there through a FUSE file system. Some FUSE mounts name the directory that they show.
        let (shown, dest_shown) = (mounts.location_shown(source), mounts.location_shown(dest_path));
        let is_seen = is_inside(&shown, &dest_mounted)
            || is_inside(&mounted, &dest_shown)
            || is_inside(&shown, &dest_shown);
        if is_seen { Err(self.aliased_inside(dest)) } else { Ok(()) }
    }

    /// Checks a destination that another lop process described. Refuses it if it is on this host and a run would
    /// change the source. Returns its device and inode number if it is on this host.
    ///
    /// # Errors
    ///
    /// Fails with [`Refusal::Same`] or [`Refusal::SourceInside`].
    pub fn check_place(&self, place: &wire::HostDirId) -> Result<Option<FileKey>, Refusal> {
        let key = FileKey { device: place.device, inode: place.inode };
        if place.boot.is_empty() || place.boot != fsops::boot_id() {
            return Ok(None);
        }
        self.check_not_source(key).map(|()| Some(key))
    }
}

impl Roots {
    /// Opens the source and the destination. If the destination does not exist and this is not a dry run, creates it,
    /// but does not create the directories above it.
    ///
    /// # Errors
    ///
    /// Fails for any [`Refusal`]. In that case, a destination created here is removed.
    pub fn check(
        source: &Path,
        destination: &Path,
        base: Option<&Path>,
        dry_run: bool,
    ) -> Result<Roots, Refusal> {
        let source = Source::open(source)?;
        Roots::of(Some(source), destination, base, dry_run)
    }

    /// Opens or creates the destination for a source on another host.
    ///
    /// # Errors
    ///
    /// Fails like [`Roots::check`].
    pub fn for_remote_source(
        destination: &Path,
        base: Option<&Path>,
        dry_run: bool,
    ) -> Result<Roots, Refusal> {
        Roots::of(None, destination, base, dry_run)
    }

    fn of(
        source: Option<Source>,
        destination: &Path,
        base: Option<&Path>,
        dry_run: bool,
    ) -> Result<Roots, Refusal> {
        let missing =
            matches!(destination.symlink_metadata(), Err(e) if e.kind() == io::ErrorKind::NotFound);
        // Open the base tree before anything is created.
        let base = base.map(|path| open_base(path, destination, missing)).transpose()?;
        if missing {
            create_destination(destination, dry_run)?;
        }
        let dest = if missing && dry_run { None } else { Some(TopDir::open_operand(destination)?) };
        if let Some(dest) = &dest {
            source.as_ref().map_or(Ok(()), |source| source.check_destination(dest))?;
            check_not_quarantine(dest)?;
        }
        let device = match &dest {
            Some(dest) => Some(dest.stat.device),
            None => Stat::of_path(parent_of(destination)).ok().map(|stat| stat.device),
        };
        let was_created = missing;
        let mut roots = Roots {
            source,
            destination: dest,
            device,
            base,
            was_created,
            parent_dirs: Vec::new(),
            marker: None,
            marker_error: None,
        };
        let begun = if dry_run { Ok(()) } else { roots.lock_destination() };
        begun.and_then(|()| roots.check_aliases(dry_run)).inspect_err(|_| roots.undo())?;
        Ok(roots)
    }

    /// Keeps other runs from mirroring to the destination, to a directory above it, or to a directory inside it.
    ///
    /// A run cannot mark a directory that it cannot read. Another run can therefore start with that directory as its
    /// destination, but it will not touch temporary names below this destination ([`crate::reconcile::put_in_place`]).
    fn lock_destination(&mut self) -> Result<(), Refusal> {
        let Some(top) = &self.destination else { return Ok(()) };
        if !top.dir.lock().unwrap_or(true) {
            return Err(Refusal::Locked);
        }
        // Mark the directories before checking for other marks. If two runs start at the same time, at least one of
        // them is refused.
        let _unmarked = top.dir.mark(DirMark::Destination);
        for path in top.absolute.ancestors().skip(1) {
            let Ok(dir) = Dir::open(path) else { continue };
            let _unmarked = dir.mark(DirMark::AboveDestination);
            if dir.is_marked(DirMark::Destination) {
                return Err(Refusal::LockedAbove(path.into()));
            }
            self.parent_dirs.push(dir);
        }
        if top.dir.is_marked(DirMark::AboveDestination) {
            return Err(Refusal::LockedBelow);
        }
        Ok(())
    }

    /// Returns the source if it is on this host.
    pub fn source(&self) -> Option<&Source> {
        self.source.as_ref()
    }

    /// Returns the absolute path of the destination if it exists.
    pub fn destination(&self) -> Option<&Path> {
        self.destination.as_ref().map(|top| top.absolute.as_path())
    }

    /// Undoes the creation of the destination when the run does not start. Removes the destination only if this run
    /// created it and it is empty.
    pub fn undo(&self) {
        if let (true, Some(top)) = (self.was_created, &self.destination)
            && let (Some(parent), Some(name)) = (top.absolute.parent(), top.absolute.file_name())
            && let (Ok(parent), Ok(name)) = (Dir::open(parent), CString::new(name.as_bytes()))
        {
            // If the removal fails, the only consequence is an empty directory.
            let _left = parent.remove_empty_dir(&name);
        }
    }

    /// Returns the identity of the destination directory, to be sent to the host of the source.
    pub fn place(&self) -> Option<wire::HostDirId> {
        let FileKey { device, inode } = self.destination.as_ref()?.stat.key();
        Some(wire::HostDirId { boot: fsops::boot_id(), device, inode })
    }
}

/// Unlocks explicitly, because an ending thread or a starting child process may still hold a copy of the descriptor.
impl Drop for Roots {
    fn drop(&mut self) {
        self.clear_marker();
        if let Some(dest) = &self.destination {
            dest.dir.unlock();
            dest.dir.unmark(DirMark::Destination);
        }
        for dir in &self.parent_dirs {
            dir.unmark(DirMark::AboveDestination);
        }
    }
}

impl TopDir {
    fn open(path: &Path) -> io::Result<TopDir> {
        TopDir::of(Dir::open(path)?, path)
    }

    /// Opens a directory to write to. Refuses a path through a symbolic link of another user, who could redirect it.
    fn open_operand(path: &Path) -> Result<TopDir, Refusal> {
        let failed = |source| Refusal::Open { path: path.into(), source };
        let dir = Dir::open_operand(path).map_err(|e| unopened(e, failed))?;
        TopDir::of(dir, path).map_err(failed)
    }

    fn of(dir: Dir, path: &Path) -> io::Result<TopDir> {
        let (stat, absolute) = (dir.stat()?, path.canonicalize()?);
        // Another process may have changed the path in the meantime, so that it leads to another directory.
        if Stat::of_path(&absolute)?.key() != stat.key() {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(TopDir { dir, stat, absolute })
    }
}

/// Creates the destination. In a dry run, only checks that its parent can be opened.
fn create_destination(destination: &Path, dry_run: bool) -> Result<(), Refusal> {
    let failed = |source| Refusal::Create { path: destination.into(), source };
    let name = destination.file_name().ok_or_else(|| failed(io::ErrorKind::InvalidInput.into()))?;
    let parent = Dir::open_operand_for_search(parent_of(destination));
    let parent = parent.map_err(|e| unopened(e, failed))?;
    let name = CString::new(name.as_bytes()).map_err(|e| failed(e.into()))?;
    if dry_run { Ok(()) } else { parent.make_dir(&name).map_err(failed) }
}

/// Returns the directory that contains the entry at `path`.
fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Opens the base tree. As in rsync, a relative path is relative to the destination.
fn open_base(path: &Path, destination: &Path, missing: bool) -> Result<Dir, Refusal> {
    let plain = path.strip_prefix(".").unwrap_or(path);
    let from = match plain.strip_prefix("..") {
        _ if path.is_absolute() => path.into(),
        // A directory that does not exist has no `..` entry.
        Ok(rest) if missing => parent_of(destination).join(rest),
        _ => destination.join(path),
    };
    let failed = |source| Refusal::Base { path: from.clone(), source };
    Dir::open_operand(&from).map_err(|e| unopened(e, failed))
}

/// Returns the refusal of an operand that could not be opened.
fn unopened(error: OperandError, failed: impl FnOnce(io::Error) -> Refusal) -> Refusal {
    match error {
        OperandError::Failed(source) => failed(source),
        OperandError::Foreign { link, owner } => Refusal::ForeignLink { link, owner },
    }
}

fn check_not_quarantine(dest: &TopDir) -> Result<(), Refusal> {
    let is_inside = dest.absolute.iter().any(|name| is_quarantine(name.as_bytes()));
    if is_inside { Err(Refusal::Quarantine) } else { Ok(()) }
}

fn open_source(path: &Path) -> Result<TopDir, Refusal> {
    TopDir::open(path).map_err(|source| Refusal::Open { path: path.into(), source })
}
