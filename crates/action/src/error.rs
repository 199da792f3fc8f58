//! Errors that end a run, and reasons for leaving a single file alone.
//!
//! [`Error`] ends a run; [`Reason`] concerns one file. Both have complete messages for users,
//! except that a [`Reason`] does not name its file and gives no advice. The command line adds both.

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

use content::ReadError;
use fsops::Op;

use crate::plan::kind::Kind;

/// The reason why a run could not start or could not continue. Every change that the run made is in
/// its journal.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// One of lop's own files cannot be used.
    #[error(transparent)]
    File(#[from] fsops::Error),
    /// A journal is damaged, or another version of lop wrote it.
    #[error("cannot use the journal {}: {why}", path.display())]
    Journal {
        /// The path of the journal.
        path: PathBuf,
        /// The defect.
        why: String,
    },
    /// There is no run with this number.
    #[error("there is no run {0}")]
    NoRun(u64),
    /// The run removed trees permanently.
    #[error("run {0} was a purge, and what it removed cannot be restored")]
    WasPurge(u64),
    /// The run only made files share disk space, so there is nothing to undo.
    #[error(
        "run {run} made files share disk space, which changed neither their names nor their contents: there is \
         nothing to undo"
    )]
    NothingToRestore {
        /// The number of the run.
        run: u64,
        /// The last earlier run that has something to restore. `None` if the caller named the run.
        older: Option<u64>,
    },
    /// There are no runs, or all of them have already been undone.
    #[error("there is nothing to undo")]
    NothingToUndo,
    /// The user asked to stop.
    #[error(transparent)]
    Interrupted(#[from] runtime::Interrupted),
}

/// Returns the result of a run from the results of two of its parts. An interruption does not hide another error,
/// because after any other error, the journal may lack changes that the run made.
pub(crate) fn worse(first: Result<(), Error>, second: Result<(), Error>) -> Result<(), Error> {
    match (first, second) {
        (Err(Error::Interrupted(_)), Err(second)) => Err(second),
        (first, second) => first.and(second),
    }
}

