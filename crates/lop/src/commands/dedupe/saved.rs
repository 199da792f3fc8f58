//! Saves plans to files. Shows saved plans with the current state of the files, and carries them out.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;

use action::plan::{Inspector, Kind, Plan, Saved, SavedError};

use super::{OPEN_DIRS, confirm_deletion, work};
use crate::acting::catalog_update;
use crate::acting::run::{PlanTotals, by_disk, carry_out, show_plans};
use crate::args::DedupeArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::{problems, stdout};
use crate::paths::{resolve_all, shell_word};
use crate::protected::Protected;
use crate::quantity::size;
use crate::settings::{Resources, Settings};

/// Saves plans to a file.
///
/// # Errors
///
/// Fails if the file exists and is not a plan, or if it cannot be written. If writing fails, the incomplete file is not
/// removed.
pub(super) fn save(
    plans: impl Iterator<Item = Plan>,
    planned: PlanTotals,
    kind: Kind,
    file: &Path,
    settings: &Settings,
) -> Result<Exit, CommandError> {
    let failed = |e: io::Error| unwritten(file, e);
    refuse_foreign_file(file)?;
    save_to(File::create(file).map_err(failed)?, plans, planned, kind, file, settings)
}

fn unwritten(file: &Path, error: io::Error) -> CommandError {
    CommandError::failed(format!("cannot write {}", file.display())).because(error)
}

/// Refuses to overwrite a file that is not a plan.
fn refuse_foreign_file(file: &Path) -> Result<(), CommandError> {
    let is_other = File::open(file).is_ok_and(|file| {
        let is_regular = file.metadata().is_ok_and(|meta| meta.is_file());
        is_regular
            && action::plan::load(BufReader::new(file))
                .is_err_and(|e| matches!(e, SavedError::NoPlan(_)))
    });
    if is_other {
        let text = format!("{} already exists and is not a plan of lop", file.display());
        return Err(CommandError::new(Exit::Refused, text));
    }
    Ok(())
}

/// Saves plans to an open file. `file` is its path, for messages.
///
/// # Errors
///
/// Fails if the file cannot be written. The incomplete file is left behind.
pub(super) fn save_to(
    to: File,
    plans: impl Iterator<Item = Plan>,
    mut summary: PlanTotals,
    kind: Kind,
    file: &Path,
    settings: &Settings,
) -> Result<Exit, CommandError> {
    let failed = |e: io::Error| unwritten(file, e);
    let mut out = BufWriter::new(to);
    for plan in plans {
        summary.add(&plan, kind);
        action::plan::save(&mut out, &plan, kind).map_err(failed)?;
    }
    out.flush().map_err(failed)?;
    let shown = shell_word(file).unwrap_or_else(|| {
        let shown = settings.stderr.names.show_line(file.as_os_str().as_encoded_bytes());
        String::from_utf8_lossy(&shown).into_owned()
    });
    let text = summary.text(kind);
    let text = format!("{text}; apply it with: lop dedupe --plan {shown} --apply");
    stdout::summarize(&summary, &text, settings)?;
    Ok(Exit::Done)
}

/// Shows a saved plan, or carries it out.
///
/// # Errors
///
/// Fails if the file cannot be read or is not a valid plan. Nothing is changed in that case. Otherwise fails like any
/// run.
pub(super) fn run_saved(
    file: &Path,
    args: &DedupeArgs,
    settings: &Settings,
) -> Result<Exit, CommandError> {
    let name = file.display();
    let opened = File::open(file)
        .map_err(|e| CommandError::failed(format!("cannot read {name}")).because(e))?;
    let saved = action::plan::load(BufReader::new(opened)).map_err(|error| {
        let text = format!("{name}: {error}");
        match error {
            SavedError::NoPlan(why) => {
                CommandError::failed(format!("{name} is not a plan of lop")).hint(why)
            }
            SavedError::Contradiction { .. } => CommandError::new(Exit::Refused, text),
            _ => CommandError::failed(text),
        }
    })?;
    let Some(saved) = saved else {
        let text = "Nothing to do: the plan has no actions left";
        stdout::summarize(&PlanTotals::default(), text, settings)?;
        return Ok(Exit::Done);
    };
    refuse_protected(&saved, file, settings)?;
    if !args.apply {
        return show_saved(saved, args, settings);
    }
    let others = || saved.groups.iter().flat_map(|saved| &saved.group.others);
    let bytes = others().fold(0u64, |sum, other| sum.saturating_add(other.version.size));
    let amount = format!("total size {}", size(bytes));
    confirm_deletion(saved.kind, others().count() as u64, &amount, args.yes, settings)?;
    let amount = saved.groups.iter().map(|one| one.group.amount(saved.kind)).sum();
    let resources = Resources::automatic();
    let batches = by_disk(saved.groups.into_iter().map(|saved| saved.group), &resources);
    carry_out(work(saved.kind, batches, amount, args)?, &resources, settings, |run, outcome| {
        catalog_update::follow_run(run, &outcome.statuses, settings)
    })
}

/// Refuses a plan that acts on a file in a protected folder. The folder was probably protected after the plan was made.
fn refuse_protected(saved: &Saved, file: &Path, settings: &Settings) -> Result<(), CommandError> {
    let protected = Protected::configured(settings)?;
    for other in saved.groups.iter().flat_map(|saved| &saved.group.others) {
        if let Some(folder) = protected.folder_of(&other.path) {
            let path = String::from_utf8_lossy(&other.path);
            let text = format!(
                "{}: {path} is protected by {}; nothing was changed",
                file.display(),
                folder.by()
            );
            return Err(CommandError::new(Exit::Refused, text)
                .hint("remove the line with this file from the plan, or make the plan again"));
        }
    }
    Ok(())
}

fn show_saved(saved: Saved, args: &DedupeArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let kind = saved.kind;
    let mut inspector = Inspector::new(OPEN_DIRS, resolve_all(&args.distinct)?, settings.own());
    let mut refused = Vec::new();
    let now = |group| {
        let plan = inspector.saved_plan(group, &mut refused)?;
        inspector.plan(plan, kind, &mut refused)
    };
    let plans: Vec<Plan> = saved.groups.into_iter().filter_map(now).collect();
    problems::print(&refused, settings);
    let totals = PlanTotals::default();
    let exit = show_plans(plans.into_iter(), totals, kind, "--apply", settings)?;
    Ok(if refused.is_empty() { exit } else { Exit::Partial })
}
