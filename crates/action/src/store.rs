//! The directories that files go through on their way: one per file system and run, for nobody but who
//! runs lop.
//!
//! A name in such a directory cannot be taken by anybody else between two steps, which is what makes it
//! safe to remove what is under it. A rename works only within one mount, and on btrfs within one
//! subvolume, so there is one directory for each. It is in `.lop-quarantine-UID`, in the topmost
//! directory above the file that belongs to the user, or else that the user may write to.

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString};
use std::io;
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fsops::{Dir, Op, Stat};
use walk::{Reach, STORE_PREFIX, split};

use crate::error::{Error, Reason};
use crate::journal::{Journal, Record};
use crate::name::Name;

/// All stores of a run, shared by its workers.
#[derive(Debug)]
pub(crate) struct Stores {
    id: String,
    placed: Mutex<Placed>,
}

#[derive(Debug, Default)]
struct Placed {
    stores: Vec<Store>,
    /// Numbers that the journal knows; one that came to nothing is not used again.
    noted: u32,
    /// Devices whose file systems were synced.
    synced: HashSet<u64>,
}

#[derive(Clone, Debug)]
struct Store {
    mount: u64,
    device: u64,
    number: u32,
    /// Path of the run's own directory in it.
    path: Vec<u8>,
}

/// A run's directory on one file system, open.
#[derive(Clone, Debug)]
pub(crate) struct Staging {
    pub(crate) number: u32,
    pub(crate) dir: Rc<Dir>,
    pub(crate) path: Rc<[u8]>,
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
    pub(crate) fn new(id: &str) -> Stores {
        Stores { id: id.into(), placed: Mutex::default() }
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

    /// Returns the number and path of the directory for a file in `dir`, made if need be.
    fn find(
        &self,
        file: &Stat,
        dir_path: &[u8],
        reach: &mut Reach,
        journal: &Journal,
    ) -> Result<Store, NoStore> {
        let mut placed = self.placed();
        let same = |store: &&Store| (store.mount, store.device) == (file.mount, file.device);
        if let Some(store) = placed.stores.iter().find(same) {
            return Ok(store.clone());
        }
        let failed = |e| NoStore::Here(Reason::Failed { op: Op::Create, source: e });
        let above = place(dir_path, reach).map_err(failed)?;
        let fsid = reach.dir(&above).and_then(|dir| dir.volume()).map_err(failed)?.fsid;
        let path = [store_path(&above).as_slice(), b"/", self.id.as_bytes()].concat();
        let number = placed.noted;
        placed.noted += 1;
        journal.note(&Record::Store { store: number, path: Name(path.clone()), fsid })?;
        make(&above, &self.id, reach).map_err(failed)?;
        let store = Store { mount: file.mount, device: file.device, number, path };
        placed.stores.push(store.clone());
        Ok(store)
    }

    /// Removes the run's directories that nothing is left in.
    pub(crate) fn tidy(&self, reach: &mut Reach) {
        for store in &self.placed().stores {
            remove_empty(&store.path, reach);
        }
    }
}

/// Removes a run's directory if it is empty, and the store around it if that is.
pub(crate) fn remove_empty(path: &[u8], reach: &mut Reach) {
    for path in [path, split(path).0] {
        reach.forget();
        // What is not empty stays.
        let removed = reach.site(path).and_then(|(dir, name)| dir.remove_empty_dir(&name));
        if removed.is_err() {
            return;
        }
    }
}

/// The stores that one worker has used.
#[derive(Debug, Default)]
pub(crate) struct Used(HashMap<(u64, u64), Staging>);

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
        let key = (file.mount, file.device);
        if let Some(staging) = self.0.get(&key) {
            return Ok(staging.clone());
        }
        let store = stores.find(file, dir_path, reach, journal)?;
        let staging = open(store.number, &store.path, reach)
            .map_err(|e| NoStore::Here(Reason::Failed { op: Op::Open, source: e }))?;
        self.0.insert(key, staging.clone());
        Ok(staging)
    }
}

/// Opens a run's directory in a store.
pub(crate) fn open(number: u32, path: &[u8], reach: &mut Reach) -> io::Result<Staging> {
    let dir = reach.dir(path)?;
    check_private(&dir.stat()?)?;
    Ok(Staging { number, dir, path: path.into() })
}

/// Returns the path of the directory that the store for files in `dir_path` is to be in.
fn place(dir_path: &[u8], reach: &mut Reach) -> io::Result<Vec<u8>> {
    let own = reach.dir(dir_path)?;
    let here = own.stat()?;
    own.may_change()?;
    let (mut best, mut best_is_own) = (dir_path, here.uid == user());
    let mut path = dir_path;
    while !path.is_empty() {
        path = split(path).0;
        let above = reach.dir(path)?;
        let stat = above.stat()?;
        if (stat.mount, stat.device) != (here.mount, here.device) {
            break;
        }
        let is_own = stat.uid == user();
        if (is_own || !best_is_own) && above.may_change().is_ok() {
            (best, best_is_own) = (path, is_own);
        }
    }
    Ok(best.to_vec())
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
    let (store, id) = split(path);
    let id = String::from_utf8_lossy(id);
    make(split(store).0, &id, reach)
}

/// Makes the store in `above` if it is missing, and the run's directory in it.
fn make(above: &[u8], id: &str, reach: &mut Reach) -> io::Result<()> {
    let above = reach.dir(above)?;
    let store = CString::new(store_name())?;
    let run = CString::new(id)?;
    // Another run may remove the store, as it is empty, between the two.
    for _ in 0..100 {
        let is_ours = above.make_private_dir(&store);
        let is_new = is_ours.is_ok();
        made(is_ours)?;
        let dir = above.open_child(&store)?;
        check_private(&dir.stat()?)?;
        match made(dir.make_private_dir(&run)) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => {
                // No room for it, for one. What is not empty stays.
                let _kept = is_new.then(|| above.remove_empty_dir(&store));
                return Err(e);
            }
            Ok(()) => return Ok(()),
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

fn made(answer: io::Result<()>) -> io::Result<()> {
    match answer {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

/// Makes sure that nobody else can reach into a store: where everybody may make directories, somebody
/// may have made this one.
fn check_private(stat: &Stat) -> io::Result<()> {
    if stat.uid == user() && stat.mode.trailing_zeros() >= 6 {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!("{STORE_PREFIX}* is there and is not private"),
    ))
}

impl Staging {
    /// Returns the path of a name in it.
    pub(crate) fn path_of(&self, name: &CStr) -> Vec<u8> {
        [&self.path[..], b"/", name.to_bytes()].concat()
    }
}
