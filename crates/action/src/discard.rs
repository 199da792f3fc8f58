//! Runs that discard trees: moved aside at once, removed when there is time.
//!
//! A rename takes no longer for a million files than for one. What it needs is a directory on the same file
//! system that nobody else can reach into, and a journal, so that what was moved is not forgotten: a
//! process that is killed leaves the rest to the next one that takes the run up.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use fsops::{Dir, FileKey, Lock, Op, create_dir_private, remove_file};
use walk::{Reach, split};

use crate::error::{Error, Reason, Refusal};
use crate::journal::{FORMAT, Journal};
use crate::name::Name;
use crate::numbering::{TREES, create_next, id, journal, name_of, numbers};
use crate::runs::now_ms;
use crate::store::{self, NoStore, Stores, Used};
use crate::trees::{Line, Noted, Past, lock};

/// Directories kept open.
const OPEN_DIRS: usize = 16;

/// How often a run is looked for that somebody else may only be asking about, and the rest between.
const LOOKS: u32 = 10;
const REST: Duration = Duration::from_millis(10);

/// A tree that is to go, or anything else that has a name.
#[derive(Clone, Debug)]
pub struct Tree {
    /// Absolute path, no link in it.
    pub path: Vec<u8>,
    /// What was there when that was decided.
    pub key: FileKey,
}

/// A run whose trees this process may remove, and no other one.
#[derive(Debug)]
pub struct Discard {
    folder: PathBuf,
    run: u64,
    journal: Journal,
    _lock: Lock,
}

/// What came of taking up a run.
#[derive(Debug)]
pub enum Taken {
    /// It is this process's.
    Ours(Box<Discard>),
    /// Another process, of this number, is at it.
    Busy(Option<u32>),
    /// There is nothing left of it.
    Over,
}

/// A tree that was moved aside and is still there.
#[derive(Debug)]
pub struct Left {
    /// Where it was.
    pub path: Vec<u8>,
    /// Where it is.
    pub at: Vec<u8>,
    /// The private directory that it is in.
    pub dir: Rc<Dir>,
}

impl Discard {
    /// Moves trees aside as a new run, and returns those that could not be, which are where they were.
    ///
    /// # Errors
    ///
    /// That there can be no journal. What was moved until then is in it.
    pub fn begin(folder: &Path, trees: &[Tree]) -> Result<(Discard, Vec<Refusal>), Error> {
        create_dir_private(folder)?;
        let (run, journal) = create_next(folder, TREES)?;
        let lock = Lock::take(&lock(folder, run), |_| {})?;
        let started_ms = now_ms();
        let id = id(started_ms);
        journal.note(&Line::Begin { format: FORMAT, run, id: id.clone(), started_ms })?;
        let discard = Discard { folder: folder.into(), run, journal, _lock: lock };
        let (stores, mut used, mut reach) =
            (Stores::new(&id), Used::default(), Reach::new(OPEN_DIRS));
        let mut refused = Vec::new();
        for tree in trees {
            match discard.move_aside(tree, &stores, &mut used, &mut reach) {
                Ok(()) => {}
                Err(NoStore::Here(reason)) => {
                    refused.push(Refusal { path: tree.path.clone(), reason });
                }
                Err(NoStore::Anywhere(error)) => return Err(error),
            }
        }
        Ok((discard, refused))
    }

    fn move_aside(
        &self,
        tree: &Tree,
        stores: &Stores,
        used: &mut Used,
        reach: &mut Reach,
    ) -> Result<(), NoStore> {
        let failed = |op| move |source| NoStore::Here(Reason::Failed { op, source });
        let dir_path = split(&tree.path).0;
        let (dir, name) = reach.site(&tree.path).map_err(failed(Op::Open))?;
        let found = dir.stat_child(&name).map_err(failed(Op::Stat))?;
        if found.key() != tree.key {
            return Err(NoStore::Here(Reason::Swapped));
        }
        // The directory's, as a subvolume has a device number of its own.
        let around = dir.stat().map_err(failed(Op::Stat))?;
        let staging = used.staging(stores, &around, dir_path, reach, &self.journal)?;
        let (n, store, path) = (self.journal.number(), staging.number, Name(tree.path.clone()));
        self.journal.note(&Line::Tree { n, store, path, inode: tree.key.inode })?;
        let aside = name_of(n);
        let moved = dir.take_out(&name, &staging.dir, &aside).map_err(Reason::failed(Op::Rename));
        let reason = match moved {
            Ok(()) => match staging.dir.stat_child(&aside) {
                Ok(stat) if stat.key() == tree.key => return Ok(()),
                _ => match staging.dir.move_new(&aside, &dir, &name) {
                    Ok(()) => Reason::Swapped,
                    Err(_) => Reason::Left { at: staging.path_of(&aside) },
                },
            },
            Err(reason) => reason,
        };
        self.journal.note(&Line::Not { n })?;
        Err(NoStore::Here(reason))
    }

