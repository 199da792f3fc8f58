//! `lop report`: shows the groups of duplicates in the catalog that still exist.

mod dirs;

use std::cmp::Reverse;
use std::io;

use catalog::{Catalog, Rows, UnreliableCounts};
use dupes::State;
use serde::Serialize;
use walk::{FileId, Tree};

use crate::args::{Format, ReportArgs, Sort};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::formats::{GroupHead, GroupWriter, to_json, writer};
use crate::output::scan_summary::found_text;
use crate::output::stdout;
use crate::quantity::counted;
use crate::questions::aliases::Distinct;
use crate::questions::catalog::open;
use crate::questions::knowledge::{UnknownFiles, mark};
use crate::questions::live::{Groups, Live, LiveGroup};
use crate::questions::scope::Scope;
use crate::settings::{Settings, Verbosity};

/// Runs the command.
pub(crate) fn run(args: &ReportArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let catalog = open(settings)?;
    let scope = Scope::new(&args.paths, &catalog, settings)?;
    let exit = if args.dirs {
        dirs::run(args, &catalog, &scope, settings)?
    } else {
        groups(args, &catalog, &scope, settings)?
    };
    Ok(scope.exit(exit, settings))
}

fn groups(
    args: &ReportArgs,
    catalog: &Catalog,
    scope: &Scope,
    settings: &Settings,
) -> Result<Exit, CommandError> {
    let mut live = Live::check(catalog.load(Rows::Grouped)?, settings)?;
    live.mark_aliases(&Distinct::new(&args.distinct.dirs)?);
    let tree = &live.loaded.tree;
    let Groups { live: mut groups, mut lost } = live.groups(settings)?;
    let smallest = args.min_size.unwrap_or(0);
    let is_wanted = |file: FileId| scope.has(&tree.path(file));
    groups.retain(|group| {
        let mut files = group.files.iter().chain(group.stale.iter().map(|(file, _)| file));
        group.size >= smallest && files.any(|&file| is_wanted(file))
    });
    lost.retain(|&(file, _)| tree.file(file).size >= smallest && is_wanted(file));
    let summary = Summary::new(&groups, &lost, live.loaded.unreliable_counts());
    sort(tree, &mut groups, args.sort);
    let (format, limit) = shown(args, settings);
    let more = groups.len().saturating_sub(limit);
    groups.truncate(limit);
    let printed = stdout::print(|out| {
        let mut writer = writer(format, out, settings.stdout);
        for group in &groups {
            write_group(&mut *writer, tree, group, format == Format::Text)?;
        }
        writer.finish(&to_json(&summary))
    })?;
    if printed {
        stdout::print_summary_aside(format, settings, &summary, &summary.text());
        note_more(more, ["group", "groups"], args, settings);
    }
    let exit = summary.unknown.exit(u64::MAX, Exit::Done);
    settings.print_exit_record(exit, &summary.unknown.lines().join("; "));
    Ok(exit)
}

/// Maximum number of groups to print as text without `--limit`.
const DEFAULT_GROUPS: usize = 20;

/// Returns the output format and the maximum number of groups.
fn shown(args: &ReportArgs, settings: &Settings) -> (Format, usize) {
    let format = args.format.unwrap_or(settings.default_format());
    let usual = if format == Format::Text { DEFAULT_GROUPS } else { usize::MAX };
    (format, args.limit.unwrap_or(usual))
}

/// Prints the number of groups that were not shown, unless the user set a limit.
fn note_more(more: usize, nouns: [&str; 2], args: &ReportArgs, settings: &Settings) {
    if more > 0 && args.limit.is_none() && settings.verbosity != Verbosity::Quiet && !settings.json
    {
        let more =
            counted(more as u64, &format!("more {}", nouns[0]), &format!("more {}", nouns[1]));
        settings.note(&format!("{more}: show all with --limit 0"));
    }
}

fn sort(tree: &Tree, groups: &mut [LiveGroup], by: Sort) {
    groups.sort_by_cached_key(|group| {
        let key = match by {
            Sort::Reclaimable => group.reclaimable,
            Sort::Size => group.size,
            Sort::Count => group.files.len() as u64,
            Sort::Path => 0,
        };
        (Reverse(key), tree.path(group.files[0]))
    });
}

/// Writes a group. Changed files are only written to text output, because a program that reads the output would mistake
/// them for duplicates.
fn write_group(
    writer: &mut dyn GroupWriter,
    tree: &Tree,
    group: &LiveGroup,
    with_stale: bool,
) -> io::Result<()> {
    writer.begin(&GroupHead {
        size: group.size,
        digest: group.digest,
        files: group.files.len() as u64,
        inodes: group.files.len() as u64,
        reclaimable_bytes: group.reclaimable,
    })?;
    let mut path = Vec::new();
    for &file in &group.files {
        tree.path_into(file, &mut path);
        writer.file(&path, None)?;
    }
    for &(file, state) in group.stale.iter().filter(|_| with_stale) {
        tree.path_into(file, &mut path);
        writer.file(&path, mark(state))?;
    }
    writer.end()
}

#[derive(Serialize)]
struct Summary {
    groups: u64,
    redundant_files: u64,
    reclaimable_bytes: u64,
    /// Changed members of groups, and all other files without an answer.
    #[serde(flatten)]
    unknown: UnknownFiles,
}

impl Summary {
    fn new(groups: &[LiveGroup], lost: &[(FileId, State)], doubts: &UnreliableCounts) -> Summary {
        let stale = groups.iter().flat_map(|group| &group.stale).chain(lost);
        Summary {
            groups: groups.len() as u64,
            redundant_files: groups.iter().map(|g| g.files.len() as u64 - 1).sum(),
            reclaimable_bytes: groups.iter().fold(0, |sum, g| g.reclaimable.saturating_add(sum)),
            unknown: UnknownFiles::of_catalog(stale.map(|(_, state)| *state), doubts),
        }
    }

    fn text(&self) -> String {
        let mut text = match (self.groups, self.unknown.all) {
            (0, 0) => "No duplicates".into(),
            (0, _) => "No known duplicates".into(),
            _ => found_text(self.groups, self.redundant_files, self.reclaimable_bytes),
        };
        text.push_str(&self.unknown.text());
        text
    }
}
