//! Carries out groups on several threads, in batches. Every action is in the journal before it
//! begins.
//!
//! A thread takes a batch of groups, opens the files, writes their intents to the journal, and
//! syncs the journal once. It then compares and acts on one group at a time (`verify`). While one
//! thread waits for the disk, others work.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::rc::Rc;
use std::sync::Arc;

use content::Scratch;
use device::{Disk, Threads, WaitMeter, WorkerPool};
use fsops::{Dir, File, FileKey, Volume};
use runtime::{Mutex, Progress, Stage, spawn_with_own_descriptors};
use walk::{OwnFiles, PathOpener};

use crate::error::{Error, Reason, Refusal, worse};
use crate::journal::lines::Lines;
use crate::journal::log::Journal;
use crate::journal::record::Record;
use crate::plan::kind::Kind;
use crate::plan::target::Group;
use crate::quarantine::manifest::{Manifests, OpenManifests, PendingIntents};
use crate::run::meter::Meter;
use crate::run::outcome::ApplyOutcome;
use crate::staging::placement::{StagingDirs, WorkerStagings};

/// Options of a run.
#[derive(Clone, Debug)]
pub struct ApplyOptions {
    /// The action on each redundant file.
    pub kind: Kind,
    /// Whether to restore the times of directories in which names were changed.
    pub directory_times: bool,
    /// Number of threads for each disk.
    pub threads: Threads,
    /// Maximum number of directories that a thread keeps open.
    pub open_dirs: usize,
    /// Maximum number of files that a thread keeps open. At least 2.
    pub open_files: usize,
    /// Absolute paths of directories that the user declared to be free of aliases of the files to
    /// act on. Needed if the file systems cannot prove that.
    pub distinct: Vec<Vec<u8>>,
    /// Files of lop itself, which no action may touch.
    pub own: OwnFiles,
}

/// Groups whose kept files are on one disk.
pub struct DiskBatch<'a> {
    /// The disk.
    pub disk: Arc<Disk>,
    /// The groups, in an order that suits the disk.
    pub groups: Box<dyn Iterator<Item = Group> + Send + 'a>,
}

/// The state that all threads of a run share.
pub(crate) struct RunContext<'a> {
    pub(crate) options: &'a ApplyOptions,
    pub(crate) journal: &'a Journal,
    pub(crate) staging_dirs: &'a StagingDirs,
    /// The manifests of the staging directories. Only used for quarantine.
    pub(crate) manifests: Option<&'a Manifests>,
    pub(crate) progress: &'a Progress,
    /// The former times of directories in which names were changed, if they must be restored.
    pub(crate) times: Mutex<HashMap<FileKey, (fsops::Time, fsops::Time)>>,
}

/// The state of one thread.
pub(crate) struct Worker<'a> {
    pub(crate) shared: &'a RunContext<'a>,
    pub(crate) disk: &'a Disk,
    pub(crate) reach: PathOpener,
    pub(crate) stagings: WorkerStagings,
    pub(crate) scratch: Scratch,
    /// Lines to append to the journal with the next write.
    pub(crate) lines: Lines,
    /// Intents to add to the manifests.
    pub(crate) manifest_lines: PendingIntents,
    pub(crate) manifests: OpenManifests,
    pub(crate) meter: Meter<'a>,
    pub(crate) outcome: ApplyOutcome,
    /// Known file systems, by device number.
    pub(crate) volumes: HashMap<u64, Volume>,
    /// Directories in which this batch changed names.
    pub(crate) touched: HashMap<FileKey, Rc<Dir>>,
}

/// Carries out groups. Refused files and their bytes count as processed.
///
/// # Errors
///
/// Fails if the journal cannot be written, or the user asked to stop. All actions up to that point are in
/// the journal, and each file has either its own name or one in a staging directory. The outcome of
/// the processed files is returned in either case.
pub(crate) fn apply_groups(
    shared: &RunContext<'_>,
    batches: Vec<DiskBatch<'_>>,
) -> (ApplyOutcome, Result<(), Error>) {
    shared.progress.enter(Stage::Act);
    let mut outcome = ApplyOutcome::default();
    let mut answer = Ok(());
    for (part, ended) in on_disks(shared, batches) {
        outcome.add(part);
        answer = worse(answer, ended);
    }
    let finished = shared.staging_dirs.finish(outcome.done > 0, &mut PathOpener::new(1));
    answer = worse(answer, finished.map_err(Into::into));
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
                let started = spawn_with_own_descriptors(scope, || on_disk(shared, batch));
                started.expect("a thread")
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
    let (threads, progress) = (shared.options.threads, shared.progress);
    let pool = WorkerPool {
        disk: &disk,
        threads,
        pieces: None,
        all_at_once: true,
        writes: true,
        progress,
    };
    pool.run(|meter: &mut WaitMeter<'_>| {
        let mut worker = Worker {
            shared,
            disk: &disk,
            reach: PathOpener::new(shared.options.open_dirs),
            stagings: WorkerStagings::default(),
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
                // Stop the other threads too.
                shared.progress.stop();
                break Err(error);
            }
            meter.tick();
        };
        let noted = worker.flush_lines(false);
        (worker.outcome, worse(answer, noted))
    })
}

/// Takes groups until they contain `most` files or no group is left.
fn take(groups: &Mutex<Box<dyn Iterator<Item = Group> + Send + '_>>, most: usize) -> Vec<Group> {
    let mut groups = groups.lock();
    let (mut batch, mut files) = (Vec::new(), 0);
    while files < most {
        let Some(group) = groups.next() else { break };
        files += group.others.len() + 1;
        batch.push(group);
    }
    batch
}

impl Worker<'_> {
    /// Records that a file was left alone.
    pub(crate) fn refuse(&mut self, path: &[u8], intent: Option<u64>, reason: Reason) {
        // If a file is stranded, its intent stays open, so that the next run finishes the intent.
        if let Some(n) = intent.filter(|_| !reason.is_stranded()) {
            self.lines.push(&Record::Not { n, why: reason.to_string() });
        }
        self.outcome.refused.push(Refusal { path: path.to_vec(), reason });
    }

    /// Writes the pending lines to the journal and clears them. If `urgent`, waits until the lines
    /// are on the disk.
    pub(crate) fn flush_lines(&mut self, urgent: bool) -> Result<(), Error> {
        self.shared.journal.append(&self.lines, urgent)?;
        self.lines.clear();
        Ok(())
    }

    /// Adds the pending intents to the manifests of their staging directories. Returns the error of
    /// each manifest that could not be written, by the number of the directory.
    pub(crate) fn write_manifests(&mut self) -> BTreeMap<u32, io::Error> {
        let pending = std::mem::take(&mut self.manifest_lines);
        let manifests = self.shared.manifests;
        manifests.map(|all| all.append_all(&mut self.manifests, pending)).unwrap_or_default()
    }

    /// Returns the file system of a file.
    pub(crate) fn volume(&mut self, file: &File, device: u64) -> io::Result<Volume> {
        if let Some(&volume) = self.volumes.get(&device) {
            return Ok(volume);
        }
        let volume = file.volume()?;
        self.volumes.insert(device, volume);
        Ok(volume)
    }
}
