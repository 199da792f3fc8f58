//! Reads remembered files again and compares their bytes with the catalog.

use std::sync::atomic::Ordering::Relaxed;

use content::{
    Digest, Fingerprints, HashRange, Head, ReadError, extend_prefix, head_length, read_head,
};
use fsops::{File, Op};
use runtime::{Interrupted, Stage};
use walk::{FileId, Problem, Reason, Tree};

use crate::sets::Sets;
use crate::states::{State, state};
use crate::work::Work;
use crate::worker::Worker;

/// The head and the digest of a file according to the catalog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// The hash of its first bytes.
    pub head: Option<Head>,
    /// BLAKE3 of its content.
    pub digest: Option<Digest>,
}

impl Expected {
    /// Returns the head and the digest that `fingerprints` has for a file.
    pub fn of(fingerprints: &Fingerprints, file: FileId) -> Expected {
        let digest = fingerprints.content(file.0).and_then(|content| fingerprints.digest(content));
        Expected { head: fingerprints.head(file.0), digest }
    }

    /// Returns the number of bytes to read from a file of this size.
    pub(crate) fn bytes(&self, size: u64) -> u64 {
        match (self.digest, self.head) {
            (Some(_), _) => size,
            (None, Some(_)) => head_length(size),
            (None, None) => 0,
        }
    }
}

/// The finding about one file that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// All bytes that were read match the catalog.
    Sound,
    /// The metadata of the file is unchanged, but its bytes have changed.
    Differing,
    /// It cannot be read.
    Unreadable,
}

/// The result of reading remembered files again.
#[derive(Debug, Default)]
pub struct Validated {
    /// Number of files whose bytes match the catalog.
    pub matching: u64,
    /// Files whose metadata changed since the scan. Their bytes are allowed to differ.
    pub changed: Vec<FileId>,
    /// Files that are gone.
    pub gone: Vec<FileId>,
    /// Number of files on disks that are not mounted.
    pub offline: u64,
    /// Files whose bytes changed although their metadata did not. Either the disk is failing, or a
    /// program hides its changes.
    pub differing: Vec<FileId>,
    /// Number of files without a digest in the catalog. At most their heads were compared.
    pub unchecked: u64,
    /// Files that could not be read.
    pub problems: Vec<Problem>,
}

impl Validated {
    fn add(&mut self, other: Validated) {
        self.matching += other.matching;
        self.unchecked += other.unchecked;
        self.offline += other.offline;
        self.changed.extend(other.changed);
        self.gone.extend(other.gone);
        self.differing.extend(other.differing);
        self.problems.extend(other.problems);
    }

    fn sort(&mut self, tree: &Tree) {
        for list in [&mut self.changed, &mut self.gone, &mut self.differing] {
            list.sort_by_cached_key(|&file| tree.path(file));
        }
        self.problems.sort_by(|a, b| a.path.cmp(&b.path));
    }
}

/// Reads every file for which `expected` has a head or a digest, and compares the result with it.
/// Reads each inode once, however many names it has.
///
/// Calls `found` with one name of each inode as soon as the inode is read.
///
/// # Errors
///
/// Fails only with [`Interrupted`], if the user asked to stop. Nothing on disk has changed.
pub fn validate(
    work: &Work<'_>,
    expected: &(dyn Fn(FileId) -> Expected + Sync),
    found: &(dyn Fn(FileId, Finding) + Sync),
) -> Result<Validated, Interrupted> {
    work.progress.enter(Stage::Compare);
    let inodes = inodes(work.tree);
    let bytes = inodes.iter().map(|names| {
        let first = names.files[0];
        expected(first).bytes(work.tree.file(first).size)
    });
    work.progress.bytes_total.store(bytes.fold(0, u64::saturating_add), Relaxed);
    work.progress.files_total.store(work.tree.files().len() as u64, Relaxed);
    let leaders = inodes.leaders();
    let (lists, problems) =
        work.on_threads(&leaders, 16, |worker, out: &mut Validated, &(number, _)| {
            let names = inodes.get(number as usize).files;
            let same = unchanged_names(worker, out, names);
            let bytes = expected(names[0]).bytes(work.tree.file(names[0]).size);
            let read = match same.first() {
                Some(&file) => reread(worker, out, &same, expected(file), found)?,
                None => 0,
            };
            work.progress.bytes_done.fetch_add(bytes.saturating_sub(read), Relaxed);
            work.progress.files_done.fetch_add(names.len() as u64, Relaxed);
            Ok(())
        })?;
    let mut all = Validated { problems, ..Validated::default() };
    for list in lists {
        all.add(list);
    }
    all.sort(work.tree);
    Ok(all)
}

