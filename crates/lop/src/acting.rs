//! What commands have in common that carry plans out: groups by device, the run itself, what it did.

use std::sync::Arc;

use action::{Group, How, Kind, Lot, Outcome, Plan};
use catalog::Catalog;
use device::Lane;
use fsops::Watch;
use serde::Serialize;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::monitor::Monitor;
use crate::quantity::{count, counted, size};
use crate::refusals;
use crate::settings::{Settings, Workers};

/// Descriptors that a thread needs besides those of directories and of files to compare.
const RESERVED: usize = 16;

/// Totals of a plan.
#[derive(Default, Serialize)]
pub(crate) struct Planned {
    groups: u64,
    pub(crate) files: u64,
    reclaimable_bytes: u64,
    taken_bytes: u64,
}

impl Planned {
    pub(crate) fn add(&mut self, plan: &Plan, kind: Kind) {
        self.groups += 1;
        self.files += plan.others.len() as u64;
        self.reclaimable_bytes = self.reclaimable_bytes.saturating_add(plan.frees(kind));
        self.taken_bytes = self.taken_bytes.saturating_add(plan.takes(kind));
    }

    pub(crate) fn text(&self, kind: Kind) -> String {
        if self.files == 0 {
            return "Nothing to do".into();
        }
        let files = counted(self.files, "file", "files");
        format!("{files} to {}{}", kind.word(), balance(self.reclaimable_bytes, self.taken_bytes))
    }

    /// Says what would be done, and how to have it done.
    pub(crate) fn offer(&self, kind: Kind) -> String {
        let mut text = self.text(kind);
        if self.files > 0 {
            text.push_str("; nothing was changed: --apply does it");
        }
        text
    }
}

/// Sorts groups by the device of what is kept.
pub(crate) fn by_lane<'g>(groups: impl Iterator<Item = Group>, workers: &Workers) -> Vec<Lot<'g>> {
    let mut by_lane: Vec<(Arc<Lane>, Vec<Group>)> = Vec::new();
    for group in groups {
        let lane = workers.compare.lanes.of(group.keep.version.device);
        let known = by_lane.iter().position(|(other, _)| Arc::ptr_eq(other, &lane));
        let at = known.unwrap_or_else(|| {
            by_lane.push((lane, Vec::new()));
            by_lane.len() - 1
        });
        by_lane[at].1.push(group);
    }
    let lot = |(lane, groups): (_, Vec<Group>)| Lot { lane, groups: Box::new(groups.into_iter()) };
    by_lane.into_iter().map(lot).collect()
}

/// Carries out groups as a run, lets `after` take over what came of it, and says what was done.
pub(crate) fn carry_out(
    kind: Kind,
    lots: Vec<Lot<'_>>,
    workers: &Workers,
    directory_times: bool,
    settings: &Settings,
    after: impl FnOnce(&Outcome) -> Result<(), CommandError>,
) -> Result<Exit, CommandError> {
    let free = fsops::raise_descriptor_limit().saturating_sub(RESERVED);
    let how = How {
        kind,
        directory_times,
        threads: workers.compare.threads,
        open_dirs: workers.compare.open_dirs,
        open_files: (free / 4).clamp(2, 512),
    };
    let watch = Arc::new(Watch::default());
    // Before signals are caught: Ctrl-C ends the wait for another process at once.
    let runs = refusals::open_runs(&Catalog::runs(&settings.catalog()?), settings)?;
    let monitor = Monitor::begin(&watch, settings)?;
    let (run, outcome, ended) = runs.apply(&how, lots, &watch)?;
    let interrupted = monitor.finish();
    after(&outcome)?;
    let account = Account::new(kind, run, &outcome);
    let ended = ended.and(interrupted.map_err(Into::into));
    refusals::conclude(&account, &account.text(), &outcome.refused, ended, settings)
}

/// What a run did.
#[derive(Serialize)]
struct Account {
    #[serde(skip)]
    kind: Kind,
    run: u64,
    done: u64,
    already: u64,
    left_alone: u64,
    freed_bytes: u64,
}

impl Account {
    fn new(kind: Kind, run: u64, outcome: &Outcome) -> Account {
        let left_alone = outcome.refused.len() as u64;
        let Outcome { done, already, freed, .. } = *outcome;
        Account { kind, run, done, already, left_alone, freed_bytes: freed }
    }

    fn text(&self) -> String {
        let files = counted(self.done, "file", "files");
        let mut text = format!("{files} {}", past(self.kind));
        if !matches!(self.kind, Kind::Quarantine | Kind::Separate) {
            text.push_str(&format!(", {} gained", size(self.freed_bytes)));
        }
        for (number, what) in [(self.already, "were so already"), (self.left_alone, "left alone")] {
            if number > 0 {
                text.push_str(&format!(", {} {what}", count(number)));
            }
        }
        // Names that were made files of their own may have been linked to names that lop does not know.
        if self.done > 0 && !matches!(self.kind, Kind::Reflink | Kind::Separate) {
            text.push_str(&format!("; 'lop undo {}' takes it back", self.run));
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
        Kind::Quarantine => "moved to quarantine",
        Kind::Separate => "made files of their own",
    }
}

/// Returns what a plan changes about free space, after a comma; nothing if it does not.
pub(crate) fn balance(freed: u64, taken: u64) -> String {
    match (freed, taken) {
        (0, 0) => String::new(),
        (0, taken) => format!(", up to {} more in use", size(taken)),
        (freed, _) => format!(", {} to gain", size(freed)),
    }
}
