//! Why a run could not go on, and why a file was left as it is.

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

use content::ReadError;
use fsops::Op;

use crate::plan::kind::Kind;

/// Why a run could not begin, or go on. What was done until then is in the journal.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file of lop's own cannot be used.
    #[error(transparent)]
    File(#[from] fsops::Error),
    /// A journal is not one of this version, or is damaged.
    #[error("cannot use the journal {}: {why}", path.display())]
    Journal {
        /// The journal.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// There is no such run.
    #[error("there is no run {0}")]
    NoRun(u64),
    /// The run removed trees for good.
    #[error("run {0} was a purge, and what it removed cannot be restored")]
    WasPurge(u64),
    /// The run made files share disk space, and nothing else.
    #[error(
        "run {run} made files share disk space, which changed neither their names nor their contents: there is \
         nothing to take back"
    )]
    NothingToRestore {
        /// The run.
        run: u64,
        /// The last run before it that something is left to bring back of, if that was looked for.
        older: Option<u64>,
    },
    /// All runs are undone, or there is none.
    #[error("there is nothing to undo")]
    NothingToUndo,
    /// The work was stopped on request.
    #[error(transparent)]
    Interrupted(#[from] runtime::Interrupted),
}

/// Why nothing was done with a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// A system call failed.
    #[error("cannot {}: {source}", op.verb())]
    Failed {
        /// What was tried.
        op: Op,
        /// What the system answered.
        source: io::Error,
    },
    /// The same for the file that stays.
    #[error("cannot {} the kept file: {source}", op.verb())]
    KeptFailed {
        /// What was tried.
        op: Op,
        /// What the system answered.
        source: io::Error,
    },
    /// It is no longer what it was when it was decided about.
    #[error("changed since it was planned")]
    Changed,
    /// The kept file is not.
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
    /// The kept file has lost its name.
    #[error("the kept file is no longer where it was")]
    KeptGone,
    /// The bytes differ.
    #[error("is not equal to the kept file")]
    Differs,
    /// It is another name of the kept file, or the same name by another path.
    #[error("is the kept file itself")]
    IsKeptFile,
    /// The kept file may be this very file by another path.
    #[error(
        "the file that would be kept is on {}, and may be this very file by another path",
        called("a", file_system)
    )]
    MaybeAlias {
        /// What the kept file's file system is called.
        file_system: &'static str,
    },
    /// The file system knows no such thing.
    #[error("{} {}", called("this", file_system), cannot(*kind))]
    Unsupported {
        /// What the file system is called.
        file_system: &'static str,
        /// What was to be done.
        kind: Kind,
    },
    /// Names in its directory cannot be changed.
    #[error("cannot change names in {}: {source}", shown(at))]
    Directory {
        /// The directory.
        at: Vec<u8>,
        /// What the system answered.
        source: io::Error,
    },
    /// The private directory that it would go through cannot be used.
    #[error("cannot use {}: {source}", shown(at))]
    Staging {
        /// That directory.
        at: Vec<u8>,
        /// What the system answered.
        source: io::Error,
    },
    /// The private directory that it would go through cannot be made private.
    #[error("cannot use {}: it is not private, others may reach what is in it", shown(at))]
    NotPrivate {
        /// That directory.
        at: Vec<u8>,
    },
    /// It is no further name of a file.
    #[error("is a file of its own already")]
    NotHardLinked,
    /// Some program has it open for writing.
    #[error("is open for writing")]
    OpenForWriting,
    /// Some program has the kept file open for writing.
    #[error("the kept file is open for writing")]
    KeptOpenForWriting,
    /// Its time is further away than nanoseconds in 64 bits reach, so undo could not give it back.
    #[error("its time is before 1678 or after 2262, and could not be restored")]
    TimeOutOfRange,
    /// Something else took its place just then.
    #[error("something else took its place meanwhile")]
    Swapped,
    /// It could not be given its name back, which is tried again by the next run.
    #[error("could not be given its name back; it is {} until the next run", shown(at))]
    Stranded {
        /// Where it is now.
        at: Vec<u8>,
    },
    /// The private directory that it was moved to cannot be found.
    #[error("was moved to a directory that is not there now; is its file system mounted?")]
    StagingUnknown,
    /// The private directory that a tree was moved to is not there, and its file system may not be.
    #[error(
        "was moved to {}, which is not there; mount its file system, or remove {} if that is gone for good",
        shown(at),
        journal.display()
    )]
    StagingMissing {
        /// That directory.
        at: Vec<u8>,
        /// The journal of the run, which is all that is known of it.
        journal: PathBuf,
    },
    /// It is in a private directory, and the journal says nothing of it.
    #[error("is in the directory of a run whose journal does not know it")]
    NotInJournal,
    /// Something else has its name, which undo does not overwrite.
    #[error("something else has its name now")]
    NameTaken,
    /// The file that was kept for it has changed or is gone, so it may be the last one.
    #[error("stays: the file kept for it has changed or is gone")]
    NoEqualLeft,
    /// It is back, but who is not root cannot give it the owner that it had.
    #[error("is back, but has another owner or group than it had")]
    OwnerNotRestored,
    /// The file that was kept for it, of which undo makes a copy, is not what was compared.
    #[error(
        "cannot be restored: {}, the copy that was kept, {}",
        shown(kept),
        if *is_there { "has changed" } else { "is gone" }
    )]
    KeptLost {
        /// The path of the kept file.
        kept: Vec<u8>,
        /// Whether there is a file.
        is_there: bool,
    },
    /// It is no longer in the store that it was moved to.
    #[error("cannot be restored: it is no longer in {}, where it was put", shown(store))]
    NotInStaging {
        /// The run's directory in the store.
        store: Vec<u8>,
    },
    /// The name that was made a file of its own is gone.
    #[error("cannot be made a hard link again: it is gone")]
    NameGone,
    /// The file that it was a name of has all its other names where lop has not looked.
    #[error(
        "cannot be made a hard link again: its file has its other names outside of the paths that were given, \
         and lop does not know them"
    )]
    NamesElsewhere,
}

