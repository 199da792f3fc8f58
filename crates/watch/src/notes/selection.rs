//! Selects the notes for an answer.

use std::collections::BTreeMap;

use super::{Directories, ENTRY_BYTES, INODE_BYTES, NAME_BYTES, Notes};
use crate::answer::{ChangedDir, Changes, Entries, Unknown, Unseen};
use crate::paths::{is_at_or_below, joined};

/// Maximum estimated memory of the changes in an answer. The notes and the encoded answer are in memory at the same
/// time.
const MAX_ANSWER_BYTES: usize = 7 << 20;

/// Estimated memory of a changed directory in an answer, without its path.
const DIR_BYTES: usize = 96;

/// Receives the path and the changed entries of a directory.
type Visit<'v> = dyn FnMut(&[u8], Entries) -> Result<(), Unknown> + 'v;

impl Notes {
    /// Returns the changes below `roots` with numbers above `since`. Discards only notes of directories that are gone.
    pub(crate) fn changes(
        &mut self,
        roots: &[Vec<u8>],
        since: u64,
        directories: &mut dyn Directories,
    ) -> Result<Changes, Unknown> {
        self.check(roots, since)?;
        let roots: Vec<_> = roots.iter().map(|root| (root.clone(), since)).collect();
        let inodes = self.inodes.iter().filter(|(_, note)| note.number > since);
        let mut inodes: Vec<(u64, u64)> = inodes.map(|(key, _)| *key).collect();
        inodes.sort_unstable();
        let mut found = Found { dirs: BTreeMap::new(), bytes: inodes.len() * INODE_BYTES };
        self.select(&roots, directories, &mut |path, entries| found.add(path, entries))?;
        let dirs = found.dirs.into_iter().map(|(path, entries)| ChangedDir { path, entries });
        Ok(Changes { dirs: dirs.collect(), inodes })
    }

    /// Adds the changes below `roots` to `unseen`. Each root has the number after which its changes count. Callers MUST
    /// check each of them with [`Notes::check`].
    pub(crate) fn unseen(
        &mut self,
        roots: &[(Vec<u8>, u64)],
        directories: &mut dyn Directories,
        unseen: &mut Unseen,
    ) -> Result<(), Unknown> {
        self.select(roots, directories, &mut |path, entries| {
            unseen.add(path, entries);
            Ok(())
        })
    }

    /// Calls `visit` for each directory with changes below the roots, possibly several times with the same path.
    /// Discards the notes of directories that are gone. An error of `visit` ends the selection.
    fn select(
        &mut self,
        roots: &[(Vec<u8>, u64)],
        directories: &mut dyn Directories,
        visit: &mut Visit<'_>,
    ) -> Result<(), Unknown> {
        let oldest = roots.iter().map(|(_, since)| *since).min();
        let is_newer = |number: Option<u64>| number.zip(oldest).is_some_and(|(n, since)| n > since);
        for (path, &number) in &self.trees {
            let entries = |since| (number > since).then_some(Entries::Tree);
            visit_path(roots, path, &entries, visit)?;
        }
        let mut gone: Vec<Box<[u8]>> = Vec::new();
        for (key, note) in self.dirs.iter().filter(|(_, note)| is_newer(note.last())) {
            // The note stays, so that a later question may find the directory.
            let paths = directories.paths(key).map_err(|_| Unknown::EventsLost)?;
            for path in &paths {
                visit_path(roots, path, &|since| note.entries(since), visit)?;
            }
            if paths.is_empty() {
                gone.push(key.clone());
            }
        }
        for key in gone {
            let freed = self.dirs.remove(&key).map_or(0, |note| note.bytes());
            self.bytes -= freed + key.len() + ENTRY_BYTES;
        }
        Ok(())
    }
}

/// Calls `visit` for a directory with changes if it is below a root, and for the roots below it that were replaced.
fn visit_path(
    roots: &[(Vec<u8>, u64)],
    path: &[u8],
    entries_since: &dyn Fn(u64) -> Option<Entries>,
    visit: &mut Visit<'_>,
) -> Result<(), Unknown> {
    for (root, since) in roots.iter().filter(|(root, _)| is_at_or_below(path, root)) {
        // Another process may have replaced a directory above the root.
        let is_replaced = root != path
            && match entries_since(*since) {
                Some(Entries::Names(names)) => names
                    .iter()
                    .any(|(name, is_dir)| *is_dir && is_at_or_below(&joined(path, name), root)),
                Some(Entries::Tree) => true,
                Some(Entries::All) | None => false,
            };
        if is_replaced {
            visit(root, Entries::Tree)?;
        }
    }
    let above = roots.iter().filter(|(root, _)| is_at_or_below(root, path));
    match above.map(|(_, since)| *since).min().and_then(entries_since) {
        Some(entries) => visit(path, entries),
        None => Ok(()),
    }
}

/// The changed directories of an answer.
struct Found {
    dirs: BTreeMap<Vec<u8>, Entries>,
    /// Estimated memory.
    bytes: usize,
}

impl Found {
    /// Adds the changed entries of a directory. Fails if the answer gets too long.
    fn add(&mut self, path: &[u8], entries: Entries) -> Result<(), Unknown> {
        let name_bytes = match &entries {
            Entries::Names(names) => names.iter().map(|(name, _)| name.len() + NAME_BYTES).sum(),
            Entries::All | Entries::Tree => 0,
        };
        self.bytes += path.len() + DIR_BYTES + name_bytes;
        if self.bytes > MAX_ANSWER_BYTES {
            return Err(Unknown::TooMany);
        }
        let entries = match self.dirs.remove(path) {
            Some(present) => present.merged_with(entries),
            None => entries,
        };
        self.dirs.insert(path.to_vec(), entries);
        Ok(())
    }
}
