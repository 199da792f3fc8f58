//! `lop report`: the groups of the catalog, as far as they still hold.

mod dirs;

use std::cmp::Reverse;
use std::io;

use catalog::{Doubts, Rows};
use dupes::State;
use serde::Serialize;
use walk::{FileId, Tree};

use crate::args::{Format, ReportArgs, Sort};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::formats::{GroupHead, GroupWriter, to_json, writer};
use crate::output;
use crate::quantity::{counted, size};
use crate::remembered::{Groups, Live, LiveGroup, mark, open};
use crate::settings::Settings;
use crate::unknown::Unknown;

/// Runs the command.
pub(crate) fn run(args: &ReportArgs, settings: &Settings) -> Result<Exit, CommandError> {
    if args.dirs {
        return dirs::run(args, settings);
    }
    let live = Live::check(open(settings)?.load(Rows::Grouped)?, settings)?;
    let tree = &live.loaded.tree;
    let Groups { live: mut groups, mut lost } = live.groups();
    let smallest = args.min_size.unwrap_or(0);
    groups.retain(|group| group.size >= smallest);
    lost.retain(|&(file, _)| tree.file(file).size >= smallest);
    let summary = Summary::new(&groups, &lost, live.loaded.doubts());
    sort(tree, &mut groups, args.sort);
    if let Some(limit) = args.limit {
        groups.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    }
    let unnamed = if settings.json { Format::Json } else { Format::Text };
    let format = args.format.unwrap_or(unnamed);
    let heard = output::print(|out| {
        let mut writer = writer(format, out, settings.stdout);
        for group in &groups {
            write_group(&mut *writer, tree, group, format == Format::Text)?;
        }
        writer.finish(&to_json(&summary))
    })?;
    if heard {
        output::print_summary_aside(format, settings, &summary, &summary.text());
    }
    let exit = summary.unknown.exit(u64::MAX, Exit::Done);
    settings.print_exit_record(exit, &summary.unknown.lines().join("; "));
    Ok(exit)
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

/// Writes a group; files that are no longer what they were are shown to people only, as every
/// other reader would take them for duplicates.
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
        reclaimable: group.reclaimable,
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
    /// Files of groups that are not what they were, and all of which nothing is known.
    #[serde(flatten)]
    unknown: Unknown,
}

impl Summary {
    fn new(groups: &[LiveGroup], lost: &[(FileId, State)], doubts: &Doubts) -> Summary {
        let stale = groups.iter().flat_map(|group| &group.stale).chain(lost);
        Summary {
            groups: groups.len() as u64,
            redundant_files: groups.iter().map(|g| g.files.len() as u64 - 1).sum(),
            reclaimable_bytes: groups.iter().fold(0, |sum, g| g.reclaimable.saturating_add(sum)),
            unknown: Unknown::of_catalog(stale.map(|(_, state)| *state), doubts),
        }
    }

    fn text(&self) -> String {
        let mut text = match (self.groups, self.unknown.all) {
            (0, 0) => "No duplicates".into(),
            (0, _) => "No duplicates that are known to be such".into(),
            (groups, _) => format!(
                "{}: {}, {} reclaimable",
                counted(groups, "group", "groups"),
                counted(self.redundant_files, "redundant file", "redundant files"),
                size(self.reclaimable_bytes)
            ),
        };
        text.push_str(&self.unknown.text());
        text
    }
}
