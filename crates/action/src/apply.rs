//! Carries groups out: in batches, several at a time, each noted in the journal before anything is done.
//!
//! A thread takes a batch of groups, opens the files that are to go and notes what they are, and waits
//! once for the disk. Then it goes through them group by group (`settle`). While one waits, others work.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use content::Scratch;
use device::{Disk, Threads, WaitMeter, WorkerPool};
use fsops::{Dir, File, FileKey, Volume};
use runtime::{Interrupted, Progress, Stage, own_descriptor_table};
use walk::{Own, Reach};

use crate::error::{Error, Reason, Refusal};
use crate::journal::{Journal, Record};
use crate::kind::Kind;
use crate::lines::Lines;
use crate::manifest::{self, Manifests};
use crate::meter::Meter;
use crate::staging::Staging;
use crate::statuses::Statuses;
use crate::store::{Stores, Used};
use crate::suspect::Suspect;
use crate::target::Group;

/// How to carry out.
#[derive(Clone, Debug)]
pub struct How {
    /// What is done with each redundant file.
    pub kind: Kind,
    /// Whether directories get back the times that they had before names in them changed.
    pub directory_times: bool,
    /// Threads on each device.
    pub threads: Threads,
    /// Directories that a thread may keep open.
    pub open_dirs: usize,
    /// Files that a thread may keep open; at least 2.
    pub open_files: usize,
    /// Directories, absolute, of which the user said that the files below them are no other view of files
    /// that are acted on, although that cannot be told of their file systems.
    pub distinct: Vec<Vec<u8>>,
    /// Lop's own files. No action touches them.
    pub own: Own,
}

/// Groups whose kept files are on one device.
pub struct Lot<'a> {
    /// The device.
    pub disk: Arc<Disk>,
    /// The groups, in an order that suits the device.
    pub groups: Box<dyn Iterator<Item = Group> + Send + 'a>,
}

/// What came of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Files that were acted on.
    pub done: u64,
    /// Files that were already what they were to become.
    pub already: u64,
    /// Bytes that are free by that.
    pub freed: u64,
    /// Files that were left as they were, with the reason.
    pub refused: Vec<Refusal>,
    /// Files that were found not to have the bytes that they were said to have, or not to be readable.
    pub suspects: Vec<Suspect>,
    /// Files that are not what they were. Kept ones too, which have another status change time after a
    /// link was made.
    pub changed: Vec<Changed>,
    /// The status change times that the run gave to inodes.
    pub statuses: Statuses,
}

/// A file that is not what it was.
#[derive(Clone, Copy, Debug)]
pub struct Changed {
    /// The caller's number for it.
    pub tag: u32,
    /// Whether its name still stands for a regular file.
    pub is_there: bool,
    /// Bytes that it does not take any more although it is still there.
    pub unshared: u64,
}

impl Outcome {
    fn add(&mut self, other: Outcome) {
        self.done += other.done;
        self.already += other.already;
        self.freed = self.freed.saturating_add(other.freed);
        self.refused.extend(other.refused);
        self.suspects.extend(other.suspects);
        self.changed.extend(other.changed);
        self.statuses.add(other.statuses);
    }
}

/// What all threads of a run share.
pub(crate) struct Shared<'a> {
    pub(crate) how: &'a How,
    pub(crate) journal: &'a Journal,
    pub(crate) stores: &'a Stores,
    /// Only for files that stay in their stores.
    pub(crate) manifests: Option<Manifests>,
    pub(crate) progress: &'a Progress,
    /// The times of directories before the run touched them, if they are to be given back.
    pub(crate) times: Mutex<HashMap<FileKey, (fsops::Time, fsops::Time)>>,
}

/// One thread's state.
pub(crate) struct Worker<'a> {
    pub(crate) shared: &'a Shared<'a>,
    pub(crate) disk: &'a Disk,
    pub(crate) reach: Reach,
    pub(crate) used: Used,
    pub(crate) scratch: Scratch,
    /// Lines that are still to be appended to the journal.
    pub(crate) lines: Lines,
    /// Intents that are still to be told to the manifests of their stores.
    pub(crate) told: BTreeMap<u32, (Staging, Lines)>,
    pub(crate) manifests: manifest::Open,
    pub(crate) meter: Meter<'a>,
    pub(crate) outcome: Outcome,
    /// File systems by device.
    pub(crate) volumes: HashMap<u64, Volume>,
    /// Directories that this batch has touched.
    pub(crate) touched: HashMap<FileKey, Rc<Dir>>,
}

