//! Carries out plans as a run: sorts groups by disk, applies them, and reports the result.

use std::sync::Arc;

use action::plan::{Amount, Group, Kind, Plan, Version};
use action::run::{ApplyOptions, ApplyOutcome, DiskBatch, Fault, Suspect};
use catalog::{Catalog, FileState, Mark, Marker};
use device::Disk;
use runtime::Progress;
use serde::Serialize;

use crate::acting::conclusion::{self, conclude};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::monitor::Monitor;
use crate::output::formats::{PlanWriter, to_json};
use crate::output::stdout;
use crate::quantity::{append_counts, count, counted, size, space_change};
use crate::questions::knowledge::UnknownFiles;
use crate::settings::{Resources, Settings};

/// The totals of a list of plans.
#[derive(Default, Serialize)]
pub(crate) struct PlanTotals {
    groups: u64,
    pub(crate) files: u64,
    pub(crate) reclaimable_bytes: u64,
    taken_bytes: u64,
    /// Disk space in bytes that emptying the quarantine would free after the plan was applied.
    quarantined_bytes: u64,
    /// Amount of work, for the progress line.
    #[serde(skip)]
    pub(crate) amount: Amount,
    /// Files that are skipped because their current content is unknown.
    #[serde(flatten)]
    unknown: UnknownFiles,
}

impl PlanTotals {
    /// Returns totals of zero.
    pub(crate) fn new(unknown: UnknownFiles) -> PlanTotals {
        PlanTotals { unknown, ..PlanTotals::default() }
    }

    pub(crate) fn add(&mut self, plan: &Plan, kind: Kind) {
        self.groups += 1;
        self.files += plan.others.len() as u64;
        self.reclaimable_bytes = self.reclaimable_bytes.saturating_add(plan.frees(kind));
        self.taken_bytes = self.taken_bytes.saturating_add(plan.takes(kind));
        if kind.fills_quarantine() {
            let freed_later = plan.frees(Kind::Delete);
            self.quarantined_bytes = self.quarantined_bytes.saturating_add(freed_later);
        }
        self.amount = self.amount + plan.amount(kind);
    }

    pub(crate) fn text(&self, kind: Kind) -> String {
        if self.files == 0 {
            return "Nothing to do".into();
        }
        let files = counted(self.files, "file", "files");
        format!(
            "{files} to {}{}",
            kind.word(),
            space_change(self.reclaimable_bytes, self.taken_bytes)
        )
    }

    /// Returns a summary of the planned changes that names the option to make them.
    fn preview_text(&self, kind: Kind, apply: &str) -> String {
        let mut text = self.text(kind);
        if self.files > 0 {
            text.push_str(&format!("; nothing was changed, use {apply} to do it"));
        }
        text
    }
}

/// Shows plans. `apply` is the name of the option that carries out the plans.
///
/// # Errors
///
/// Fails if standard output cannot be written. A closed pipe is not an error.
pub(crate) fn show_plans(
    plans: impl Iterator<Item = Plan>,
    mut totals: PlanTotals,
    kind: Kind,
    apply: &str,
    settings: &Settings,
) -> Result<Exit, CommandError> {
    let printed = stdout::print(|out| {
        let mut writer = PlanWriter::new(out, kind, settings.stdout, settings.json);
        for plan in plans {
            totals.add(&plan, kind);
            writer.plan(&plan)?;
        }
        writer.finish(&to_json(&totals))
    })?;
    if printed {
        settings.summarize(totals.preview_text(kind, apply).as_bytes());
    }
    Ok(Exit::Done)
}

/// Sorts groups by the disk of the kept file.
pub(crate) fn by_disk<'g>(
    groups: impl Iterator<Item = Group>,
    resources: &Resources,
) -> Vec<DiskBatch<'g>> {
    let mut by_disk: Vec<(Arc<Disk>, Vec<Group>)> = Vec::new();
    for group in groups {
        let disk = resources.disks.of(group.keep.version.device);
        let known = by_disk.iter().position(|(other, _)| Arc::ptr_eq(other, &disk));
        let at = known.unwrap_or_else(|| {
            by_disk.push((disk, Vec::new()));
            by_disk.len() - 1
        });
        by_disk[at].1.push(group);
    }
    let batch =
        |(disk, groups): (_, Vec<Group>)| DiskBatch { disk, groups: Box::new(groups.into_iter()) };
    by_disk.into_iter().map(batch).collect()
}

/// The work of a run.
pub(crate) struct Work<'a> {
    pub(crate) kind: Kind,
    pub(crate) batches: Vec<DiskBatch<'a>>,
    /// Amount of work, for the progress line. Zero if no progress is shown.
    pub(crate) amount: Amount,
    /// True if the timestamps of directories are restored after the changes.
    pub(crate) directory_times: bool,
    /// Directories from `--distinct`. Files below them are never treated as aliases.
    pub(crate) distinct: Vec<Vec<u8>>,
    /// Number of changes that `lop undo` cannot revert. Such a change separates a name from a file that has further
    /// names outside the selected paths.
    pub(crate) one_way: u64,
}