/// Returns what a file system is called in a sentence.
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
        Kind::Delete | Kind::Quarantine | Kind::Separate => "cannot do that",
    }
}

fn shown(path: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(path)
}

impl Reason {
    /// Returns whether it is about a file system and not about one of its files: then it is the same for
    /// many.
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

    /// Returns whether it is that there was no room.
    pub fn is_full(&self) -> bool {
        let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
        matches!(self, Reason::Staging { source, .. } if full.contains(&source.kind()))
    }

    /// Returns the same for another file.
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

    /// Returns whether a file is not where it was, nor where it was to be.
    pub(crate) fn is_stranded(&self) -> bool {
        matches!(self, Reason::Stranded { .. })
    }

    /// Returns the reason of one that was not done because a stop was asked for.
    pub(crate) fn stopped() -> Reason {
        Reason::Failed { op: Op::Compare, source: io::ErrorKind::Interrupted.into() }
    }

    pub(crate) fn failed(op: Op) -> impl Fn(io::Error) -> Reason {
        move |source| Reason::Failed { op, source }
    }

    pub(crate) fn kept_failed(op: Op) -> impl Fn(io::Error) -> Reason {
        move |source| Reason::KeptFailed { op, source }
    }
}

impl Reason {
    /// Returns what a reason that is about the kept file says to those that were to be equal to it.
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

/// Returns an error of the system once more, for another file.
pub(crate) fn clone_io_error(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
}

impl From<ReadError> for Reason {
    fn from(error: ReadError) -> Reason {
        match error {
            ReadError::Io(source) => Reason::Failed { op: Op::Read, source },
            // It is shorter than it was.
            _ => Reason::Changed,
        }
    }
}

/// A file that nothing was done with.
#[derive(Debug)]
pub struct Refusal {
    /// Its path.
    pub path: Vec<u8>,
    /// Why.
    pub reason: Reason,
}
