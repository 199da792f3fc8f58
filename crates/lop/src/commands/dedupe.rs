//! `lop dedupe`: shows what can be done with duplicates, and does it.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;

use action::{Kind, Looks, Lot, Plan, Refusal, Saved, SavedError};
use catalog::{Rows, Writer};
use device::Io;

use crate::acting::{Planned, Work, by_lane, carry_out};
use crate::args::{By, DedupeArgs};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::formats::{PlanWriter, to_json};
use crate::plans::{Planner, Wishes, absolute};
use crate::quantity::counted;
use crate::remembered::{open, waiting};
use crate::settings::{Settings, Verbosity, Workers};
use crate::sources::Source;
use crate::{chooser, output, problems, refusals};

/// Directories kept open while plans are shown.
const OPEN_DIRS: usize = 64;

/// Runs the command.
pub(crate) fn run(args: &DedupeArgs, settings: &Settings) -> Result<Exit, CommandError> {
    if let Some(file) = &args.plan {
        return of_saved(file, args, settings);
    }
    let Some(by) = args.by else { return Err(CommandError::usage("--by is missing")) };
    if by == By::Script && (args.apply || args.save_plan.is_some()) {
        let text = "--by script prints a script; --apply and --save-plan go with another kind";
        return Err(CommandError::usage(text));
    }
    let mut wishes = Wishes::new(by.into(), &args.keep, args.min_size, &args.protect, &args.paths)?;
    wishes.system_dirs = args.system_dirs;
    let (source, writer) = source(args, settings)?;
    let problems: Vec<_> = source.problems().iter().collect();
    problems::print(&problems, settings);
    refusals::print(source.changed(), settings);
    let unexamined = !(problems.is_empty() && source.changed().is_empty());
    let now = source.look(settings)?;
    let planner = Planner::new(source, now, wishes);
    tell_left(planner.left_to_programs(), settings);
    let planner = if args.apply && !args.interactive {
        planner.in_order_of_the_tree()
    } else {
        planner.in_order_of_size()
    };
    let exit = if args.interactive {
        let mut refused = Vec::new();
        let distinct = absolute(&args.distinct)?;
        let plans = looked_at(planner.plans(), planner.kind(), distinct, &mut refused);
        let plans: Vec<Plan> = plans.collect();
        refusals::print(&refused, settings);
        let chosen = chooser::choose(&plans, planner.kind(), settings)?;
        carry_on(chosen.into_iter(), &planner, by, args, writer.as_ref(), settings)?
    } else {
        carry_on(planner.plans(), &planner, by, args, writer.as_ref(), settings)?
    };
    Ok(if unexamined && exit == Exit::Done { Exit::Partial } else { exit })
}

/// Says how many files are not acted on although they have duplicates.
fn tell_left(files: u64, settings: &Settings) {
    if files > 0 && settings.verbosity != Verbosity::Quiet {
        let files = counted(files, "file", "files");
        settings.note(&format!(
            "{files} in repositories, snapshots, trash or system folders left out: --system-dirs \
             takes them too"
        ));
    }
}

/// Returns where the groups come from, and the catalog held for writing if something is to be done with
/// its files.
fn source(
    args: &DedupeArgs,
    settings: &Settings,
) -> Result<(Source, Option<Writer>), CommandError> {
    if let Some(report) = &args.report {
        return Ok((Source::from_report(report, settings)?, None));
    }
    if let Some(list) = &args.files_from {
        let end = if args.null { 0 } else { b'\n' };
        return Ok((Source::from_list(list, end, settings)?, None));
    }
    let catalog = open(settings)?;
    let path = settings.catalog()?;
    let wait = |holder| settings.complain(waiting(holder).as_bytes());
    // What is done is written into it, so no scan may come in between.
    let writer = args.apply.then(|| Writer::open(&path, wait)).transpose()?;
    let loaded = writer.as_ref().map_or(&catalog, Writer::catalog).load(Rows::Grouped)?;
    Ok((Source::Catalog(Box::new(loaded)), writer))
}

impl From<By> for Kind {
    fn from(by: By) -> Kind {
        match by {
            // What the script does is decided when it is run.
            By::Delete | By::Script => Kind::Delete,
            By::Hardlink => Kind::Hardlink,
            By::Reflink => Kind::Reflink,
            By::Symlink => Kind::Symlink,
            By::Quarantine => Kind::Quarantine,
        }
    }
}

/// Shows plans, saves them, writes a script of them, or carries them out.
fn carry_on(
    plans: impl Iterator<Item = Plan> + Send,
    planner: &Planner,
    by: By,
    args: &DedupeArgs,
    writer: Option<&Writer>,
    settings: &Settings,
) -> Result<Exit, CommandError> {
    let kind = planner.kind();
    if by == By::Script {
        return print_script(plans);
    }
    if args.apply {
        return apply(plans, planner, args, writer, settings);
    }
    let mut refused = Vec::new();
    let plans = looked_at(plans, kind, absolute(&args.distinct)?, &mut refused);
    let exit = match &args.save_plan {
        Some(file) => save(plans, kind, file, settings)?,
        None => show(plans, kind, settings)?,
    };
    refusals::print(&refused, settings);
    Ok(if refused.is_empty() { exit } else { Exit::Partial })
}

