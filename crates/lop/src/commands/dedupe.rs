//! `lop dedupe`: shows possible actions on duplicates, and carries them out.

mod saved;

use action::plan::{Amount, Inspector, Kind, Plan, write_script};
use action::run::DiskBatch;
use catalog::{Rows, Writer};

use self::saved::{run_saved, save, save_to};
use crate::acting::catalog_update;
use crate::acting::decided::Decided;
use crate::acting::planner::{KeepRules, PlanOptions, Planner};
use crate::acting::run::{PlanTotals, Work, by_disk, carry_out, show_plans};
use crate::acting::sources::Source;
use crate::args::{By, DedupeArgs};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::{problems, stdout};
use crate::paths::resolve_all;
use crate::prompt::chooser;
use crate::prompt::confirm::{CONFIRM_ABOVE, Question, can_ask};
use crate::protected::Protected;
use crate::quantity::{counted, size};
use crate::questions::catalog::{open, open_writer};
use crate::questions::scope::Scope;
use crate::settings::{Configured, Resources, Settings, Verbosity};

/// Maximum number of directories that are kept open while plans are shown.
const OPEN_DIRS: usize = 64;

/// Runs the command.
pub(crate) fn run(args: &DedupeArgs, settings: &Settings) -> Result<Exit, CommandError> {
    if let Some(file) = &args.plan {
        return run_saved(file, args, settings);
    }
    let Some(by) = args.by else { return Err(CommandError::usage("--by is missing")) };
    if by == By::Script && (args.apply || args.save_plan.is_some()) {
        let text = "--by script prints a script and cannot be used with --apply or --save-plan";
        return Err(CommandError::usage(text));
    }
    if args.apply && !has_scope(by, args) {
        let text = format!(
            "--by {} --apply needs PATHs to act below, or --all for the whole catalog",
            Kind::from(by).word()
        );
        return Err(CommandError::usage(text));
    }
    let protected = Protected::new(&args.protect, settings)?;
    let keep = keep_rules(args, settings);
    let mut options = PlanOptions::new(by.into(), keep, args.min_size, protected, &args.paths)?;
    (options.system_dirs, options.own) = (args.system_dirs, settings.own());
    let Input { source, writer, scope, decided } = input(args, settings)?;
    let skipped = decided.as_ref().map(Decided::skipped).unwrap_or_default();
    options.decided = decided;
    problems::print(&source.tree().problems, settings);
    problems::print(source.refused(), settings);
    let unexamined = !(source.tree().problems.is_empty() && source.refused().is_empty());
    let now = source.inspect(settings)?;
    let planner = Planner::new(source, now, options);
    let unknown = planner.unknown();
    note_left_out(planner.left_to_programs(), settings);
    if let Some(text) = skipped.text().filter(|_| settings.verbosity != Verbosity::Quiet) {
        settings.note(&text);
    }
    let planner = if args.apply && !args.interactive {
        planner.in_order_of_the_tree()
    } else {
        planner.in_order_of_size()
    };
    let (planner, writer) = (&planner, writer.as_ref());
    let dedupe = Dedupe { by, kind: by.into(), args, planner, writer, settings };
    let exit =
        if args.interactive { dedupe.choose()? } else { dedupe.show_or_act(planner.plans())? };
    // It is normal that a rule of the configuration matches no file.
    let is_typed = settings.verbosity != Verbosity::Quiet && !args.keep.is_empty();
    for rule in planner.idle_rules().filter(|_| is_typed) {
        settings.complain(format!("--keep {rule} matched no file").as_bytes());
    }
    unknown.lines().iter().for_each(|line| settings.summarize(line.as_bytes()));
    let exit = match unknown.exit(u64::MAX, exit) {
        Exit::Done if unexamined => Exit::Partial,
        Exit::Partial if exit == Exit::Done => {
            settings.print_exit_record(Exit::Partial, &unknown.lines().join("; "));
            Exit::Partial
        }
        exit => exit,
    };
    Ok(scope.exit(exit, settings))
}

