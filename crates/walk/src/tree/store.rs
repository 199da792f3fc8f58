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
    /// Names that were looked up without listing their directory.
    pub(crate) looked_up: Vec<(DirId, Box<[u8]>)>,
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
            looked_up: Vec::new(),
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

impl Store {
    /// Stores the note of a file.
    pub(crate) fn set_note(&mut self, file: usize, note: Note) {
        if file < self.notes.len() {
            self.notes[file] = note;
        } else if note != Note::default() {
            self.notes.resize(file, Note::default());
            self.notes.push(note);
        }
    }

    /// Moves a file and its note to another place, and overwrites the file there.
    pub(crate) fn move_file(&mut self, from: usize, to: usize) {
        self.files[to] = self.files[from];
        self.set_note(to, self.notes.get(from).copied().unwrap_or_default());
    }

    /// Removes all files from the index `count` on.
    pub(crate) fn truncate(&mut self, count: usize) {
        self.files.truncate(count);
        self.notes.truncate(count);
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

#[cfg(test)]
mod tests {
    use super::Store;
    use crate::tree::records::{DirId, FileRecord};

    #[test]
    fn a_file_without_a_note_gets_none_when_it_moves() {
        let mut store = Store::new(0);
        for inode in 0..4 {
            let (size, mtime_ns, ctime_ns, name) = (0, 0, 0, 0);
            store.files.push(FileRecord { size, inode, mtime_ns, ctime_ns, dir: DirId(0), name });
        }
        // The last file has no note, because it is beyond the end of the vector.
        store.notes = vec![[1, 1], [0, 0], [3, 3]];
        store.move_file(2, 1);
        store.move_file(3, 2);
        store.truncate(3);
        let inodes: Vec<u64> = store.files.iter().map(|file| file.inode).collect();
        assert_eq!((inodes, store.notes), (vec![0, 2, 3], vec![[1, 1], [3, 3], [0, 0]]));
    }

    #[test]
    fn notes_beyond_the_end_of_the_vector_are_added() {
        let mut store = Store::new(0);
        store.set_note(2, [0, 0]);
        assert!(store.notes.is_empty(), "the default note takes no space");
        store.set_note(1, [5, 6]);
        store.set_note(0, [7, 8]);
        assert_eq!(store.notes, [[7, 8], [5, 6]]);
    }
}