/// Carries groups out. Files that are refused count as done, and so do their bytes.
///
/// # Errors
///
/// That the journal cannot be written, or a stop was asked for: what was done until then is in the
/// journal, and each file has one of its names. What came of single files is in the outcome, which
/// comes along.
pub(crate) fn apply(shared: &Shared<'_>, lots: Vec<Lot<'_>>) -> (Outcome, Result<(), Error>) {
    shared.progress.enter(Stage::Act);
    let mut outcome = Outcome::default();
    let mut answer = Ok(());
    for (part, ended) in in_lots(shared, lots) {
        outcome.add(part);
        answer = answer.and(ended);
    }
    let finished = shared.stores.finish(outcome.done > 0, &mut Reach::new(1));
    answer = answer.and(finished.map_err(Into::into));
    outcome.refused.sort_by(|a, b| a.path.cmp(&b.path));
    (outcome, answer)
}

fn in_lots(shared: &Shared<'_>, mut lots: Vec<Lot<'_>>) -> Vec<(Outcome, Result<(), Error>)> {
    if lots.len() < 2 {
        return lots.pop().map(|lot| in_lot(shared, lot)).unwrap_or_default();
    }
    std::thread::scope(|scope| {
        let running: Vec<_> = lots
            .into_iter()
            .map(|lot| {
                scope.spawn(move || {
                    own_descriptor_table();
                    in_lot(shared, lot)
                })
            })
            .collect();
        let join = |lot: std::thread::ScopedJoinHandle<'_, _>| {
            lot.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        running.into_iter().flat_map(join).collect()
    })
}

fn in_lot(shared: &Shared<'_>, lot: Lot<'_>) -> Vec<(Outcome, Result<(), Error>)> {
    let Lot { disk, groups } = lot;
    let groups = Mutex::new(groups);
    let pool = WorkerPool { disk: &disk, threads: shared.how.threads, pieces: None };
    pool.run(|meter: &mut WaitMeter<'_>| {
        let mut worker = Worker {
            shared,
            disk: &disk,
            reach: Reach::new(shared.how.open_dirs),
            used: Used::default(),
            scratch: Scratch::default(),
            lines: Lines::default(),
            told: BTreeMap::new(),
            manifests: manifest::Open::default(),
            meter: Meter::new(shared.progress),
            outcome: Outcome::default(),
            volumes: HashMap::new(),
            touched: HashMap::new(),
        };
        let answer = loop {
            let batch = take(&groups, shared.how.open_files);
            if batch.is_empty() {
                break Ok(());
            }
            meter.begin();
            if let Err(error) = worker.batch(&batch) {
                // The others stop too.
                shared.progress.stop();
                break Err(error);
            }
            meter.tick();
        };
        let noted = worker.note(false);
        (worker.outcome, answer.and(noted))
    })
}

/// Takes groups with as many files as may be open at once, and at least one group.
fn take(groups: &Mutex<Box<dyn Iterator<Item = Group> + Send + '_>>, most: usize) -> Vec<Group> {
    let mut groups = groups.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut batch, mut files) = (Vec::new(), 0);
    while files < most {
        let Some(group) = groups.next() else { break };
        files += group.others.len() + 1;
        batch.push(group);
    }
    batch
}

impl Worker<'_> {
    /// Notes that nothing was done with a file.
    pub(crate) fn refuse(&mut self, path: &[u8], intent: Option<u64>, reason: Reason) {
        // One that is not back in its place stays open, for the next run.
        if let Some(n) = intent.filter(|_| !reason.is_left()) {
            self.lines.push(&Record::Not { n, why: reason.to_string() });
        }
        self.outcome.refused.push(Refusal { path: path.to_vec(), reason });
    }

    /// Writes the intents of a batch, or what came of them.
    pub(crate) fn note(&mut self, urgent: bool) -> Result<(), Error> {
        self.shared.journal.append(&self.lines, urgent)?;
        self.lines.clear();
        Ok(())
    }

    /// Tells the manifests of the stores what is about to be moved there; returns why those could not be told.
    pub(crate) fn tell_stores(&mut self) -> BTreeMap<u32, io::Error> {
        let mut failed = BTreeMap::new();
        let Some(manifests) = &self.shared.manifests else { return failed };
        for (number, (staging, lines)) in std::mem::take(&mut self.told) {
            if let Err(error) = manifests.append(&mut self.manifests, &staging, &lines) {
                failed.insert(number, error);
            }
        }
        failed
    }

    /// Returns an error once a stop was asked for.
    pub(crate) fn check(&self) -> Result<(), Interrupted> {
        self.shared.progress.check()
    }

    /// Returns the file system that a file is on.
    pub(crate) fn volume(&mut self, file: &File, device: u64) -> io::Result<Volume> {
        if let Some(&volume) = self.volumes.get(&device) {
            return Ok(volume);
        }
        let volume = file.volume()?;
        self.volumes.insert(device, volume);
        Ok(volume)
    }
}