/// The reason why a file was left alone.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// A system call on the file failed.
    #[error("cannot {}: {source}", op.verb())]
    Failed {
        /// The operation that failed.
        op: Op,
        /// The error of the system.
        source: io::Error,
    },
    /// A system call on the kept file failed.
    #[error("cannot {} the kept file: {source}", op.verb())]
    KeptFailed {
        /// The operation that failed.
        op: Op,
        /// The error of the system.
        source: io::Error,
    },
    /// The file has changed since it was planned.
    #[error("changed since it was planned")]
    Changed,
    /// The kept file has changed since it was planned.
    #[error("the kept file changed since it was planned")]
    KeptChanged,
    /// The file belongs to the catalog in use, or is one of its journals.
    #[error("belongs to lop's catalog; only lop itself may change it")]
    OwnFile,
    /// The kept file belongs to the catalog in use, or is one of its journals.
    #[error("the kept file belongs to lop's catalog, and lop may change it at any time")]
    KeptOwnFile,
    /// The file is in quarantine.
    #[error("is in quarantine; list such files with 'lop quarantine list'")]
    InQuarantine,
    /// The kept file is in quarantine.
    #[error(
        "the kept file is in quarantine and could be purged; run 'lop quarantine restore' first"
    )]
    KeptInQuarantine,
    /// No file has the path of the kept file.
    #[error("the kept file is no longer where it was")]
    KeptGone,
    /// The bytes of the two files differ.
    #[error("is not equal to the kept file")]
    Differs,
    /// The file is another name of the kept file, or the same name under another path.
    #[error("is the kept file itself")]
    IsKeptFile,
    /// The kept file may be an alias of the file to be acted on.
    #[error(
        "the file that would be kept is on {}, and may be this very file by another path",
        called("a", file_system)
    )]
    MaybeAlias {
        /// The name of the kept file's file system.
        file_system: &'static str,
    },
    /// The file system does not support this kind of action.
    #[error("{} {}", called("this", file_system), cannot(*kind))]
    Unsupported {
        /// The name of the file system.
        file_system: &'static str,
        /// The kind of action.
        kind: Kind,
    },
    /// Names in the directory of the file cannot be changed.
    #[error("cannot change names in {}: {source}", shown(at))]
    Directory {
        /// The path of the directory.
        at: Vec<u8>,
        /// The error of the system.
        source: io::Error,
    },
    /// The staging directory that the file would pass through cannot be used.
    #[error("cannot use {}: {source}", shown(at))]
    Staging {
        /// The path of that directory.
        at: Vec<u8>,
        /// The error of the system.
        source: io::Error,
    },
    /// The staging directory that the file would pass through is accessible to other users.
    #[error("cannot use {}: other users can access it", shown(at))]
    NotPrivate {
        /// The path of that directory.
        at: Vec<u8>,
    },
    /// The file has only this name, so it cannot be separated.
    #[error("has no other hard link")]
    NotHardLinked,
    /// A program has the file open for writing.
    #[error("is open for writing")]
    OpenForWriting,
    /// A program has the kept file open for writing.
    #[error("the kept file is open for writing")]
    KeptOpenForWriting,
    /// The modification time does not fit into 64 bits of nanoseconds, so an undo could not restore
    /// it.
    #[error("its modification time is before 1678 or after 2262, and an undo could not restore it")]
    TimeOutOfRange,
    /// The entry is a device node, a socket or a pipe, which a sweep does not move.
    #[error("is neither a file, nor a symbolic link, nor a directory")]
    Special,
    /// The entry is a mount point, or a file system is mounted below it.
    #[error("is a mount point, or a file system is mounted in it")]
    MountPoint,
    /// The caller found that the tree is no longer the one that its rule chose.
    #[error("is no longer what its rule chose")]
    NoMatch,
    /// An undo could not restore the tree that contained the entry.
    #[error("was in a directory that could not be restored")]
    InLeftTree,
    /// A tree in quarantine could not be removed completely.
    #[error("could not be removed completely: {why}")]
    Remains {
        /// The entry that could not be removed, and the reason.
        why: String,
    },
    /// Another entry took the file's place during the action.
    #[error("was replaced by something else meanwhile")]
    Swapped,
    /// The file could not be moved back to its name. The next run tries again.
    #[error("could not be moved back; it stays at {} until the next run", shown(at))]
    Stranded {
        /// The path where it is now.
        at: Vec<u8>,
    },
    /// The file has its name again. The copy or link that briefly had the name was not removed, because another
    /// program may have written to it.
    #[error(
        "another program may have written to the copy or link that lop made for it, which is kept at {}",
        shown(at)
    )]
    SubstituteKept {
        /// The path of the copy or link.
        at: Vec<u8>,
    },
    /// The journal names no staging directory for the file, or the directory is missing.
    #[error("was moved to a directory that is missing now; is its file system mounted?")]
    StagingUnknown,
    /// The staging directory that a tree was moved to is missing. Its file system may not be
    /// mounted.
    #[error(
        "was moved to {}, which is missing; mount its file system, or remove {} if the disk is lost",
        shown(at),
        journal.display()
    )]
    StagingMissing {
        /// The path of that directory.
        at: Vec<u8>,
        /// The path of the run's journal, which is the only record of the tree.
        journal: PathBuf,
    },
    /// The entry is in a staging directory, but the journal does not name it.
    #[error("is in the directory of a run whose journal does not list it")]
    NotInJournal,
    /// Another entry has the file's name. Undo does not overwrite it.
    #[error("something else has its name now")]
    NameTaken,
    /// The kept file has changed or is gone, so the file in quarantine may be the last copy.
    #[error("stays: the file kept for it has changed or is gone")]
    NoEqualLeft,
    /// The file is restored, but without its former owner. Only root could restore the owner.
    #[error("is restored, but without its former owner or group")]
    OwnerNotRestored,
    /// An undo would copy the kept file, but that is not the file that the run compared.
    #[error(
        "cannot be restored: {}, the copy that was kept, {}",
        shown(kept),
        if *is_there { "has changed" } else { "is gone" }
    )]
    KeptLost {
        /// The path of the kept file.
        kept: Vec<u8>,
        /// Whether a file has that path.
        is_there: bool,
    },
    /// The file is no longer in the staging directory that it was moved to.
    #[error("cannot be restored: it is no longer in {}, where it was moved", shown(at))]
    NotInStaging {
        /// The path of the run's staging directory.
        at: Vec<u8>,
    },
    /// The name that the run turned into a separate file is gone.
    #[error("cannot be made a hard link again: it is gone")]
    NameGone,
    /// All other names of the former file are outside of the named paths, so lop does not know
    /// them.
    #[error(
        "cannot be made a hard link again: its file has its other names outside of the paths that were given, \
         and lop does not know them"
    )]
    NamesElsewhere,
}

