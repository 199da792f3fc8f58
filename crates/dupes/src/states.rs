//! Checks by metadata whether remembered files are unchanged.

use std::num::NonZeroU32;
use std::sync::atomic::Ordering::Relaxed;

use fsops::{FileKey, Kind, Stat, Time, is_gone};
use runtime::{Interrupted, Stage};
use walk::{FileId, Tree};

use crate::work::Work;
use crate::worker::Worker;

/// The current state of a remembered file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The same inode with the same size, mtime and ctime.
    Same,
    /// The file has changed, or its name belongs to something else.
    Changed,
    /// Its name is gone.
    Gone,
    /// The file is on a disk that is not mounted.
    Offline,
    /// It cannot be inspected.
    Unknown,
    /// The file is unchanged, but may be a second path to a file that has already been counted
    /// ([`aliases_among`](crate::aliases_among)).
    Alias,
    /// The file is unchanged, but has not been compared with other files yet.
    Pending,
    /// The metadata of the file is unchanged, but its bytes were found to be different.
    Damaged,
    /// The metadata of the file is unchanged, but the file could not be read.
    Unreadable,
}

/// Returns the state of each of `files`, in order, judging by metadata.
///
/// # Errors
///
/// Fails only with [`Interrupted`], if the user asked to stop.
pub fn states(work: &Work<'_>, files: &[FileId]) -> Result<Vec<State>, Interrupted> {
    inspect_each(work, files, State::Unknown, state)
}

/// The metadata of an unchanged file that a tree does not store. This type is kept small because
/// there may be millions of files.
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
        // An inode without links has been deleted.
        Some(Attributes { allocated, links: NonZeroU32::new(links)?, mode, uid, gid })
    }

    /// Returns the full metadata of the file. Mount, access time and birth time are unknown.
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

/// Returns the attributes of each of `files`, in order, or `None` if the file has changed.
///
/// # Errors
///
/// Fails only with [`Interrupted`], if the user asked to stop.
pub fn unchanged(
    work: &Work<'_>,
    files: &[FileId],
) -> Result<Vec<Option<Attributes>>, Interrupted> {
    inspect_each(work, files, None, |worker, file| {
        let now = worker.opener.stat(file).ok();
        let now = now.filter(|now| now.kind == Kind::File && worker.work.tree.unchanged(file, now));
        Attributes::of(&now?)
    })
}

/// Returns the result of `inspect` for each of `files`, in order.
fn inspect_each<T: Clone + Send>(
    work: &Work<'_>,
    files: &[FileId],
    nothing: T,
    inspect: impl Fn(&mut Worker<'_>, FileId) -> T + Sync,
) -> Result<Vec<T>, Interrupted> {
    work.progress.enter(Stage::Look);
    work.progress.files_total.store(files.len() as u64, Relaxed);
    let numbered: Vec<(u32, FileId)> = (0..).zip(files.iter().copied()).collect();
    let (lists, _) = work.on_threads(&numbered, 64, |worker, list: &mut Vec<_>, &(at, file)| {
        list.push((at, inspect(worker, file)));
        worker.work.progress.files_done.fetch_add(1, Relaxed);
        Ok(())
    })?;
    let mut all = vec![nothing; files.len()];
    for (at, found) in lists.into_iter().flatten() {
        all[at as usize] = found;
    }
    Ok(all)
}

/// Returns the state of one file.
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
