//! `lop dedupe`: shows what can be done with duplicates, and does it.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use action::{Group, How, Kind, Lot, Outcome, Plan, SavedError};
use catalog::{Catalog, Rows, Writer};
use device::{Io, Lane};
use fsops::Watch;
use serde::Serialize;

use crate::args::{By, DedupeArgs};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::formats::{PlanWriter, to_json};
use crate::monitor::Monitor;
use crate::plans::{Planner, Wishes, group};
use crate::quantity::{count, counted, size};
use crate::remembered::{open, waiting};
use crate::settings::{Settings, Verbosity, Workers};
use crate::sources::Source;
use crate::{output, problems, refusals};

/// Descriptors that a thread needs besides those of directories and of files to compare.
const RESERVED: usize = 16;

/// Runs the command.
pub(crate) fn run(args: &DedupeArgs, settings: &Settings) -> Result<Exit, CommandError> {
    if let Some(file) = &args.plan {
        return of_saved(file, args, settings);
    }
    let Some(by) = args.by else { return Err(CommandError::usage("--by is missing")) };
    let wishes = Wishes::new(by.into(), &args.keep, args.min_size, &args.protect, &args.paths)?;
    let mut writer = None;
    let source = if let Some(report) = &args.report {
        Source::from_report(report, settings)?
    } else if let Some(list) = &args.files_from {
        Source::from_list(list, if args.null { 0 } else { b'\n' }, settings)?
    } else {
        let catalog = open(settings)?;
        let path = settings.catalog()?;
        let wait = |holder| settings.complain(waiting(holder).as_bytes());
        // What is done is written into it, so no scan may come in between.
        writer = args.apply.then(|| Writer::open(&path, wait)).transpose()?;
        let catalog = writer.as_ref().map_or(&catalog, Writer::catalog);
        Source::Catalog(Box::new(catalog.load(Rows::Grouped)?))
    };
    let problems: Vec<_> = source.problems().iter().collect();
    problems::print(&problems, settings);
    let unexamined = !problems.is_empty();
    let stats = source.look(settings)?;
    let planner = Planner::new(source, stats, wishes);
    let exit = if let Some(file) = &args.save_plan {
        save(&planner, file, settings)?
    } else if args.apply {
        apply(&planner, args, writer.as_ref(), settings)?
    } else {
        show(&planner, settings)?
    };
    Ok(if unexamined && exit == Exit::Done { Exit::Partial } else { exit })
}

impl From<By> for Kind {
    fn from(by: By) -> Kind {
        match by {
            By::Delete => Kind::Delete,
            By::Hardlink => Kind::Hardlink,
            By::Reflink => Kind::Reflink,
            By::Symlink => Kind::Symlink,
            By::Quarantine => Kind::Quarantine,
        }
    }
}

fn show(planner: &Planner, settings: &Settings) -> Result<Exit, CommandError> {
    let (mut summary, kind) = (Planned::default(), planner.kind());
    let heard = output::print(|out| {
        let mut writer = PlanWriter::new(out, kind, settings.stdout, settings.json);
        for plan in planner.plans() {
            summary.add(&plan, kind);
            writer.plan(&plan)?;
        }
        writer.finish(&to_json(&summary))
    })?;
    if heard && !settings.json && settings.verbosity != Verbosity::Quiet {
        let mut text = summary.text(kind);
        if summary.files > 0 {
            text.push_str("; nothing was changed: --apply does it");
        }
        settings.note(&text);
    }
    Ok(Exit::Done)
}

fn save(planner: &Planner, file: &Path, settings: &Settings) -> Result<Exit, CommandError> {
    let failed =
        |e: io::Error| CommandError::failed(format!("cannot write {}", file.display())).because(e);
    let (mut summary, kind) = (Planned::default(), planner.kind());
    let mut out = BufWriter::new(File::create(file).map_err(failed)?);
    for plan in planner.plans() {
        summary.add(&plan, kind);
        action::save(&mut out, &plan, kind).map_err(failed)?;
    }
    out.flush().map_err(failed)?;
    if settings.json {
        output::print(|out| writeln!(out, "{}", output::summary_document(&summary)))?;
    } else if settings.verbosity != Verbosity::Quiet {
        settings
            .note(&format!("{}; 'lop dedupe --plan FILE' takes it from there", summary.text(kind)));
    }
    Ok(Exit::Done)
}

/// Totals of a plan.
#[derive(Default, Serialize)]
struct Planned {
    groups: u64,
    files: u64,
    reclaimable_bytes: u64,
}

