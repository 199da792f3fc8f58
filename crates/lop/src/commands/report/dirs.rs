//! `lop report --dirs`: shows directories that are equal, overlap, or are contained in each other.

use std::cmp::Reverse;

use catalog::{Catalog, Rows};
use dupes::{Folders, Related, Relation, RememberedTree, State, count_untracked};
use serde::Serialize;
use walk::Tree;

use super::{note_more, shown};
use crate::args::{Format, ReportArgs, Sort};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::formats::{GroupHead, to_json, write_related, writer};
use crate::output::{problems, stdout};
use crate::quantity::{count, counted, size};
use crate::questions::aliases::Distinct;
use crate::questions::knowledge::{UnknownFiles, indented};
use crate::questions::live::Live;
use crate::questions::scope::Scope;
use crate::questions::work::work_on;
use crate::settings::Settings;

/// Runs the command.
pub(super) fn run(
    args: &ReportArgs,
    catalog: &Catalog,
    scope: &Scope,
    settings: &Settings,
) -> Result<Exit, CommandError> {
    let roots = catalog.roots()?;
    let mut live = Live::check(catalog.load(Rows::All)?, settings)?;
    live.mark_aliases(&Distinct::new(&args.distinct.dirs)?);
    let loaded = &live.loaded;
    let (mut related, summary, problems) =
        work_on(&loaded.tree, &loaded.fingerprints, settings, |work| {
            let new = count_untracked(work, &roots)?;
            let remembered = RememberedTree {
                tree: &loaded.tree,
                fingerprints: &loaded.fingerprints,
                states: live.states(),
                untracked: &new.counts,
                reclaimable: &|content| loaded.content(content).1,
            };
            let folders = Folders::new(&remembered, work.progress)?;
            let mut related = folders.related(work.progress)?;
            let is_wanted = |related: &Related| {
                let mut folders = related.folders.iter();
                folders.any(|folder| scope.has(&loaded.tree.absolute_dir_path(folder.dir)))
            };
            related.retain(|r| r.bytes >= args.min_size.unwrap_or(0) && is_wanted(r));
            let together = folders.reclaimable(related.iter());
            let states = live.states().iter().copied();
            let states = states.filter(|state| *state != State::Gone);
            let mut unknown = UnknownFiles::of_catalog(states, loaded.unreliable_counts());
            unknown.all += new.found;
            let summary = Summary::new(&related, together, unknown, new.problems.len());
            Ok((related, summary, new.problems))
        })?;
    sort(&loaded.tree, &mut related, args.sort);
    let (format, limit) = shown(args, settings);
    let more = related.len().saturating_sub(limit);
    related.truncate(limit);
    let printed = print(format, settings, &loaded.tree, &related, &summary)?;
    problems::print(&problems, settings);
    if printed {
        stdout::print_summary_aside(format, settings, &summary, &summary.text());
        note_more(more, ["set or pair", "sets and pairs"], args, settings);
    }
    let unknown = &summary.unknown;
    let unexamined = (!problems.is_empty()).then(|| problems::unexamined(problems.len() as u64));
    let why: Vec<String> = summary.unknown().into_iter().chain(unexamined).collect();
    let exit = unknown.exit(u64::MAX, if problems.is_empty() { Exit::Done } else { Exit::Partial });
    settings.print_exit_record(exit, &why.join("; "));
    Ok(exit)
}

fn sort(tree: &Tree, related: &mut [Related], by: Sort) {
    related.sort_by_cached_key(|related| {
        let key = match by {
            Sort::Reclaimable => (related.reclaimable, related.bytes),
            Sort::Size => (related.bytes, related.files),
            Sort::Count => (related.files, related.bytes),
            Sort::Path => (0, 0),
        };
        let paths = related.folders.iter().take(2).map(|folder| tree.dir_path(folder.dir));
        (Reverse(key), paths.collect::<Vec<_>>())
    });
}

/// Prints the related directories. Returns whether all output was written before the reader closed the pipe.
fn print(
    format: Format,
    settings: &Settings,
    tree: &Tree,
    related: &[Related],
    summary: &Summary,
) -> Result<bool, CommandError> {
    stdout::print(|out| {
        if !matches!(format, Format::Fdupes | Format::Nul) {
            return write_related(format, out, settings.stdout, tree, related, &to_json(summary));
        }
        // These formats can only show sets of equal directories.
        let mut writer = writer(format, out, settings.stdout);
        for set in related.iter().filter(|related| related.relation == Relation::Equal) {
            let folders = set.folders.len() as u64;
            let head = GroupHead {
                size: set.bytes,
                digest: None,
                files: folders,
                inodes: folders,
                reclaimable_bytes: set.reclaimable,
            };
            writer.begin(&head)?;
            for folder in &set.folders {
                writer.file(&tree.dir_path(folder.dir), None)?;
            }
            writer.end()?;
        }
        writer.finish("")
    })
}

#[derive(Serialize)]
struct Summary {
    /// Sets of equal directories.
    equal: u64,
    /// Directories in these sets, except one directory per set.
    redundant_dirs: u64,
    contained: u64,
    overlapping: u64,
    /// Disk space in bytes that would be freed if all redundant and all contained directories were deleted.
    reclaimable_bytes: u64,
    /// Entries that were not compared because their content is unknown.
    #[serde(flatten)]
    unknown: UnknownFiles,
    problems: u64,
}

impl Summary {
    fn new(
        related: &[Related],
        reclaimable_bytes: u64,
        unknown: UnknownFiles,
        problems: usize,
    ) -> Summary {
        let all = |relation| related.iter().filter(move |r| r.relation == relation);
        Summary {
            equal: all(Relation::Equal).count() as u64,
            redundant_dirs: all(Relation::Equal).map(|r| r.redundant().len() as u64).sum(),
            contained: all(Relation::Contained).count() as u64,
            overlapping: all(Relation::Overlapping).count() as u64,
            reclaimable_bytes,
            unknown,
            problems: problems as u64,
        }
    }

    fn unknown(&self) -> Vec<String> {
        self.unknown.lines_of(["entry of these directories", "entries of these directories"])
    }

    fn text(&self) -> String {
        let unknown = indented(&self.unknown());
        if self.equal + self.contained + self.overlapping == 0 {
            return format!("No equal, contained or overlapping directories{unknown}");
        }
        format!(
            "{} of equal directories, {} contained, {} overlapping\n{} reclaimable without those \
             that overlap{unknown}",
            counted(self.equal, "set", "sets"),
            count(self.contained),
            count(self.overlapping),
            size(self.reclaimable_bytes)
        )
    }
}
