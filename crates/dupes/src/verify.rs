//! Asks whether remembered files are still what they were: by metadata, or by reading them again.

use std::num::NonZeroU32;
use std::sync::atomic::Ordering::Relaxed;

use content::{Digest, ReadError, Stretch, read_head, read_on};
use fsops::{FileKey, Interrupted, Kind, Op, Stage, Stat, Time, is_gone};
use walk::{FileId, Problem, Reason, Tree};

use crate::parallel::Work;
use crate::worker::Worker;

/// What has become of a remembered file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The same inode with the same size, mtime and ctime.
    Same,
    /// Something else has its name, or it was changed.
    Changed,
    /// Its name is gone.
    Gone,
    /// It is on a disk that is not mounted.
    Offline,
    /// It cannot be looked at.
    Unknown,
    /// It is what it was, but was not compared with others yet.
    Pending,
    /// It is what it was by its metadata, but its bytes were found to be others.
    Damaged,
    /// It is what it was by its metadata, but could not be read.
    Unreadable,
}

/// Returns the state of each of `files`, in their order, by looking at their metadata.
///
/// # Errors
///
/// Only that `watch` asked to stop.
pub fn states(work: &Work<'_>, files: &[FileId]) -> Result<Vec<State>, Interrupted> {
    each(work, files, State::Unknown, state)
}

/// What a tree does not tell of a file that is what it was: little, as there is one for each of millions.
#[derive(Clone, Copy, Debug)]
pub struct Attributes {
    allocated: u64,
    links: NonZeroU32,
    mode: u32,
    uid: u32,
    gid: u32,
}

impl Attributes {
    fn of(stat: &Stat) -> Option<Attributes> {
        let &Stat { allocated, links, mode, uid, gid, .. } = stat;
        // One that has lost its last name is not there.
        Some(Attributes { allocated, links: NonZeroU32::new(links)?, mode, uid, gid })
    }

    /// Returns the metadata of the file that they are of; neither mount nor access time nor birth are known.
    pub fn stat(&self, tree: &Tree, file: FileId) -> Stat {
        let (FileKey { device, inode }, record) = (tree.key(file), tree.file(file));
        let &Attributes { allocated, links, mode, uid, gid } = self;
        Stat {
            device,
            inode,
            mount: 0,
            kind: Kind::File,
            size: record.size,
            allocated,
            links: links.get(),
            mtime: Time::from_ns(record.mtime_ns),
            ctime_ns: record.ctime_ns,
            atime: Time::default(),
            mode,
            uid,
            gid,
            born_ns: 0,
            special: 0,
        }
    }
}

/// Returns the attributes of those of `files`, in their order, that are what they were.
///
/// # Errors
///
/// Only that `watch` asked to stop.
pub fn unchanged(
    work: &Work<'_>,
    files: &[FileId],
) -> Result<Vec<Option<Attributes>>, Interrupted> {
    each(work, files, None, |worker, file| {
        let now = worker.opener.stat(file).ok();
        let now = now.filter(|now| now.kind == Kind::File && worker.work.tree.unchanged(file, now));
        Attributes::of(&now?)
    })
}

