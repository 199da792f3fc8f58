//! `lop scan`: finds duplicates and stores the results in the catalog.

mod checkpoint;
mod noted;
mod search;

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use catalog::{Catalog, CopyCount, ScanRecord, ScanSizes, TreeMatch, Writer};
use dupes::{ContentKeys, Found, Group, InlineReader};
use runtime::epoch::now_ms;
use runtime::{Progress, Stage};
use walk::{Problem, Tree};

use crate::args::ScanArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::monitor::{Monitor, memory};
use crate::output::devices::Device;
use crate::output::formats::{GroupHead, GroupWriter, document, to_json, writer};
use crate::output::problems;
use crate::output::scan_summary::{Summary, totals};
use crate::output::stats::{Clock, Stats};
use crate::output::stdout;
use crate::paths::path_list;
use crate::questions::catalog::open_writer;
use crate::settings::{ScanSettings, Settings, Verbosity};
use checkpoint::Checkpointer;
use noted::{Listed, Noted, NotedChanges};
use search::{SearchResult, add_problems, damaged, search};

/// Runs the command.
pub(crate) fn run(args: ScanArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let mut scan = ScanSettings::new(args, settings)?;
    let mut clock = Clock::start();
    // Signals are not caught yet, so Ctrl-C terminates lop while it waits for another process.
    let writer = match &scan.catalog {
        Some(path) => Some(open_writer(path, settings)?),
        None => None,
    };
    if writer.is_some() {
        scan.walk.own = settings.own();
    }
    let is_first = writer.as_ref().is_some_and(Writer::is_new);
    let progress = Arc::new(Progress::default());
    let monitor = Monitor::begin(&progress, settings)?;
    let ScanResult { tree, result, offline, changed, uncommitted } =
        examine(&scan, settings, writer, &progress, &mut clock)?;
    if monitor.finish().is_err() {
        let is_complete = scan.catalog.is_some() && uncommitted.is_none();
        let text = "interrupted, but the scan is complete and its result is in the catalog";
        let text = if is_complete { text } else { "interrupted" };
        return Err(CommandError::new(Exit::Interrupted, text));
    }
    let found = &result.found;
    let mut summary = Summary::new(&tree, found, clock.total());
    summary.offline = offline;
    if let Some((changed, files, bytes)) = changed {
        let groups = Catalog::open(&settings.catalog()?)?.group_totals()?;
        summary.count_all(changed, (files, bytes), groups);
    }
    summary.hollow = result.hollow;
    if changed.is_none() {
        summary.unmatched_patterns = scan.patterns.unmatched();
    }
    let printed = print_results(&scan, settings, &tree, found, &summary, &progress)?;
    clock.end(|s| &mut s.print);
    let all: Vec<&Problem> = tree.problems.iter().chain(&found.problems).collect();
    problems::print(all.iter().copied(), settings);
    if let Some(format) = scan.format.filter(|_| printed) {
        stdout::print_summary_aside(format, settings, &summary, &summary.text());
    }
    if settings.verbosity == Verbosity::Verbose {
        for device in scan.compare.disks.profiles() {
            settings.note(&Device::from(device).text());
        }
    }
    if changed.is_none() {
        scan.patterns.report_unmatched(settings);
    }
    memory::report_excess(scan.args.memory, settings);
    if scan.args.stats {
        let stats = Stats::new(&progress, summary.files, found, &clock, &scan.compare);
        settings.note(&document(&stats));
    }
    if let Some(error) = uncommitted {
        return Err(error);
    }
    if is_first && summary.groups > 0 && scan.format.is_none() {
        settings.hint("next: lop report");
    }
    if all.is_empty() {
        return Ok(Exit::Done);
    }
    let exit = if tree.roots().is_empty() { Exit::Failed } else { Exit::Partial };
    settings.print_exit_record(exit, &summary.failures().join("; "));
    Ok(exit)
}

/// The result of a scan.
#[derive(Default)]
struct ScanResult {
    tree: Tree,
    result: SearchResult,
    /// Remembered files on a disk that is not mounted.
    offline: u64,
    /// If the scan examined only what `lop watch` had noted: the number of changed files, the number of all files below
    /// the roots, and their size in bytes.
    changed: Option<(u64, u64, u64)>,
    /// Error of a failed commit. The results are printed nevertheless.
    uncommitted: Option<CommandError>,
}

