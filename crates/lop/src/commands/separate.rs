//! `lop separate`: replaces hard links by independent copies.

use std::collections::BTreeMap;

use action::plan::{KeepReason, Kind, Member, Plan, Target, Version, separate};
use content::Fingerprints;
use fsops::FileKey;
use runtime::Progress;
use walk::Tree;

use crate::acting::catalog_update;
use crate::acting::run::{PlanTotals, Work, by_disk, carry_out, show_plans};
use crate::args::SeparateArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::monitor::monitored;
use crate::output::problems;
use crate::protected::Protected;
use crate::questions::work::files;
use crate::settings::{Resources, Settings};

/// Runs the command.
pub(crate) fn run(args: &SeparateArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let resources = Resources::automatic();
    let protected = Protected::configured(settings)?;
    let (tree, plans) = monitored(settings, |progress| {
        let options = resources.walk(walk::Filter::default(), false, settings.own());
        let tree = walk::walk(&args.paths, &options, None, progress)?;
        let plans = plans(&tree, &protected, &resources, progress)?;
        Ok((tree, plans))
    })?;
    problems::print(&tree.problems, settings);
    note_protected(&tree, &protected, settings);
    let exit = if !tree.problems.is_empty() && tree.roots().is_empty() {
        Exit::Failed
    } else if args.apply {
        let elsewhere = plans.iter().filter(|plan| plan.why == KeepReason::Elsewhere);
        let one_way = elsewhere.map(|plan| plan.others.len() as u64).sum();
        let amount = plans.iter().map(|plan| plan.amount(Kind::Separate)).sum();
        let batches = by_disk(plans.into_iter().map(Into::into), &resources);
        let directory_times = args.preserve_dir_times;
        let (kind, distinct) = (Kind::Separate, Vec::new());
        let work = Work { kind, batches, amount, directory_times, distinct, one_way };
        carry_out(work, &resources, settings, |run, outcome| {
            catalog_update::follow_run(run, &outcome.statuses, settings)
        })?
    } else {
        let totals = PlanTotals::default();
        show_plans(plans.into_iter(), totals, Kind::Separate, "--apply", settings)?
    };
    if tree.problems.is_empty() || exit == Exit::Partial {
        return Ok(exit);
    }
    let exit = if exit == Exit::Done { Exit::Partial } else { exit };
    settings.print_exit_record(exit, &problems::unexamined(tree.problems.len() as u64));
    Ok(exit)
}

/// Prints which folders below the PATHs are left alone because they are protected.
fn note_protected(tree: &Tree, protected: &Protected, settings: &Settings) {
    for root in tree.roots() {
        for folder in
            protected.folder_of(&root.absolute).into_iter().chain(protected.below(&root.absolute))
        {
            folder.note(settings);
        }
    }
}

/// Returns a plan for each file with several names. A name in a protected folder stays as it is, like a name that is
/// not below the PATHs.
fn plans(
    tree: &Tree,
    protected: &Protected,
    resources: &Resources,
    progress: &Progress,
) -> Result<Vec<Plan>, CommandError> {
    let files = files(tree);
    let fingerprints = Fingerprints::default();
    let options = resources.compare();
    let work = dupes::Work::new(tree, &fingerprints, &options, progress);
    let now = dupes::unchanged(&work, &files)?;
    let mut inodes: BTreeMap<FileKey, Vec<Member>> = BTreeMap::new();
    for (file, now) in files.into_iter().zip(now) {
        let stat = now.map(|now| now.stat(tree, file)).filter(|stat| stat.links > 1);
        let Some(stat) = stat else { continue };
        let path = tree.absolute_path(file);
        if protected.folder_of(&path).is_some() {
            continue;
        }
        let target = Target { path, version: Version::from(&stat), tag: file.0 };
        let member = Member::new(target, stat);
        inodes.entry(stat.key()).or_default().push(member);
    }
    let mut plans: Vec<Plan> = inodes.into_values().filter_map(separate).collect();
    plans.sort_by(|a, b| a.keep.target.path.cmp(&b.keep.target.path));
    Ok(plans)
}
