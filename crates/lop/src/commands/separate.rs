//! `lop separate`: replaces hard links by independent copies.

use std::collections::BTreeMap;
use std::sync::Arc;

use action::plan::{KeepReason, Kind, Member, Plan, Target, Version, separate};
use content::Fingerprints;
use fsops::FileKey;
use runtime::Progress;
use walk::{Problem, Tree};

use crate::acting::catalog_update;
use crate::acting::run::{PlanTotals, Work, by_disk, carry_out};
use crate::acting::sources::files;
use crate::args::SeparateArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::monitor::Monitor;
use crate::output::formats::{PlanWriter, to_json};
use crate::output::problems;
use crate::output::stdout;
use crate::settings::{Resources, Settings};

/// Runs the command.
pub(crate) fn run(args: &SeparateArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let progress = Arc::new(Progress::default());
    let monitor = Monitor::begin(&progress, settings)?;
    let resources = Resources::automatic();
    let options = resources.walk(walk::Filter::default(), false, settings.own());
    let tree = walk::walk(&args.paths, &options, None, &progress)?;
    let plans = plans(&tree, &resources, &progress)?;
    monitor.finish()?;
    let all: Vec<&Problem> = tree.problems.iter().collect();
    problems::print(all.iter().copied(), settings);
    let exit = if !all.is_empty() && tree.roots().is_empty() {
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
        show(&plans, settings)?
    };
    if all.is_empty() || exit == Exit::Partial {
        return Ok(exit);
    }
    let exit = if exit == Exit::Done { Exit::Partial } else { exit };
    settings.print_exit_record(exit, &problems::unexamined(all.len() as u64));
    Ok(exit)
}

/// Returns a plan for each file with several names.
fn plans(
    tree: &Tree,
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
        let target = Target { path, version: Version::from(&stat), tag: file.0 };
        let member = Member::new(target, stat);
        inodes.entry(stat.key()).or_default().push(member);
    }
    let mut plans: Vec<Plan> = inodes.into_values().filter_map(separate).collect();
    plans.sort_by(|a, b| a.keep.target.path.cmp(&b.keep.target.path));
    Ok(plans)
}

fn show(plans: &[Plan], settings: &Settings) -> Result<Exit, CommandError> {
    let mut summary = PlanTotals::default();
    let printed = stdout::print(|out| {
        let mut writer = PlanWriter::new(out, Kind::Separate, settings.stdout, settings.json);
        for plan in plans {
            summary.add(plan, Kind::Separate);
            writer.plan(plan)?;
        }
        writer.finish(&to_json(&summary))
    })?;
    if printed {
        settings.summarize(summary.preview_text(Kind::Separate, "--apply").as_bytes());
    }
    Ok(Exit::Done)
}
