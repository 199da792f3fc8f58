//! The results of one worker, before they are merged into the tree.

use std::ffi::CStr;

use fsops::{Kind, Stat};

use crate::tree::allocated::Allocations;
use crate::tree::hard_links::LinkedNames;
use crate::tree::records::{DirId, FileRecord, Note, Problem, Skipped, to_u32};
use crate::tree::skipped_names::SkippedNames;

/// The files of one directory in the store of a worker.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) shard: u32,
}

/// The results of one worker.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) shard: u32,
    pub(crate) files: Vec<FileRecord>,
    pub(crate) names: Vec<u8>,
    pub(crate) allocations: Allocations,
    pub(crate) linked: LinkedNames,
    /// The visitor's notes, by index in `files`. Files beyond the end of the vector have no note.
    pub(crate) notes: Vec<Note>,
    pub(crate) skipped: Skipped,
    pub(crate) problems: Vec<Problem>,
    pub(crate) skipped_names: SkippedNames,
    /// Paths of the quarantine directories that were skipped.
    pub(crate) stores: Vec<Vec<u8>>,
    /// Subdirectories of the directory being listed, as NUL-terminated names.
    pub(crate) children: Vec<u8>,
    /// Inode numbers of `children`, as the listing reported them.
    pub(crate) child_inodes: Vec<u64>,
    /// Indices of the files whose metadata is deferred. Only their names and inode numbers are
    /// known.
    pub(crate) deferred: Vec<u32>,
    /// Device numbers and records of files that are on a different device from the directory being
    /// listed.
    pub(crate) strays: Vec<(u64, FileRecord)>,
    pub(crate) entries: u64,
    pub(crate) bytes: u64,
}

impl Store {
    pub(crate) fn new(shard: u32) -> Store {
        Store {
            shard,
            files: Vec::new(),
            names: Vec::new(),
            allocations: Allocations::default(),
            linked: LinkedNames::default(),
            notes: Vec::new(),
            skipped: Skipped::default(),
            problems: Vec::new(),
            skipped_names: SkippedNames::default(),
            stores: Vec::new(),
            children: Vec::new(),
            child_inodes: Vec::new(),
            deferred: Vec::new(),
            strays: Vec::new(),
            entries: 0,
            bytes: 0,
        }
    }

    /// Returns the block that starts at `first` and ends with the last file.
    pub(crate) fn block_from(&self, first: u32) -> Block {
        Block { first, count: to_u32(self.files.len()) - first, shard: self.shard }
    }

    /// Stores a name and returns its offset, or `None` if the block of names is full (4 GiB).
    pub(crate) fn keep_name(&mut self, name: &CStr) -> Option<u32> {
        let at = u32::try_from(self.names.len()).ok()?;
        self.names.extend_from_slice(name.to_bytes_with_nul());
        Some(at)
    }

    /// Returns the record of a file with a stored name, and notes its disk space and whether it has
    /// further names.
    pub(crate) fn record(&mut self, stat: &Stat, dir: DirId, name: u32) -> FileRecord {
        self.allocations.note(name, stat.size, stat.allocated);
        self.linked.note(name, stat);
        FileRecord {
            size: stat.size,
            inode: stat.inode,
            mtime_ns: stat.mtime_ns(),
            ctime_ns: stat.ctime_ns,
            dir,
            name,
        }
    }
}

/// Counts an entry that is neither a regular file nor a directory to enter.
pub(crate) fn skip_kind(kind: Kind, skipped: &mut Skipped) {
    match kind {
        Kind::Symlink => skipped.symlinks += 1,
        Kind::Fifo => skipped.fifos += 1,
        Kind::Socket => skipped.sockets += 1,
        Kind::Device => skipped.devices += 1,
        // The entry was replaced after it was listed.
        Kind::Dir | Kind::File | Kind::Unknown => skipped.seen_before += 1,
    }
}