/// Returns what `look` says of each of `files`, in their order.
fn each<T: Clone + Send>(
    work: &Work<'_>,
    files: &[FileId],
    nothing: T,
    look: impl Fn(&mut Worker<'_>, FileId) -> T + Sync,
) -> Result<Vec<T>, Interrupted> {
    work.watch.enter(Stage::Look);
    work.watch.files_total.store(files.len() as u64, Relaxed);
    let numbered: Vec<(u32, FileId)> = (0..).zip(files.iter().copied()).collect();
    let (lists, _) = work.on_threads(&numbered, 64, |worker, list: &mut Vec<_>, &(at, file)| {
        list.push((at, look(worker, file)));
        worker.work.watch.files_done.fetch_add(1, Relaxed);
        Ok(())
    })?;
    let mut all = vec![nothing; files.len()];
    for (at, found) in lists.into_iter().flatten() {
        all[at as usize] = found;
    }
    Ok(all)
}

/// Returns what has become of one file.
pub(crate) fn state(worker: &mut Worker<'_>, file: FileId) -> State {
    if worker.work.tree.is_offline(file) {
        return State::Offline;
    }
    match worker.opener.stat(file) {
        Ok(now) if now.kind == Kind::File && worker.work.tree.unchanged(file, &now) => State::Same,
        Ok(_) => State::Changed,
        Err(e) if is_gone(&e) => State::Gone,
        Err(_) => State::Unknown,
    }
}

/// What reading remembered files again has shown.
#[derive(Debug, Default)]
pub struct Validated {
    /// Files whose bytes are as remembered.
    pub matching: u64,
    /// Files whose metadata changed since, so that nothing was to be expected of their bytes.
    pub changed: Vec<FileId>,
    /// Files that are gone.
    pub gone: Vec<FileId>,
    /// Files on a disk that is not mounted.
    pub offline: u64,
    /// Files whose metadata is unchanged and whose bytes are not: a failing disk, or a program
    /// that covers its tracks.
    pub differing: Vec<FileId>,
    /// Files of whose bytes nothing was known, as no other file has their size.
    pub unknown: u64,
    /// Files that could not be read.
    pub problems: Vec<Problem>,
}

/// Reads every file of whose bytes something is known and compares.
///
/// # Errors
///
/// Only that `watch` asked to stop.
pub fn validate(work: &Work<'_>) -> Result<Validated, Interrupted> {
    work.watch.enter(Stage::Compare);
    let files: Vec<FileId> =
        (0..work.tree.files().len()).filter_map(|n| u32::try_from(n).ok().map(FileId)).collect();
    let known = |f: &&FileId| work.facts.head(f.0).is_some() || digest(work, **f).is_some();
    let size = |f: &FileId| work.tree.file(*f).size;
    let total = files.iter().filter(known).map(size).fold(0u64, u64::saturating_add);
    work.watch.files_total.store(files.len() as u64, Relaxed);
    work.watch.bytes_total.store(total, Relaxed);
    let (lists, problems) = work.on_threads(&files, 16, |worker, out: &mut Validated, &file| {
        match state(worker, file) {
            State::Same => reread(worker, out, file)?,
            State::Changed => out.changed.push(file),
            State::Gone => out.gone.push(file),
            State::Offline => out.offline += 1,
            _ => unreadable(worker, out, file),
        }
        worker.work.watch.files_done.fetch_add(1, Relaxed);
        Ok(())
    })?;
    let mut all = Validated { problems, ..Validated::default() };
    for list in lists {
        all.matching += list.matching;
        all.unknown += list.unknown;
        all.offline += list.offline;
        all.changed.extend(list.changed);
        all.gone.extend(list.gone);
        all.differing.extend(list.differing);
        all.problems.extend(list.problems);
    }
    for list in [&mut all.changed, &mut all.gone, &mut all.differing] {
        list.sort_by_cached_key(|&file| work.tree.path(file));
    }
    all.problems.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(all)
}

fn digest(work: &Work<'_>, file: FileId) -> Option<content::Digest> {
    work.facts.content(file.0).and_then(|content| work.facts.digest(content))
}

fn reread(worker: &mut Worker<'_>, out: &mut Validated, file: FileId) -> Result<(), Interrupted> {
    let size = worker.work.tree.file(file).size;
    let (digest, head) = (digest(worker.work, file), worker.work.facts.head(file.0));
    if digest.is_none() && head.is_none() {
        out.unknown += 1;
        return Ok(());
    }
    let Ok(open) = worker.opener.open(file) else {
        unreadable(worker, out, file);
        return Ok(());
    };
    worker.work.watch.opened.fetch_add(1, Relaxed);
    let mut scratch = std::mem::take(&mut worker.scratch);
    let watch = worker.work.watch;
    let same = match (digest, head) {
        (Some(digest), _) => {
            let whole = Stretch { size, before: None, to: size };
            let read = read_on(&open, whole, &mut scratch, watch);
            read.map(|grown| Digest::from(grown.beginning) == digest)
        }
        (None, head) => read_head(&open, size, &mut scratch, watch).map(|h| Some(h) == head),
    };
    worker.scratch = scratch;
    watch.bytes_done.fetch_add(size, Relaxed);
    let unchanged = open.stat().is_ok_and(|now| worker.work.tree.unchanged(file, &now));
    match same {
        Err(ReadError::Interrupted(stop)) => return Err(stop),
        Err(ReadError::Io(source)) => {
            let path = worker.work.tree.path(file);
            out.problems.push(Problem { path, reason: Reason::Failed { op: Op::Read, source } });
        }
        _ if !unchanged => out.changed.push(file),
        Ok(true) => out.matching += 1,
        Ok(false) | Err(ReadError::Short) => out.differing.push(file),
    }
    Ok(())
}

/// Notes a file that cannot be looked at or opened, asking again for the reason.
fn unreadable(worker: &mut Worker<'_>, out: &mut Validated, file: FileId) {
    let path = worker.work.tree.path(file);
    let failed = |op, source| Reason::Failed { op, source };
    let reason = match worker.opener.stat(file) {
        Err(source) => failed(Op::Stat, source),
        Ok(_) => match worker.opener.open(file) {
            Err(source) => failed(Op::Open, source),
            Ok(_) => Reason::Changed,
        },
    };
    out.problems.push(Problem { path, reason });
}