/// Returns the rules that choose the files to keep. With `--decided`, the decisions of the user choose them.
fn keep_rules<'a>(args: &'a DedupeArgs, settings: &'a Settings) -> KeepRules<'a> {
    if args.decided || !args.keep.is_empty() {
        return KeepRules::Typed(&args.keep);
    }
    let rules = settings.config().keep();
    for Configured { value, place } in rules {
        settings.note_configured(&format!("keeping by the rule {value}"), place);
    }
    KeepRules::Configured(rules)
}

/// Prints how many files with duplicates were skipped.
fn note_left_out(files: u64, settings: &Settings) {
    if files > 0 && settings.verbosity != Verbosity::Quiet {
        let files = counted(files, "file", "files");
        settings.note(&format!(
            "skipped {files} in repositories, snapshots, trash or system folders; use \
             --system-dirs to include them"
        ));
    }
}

/// Returns whether the user selected the files that may be replaced or removed. No selection is needed for hard links
/// and reflinks, because they keep a file under every name. Any other action on the whole catalog could empty a backup
/// directory.
fn has_scope(by: By, args: &DedupeArgs) -> bool {
    let is_named = !args.paths.is_empty() || args.report.is_some() || args.files_from.is_some();
    // In interactive mode, the user chooses each file and confirms the choice.
    // With decisions, the user has already decided about each group.
    let is_chosen = args.all || args.interactive || args.decided;
    is_named || is_chosen || matches!(by, By::Hardlink | By::Reflink)
}

/// Asks for confirmation before many files are deleted. No other action needs confirmation, because `lop undo` restores
/// every byte. `amount` states the disk space or the size of the files.
fn confirm_deletion(
    kind: Kind,
    files: u64,
    amount: &str,
    yes: bool,
    settings: &Settings,
) -> Result<(), CommandError> {
    if kind != Kind::Delete || files <= CONFIRM_ABOVE || !can_ask(yes) {
        return Ok(());
    }
    let about = format!("{} would be deleted ({amount})", counted(files, "file", "files"));
    let question = Question { about, paths: Vec::new(), of: 0, prompt: "Delete them?" };
    if question.ask(settings)? {
        return Ok(());
    }
    Err(CommandError::new(Exit::Refused, "nothing was changed"))
}

/// The files to act on.
struct Input {
    source: Source,
    /// The catalog, locked for writing. `None` unless the run will change files that are in the catalog.
    writer: Option<Writer>,
    /// The paths that limit the action to a part of the catalog.
    scope: Scope,
    /// The user's decisions, if they choose the files that stay.
    decided: Option<Decided>,
}

fn input(args: &DedupeArgs, settings: &Settings) -> Result<Input, CommandError> {
    let listed = |source| Input { source, writer: None, scope: Scope::default(), decided: None };
    if let Some(report) = &args.report {
        return Ok(listed(Source::from_report(report, settings)?));
    }
    if let Some(list) = &args.files_from {
        return Ok(listed(Source::from_list(list, args.null, settings)?));
    }
    let catalog = open(settings)?;
    let scope = Scope::new(&args.paths, &catalog, settings)?;
    let path = settings.catalog()?;
    // The run updates this catalog at the end, so no scan may change it in the meantime.
    let writer = args.apply.then(|| open_writer(&path, settings)).transpose()?;
    let catalog = writer.as_ref().map_or(&catalog, Writer::catalog);
    let loaded = catalog.load(Rows::Grouped)?;
    let decided = args.decided.then(|| Decided::load(catalog)).transpose()?;
    Ok(Input { source: Source::Catalog(Box::new(loaded)), writer, scope, decided })
}

impl From<By> for Kind {
    fn from(by: By) -> Kind {
        match by {
            // The user chooses the action when running the script. The plan assumes deletion.
            By::Delete | By::Script => Kind::Delete,
            By::Hardlink => Kind::Hardlink,
            By::Reflink => Kind::Reflink,
            By::Symlink => Kind::Symlink,
            By::Quarantine => Kind::Quarantine,
        }
    }
}

/// The action that the user requested, and the plans for it.
struct Dedupe<'a> {
    by: By,
    kind: Kind,
    args: &'a DedupeArgs,
    planner: &'a Planner,
    writer: Option<&'a Writer>,
    settings: &'a Settings,
}