/// Has what is shown of plans found out. Files that nothing can be done with go to `refused`.
fn looked_at(
    plans: impl Iterator<Item = Plan>,
    kind: Kind,
    distinct: Vec<Vec<u8>>,
    refused: &mut Vec<Refusal>,
) -> impl Iterator<Item = Plan> {
    let mut looks = Looks::new(OPEN_DIRS, distinct);
    plans.filter_map(move |plan| looks.at(plan, kind, refused))
}

fn show(
    plans: impl Iterator<Item = Plan>,
    kind: Kind,
    settings: &Settings,
) -> Result<Exit, CommandError> {
    let mut summary = Planned::default();
    let heard = output::print(|out| {
        let mut writer = PlanWriter::new(out, kind, settings.stdout, settings.json);
        for plan in plans {
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

fn print_script(mut plans: impl Iterator<Item = Plan>) -> Result<Exit, CommandError> {
    output::print(|out| {
        action::script_head(out)?;
        plans.try_for_each(|plan| action::script_steps(out, &plan))?;
        action::script_tail(out)
    })?;
    Ok(Exit::Done)
}

fn save(
    plans: impl Iterator<Item = Plan>,
    kind: Kind,
    file: &Path,
    settings: &Settings,
) -> Result<Exit, CommandError> {
    let failed =
        |e: io::Error| CommandError::failed(format!("cannot write {}", file.display())).because(e);
    let mut summary = Planned::default();
    let mut out = BufWriter::new(File::create(file).map_err(failed)?);
    for plan in plans {
        summary.add(&plan, kind);
        action::save(&mut out, &plan, kind).map_err(failed)?;
    }
    out.flush().map_err(failed)?;
    if settings.json {
        output::print(|out| writeln!(out, "{}", output::summary_document(&summary)))?;
    } else if settings.verbosity != Verbosity::Quiet {
        let text = summary.text(kind);
        let shown = settings.stderr.names.show_line(file.as_os_str().as_encoded_bytes());
        let shown = String::from_utf8_lossy(&shown).into_owned();
        settings.note(&format!("{text}; apply it with: lop dedupe --plan {shown} --apply"));
    }
    Ok(Exit::Done)
}

fn apply(
    plans: impl Iterator<Item = Plan> + Send,
    planner: &Planner,
    args: &DedupeArgs,
    writer: Option<&Writer>,
    settings: &Settings,
) -> Result<Exit, CommandError> {
    let workers = Workers::new(None, Io::Auto);
    let kind = planner.kind();
    let lots = if let [device] = planner.devices() {
        // No need to have all groups at once.
        let lane = workers.compare.lanes.of(device.number);
        vec![Lot { lane, groups: Box::new(plans.map(Into::into)) }]
    } else {
        by_lane(plans.map(Into::into), &workers)
    };
    let work = work(kind, lots, args)?;
    carry_out(work, &workers, settings, |_, outcome| match writer.zip(planner.loaded()) {
        Some((writer, loaded)) => Ok(writer.renew(loaded, planner.changes(outcome))?),
        None => Ok(()),
    })
}

fn work<'a>(kind: Kind, lots: Vec<Lot<'a>>, args: &DedupeArgs) -> Result<Work<'a>, CommandError> {
    let (directory_times, distinct) = (args.preserve_dir_times, absolute(&args.distinct)?);
    Ok(Work { kind, lots, directory_times, distinct, one_way: 0 })
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
        match error {
            SavedError::NoPlan(why) => {
                CommandError::failed(format!("{name} is not a plan of lop")).hint(why)
            }
            error => CommandError::new(exit, format!("{name}: {error}")),
        }
    })?;
    let Some(saved) = saved else { return nothing_left(settings) };
    if !args.apply {
        return show_saved(saved, args, settings);
    }
    let workers = Workers::new(None, Io::Auto);
    let lots = by_lane(saved.groups.into_iter().map(|saved| saved.group), &workers);
    carry_out(work(saved.kind, lots, args)?, &workers, settings, |_, _| Ok(()))
}

/// Says that all lines were taken out of a plan.
fn nothing_left(settings: &Settings) -> Result<Exit, CommandError> {
    if settings.json {
        let none = Planned::default();
        output::print(|out| writeln!(out, "{}", output::summary_document(&none)))?;
    } else if settings.verbosity != Verbosity::Quiet {
        settings.note("Nothing to do: there is no action in the plan");
    }
    Ok(Exit::Done)
}

fn show_saved(saved: Saved, args: &DedupeArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let kind = saved.kind;
    let (mut looks, mut refused) = (Looks::new(OPEN_DIRS, absolute(&args.distinct)?), Vec::new());
    let now = |group| {
        let plan = looks.at_saved(group, &mut refused)?;
        looks.at(plan, kind, &mut refused)
    };
    let plans: Vec<Plan> = saved.groups.into_iter().filter_map(now).collect();
    refusals::print(&refused, settings);
    let exit = show(plans.into_iter(), kind, settings)?;
    Ok(if refused.is_empty() { exit } else { Exit::Partial })
}
