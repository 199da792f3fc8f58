//! The directories that files go through on their way: one per file system and run, for nobody but who
//! runs lop.
//!
//! A name in such a directory cannot be taken by anybody else between two steps, which is what makes it
//! safe to remove what is under it. A rename works only within one mount, and on btrfs within one
//! subvolume, so there is one directory for each. It is in `.lop-quarantine-UID`, in a directory above the
//! file that the user may write to: the topmost one to which nobody else may, if possible one of the user's
//! own, and in `/` only for want of any other. Files that stay in a store (quarantine) are in one above their own
//! directory, so that nobody who removes another tree removes them.
//!
//! # Full disks
//!
//! A directory takes a block, and a disk may have none left, which is when people delete duplicates. Then files go
//! through names beside them that begin with `.lop-quarantine-UID-ID-`, but only in a directory of the user's own
//! that nobody else may write to: there too nobody can take a name between two steps. Nothing stays there.

use std::collections::HashSet;
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fsops::{Context, Dir, Op, Stat};
use walk::{Reach, STORE_PREFIX, split};

use crate::error::{Error, Reason};
use crate::journal::{Journal, Record};
use crate::kind::Kind;
use crate::lines::Lines;
use crate::manifest;
use crate::name::Name;

/// All stores of a run, shared by its workers.
#[derive(Debug)]
pub(crate) struct Stores {
    id: String,
    /// What is done with files; nothing for whole trees.
    kind: Option<Kind>,
    placed: Mutex<Placed>,
}

#[derive(Debug, Default)]
struct Placed {
    stores: Vec<Store>,
    /// Those that could not be made, and why.
    failed: Vec<(Site, Reason)>,
    /// Numbers that the journal knows; one that came to nothing is not used again.
    noted: u32,
    /// Devices whose file systems were synced.
    synced: HashSet<u64>,
}

/// Where a store is, or is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Site {
    mount: u64,
    device: u64,
    above: Vec<u8>,
    /// There is no directory, but names beside files.
    beside: bool,
}

impl Site {
    /// Returns whether files of a directory can go through a store here.
    fn serves(&self, file: &Stat, dir_path: &[u8], stays: bool) -> bool {
        let rest = dir_path.strip_prefix(&self.above[..]);
        let is_above = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"));
        let is_near = if self.beside { dir_path == self.above } else { is_above || !stays };
        (self.mount, self.device) == (file.mount, file.device) && is_near
    }
}

#[derive(Clone, Debug)]
struct Store {
    site: Site,
    number: u32,
    /// Path of the run's own directory in it, or what the paths of its names begin with.
    path: Vec<u8>,
}

/// A run's directory on one file system, open.
#[derive(Clone, Debug)]
pub(crate) struct Staging {
    pub(crate) number: u32,
    pub(crate) dir: Rc<Dir>,
    pub(crate) path: Rc<[u8]>,
    /// What the run's names in it begin with, if it is not the run's alone.
    prefix: Rc<str>,
}

/// Why there is no store for a file.
pub(crate) enum NoStore {
    /// For this file.
    Here(Reason),
    /// For none: the journal failed.
    Anywhere(Error),
}

impl From<Error> for NoStore {
    fn from(error: Error) -> NoStore {
        NoStore::Anywhere(error)
    }
}

impl Stores {
    /// Returns none yet, for what is done with files or, if that is nothing, for whole trees.
    pub(crate) fn new(id: &str, kind: Option<Kind>) -> Stores {
        Stores { id: id.into(), kind, placed: Mutex::default() }
    }

    /// Returns whether files stay in them.
    fn stays(&self) -> bool {
        self.kind == Some(Kind::Quarantine)
    }

    fn placed(&self) -> MutexGuard<'_, Placed> {
        self.placed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has everything that a file's file system has in memory written to its disk, once in a run.
    ///
    /// A file that was copied a moment ago may be nowhere but in memory. If its older equal were removed
    /// before it is on the disk, a power failure would take both.
    pub(crate) fn sync(&self, device: u64, dir: &Dir) -> io::Result<()> {
        let mut placed = self.placed();
        if !placed.synced.contains(&device) {
            dir.sync_file_system()?;
            placed.synced.insert(device);
        }
        Ok(())
    }