    /// Takes up a run that is not over.
    pub fn take(folder: &Path, run: u64) -> Result<Taken, Error> {
        let is_over =
            || Ok::<_, Error>(Past::read(folder, run)?.is_none_or(|past| past.ended_ms.is_some()));
        if is_over()? {
            return Ok(Taken::Over);
        }
        let mut lock = Lock::try_take(&lock(folder, run))?;
        for _ in 1..LOOKS {
            if lock.is_ok() {
                break;
            }
            std::thread::sleep(REST);
            lock = Lock::try_take(&self::lock(folder, run))?;
        }
        let lock = match lock {
            Ok(lock) => lock,
            Err(holder) => return Ok(Taken::Busy(holder)),
        };
        // Who had it may have ended it.
        if is_over()? {
            remove_file(&self::lock(folder, run))?;
            return Ok(Taken::Over);
        }
        let journal = Journal::open(folder, &format!("{run}{TREES}"), 0)?;
        Ok(Taken::Ours(Box::new(Discard { folder: folder.into(), run, journal, _lock: lock })))
    }

    /// Returns the numbers of the runs in a folder that something is left of, the oldest first.
    pub fn unfinished(folder: &Path) -> Result<Vec<u64>, Error> {
        let mut runs = Vec::new();
        for run in numbers(folder, TREES)? {
            if Past::read(folder, run)?.is_some_and(|past| past.ended_ms.is_none()) {
                runs.push(run);
            }
        }
        Ok(runs)
    }

    /// Returns its number.
    pub fn run(&self) -> u64 {
        self.run
    }

    /// Returns the trees that are still there, and those of which that cannot be told.
    pub fn left(&self) -> Result<(Vec<Left>, Vec<Refusal>), Error> {
        let (mut left, mut unknown) = (Vec::new(), Vec::new());
        let Some(past) = Past::read(&self.folder, self.run)? else { return Ok((left, unknown)) };
        let mut reach = Reach::new(OPEN_DIRS);
        for tree in &past.trees {
            match look(&past, tree, &mut reach) {
                Ok(found) => left.extend(found),
                Err(reason) => unknown.push(Refusal { path: tree.path.clone(), reason }),
            }
        }
        Ok((left, unknown))
    }

    /// Notes what this process removed, and what it could not.
    pub fn note(&self, files: u64, dirs: u64, failed: u64) -> Result<(), Error> {
        self.journal.note(&Line::Removed { files, dirs, failed })
    }

    /// Ends the run if nothing is left of it; returns whether. One that moved nothing leaves no journal.
    pub fn end(self) -> Result<bool, Error> {
        let (left, unknown) = self.left()?;
        if !(left.is_empty() && unknown.is_empty()) {
            return Ok(false);
        }
        let past = Past::read(&self.folder, self.run)?.unwrap_or_default();
        if past.trees.is_empty() {
            remove_file(&journal(&self.folder, self.run, TREES))?;
        } else {
            self.journal.note(&Line::End { ended_ms: now_ms() })?;
        }
        let mut reach = Reach::new(OPEN_DIRS);
        for store in past.stores {
            store::remove_empty(&store.path, &mut reach);
        }
        remove_file(&lock(&self.folder, self.run))?;
        Ok(true)
    }
}

/// Looks whether a tree is in its private directory.
fn look(past: &Past, tree: &Noted, reach: &mut Reach) -> Result<Option<Left>, Reason> {
    let store = past.stores.iter().find(|store| store.number == tree.store);
    let Some(store) = store else { return Ok(None) };
    let staging = match store::open(store.number, &store.path, reach) {
        // It is gone, or what it is on is not there now.
        Err(e) if e.kind() == ErrorKind::NotFound => {
            let is_here = is_on(reach, split(split(&store.path).0).0, store.fsid);
            return if is_here { Ok(None) } else { Err(Reason::NotMounted) };
        }
        staging => staging.map_err(Reason::failed(Op::Open))?,
    };
    let name = name_of(tree.n);
    match staging.dir.stat_child(&name) {
        Ok(stat) if stat.inode == tree.inode => {
            let at = staging.path_of(&name);
            Ok(Some(Left { path: tree.path.clone(), at, dir: staging.dir }))
        }
        Ok(_) => Err(Reason::Swapped),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Reason::Failed { op: Op::Stat, source }),
    }
}

/// Returns whether a directory is on this file system.
fn is_on(reach: &mut Reach, path: &[u8], fsid: u64) -> bool {
    let volume: io::Result<_> = reach.dir(path).and_then(|dir| dir.volume());
    volume.is_ok_and(|volume| volume.fsid == fsid)
}