/// Finds the files, groups them and commits the result to the catalog.
fn examine(
    scan: &ScanSettings,
    settings: &Settings,
    mut writer: Option<Writer>,
    progress: &Progress,
    clock: &mut Clock,
) -> Result<ScanResult, CommandError> {
    let started_ms = now_ms();
    let noted = Noted::ask(scan, settings, writer.as_ref())?;
    let position = noted.position;
    let known = writer.as_ref().filter(|writer| !writer.is_new());
    let is_first = known.is_none();
    let mut keys = (!scan.args.paranoid).then(|| ContentKeys::new(scan.compare.digests));
    let Listed { mut tree, mut recall, files, bytes, changed, unreadable } =
        list(scan, known, noted.changes, keys.as_ref(), progress, clock)?;
    let has_nothing = !tree.problems.is_empty() || tree.skipped.pseudo_file_systems > 0;
    if tree.roots().is_empty() && has_nothing {
        // A mistyped path must not create a catalog or a record of a scan.
        return Ok(ScanResult { tree, ..ScanResult::default() });
    }
    let offline = recall.offline();
    InlineReader::collect(&mut tree, &recall.fingerprints, &mut keys);
    clock.end(|s| &mut s.recall);
    let options = scan.options.clone();
    let begun = ScanRecord { started_ms, finished_ms: started_ms, options, files, bytes, position };
    let (result, uncommitted) = std::thread::scope(|scope| {
        // Another thread computes the sizes during the search, so the commit rarely has to wait for them.
        let sizes = (writer.is_some() && changed.is_none()).then(|| {
            scope.spawn(|| {
                runtime::keep_standard_descriptors();
                sizes(&tree)
            })
        });
        let save = writer.as_mut().map(|writer| (writer, begun.clone()));
        let mut result = find_groups(scan, settings, &tree, &mut recall, keys, save, progress)?;
        add_problems(&mut result.found, unreadable);
        if is_first {
            // In a first scan, all known heads were read during the walk and do not come from the catalog.
            result.found.known = 0;
        }
        clock.end(|s| &mut s.compare);
        let sizes = sizes.map_or_else(Vec::new, |thread| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        let (found, record) = (&result.found, ScanRecord { finished_ms: now_ms(), ..begun });
        let uncommitted = writer.and_then(|writer| {
            commit(writer, &tree, recall, found, &record, &sizes, progress).err()
        });
        clock.end(|s| &mut s.commit);
        Ok::<_, CommandError>((result, uncommitted))
    })?;
    let changed = changed.map(|changed| (changed, files, bytes));
    Ok(ScanResult { tree, result, offline, changed, uncommitted })
}

/// Lists the files, or only those that changed, and matches them with the catalog.
fn list(
    scan: &ScanSettings,
    known: Option<&Writer>,
    changes: Option<NotedChanges>,
    keys: Option<&ContentKeys>,
    progress: &Progress,
    clock: &mut Clock,
) -> Result<Listed, CommandError> {
    if let Some((changes, writer)) = changes.zip(known) {
        let listed = changes.find(scan, writer, progress)?;
        clock.end(|s| &mut s.walk);
        return Ok(listed);
    }
    let mut tree = find_files(scan, known.is_some() && !scan.args.reread, keys, progress)?;
    clock.end(|s| &mut s.walk);
    let (files, bytes) = totals(&tree);
    let recall = match known {
        Some(writer) if scan.args.reread => writer.catalog().match_tree_for_reread(&mut tree)?,
        Some(writer) => writer.catalog().match_tree(&mut tree, true)?,
        None => TreeMatch::empty(&tree),
    };
    Ok(Listed { tree, recall, files, bytes, changed: None, unreadable: Vec::new() })
}

/// Finds the groups. If there is a catalog, the results so far are saved at intervals and on an interrupt.
fn find_groups(
    scan: &ScanSettings,
    settings: &Settings,
    tree: &Tree,
    recall: &mut TreeMatch,
    keys: Option<ContentKeys>,
    save: Option<(&mut Writer, ScanRecord)>,
    progress: &Progress,
) -> Result<SearchResult, CommandError> {
    let suspects = recall.suspects().to_vec();
    let TreeMatch { fingerprints, rows } = recall;
    let fingerprints = &*fingerprints;
    let search = || search(scan, tree, fingerprints, keys, &suspects, progress);
    let Some((writer, record)) = save else { return Ok(search()?) };
    let mut checkpointer = Checkpointer {
        writer,
        rows,
        tree,
        fingerprints,
        record,
        every: scan.save_every,
        progress,
        candidates: None,
        rereads: scan.args.reread,
        has_reported: false,
    };
    checkpointer.search_and_save(settings, search).map_err(|_interrupted| {
        let problems: Vec<Problem> = damaged(tree, fingerprints, &suspects).collect();
        problems::print(&problems, settings);
        checkpointer.save_interrupted()
    })
}

fn commit(
    writer: Writer,
    tree: &Tree,
    recall: TreeMatch,
    found: &Found,
    record: &ScanRecord,
    sizes: &[ScanSizes],
    progress: &Progress,
) -> Result<(), CommandError> {
    progress.enter(Stage::Commit);
    progress.saving.store(true, Relaxed);
    let copies = found.groups.iter().filter_map(|group| {
        let Group { content, inodes, reclaimable, .. } = *group.value;
        content.map(|content| CopyCount { content, inodes, reclaimable })
    });
    let problems: Vec<&Problem> = tree.problems.iter().chain(&found.problems).collect();
    writer.commit(tree, recall, copies, &problems, record, sizes).map_err(|error| {
        CommandError::from(error).hint("the catalog is as it was before this scan")
    })
}

/// Returns the sizes of the directories below each root, so that later scans can be compared with this one.
fn sizes(tree: &Tree) -> Vec<ScanSizes> {
    let roots = tree.roots().iter().filter(|root| root.whole);
    roots
        .map(|root| ScanSizes { root: root.absolute.clone(), data: space::encode(tree, root) })
        .collect()
}

fn find_files(
    scan: &ScanSettings,
    known: bool,
    keys: Option<&ContentKeys>,
    progress: &Progress,
) -> Result<Tree, CommandError> {
    let ScanArgs { files_from, null, .. } = &scan.args;
    if let Some(list) = files_from {
        return path_list::find_files(list, *null, &scan.walk.filter, progress);
    }
    // Files are read during the walk only if there is no catalog that could supply their fingerprints.
    let reader = (!known).then(|| InlineReader::new(keys, progress));
    let visitor = reader.as_ref().map(|reader| reader as &dyn walk::Visitor);
    walk::walk(&scan.roots(), &scan.walk, visitor, progress)
        .map_err(|_interrupted| interrupted_walk(scan))
}

/// Returns the error for an interrupt during the walk. The partial result of the walk is discarded. The next scan lists
/// all directories anyway, and an incomplete list does not show which files were deleted.
fn interrupted_walk(scan: &ScanSettings) -> CommandError {
    let text = match scan.catalog {
        Some(_) => "interrupted before all files were listed; the catalog was not changed",
        None => "interrupted",
    };
    CommandError::new(Exit::Interrupted, text)
}

/// Prints the results to standard output. Returns whether all output was written before the reader closed the pipe.
fn print_results(
    scan: &ScanSettings,
    settings: &Settings,
    tree: &Tree,
    found: &Found,
    summary: &Summary,
    progress: &Progress,
) -> Result<bool, CommandError> {
    match scan.format {
        Some(format) => stdout::print(|out| {
            let mut writer = writer(format, out, settings.stdout);
            write_groups(&mut *writer, tree, found, progress)?;
            writer.finish(&to_json(summary))
        }),
        None => stdout::print_summary_or_text(summary, summary.text().trim_end(), settings),
    }
}

fn write_groups(
    writer: &mut dyn GroupWriter,
    tree: &Tree,
    found: &Found,
    progress: &Progress,
) -> io::Result<()> {
    let mut path = Vec::new();
    for group in found.groups.iter() {
        writer.begin(&GroupHead {
            size: group.size,
            digest: group.digest,
            files: group.files.len() as u64,
            inodes: group.inodes.into(),
            reclaimable_bytes: group.reclaimable,
        })?;
        for &file in group.files {
            progress.relieve_memory();
            tree.path_into(file, &mut path);
            writer.file(&path, None)?;
        }
        writer.end()?;
    }
    Ok(())
}