    /// Returns the store for a file in a directory, made if need be.
    fn find(
        &self,
        file: &Stat,
        dir_path: &[u8],
        reach: &mut Reach,
        journal: &Journal,
    ) -> Result<Store, NoStore> {
        let mut placed = self.placed();
        let serves = |store: &&Store| store.site.serves(file, dir_path, self.stays());
        if let Some(store) = placed.stores.iter().find(serves) {
            return Ok(store.clone());
        }
        let above = place(dir_path, reach).map_err(NoStore::Here)?;
        let site = Site { mount: file.mount, device: file.device, above, beside: false };
        if let Some((_, reason)) = placed.failed.iter().find(|(failed, _)| *failed == site) {
            return Err(NoStore::Here(reason.again()));
        }
        let failed = |source| Reason::Store { at: store_path(&site.above), source };
        let volume = reach.dir(&site.above).and_then(|dir| dir.volume());
        let fsid = volume.map_err(|e| NoStore::Here(failed(e)))?.fsid;
        let path = [store_path(&site.above).as_slice(), b"/", self.id.as_bytes()].concat();
        let number = placed.noted;
        placed.noted += 1;
        journal.note(&Record::Store { store: number, path: Name(path.clone()), fsid })?;
        let store = match make(&site.above, &self.id, reach, false) {
            Ok(()) => Store { site, number, path },
            Err(reason) if reason.is_full() && self.may_be_beside(dir_path, reach) => {
                self.beside(file, dir_path, fsid, &mut placed, journal)?
            }
            Err(reason) => {
                placed.failed.push((site, reason.again()));
                return Err(NoStore::Here(reason));
            }
        };
        placed.stores.push(store.clone());
        Ok(store)
    }

    /// Returns whether files may go through names beside them, for want of room for a directory.
    fn may_be_beside(&self, dir_path: &[u8], reach: &mut Reach) -> bool {
        // The others take room themselves.
        let frees = matches!(self.kind, Some(Kind::Delete | Kind::Hardlink | Kind::Symlink));
        frees && reach.dir(dir_path).and_then(|dir| dir.stat()).is_ok_and(|stat| is_closed(&stat))
    }

    fn beside(
        &self,
        file: &Stat,
        dir_path: &[u8],
        fsid: u64,
        placed: &mut Placed,
        journal: &Journal,
    ) -> Result<Store, Error> {
        let above = dir_path.to_vec();
        let site = Site { mount: file.mount, device: file.device, above, beside: true };
        let path = format!("/{}-{}-", store_name(), self.id);
        let path = [dir_path, path.as_bytes()].concat();
        let number = placed.noted;
        placed.noted += 1;
        let mut lines = Lines::default();
        lines.push(&Record::Store { store: number, path: Name(path.clone()), fsid });
        // Nothing is made before intents are on the disk, and this comes before them.
        journal.append(&lines, false)?;
        Ok(Store { site, number, path })
    }

    /// Removes the run's directories that nothing is left in. If anything was `done`, has it on the disk: only
    /// then may the journal say that the run is over.
    pub(crate) fn finish(&self, done: bool, reach: &mut Reach) -> Result<(), fsops::Error> {
        for Store { site, path, .. } in &self.placed().stores {
            let shown = |path: &[u8]| OsStr::from_bytes(path).to_owned();
            try_remove_empty(path, reach).context(Op::Remove, || shown(path))?;
            if !done {
                continue;
            }
            let above = if site.above.is_empty() { b"/" } else { &site.above[..] };
            let synced = reach.dir(&site.above).and_then(|dir| dir.sync_file_system());
            synced.context(Op::Sync, || shown(above))?;
        }
        Ok(())
    }
}

/// Removes a run's directory if it is empty, and the store around it if that is; returns whether all is gone that
/// nothing is in.
pub(crate) fn remove_empty(path: &[u8], reach: &mut Reach) -> bool {
    try_remove_empty(path, reach).is_ok()
}

fn try_remove_empty(path: &[u8], reach: &mut Reach) -> io::Result<()> {
    if is_beside(path) {
        return Ok(());
    }
    manifest::remove_if_alone(path, reach);
    for path in [path, split(path).0] {
        reach.forget();
        let removed = reach.site(path).and_then(|(dir, name)| dir.remove_empty_dir(&name));
        match removed.as_ref().map_err(io::Error::kind) {
            // It may not have been made: a run was killed before.
            Ok(()) | Err(io::ErrorKind::NotFound) => {}
            Err(io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists) => break,
            Err(_) => return removed,
        }
    }
    Ok(())
}

