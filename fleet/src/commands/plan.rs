//! `lop-fleet plan`: a plan for the redundant files of a host, and the files that another host has as well.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread;

use action::plan::{Kind, Plan, Rule, save};
use export::{Names, Stored};
use fleet::{Answers, Elsewhere, Options, Part, compare, plan_host};
use runtime::Progress;
use runtime::quantity::{counted, size};
use serde::Serialize;

use crate::Exit;
use crate::args::PlanArgs;
use crate::exports::{Distinct, newest};
use crate::output::{JsonPath, Output, shown};

/// Memory for the inodes of a pass, in bytes.
const MEMORY: u64 = 1 << 30;

/// Runs the command.
pub(crate) fn run(args: &PlanArgs, output: Output) -> Result<Exit, Box<dyn Error>> {
    let (exports, has_problems) = newest(&args.dir, &[])?;
    let number = exports.iter().position(|export| export.host == args.host);
    let number = number
        .ok_or_else(|| format!("{}: no complete export of {}", args.dir.display(), args.host))?;
    let export = &exports[number];
    if export.bucket.is_some() {
        return Err(format!("{} is an S3 bucket; lop acts only on files", args.host).into());
    }
    if export.names != Names::Plain {
        return Err(format!("the names of {} were not exported as they are", args.host).into());
    }
    let rules = args.keep.iter().map(|rule| rule_of(rule)).chain(Rule::usual().map(Ok));
    let rules = rules.collect::<Result<Vec<Rule>, _>>()?;
    let kind = args.by.into();
    let plans = plan_host(export, kind, &rules, args.min_size)?;
    write(&args.save_plan, &plans, kind)?;
    let elsewhere = elsewhere(&exports, number, &plans, args.min_size)?;
    let document = Document {
        actions: plans.iter().map(|plan| plan.others.len() as u64).sum(),
        frees_bytes: plans.iter().map(|plan| plan.frees(kind)).sum(),
        elsewhere,
    };
    let mut text = Vec::new();
    for path in &document.elsewhere {
        text.extend([&output.line(path.bytes()), b"\n".as_slice()].concat());
    }
    output.print(&document, &text)?;
    output.note(&document.text(&args.host, &args.save_plan));
    Ok(if has_problems { Exit::Partial } else { Exit::Done })
}

/// Returns a rule. Rules about a directory or a device of this host make no sense for another one.
fn rule_of(text: &str) -> Result<Rule, Box<dyn Error>> {
    if text.starts_with("device:") || text == "first-root" {
        return Err(format!("--keep {text}: this rule works only on the host itself").into());
    }
    Ok(Rule::parse(text, &[])?)
}

/// Writes the plans to a new file.
fn write(path: &Path, plans: &[Plan], kind: Kind) -> Result<(), Box<dyn Error>> {
    let written = || -> std::io::Result<()> {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        let mut out = BufWriter::new(file);
        plans.iter().try_for_each(|plan| save(&mut out, plan, kind))?;
        out.flush()
    };
    written().map_err(|e| format!("cannot write {}: {}", path.display(), fsops::io_text(&e)).into())
}

/// Returns the paths of files that stay and that another host has as well, sorted. Removing them would need
/// the copy of the other host.
fn elsewhere(
    exports: &[Stored],
    number: usize,
    plans: &[Plan],
    min_size: u64,
) -> Result<Vec<JsonPath>, Box<dyn Error>> {
    let export = &exports[number];
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let options = Options { memory: MEMORY, threads, min_size: min_size.max(1) };
    // The host comes first, so that no other host has its own files.
    let others = exports.iter().filter(|other| other.host != export.host);
    let distinct =
        Distinct::new(std::iter::once(export).chain(others).map(Part::whole).collect(), MEMORY)?;
    let answers = || Answers::new(0);
    let answers = compare(&distinct.parts(), &options, answers, &Progress::default())?;
    let mut inodes = BTreeSet::new();
    export.each_inode(None, |inode| {
        if answers.of(inode) == Some(Elsewhere::Copied) {
            inodes.insert(inode.inode_id);
        }
    })?;
    let goes: BTreeSet<&[u8]> =
        plans.iter().flat_map(|plan| &plan.others).map(|other| &*other.target.path).collect();
    let paths = export.paths(&inodes)?.into_values().flatten();
    let mut stay: Vec<Vec<u8>> = paths.filter(|path| !goes.contains(&**path)).collect();
    stay.sort_unstable();
    Ok(stay.into_iter().map(JsonPath::new).collect())
}

#[derive(Serialize)]
struct Document {
    /// Number of names in the plan.
    actions: u64,
    /// Disk space that the plan frees, if nothing has changed.
    frees_bytes: u64,
    /// Files that stay and that another host has as well.
    elsewhere: Vec<JsonPath>,
}

impl Document {
    fn text(&self, host: &str, plan: &Path) -> String {
        let host = shown(host);
        let plan = plan.display();
        let names = counted(self.elsewhere.len() as u64, "other name is", "other names are");
        let mut text = format!(
            "{} saved to {plan}, {} on {host}\n{names} of files that another host has, too; lop does not remove these",
            counted(self.actions, "action", "actions"),
            size(self.frees_bytes),
        );
        if self.actions > 0 {
            // Writing to a string cannot fail.
            let _ = write!(text, "\nhint: on {host}: lop dedupe --plan {plan}");
        }
        text
    }
}