/// Carries out a run and reports the result. Then calls `update` with the number and the outcome of the run, to record
/// the changes in the catalog.
///
/// # Errors
///
/// Fails if the run cannot start or was interrupted. The changes made before an interrupt are kept and are in the
/// journal. If `update` fails, the error is only reported, because the run itself succeeded.
pub(crate) fn carry_out(
    work: Work<'_>,
    resources: &Resources,
    settings: &Settings,
    update: impl FnOnce(u64, &ApplyOutcome) -> Result<(), CommandError>,
) -> Result<Exit, CommandError> {
    let Work { kind, batches, amount, directory_times, distinct, one_way } = work;
    let how = ApplyOptions {
        kind,
        directory_times,
        threads: resources.threads,
        open_dirs: resources.open_dirs,
        open_files: resources.acted_files(),
        distinct,
        own: settings.own(),
    };
    let progress = Arc::new(Progress::default());
    amount.expect(&progress);
    // Signals are not caught yet, so Ctrl-C terminates lop while it waits for another process.
    let runs = conclusion::open_runs(&Catalog::runs_dir(&settings.catalog()?), settings)?;
    let monitor = Monitor::begin(&progress, settings)?;
    let (run, outcome, ended) = runs.apply(&how, batches, &progress)?;
    let interrupted = monitor.finish();
    // Unlocks the journals, because a process that has locked the catalog may be waiting for them.
    drop(runs);
    let totals = Totals::new(kind, run, &outcome, one_way);
    let ended = ended.and(interrupted.map_err(Into::into));
    let tell = || mark_suspects(&outcome.suspects, settings).and_then(|()| update(run, &outcome));
    conclude(&totals, &totals.text(), &outcome.refused, ended, tell, settings)
}

/// Marks the files whose content differs from the catalog. Does nothing if there is no catalog.
fn mark_suspects(suspects: &[Suspect], settings: &Settings) -> Result<(), CommandError> {
    let path = settings.catalog()?;
    if suspects.is_empty() || !path.exists() {
        return Ok(());
    }
    let mark = |suspect: &Suspect| {
        let Version { inode, size, mtime_ns, ctime_ns, .. } = suspect.version;
        let state = match suspect.fault {
            Fault::Differs => FileState::Damaged,
            // The next scan reads both files and decides which one is damaged.
            Fault::Unclear => FileState::Pending,
            Fault::Unreadable => FileState::Unreadable,
        };
        Mark { path: suspect.path.clone(), inode, size, mtime_ns, ctime_ns, state }
    };
    Marker::open(&path)?.mark(&suspects.iter().map(mark).collect::<Vec<_>>())?;
    Ok(())
}

/// The totals of a run.
#[derive(Serialize)]
struct Totals {
    #[serde(skip)]
    kind: Kind,
    #[serde(skip)]
    one_way: u64,
    run: u64,
    done: u64,
    already: u64,
    failed: u64,
    freed_bytes: u64,
}

impl Totals {
    fn new(kind: Kind, run: u64, outcome: &ApplyOutcome, one_way: u64) -> Totals {
        let failed = outcome.refused.len() as u64;
        let ApplyOutcome { done, already, freed, .. } = *outcome;
        Totals { kind, one_way, run, done, already, failed, freed_bytes: freed }
    }

    fn text(&self) -> String {
        let files = match self.kind {
            Kind::Separate => counted(self.done, "hard link", "hard links"),
            _ => counted(self.done, "file", "files"),
        };
        let mut text = format!("{files} {}", past(self.kind));
        if !(self.kind.fills_quarantine() || self.kind == Kind::Separate) {
            text.push_str(&format!(", {} freed", size(self.freed_bytes)));
        }
        let others = [(self.already, "already done"), (self.failed, "left alone")];
        append_counts(&mut text, others);
        if self.done > self.one_way && self.kind != Kind::Reflink {
            text.push_str(&format!("; 'lop undo {}' reverts it", self.run));
            if self.one_way > 0 {
                let them = count(self.one_way);
                text.push_str(&format!(", except for {them} whose files have names elsewhere"));
            }
        }
        text
    }
}

fn past(kind: Kind) -> &'static str {
    match kind {
        Kind::Delete => "deleted",
        Kind::Hardlink => "hard linked",
        Kind::Reflink => "reflinked",
        Kind::Symlink => "replaced by symbolic links",
        Kind::Quarantine | Kind::Sweep => "moved to quarantine",
        Kind::Separate => "replaced by copies",
    }
}