/// The stores that one worker has used.
#[derive(Debug, Default)]
pub(crate) struct Used(Vec<(Site, Staging)>);

impl Used {
    /// Returns the run's directory for a file in a directory.
    pub(crate) fn staging(
        &mut self,
        stores: &Stores,
        file: &Stat,
        dir_path: &[u8],
        reach: &mut Reach,
        journal: &Journal,
    ) -> Result<Staging, NoStore> {
        let serves = |(site, _): &&(Site, _)| site.serves(file, dir_path, stores.stays());
        if let Some((_, staging)) = self.0.iter().find(serves) {
            return Ok(staging.clone());
        }
        let Store { site, number, path } = stores.find(file, dir_path, reach, journal)?;
        let staging = open(number, &path, reach)
            .map_err(|source| NoStore::Here(Reason::Store { at: path, source }))?;
        self.0.push((site, staging.clone()));
        Ok(staging)
    }
}

/// Returns whether what the journal says of a store is what names beside files begin with.
fn is_beside(path: &[u8]) -> bool {
    split(path).1.starts_with(STORE_PREFIX.as_bytes())
}

/// Returns the directory that a store is in.
pub(crate) fn above(path: &[u8]) -> &[u8] {
    let dir = split(path).0;
    if is_beside(path) { dir } else { split(dir).0 }
}

