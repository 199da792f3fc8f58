//! `lop dedupe`: shows what can be done with duplicates, and does it.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use action::{Group, How, Kind, Lot, Outcome, Plan, Refusal, Runs};
use catalog::{Catalog, Rows, Writer};
use device::Io;
use fsops::Watch;
use serde::Serialize;
use walk::FileId;

use crate::args::{By, DedupeArgs};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::monitor::Monitor;
use crate::output;
use crate::plans::{Planner, Wishes};
use crate::quantity::{count, counted, size};
use crate::remembered::{open, waiting};
use crate::settings::{Settings, Verbosity, Workers};

/// Descriptors that a thread needs besides those of directories and of files to compare.
const RESERVED: usize = 16;

/// Runs the command.
pub(crate) fn run(args: &DedupeArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let Some(by) = args.by else { return Err(CommandError::usage("--by is missing")) };
    let wishes = Wishes::new(by.into(), &args.keep, args.min_size, &args.protect, &args.paths)?;
    if !args.apply {
        let planner = Planner::new(open(settings)?.load(Rows::Grouped)?, wishes, settings)?;
        return show(&planner, settings);
    }
    let path = settings.catalog()?;
    // A catalog that is not there is not to be made.
    drop(open(settings)?);
    let writer = Writer::open(&path, |holder| settings.complain(waiting(holder).as_bytes()))?;
    let planner = Planner::new(writer.catalog().load(Rows::Grouped)?, wishes, settings)?;
    apply(&planner, args, &writer, settings)
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
    let mut summary = Planned::default();
    let heard = output::print(|out| {
        for plan in planner.plans() {
            summary.add(&plan, planner.kind());
            write_plan(out, &plan, planner.kind(), settings)?;
        }
        Ok(())
    })?;
    if heard && settings.verbosity != Verbosity::Quiet {
        settings.note(&summary.text(planner.kind()));
    }
    Ok(Exit::Done)
}

fn write_plan(
    out: &mut impl Write,
    plan: &Plan,
    kind: Kind,
    settings: &Settings,
) -> io::Result<()> {
    let files = plan.others.len() as u64;
    writeln!(
        out,
        "{} to {}, {} each, {} to gain",
        counted(files, "file", "files"),
        kind.word(),
        size(plan.keep.stat.size),
        size(plan.frees(kind))
    )?;
    let names = settings.stdout.names;
    let mut line = |word: &str, path: &[u8], note: &str| {
        write!(out, "  {word:<10} ")?;
        out.write_all(&names.show_line(path))?;
        writeln!(out, "{}{note}", if note.is_empty() { "" } else { "  " })
    };
    line("keep", &plan.keep.target.path, &format!("({})", plan.why))?;
    for (member, why) in &plan.stay {
        line("keep", &member.target.path, &format!("({why})"))?;
    }
    for other in &plan.others {
        let warnings: Vec<&str> =
            plan.warnings(other, kind).into_iter().map(action::Warning::text).collect();
        let note =
            if warnings.is_empty() { String::new() } else { format!("({})", warnings.join(", ")) };
        line(kind.word(), &other.target.path, &note)?;
    }
    Ok(())
}

/// Totals of a plan.
#[derive(Default, Serialize)]
struct Planned {
    groups: u64,
    files: u64,
    bytes: u64,
}

impl Planned {
    fn add(&mut self, plan: &Plan, kind: Kind) {
        self.groups += 1;
        self.files += plan.others.len() as u64;
        self.bytes = self.bytes.saturating_add(plan.frees(kind));
    }

    fn text(&self, kind: Kind) -> String {
        if self.files == 0 {
            return "Nothing to do".into();
        }
        format!(
            "{} to {}, {} to gain; nothing was changed: --apply does it",
            counted(self.files, "file", "files"),
            kind.word(),
            size(self.bytes)
        )
    }
}

fn apply(
    planner: &Planner,
    args: &DedupeArgs,
    writer: &Writer,
    settings: &Settings,
) -> Result<Exit, CommandError> {
    let watch = Arc::new(Watch::default());
    let monitor = Monitor::start(&watch, settings)
        .map_err(|e| CommandError::failed("cannot catch signals").because(e))?;
    let workers = Workers::new(None, Io::Auto);
    let lots = lots(planner, &workers);
    let how = How {
        kind: planner.kind(),
        directory_times: args.preserve_dir_times,
        threads: workers.compare.threads,
        open_dirs: workers.compare.open_dirs,
        open_files: open_files(),
    };
    let folder = Catalog::runs(&settings.catalog()?);
    let runs = open_runs(&folder, settings)?;
    let (run, outcome, ended) = runs.apply(&how, lots, &watch)?;
    monitor.finish()?;
    renew(planner, writer, &outcome)?;
    print_refusals(&outcome.refused, settings);
    let done = Account::new(run, &outcome);
    if settings.json {
        output::print(|out| writeln!(out, "{}", output::summary_document(&done)))?;
    } else if settings.verbosity != Verbosity::Quiet {
        settings.note(&done.text(planner.kind()));
    }
    ended?;
    if outcome.refused.is_empty() {
        return Ok(Exit::Done);
    }
    settings.print_exit_record(Exit::Partial, &done.text(planner.kind()));
    Ok(Exit::Partial)
}