impl Planned {
    fn add(&mut self, plan: &Plan, kind: Kind) {
        self.groups += 1;
        self.files += plan.others.len() as u64;
        self.reclaimable_bytes = self.reclaimable_bytes.saturating_add(plan.frees(kind));
    }

    fn text(&self, kind: Kind) -> String {
        if self.files == 0 {
            return "Nothing to do".into();
        }
        let files = counted(self.files, "file", "files");
        format!("{files} to {}, {} to gain", kind.word(), size(self.reclaimable_bytes))
    }
}

fn apply(
    planner: &Planner,
    args: &DedupeArgs,
    writer: Option<&Writer>,
    settings: &Settings,
) -> Result<Exit, CommandError> {
    let workers = Workers::new(None, Io::Auto);
    let lots = if let [_] = planner.devices() {
        // No need to have all groups at once.
        let device = planner.plans().next().map_or(0, |plan| plan.keep.stat.device);
        let lane = workers.compare.lanes.of(device);
        vec![Lot { lane, groups: Box::new(planner.plans().map(group)) }]
    } else {
        by_lane(planner.plans().map(group), &workers)
    };
    let (account, ended) = carry_out(planner.kind(), lots, &workers, args, settings, |outcome| {
        match writer.zip(planner.loaded()) {
            Some((writer, loaded)) => Ok(writer.renew(loaded, &planner.changes(outcome))?),
            None => Ok(()),
        }
    })?;
    account.tell(settings, ended)
}

/// Sorts groups by the device of what is kept.
fn by_lane<'g>(groups: impl Iterator<Item = Group>, workers: &Workers) -> Vec<Lot<'g>> {
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

/// Carries out groups as a run, and lets `after` take over what came of it.
fn carry_out(
    kind: Kind,
    lots: Vec<Lot<'_>>,
    workers: &Workers,
    args: &DedupeArgs,
    settings: &Settings,
    after: impl FnOnce(&Outcome) -> Result<(), CommandError>,
) -> Result<(Account, Result<(), action::Error>), CommandError> {
    let free = fsops::raise_descriptor_limit().saturating_sub(RESERVED);
    let how = How {
        kind,
        directory_times: args.preserve_dir_times,
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
    refusals::print(&outcome.refused, settings);
    let account = Account::new(kind, run, &outcome);
    Ok((account, ended.and(interrupted.map_err(Into::into))))
}

/// Shows a plan that was saved, or carries it out.
fn of_saved(file: &Path, args: &DedupeArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let name = file.display();
    let opened = File::open(file)
        .map_err(|e| CommandError::failed(format!("cannot read {name}")).because(e))?;
    let saved = action::load(BufReader::new(opened)).map_err(|error| {
        let exit = match error {
            SavedError::Contradiction { .. } => Exit::Refused,
            _ => Exit::Failed,
        };
        CommandError::new(exit, format!("{name}: {error}"))
    })?;
    let files = saved.groups.iter().map(|group| group.others.len() as u64).sum();
    if !args.apply {
        let files = counted(files, "file", "files");
        let text =
            format!("{files} to {}; nothing was changed: --apply does it", saved.kind.word());
        settings.note(&text);
        return Ok(Exit::Done);
    }
    let workers = Workers::new(None, Io::Auto);
    let lots = by_lane(saved.groups.into_iter(), &workers);
    let (account, ended) = carry_out(saved.kind, lots, &workers, args, settings, |_| Ok(()))?;
    account.tell(settings, ended)
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

    /// Says what was done; `ended` tells whether it went to its end.
    fn tell(
        &self,
        settings: &Settings,
        ended: Result<(), action::Error>,
    ) -> Result<Exit, CommandError> {
        if settings.json {
            output::print(|out| writeln!(out, "{}", output::summary_document(self)))?;
        } else if settings.verbosity != Verbosity::Quiet {
            settings.note(&self.text());
        }
        ended?;
        if self.left_alone == 0 {
            return Ok(Exit::Done);
        }
        settings.print_exit_record(Exit::Partial, &self.text());
        Ok(Exit::Partial)
    }

    fn text(&self) -> String {
        let files = counted(self.done, "file", "files");
        let mut text = format!("{files} {}", past(self.kind));
        if self.kind != Kind::Quarantine {
            text.push_str(&format!(", {} gained", size(self.freed_bytes)));
        }
        for (number, what) in [(self.already, "were so already"), (self.left_alone, "left alone")] {
            if number > 0 {
                text.push_str(&format!(", {} {what}", count(number)));
            }
        }
        if self.done > 0 && self.kind != Kind::Reflink {
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
    }
}
