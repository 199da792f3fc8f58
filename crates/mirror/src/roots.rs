//! The two directories at the top, opened and looked at before anything is changed.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use fsops::{Dir, Kind, Mounts, Stat};
use walk::STORE_PREFIX;

/// Where to mirror from, and where to.
#[derive(Debug)]
pub struct Roots {
    pub(crate) source: Top,
    /// Nothing in a dry run, if there is none.
    pub(crate) destination: Option<Top>,
    /// A tree whose files may be linked to.
    pub(crate) base: Option<Dir>,
    /// Something is mounted inside the source.
    pub(crate) mounts_below: bool,
    /// The destination was made.
    pub(crate) made: bool,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Top {
    pub(crate) dir: Dir,
    pub(crate) stat: Stat,
    pub(crate) absolute: PathBuf,
}

/// Why nothing is mirrored.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// One of them cannot be opened.
    #[error("cannot open {}", path.display())]
    Open {
        /// Which.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// The destination cannot be made.
    #[error("cannot create {}", path.display())]
    Create {
        /// Its path.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// They are one directory.
    #[error("the source and the destination are one directory")]
    Same,
    /// The source is in the destination, of which things may be removed.
    #[error("the source is inside the destination")]
    SourceInside,
    /// The destination is where lop keeps files that can be brought back.
    #[error("the destination is where lop keeps files that can be brought back")]
    Store,
    /// Another process mirrors to the same destination.
    #[error("another lop is at work on the destination")]
    Locked,
}

impl Roots {
    /// Opens both, and makes the destination, not what it is in, if it is missing and this is no dry run.
    ///
    /// # Errors
    ///
    /// Why not. Nothing but the destination has been made.
    pub fn check(
        source: &Path,
        destination: &Path,
        base: Option<&Path>,
        dry_run: bool,
    ) -> Result<Roots, Refusal> {
        let opened = |path: &Path| {
            let failed = |source| Refusal::Open { path: path.into(), source };
            Top::open(path).map_err(failed)
        };
        let source = opened(source)?;
        let mounts = Mounts::read();
        let missing =
            matches!(destination.symlink_metadata(), Err(e) if e.kind() == io::ErrorKind::NotFound);
        if missing && !dry_run {
            make(destination)?;
        }
        let there = if missing && dry_run { None } else { Some(opened(destination)?) };
        if let Some(there) = &there {
            apart(&source, there)?;
            if !dry_run && !there.dir.lock().unwrap_or(true) {
                return Err(Refusal::Locked);
            }
        }
        let base = base.map(|path| {
            // As rsync has it: relative to the destination.
            let path = if path.is_absolute() { path.into() } else { destination.join(path) };
            Dir::open(&path).map_err(|source| Refusal::Open { path, source })
        });
        Ok(Roots {
            mounts_below: mounts.any_below(source.absolute.as_os_str().as_bytes()),
            source,
            destination: there,
            base: base.transpose()?,
            made: missing,
        })
    }
}

/// Threads that are at their end may have copies of the descriptor still, and children that are starting.
impl Drop for Roots {
    fn drop(&mut self) {
        if let Some(there) = &self.destination {
            there.dir.unlock();
        }
    }
}

impl Top {
    fn open(path: &Path) -> io::Result<Top> {
        let dir = Dir::open(path)?;
        let stat = dir.stat()?;
        Ok(Top { dir, stat, absolute: path.canonicalize()? })
    }
}

fn make(destination: &Path) -> Result<(), Refusal> {
    let failed = |source| Refusal::Create { path: destination.into(), source };
    let name = destination.file_name().ok_or_else(|| failed(io::ErrorKind::InvalidInput.into()))?;
    let above = destination.parent().filter(|above| !above.as_os_str().is_empty());
    let above = Dir::open_to_reach(above.unwrap_or(Path::new("."))).map_err(failed)?;
    let name = CString::new(name.as_bytes()).map_err(|e| failed(e.into()))?;
    above.make_dir(&name).map_err(failed)
}

/// Refuses what would have the source changed.
fn apart(source: &Top, there: &Top) -> Result<(), Refusal> {
    if source.stat.key() == there.stat.key() {
        return Err(Refusal::Same);
    }
    if there.absolute.iter().any(|name| name.as_bytes().starts_with(STORE_PREFIX.as_bytes())) {
        return Err(Refusal::Store);
    }
    let is_it = |path: &Path| {
        Stat::of_path(path)
            .is_ok_and(|stat| stat.kind == Kind::Dir && stat.key() == there.stat.key())
    };
    if source.absolute.ancestors().skip(1).any(is_it) {
        return Err(Refusal::SourceInside);
    }
    Ok(())
}