/// Returns how many files each thread may have open at once.
fn open_files() -> usize {
    let free = fsops::raise_descriptor_limit().saturating_sub(RESERVED);
    (free / 4).clamp(2, 512)
}

/// Sorts the groups by the device of what is kept.
fn lots<'p>(planner: &'p Planner, workers: &Workers) -> Vec<Lot<'p>> {
    let tree = &planner.loaded.tree;
    let lanes = &workers.compare.lanes;
    if let [device] = tree.devices() {
        let groups = Box::new(planner.plans().map(|plan| planner.group(plan)));
        return vec![Lot { lane: lanes.of(device.number), groups }];
    }
    let mut by_lane: Vec<(Arc<device::Lane>, Vec<Group>)> = Vec::new();
    for plan in planner.plans() {
        let lane = lanes.of(plan.keep.stat.device);
        let known = by_lane.iter().position(|(other, _)| Arc::ptr_eq(other, &lane));
        let at = known.unwrap_or_else(|| {
            by_lane.push((lane, Vec::new()));
            by_lane.len() - 1
        });
        by_lane[at].1.push(planner.group(plan));
    }
    let lot = |(lane, groups): (_, Vec<Group>)| Lot { lane, groups: Box::new(groups.into_iter()) };
    by_lane.into_iter().map(lot).collect()
}

/// Lets the catalog know what the files are now.
fn renew(planner: &Planner, writer: &Writer, outcome: &Outcome) -> Result<(), CommandError> {
    let changed = outcome.changed.iter();
    let gone: Vec<FileId> =
        changed.filter(|(_, now)| now.is_none()).map(|&(tag, _)| FileId(tag)).collect();
    if !gone.is_empty() {
        writer.forget(&planner.loaded, &gone)?;
    }
    Ok(())
}

/// Opens the folder with the journals.
pub(crate) fn open_runs(folder: &Path, settings: &Settings) -> Result<Runs, CommandError> {
    Ok(Runs::open(folder, |holder| settings.complain(waiting_for_run(holder).as_bytes()))?)
}

fn waiting_for_run(holder: Option<u32>) -> String {
    match holder {
        Some(process) => format!("waiting for process {process}, which is changing files"),
        None => "waiting for another process, which is changing files".into(),
    }
}

impl From<action::Error> for CommandError {
    fn from(error: action::Error) -> Self {
        match error {
            action::Error::File(error) => error.into(),
            action::Error::Interrupted(stop) => stop.into(),
            other => CommandError::failed(other.to_string()),
        }
    }
}

/// How many files that were left alone are named without `-v`.
const SHOWN: usize = 20;

/// Prints files that nothing was done with.
pub(crate) fn print_refusals(refused: &[Refusal], settings: &Settings) {
    let all = settings.verbosity == Verbosity::Verbose;
    let shown = if all { refused.len() } else { SHOWN.min(refused.len()) };
    for refusal in &refused[..shown] {
        let reason = crate::error::without_number(&refusal.reason.to_string());
        settings.complain(&[&refusal.path[..], b": ", reason.as_bytes()].concat());
    }
    let rest = (refused.len() - shown) as u64;
    if rest > 0 {
        settings.complain(format!("… and {} more (-v shows all)", count(rest)).as_bytes());
    }
}

/// What a run did.
#[derive(Serialize)]
struct Account {
    run: u64,
    done: u64,
    already: u64,
    left_alone: u64,
    freed_bytes: u64,
}

impl Account {
    fn new(run: u64, outcome: &Outcome) -> Account {
        let left_alone = outcome.refused.len() as u64;
        let Outcome { done, already, freed, .. } = *outcome;
        Account { run, done, already, left_alone, freed_bytes: freed }
    }

    fn text(&self, kind: Kind) -> String {
        let mut text = format!(
            "{} {}, {} gained",
            counted(self.done, "file", "files"),
            past(kind),
            size(self.freed_bytes)
        );
        for (number, what) in [(self.already, "were so already"), (self.left_alone, "left alone")] {
            if number > 0 {
                text.push_str(&format!(", {} {what}", count(number)));
            }
        }
        text.push_str(&format!("; 'lop undo {}' takes it back", self.run));
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