/// Opens a run's directory in a store.
pub(crate) fn open(number: u32, path: &[u8], reach: &mut Reach) -> io::Result<Staging> {
    if is_beside(path) {
        let (path, prefix) = split(path);
        let dir = reach.dir(path)?;
        if !is_closed(&dir.stat()?) {
            let text = "others may write to it by now";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        }
        let prefix = String::from_utf8_lossy(prefix).into();
        return Ok(Staging { number, dir, path: path.into(), prefix });
    }
    let dir = reach.dir(path)?;
    if !is_private(&dir.stat()?) {
        let text = "it is not private: others may reach what is in it";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    Ok(Staging { number, dir, path: path.into(), prefix: "".into() })
}

/// Returns the path of the directory that the store for files in `dir_path` is to be in.
fn place(dir_path: &[u8], reach: &mut Reach) -> Result<Vec<u8>, Reason> {
    let failed = |source| Reason::Directory { at: dir_path.to_vec(), source };
    let own = reach.dir(dir_path).map_err(failed)?;
    let here = own.stat().map_err(failed)?;
    own.may_change().map_err(failed)?;
    let (mut best, mut best_rank) = (dir_path, rank(dir_path, &here));
    let mut path = dir_path;
    while !path.is_empty() {
        path = split(path).0;
        let Ok(above) = reach.dir(path) else { break };
        let stat = above.stat().map_err(failed)?;
        if (stat.mount, stat.device) != (here.mount, here.device) {
            break;
        }
        if rank(path, &stat) >= best_rank && above.may_change().is_ok() {
            (best, best_rank) = (path, rank(path, &stat));
        }
    }
    Ok(best.to_vec())
}

/// Returns how well a directory suits for a store. In one that others may write to they could put something in
/// the store's place; what is in `/tmp` is removed some day.
fn rank(path: &[u8], stat: &Stat) -> u8 {
    if path.is_empty() {
        return 0;
    }
    let is_closed = stat.mode & 0o022 == 0;
    1 + u8::from(stat.uid == user()) + 2 * u8::from(is_closed)
}

fn store_path(above: &[u8]) -> Vec<u8> {
    let name = store_name();
    [above.strip_suffix(b"/").unwrap_or(above), b"/", name.as_bytes()].concat()
}

fn store_name() -> String {
    format!("{STORE_PREFIX}{}", user())
}

fn user() -> u32 {
    fsops::effective_user()
}

/// Makes a run's directory again that was removed when it was empty.
pub(crate) fn make_again(path: &[u8], reach: &mut Reach) -> io::Result<()> {
    if is_beside(path) {
        return Ok(());
    }
    let (store, id) = split(path);
    let id = String::from_utf8_lossy(id);
    make(split(store).0, &id, reach, true).map_err(|reason| match reason {
        Reason::Store { source, .. } => source,
        reason => io::Error::new(io::ErrorKind::PermissionDenied, reason.to_string()),
    })
}

/// Makes the store in `above` if it is missing, and the run's directory in it, which must not be there unless
/// it is made `again`: no two runs have one.
fn make(above: &[u8], id: &str, reach: &mut Reach, again: bool) -> Result<(), Reason> {
    let at = store_path(above);
    let failed = |source| Reason::Store { at: at.clone(), source };
    let above = reach.dir(above).map_err(failed)?;
    let store = CString::new(store_name()).map_err(|e| failed(e.into()))?;
    let run = CString::new(id).map_err(|e| failed(e.into()))?;
    // Another run may remove the store, as it is empty, between the two.
    for _ in 0..100 {
        let is_ours = above.make_private_dir(&store);
        let is_new = is_ours.is_ok();
        made(is_ours).map_err(failed)?;
        let dir = match above.open_child(&store) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            dir => dir.map_err(failed)?,
        };
        let is_private = is_private(&dir.stat().map_err(failed)?);
        let answer = if is_private { dir.make_private_dir(&run) } else { Ok(()) };
        match if again { made(answer) } else { answer } {
            Ok(()) if is_private => return Ok(()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            answer => {
                // No room for it, for one. What is not empty stays.
                let _kept = is_new.then(|| above.remove_empty_dir(&store));
                return Err(answer.err().map_or(Reason::NotPrivate { at: at.clone() }, failed));
            }
        }
    }
    Err(failed(io::ErrorKind::NotFound.into()))
}

fn made(answer: io::Result<()>) -> io::Result<()> {
    match answer {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

/// Returns whether nobody else can reach into a store: where everybody may make directories, somebody may have
/// made this one, and not every file system keeps permissions.
fn is_private(stat: &Stat) -> bool {
    stat.uid == user() && stat.mode.trailing_zeros() >= 6
}

/// Returns whether a directory is the user's and nobody else may change names in it.
fn is_closed(stat: &Stat) -> bool {
    stat.uid == user() && stat.mode & 0o022 == 0
}

impl Staging {
    /// Returns the name that the `n`th of the run has in it.
    pub(crate) fn name_of(&self, n: u64) -> CString {
        self.name(&n.to_string())
    }

    /// Returns a name of the run in it.
    pub(crate) fn name(&self, name: &str) -> CString {
        CString::new(format!("{}{name}", self.prefix)).unwrap_or_default()
    }

    /// Returns what [`Staging::name`] was given for a name, if it is one of the run's.
    pub(crate) fn own<'n>(&self, name: &'n CStr) -> Option<&'n str> {
        name.to_str().ok()?.strip_prefix(&self.prefix[..])
    }

    /// Returns the path of a name in it.
    pub(crate) fn path_of(&self, name: &CStr) -> Vec<u8> {
        [&self.path[..], b"/", name.to_bytes()].concat()
    }
}

#[cfg(test)]
mod tests {
    use walk::Reach;

    use super::{make, make_again, remove_empty, store_path};
    use crate::error::Reason;

    #[test]
    fn no_two_runs_have_one_directory() {
        let home = testkit::TempTree::new();
        let above = home.path().canonicalize().expect("a home").into_os_string();
        let above = above.into_encoded_bytes();
        let mut reach = Reach::new(4);
        make(&above, "1-a", &mut reach, false).expect("is made");
        let again = make(&above, "1-a", &mut reach, false).expect_err("is there");
        let is_there = |reason: &Reason| {
            matches!(reason, Reason::Store { source, .. }
                if source.kind() == std::io::ErrorKind::AlreadyExists)
        };
        assert!(is_there(&again), "{again:?}");
        make(&above, "1-b", &mut reach, false).expect("is another one");
        let path = [&store_path(&above)[..], b"/1-a"].concat();
        make_again(&path, &mut reach).expect("for an undo of the same run");
        assert!(remove_empty(&path, &mut reach));
        assert!(reach.stat(&path).is_err() && reach.stat(&store_path(&above)).is_ok());
    }
}