/// Returns the name of a file system for use in a sentence.
fn called(article: &str, file_system: &str) -> String {
    match file_system {
        "FUSE" => format!("{article} FUSE file system"),
        name => name.to_string(),
    }
}

fn cannot(kind: Kind) -> &'static str {
    match kind {
        Kind::Reflink => "cannot share extents",
        Kind::Hardlink => "has no hard links",
        Kind::Symlink => "has no symbolic links",
        Kind::Delete | Kind::Quarantine | Kind::Separate | Kind::Sweep => "cannot do that",
    }
}

fn shown(path: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(path)
}

impl Reason {
    /// Returns whether the reason concerns the file system rather than the file. Such a reason
    /// applies to many files.
    pub fn is_of_file_system(&self) -> bool {
        matches!(
            self,
            Reason::MaybeAlias { .. }
                | Reason::Unsupported { .. }
                | Reason::Directory { .. }
                | Reason::Staging { .. }
                | Reason::NotPrivate { .. }
        )
    }

    /// Returns whether the reason is a full disk or an exceeded quota.
    pub fn is_full(&self) -> bool {
        let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
        matches!(self, Reason::Staging { source, .. } if full.contains(&source.kind()))
    }

    /// Returns the same reason for another file.
    pub(crate) fn for_another_file(&self) -> Reason {
        match self {
            Reason::Directory { at, source } => {
                Reason::Directory { at: at.clone(), source: clone_io_error(source) }
            }
            Reason::Staging { at, source } => {
                Reason::Staging { at: at.clone(), source: clone_io_error(source) }
            }
            Reason::NotPrivate { at } => Reason::NotPrivate { at: at.clone() },
            _ => self.of_kept(),
        }
    }

    /// Returns whether the file, or the copy or link that was made for it, is still in the staging directory.
    pub(crate) fn is_stranded(&self) -> bool {
        matches!(self, Reason::Stranded { .. } | Reason::SubstituteKept { .. })
    }

    /// Returns the reason for a file that was not handled because the user asked to stop.
    pub(crate) fn stopped() -> Reason {
        Reason::Failed { op: Op::Compare, source: io::ErrorKind::Interrupted.into() }
    }

    pub(crate) fn failed(op: Op) -> impl Fn(io::Error) -> Reason {
        move |source| Reason::Failed { op, source }
    }

    pub(crate) fn kept_failed(op: Op) -> impl Fn(io::Error) -> Reason {
        move |source| Reason::KeptFailed { op, source }
    }

    /// Converts a reason about the kept file into the reason for a file that was compared with it.
    pub(crate) fn of_kept(&self) -> Reason {
        match self {
            Reason::Failed { op, source } | Reason::KeptFailed { op, source } => {
                Reason::KeptFailed { op: *op, source: clone_io_error(source) }
            }
            Reason::KeptOpenForWriting => Reason::KeptOpenForWriting,
            Reason::Differs => Reason::Differs,
            Reason::OwnFile => Reason::KeptOwnFile,
            Reason::InQuarantine => Reason::KeptInQuarantine,
            _ => Reason::KeptChanged,
        }
    }
}

/// Returns a copy of a system error, so that it can also be reported for another file.
pub(crate) fn clone_io_error(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
}

impl From<ReadError> for Reason {
    fn from(error: ReadError) -> Reason {
        match error {
            ReadError::Io(source) => Reason::Failed { op: Op::Read, source },
            // The file has become shorter.
            _ => Reason::Changed,
        }
    }
}

/// A file that was left alone.
#[derive(Debug)]
pub struct Refusal {
    /// The path of the file.
    pub path: Vec<u8>,
    /// The reason for leaving it alone.
    pub reason: Reason,
}
