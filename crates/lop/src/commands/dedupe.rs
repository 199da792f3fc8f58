//! `lop dedupe`: shows what can be done with duplicates, and does it.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;

use action::{Kind, Lot, SavedError};
use catalog::{Rows, Writer};
use device::Io;

use crate::acting::{Planned, by_lane, carry_out};
use crate::args::{By, DedupeArgs};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::formats::{PlanWriter, to_json};
use crate::plans::{Planner, Wishes, group};
use crate::quantity::counted;
use crate::remembered::{open, waiting};
use crate::settings::{Settings, Verbosity, Workers};
use crate::sources::Source;
use crate::{output, problems};

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
        settings.note(&summary.offer(kind));
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
    let (account, ended) =
        carry_out(planner.kind(), lots, &workers, args.preserve_dir_times, settings, |outcome| {
            match writer.zip(planner.loaded()) {
                Some((writer, loaded)) => Ok(writer.renew(loaded, &planner.changes(outcome))?),
                None => Ok(()),
            }
        })?;
    account.tell(settings, ended)
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
    let (account, ended) =
        carry_out(saved.kind, lots, &workers, args.preserve_dir_times, settings, |_| Ok(()))?;
    account.tell(settings, ended)
}
