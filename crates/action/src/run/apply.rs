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
use crate::journal::lines::Lines;
use crate::journal::log::Journal;
use crate::journal::record::Record;
use crate::plan::kind::Kind;
use crate::plan::target::Group;
use crate::quarantine::manifest::{Manifests, OpenManifests};
use crate::run::meter::Meter;
use crate::run::outcome::ApplyOutcome;
use crate::staging::dir::Staging;
use crate::staging::placement::{StagingDirs, WorkerStagings};

/// How to carry out.
#[derive(Clone, Debug)]
pub struct ApplyOptions {
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
pub struct DiskBatch<'a> {
    /// The device.
    pub disk: Arc<Disk>,
    /// The groups, in an order that suits the device.
    pub groups: Box<dyn Iterator<Item = Group> + Send + 'a>,
}

/// What all threads of a run share.
pub(crate) struct RunContext<'a> {
    pub(crate) options: &'a ApplyOptions,
    pub(crate) journal: &'a Journal,
    pub(crate) stores: &'a StagingDirs,
    /// Only for files that stay in their stores.
    pub(crate) manifests: Option<Manifests>,
    pub(crate) progress: &'a Progress,
    /// The times of directories before the run touched them, if they are to be given back.
    pub(crate) times: Mutex<HashMap<FileKey, (fsops::Time, fsops::Time)>>,
}

/// One thread's state.
pub(crate) struct Worker<'a> {
    pub(crate) shared: &'a RunContext<'a>,
    pub(crate) disk: &'a Disk,
    pub(crate) reach: Reach,
    pub(crate) used: WorkerStagings,
    pub(crate) scratch: Scratch,
    /// Lines that are still to be appended to the journal.
    pub(crate) lines: Lines,
    /// Intents that are still to be told to the manifests of their stores.
    pub(crate) manifest_lines: BTreeMap<u32, (Staging, Lines)>,
    pub(crate) manifests: OpenManifests,
    pub(crate) meter: Meter<'a>,
    pub(crate) outcome: ApplyOutcome,
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
pub(crate) fn apply_groups(
    shared: &RunContext<'_>,
    batches: Vec<DiskBatch<'_>>,
) -> (ApplyOutcome, Result<(), Error>) {
    shared.progress.enter(Stage::Act);
    let mut outcome = ApplyOutcome::default();
    let mut answer = Ok(());
    for (part, ended) in on_disks(shared, batches) {
        outcome.add(part);
        answer = answer.and(ended);
    }
    let finished = shared.stores.finish(outcome.done > 0, &mut Reach::new(1));
    answer = answer.and(finished.map_err(Into::into));
    outcome.refused.sort_by(|a, b| a.path.cmp(&b.path));
    (outcome, answer)
}

fn on_disks(
    shared: &RunContext<'_>,
    mut batches: Vec<DiskBatch<'_>>,
) -> Vec<(ApplyOutcome, Result<(), Error>)> {
    if batches.len() < 2 {
        return batches.pop().map(|batch| on_disk(shared, batch)).unwrap_or_default();
    }
    std::thread::scope(|scope| {
        let running: Vec<_> = batches
            .into_iter()
            .map(|batch| {
                scope.spawn(move || {
                    own_descriptor_table();
                    on_disk(shared, batch)
                })
            })
            .collect();
        let join = |batch: std::thread::ScopedJoinHandle<'_, _>| {
            batch.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        running.into_iter().flat_map(join).collect()
    })
}

fn on_disk(
    shared: &RunContext<'_>,
    batch: DiskBatch<'_>,
) -> Vec<(ApplyOutcome, Result<(), Error>)> {
    let DiskBatch { disk, groups } = batch;
    let groups = Mutex::new(groups);
    let pool = WorkerPool { disk: &disk, threads: shared.options.threads, pieces: None };
    pool.run(|meter: &mut WaitMeter<'_>| {
        let mut worker = Worker {
            shared,
            disk: &disk,
            reach: Reach::new(shared.options.open_dirs),
            used: WorkerStagings::default(),
            scratch: Scratch::default(),
            lines: Lines::default(),
            manifest_lines: BTreeMap::new(),
            manifests: OpenManifests::default(),
            meter: Meter::new(shared.progress),
            outcome: ApplyOutcome::default(),
            volumes: HashMap::new(),
            touched: HashMap::new(),
        };
        let answer = loop {
            let batch = take(&groups, shared.options.open_files);
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
        if let Some(n) = intent.filter(|_| !reason.is_stranded()) {
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
    pub(crate) fn write_manifests(&mut self) -> BTreeMap<u32, io::Error> {
        let mut failed = BTreeMap::new();
        let Some(manifests) = &self.shared.manifests else { return failed };
        for (number, (staging, lines)) in std::mem::take(&mut self.manifest_lines) {
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