impl Dedupe<'_> {
    fn inspector(&self) -> Result<Inspector, CommandError> {
        let distinct = resolve_all(&self.args.distinct)?;
        Ok(Inspector::new(OPEN_DIRS, distinct, self.settings.own()))
    }

    /// Lets the user choose which files of each group to keep, then carries out or saves the resulting plans.
    fn choose(&self) -> Result<Exit, CommandError> {
        let &Dedupe { by, kind, args, planner, settings, .. } = self;
        let (mut inspector, mut refused) = (self.inspector()?, Vec::new());
        let plans = planner.plans().filter_map(|plan| inspector.plan(plan, kind, &mut refused));
        let plans: Vec<Plan> = plans.collect();
        problems::print(&refused, settings);
        let chosen = chooser::choose(&plans, kind, settings)?;
        if chosen.is_empty() {
            settings.note("Nothing to do");
            return Ok(Exit::Done);
        }
        if args.apply {
            chooser::confirm(&chosen, kind, settings)?;
        } else if args.save_plan.is_none() && by != By::Script {
            let Some((path, file)) = chooser::ask_file()? else {
                settings.note("nothing was changed, and the choices were not saved");
                return Ok(Exit::Done);
            };
            let totals = PlanTotals::new(planner.unknown());
            return save_to(file, chosen.into_iter(), totals, kind, &path, settings);
        }
        self.show_or_act(chosen.into_iter())
    }

    /// Shows plans, saves them, writes a script, or carries them out.
    fn show_or_act(
        &self,
        plans: impl Iterator<Item = Plan> + Clone + Send,
    ) -> Result<Exit, CommandError> {
        let &Dedupe { by, kind, args, planner, settings, .. } = self;
        if by == By::Script {
            return print_script(plans);
        }
        if args.apply {
            return self.apply(plans);
        }
        let (mut inspector, mut refused) = (self.inspector()?, Vec::new());
        let plans = plans.filter_map(|plan| inspector.plan(plan, kind, &mut refused));
        let totals = PlanTotals::new(planner.unknown());
        let exit = if let Some(file) = &args.save_plan {
            save(plans, totals, kind, file, settings)?
        } else {
            let is_whole = has_scope(by, args);
            let apply = if is_whole { "--apply" } else { "--apply with a PATH or --all" };
            show_plans(plans, totals, kind, apply, settings)?
        };
        problems::print(&refused, settings);
        Ok(if refused.is_empty() { exit } else { Exit::Partial })
    }

    fn apply(
        &self,
        plans: impl Iterator<Item = Plan> + Clone + Send,
    ) -> Result<Exit, CommandError> {
        let &Dedupe { kind, args, planner, writer, settings, .. } = self;
        let resources = Resources::automatic();
        let asks = kind == Kind::Delete && can_ask(args.yes) && !args.interactive;
        let mut totals = PlanTotals::default();
        if asks || settings.shows_progress() {
            plans.clone().for_each(|plan| totals.add(&plan, kind));
        }
        if asks {
            let amount = format!("{} to free", size(totals.reclaimable_bytes));
            confirm_deletion(kind, totals.files, &amount, args.yes, settings)?;
        }
        let batches = if let [device] = planner.devices() {
            // If all files are on one device, the groups can be processed without collecting them first.
            let disk = resources.disks.of(device.number);
            vec![DiskBatch { disk, groups: Box::new(plans.map(Into::into)) }]
        } else {
            by_disk(plans.map(Into::into), &resources)
        };
        let work = work(kind, batches, totals.amount, args)?;
        carry_out(work, &resources, settings, |run, outcome| match writer.zip(planner.loaded()) {
            Some((writer, loaded)) => Ok(writer.apply_changes(loaded, planner.changes(outcome))?),
            None => catalog_update::follow_run(run, &outcome.statuses, settings),
        })
    }
}

fn print_script(plans: impl Iterator<Item = Plan>) -> Result<Exit, CommandError> {
    stdout::print(|out| write_script(out, plans))?;
    Ok(Exit::Done)
}

fn work<'a>(
    kind: Kind,
    batches: Vec<DiskBatch<'a>>,
    amount: Amount,
    args: &DedupeArgs,
) -> Result<Work<'a>, CommandError> {
    let (directory_times, distinct) = (args.preserve_dir_times, resolve_all(&args.distinct)?);
    Ok(Work { kind, batches, amount, directory_times, distinct, one_way: 0 })
}