/// Returns the names of each inode, in tree order.
pub(crate) fn inodes(tree: &Tree) -> Sets<()> {
    // A remembered file that is no longer at its path has inode number 0, so each such file gets a
    // unique key.
    let own = |id: u32, inode: u64| if inode == 0 { id + 1 } else { 0 };
    let mut keys: Vec<_> = (0u32..)
        .zip(tree.files())
        .map(|(id, file)| (tree.device_index(file.dir), file.inode, own(id, file.inode), id))
        .collect();
    keys.sort_unstable();
    let mut inodes: Vec<&[(usize, u64, u32, u32)]> =
        keys.chunk_by(|a, b| (a.0, a.1, a.2) == (b.0, b.1, b.2)).collect();
    inodes.sort_unstable_by_key(|names| names[0].3);
    let (mut sets, mut files) = (Sets::default(), Vec::new());
    for names in inodes {
        files.clear();
        files.extend(names.iter().map(|key| FileId(key.3)));
        sets.push(&files, ());
    }
    sets
}

/// Returns the names whose metadata is unchanged, and records the state of the other names.
fn unchanged_names(worker: &mut Worker<'_>, out: &mut Validated, names: &[FileId]) -> Vec<FileId> {
    let mut same = Vec::new();
    for &file in names {
        match state(worker, file) {
            State::Same => same.push(file),
            State::Changed => out.changed.push(file),
            State::Gone => out.gone.push(file),
            State::Offline => out.offline += 1,
            _ => out.problems.push(unreadable(worker, file)),
        }
    }
    same
}

/// Reads a file, given by its unchanged names, and compares it with the catalog. Returns the number
/// of bytes that have already been counted as done during the read.
fn reread(
    worker: &mut Worker<'_>,
    out: &mut Validated,
    names: &[FileId],
    expected: Expected,
    found: &(dyn Fn(FileId, Finding) + Sync),
) -> Result<u64, Interrupted> {
    let (file, count) = (names[0], names.len() as u64);
    if expected == Expected::default() {
        out.unchecked += count;
        return Ok(0);
    }
    let size = worker.work.tree.file(file).size;
    let Ok(open) = worker.opener.open(file) else {
        found(file, Finding::Unreadable);
        out.problems.push(unreadable(worker, file));
        return Ok(0);
    };
    worker.work.progress.opened.fetch_add(1, Relaxed);
    let is_same = compare(worker, &open, size, expected);
    let unchanged = open.stat().is_ok_and(|now| worker.work.tree.unchanged(file, &now));
    match is_same {
        Err(ReadError::Interrupted(stop)) => return Err(stop),
        Err(ReadError::Io(source)) => {
            found(file, Finding::Unreadable);
            let path = worker.work.tree.path(file);
            out.problems.push(Problem { path, reason: Reason::Failed { op: Op::Read, source } });
        }
        _ if !unchanged => out.changed.extend(names),
        Ok(true) if expected.digest.is_none() => out.unchecked += count,
        Ok(true) => {
            found(file, Finding::Sound);
            out.matching += count;
        }
        Ok(false) | Err(ReadError::Short) => {
            found(file, Finding::Differing);
            out.differing.extend(names);
        }
    }
    // The bytes of a head are not counted.
    Ok(expected.digest.map_or(0, |_| size))
}

/// Returns whether an open file has the expected digest, or the expected head if no digest is
/// known.
pub(crate) fn compare(
    worker: &mut Worker<'_>,
    open: &File,
    size: u64,
    expected: Expected,
) -> Result<bool, ReadError> {
    let progress = worker.work.progress;
    let Some(digest) = expected.digest else {
        let head = read_head(open, size, &mut worker.scratch, progress)?;
        return Ok(Some(head) == expected.head);
    };
    let whole = HashRange { size, before: None, to: size };
    let grown = extend_prefix(open, whole, &mut worker.scratch, progress)?;
    Ok(Digest::from(grown.beginning) == digest)
}

/// Returns the reason why a file cannot be inspected or opened. Tries both again to find it.
fn unreadable(worker: &mut Worker<'_>, file: FileId) -> Problem {
    let path = worker.work.tree.path(file);
    let failed = |op, source| Reason::Failed { op, source };
    let reason = match worker.opener.stat(file) {
        Err(source) => failed(Op::Stat, source),
        Ok(_) => match worker.opener.open(file) {
            Err(source) => failed(Op::Open, source),
            Ok(_) => Reason::Changed,
        },
    };
    Problem { path, reason }
}
