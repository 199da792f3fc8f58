//! Scans only the changes since the last scan, if a running `lop watch` has noted them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use action::run::Runs;
use catalog::{Catalog, TreeMatch, UnusableScan, WatchPosition, WatchedScan, Writer};
use content::Fingerprints;
use dupes::{Part, Work, read_wanted, wanted};
use runtime::{Interrupted, Progress};
use walk::{Changes, FileId, Problem, Tree};
use watch::{Answer, Entries, NoWatcher, Position};

use crate::error::CommandError;
use crate::settings::{ScanSettings, Settings, Verbosity};

/// Maximum time to wait for the watcher. The watcher answers at once, unless a busy system delays it.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// The answer of a watcher about the roots of a scan.
#[derive(Default)]
pub(super) struct Noted {
    /// The position of the watcher before the scan. `None` if no watcher runs, or if the scan cannot use it.
    pub(super) position: Option<WatchPosition>,
    /// The changes since the last scan. `None` if these are unknown, so the scan has to examine everything.
    pub(super) changes: Option<NotedChanges>,
}

/// The changes since the last scan, and the last scan itself.
pub(super) struct NotedChanges {
    entries: Changes,
    last: WatchedScan,
}

/// The files of a scan, matched with the catalog.
pub(super) struct Listed {
    pub(super) tree: Tree,
    pub(super) recall: TreeMatch,
    /// Number of files below the roots.
    pub(super) files: u64,
    /// Total size of these files in bytes.
    pub(super) bytes: u64,
    /// Number of files that are new, changed or gone. `None` if the scan examined everything.
    pub(super) changed: Option<u64>,
    /// Changed files that cannot be read.
    pub(super) unreadable: Vec<Problem>,
}

/// The reason why a scan does not use the notes of a watcher.
enum Unused {
    /// The user requested a scan of everything, or there is nothing to compare with.
    Expected,
    /// The reason as text.
    Because(String),
    /// The watcher has ended, or does not answer. In the second case, the user knows from a message.
    NoAnswer,
    Failed(CommandError),
}

impl<E: Into<CommandError>> From<E> for Unused {
    fn from(error: E) -> Unused {
        Unused::Failed(error.into())
    }
}

impl Noted {
    /// Asks the watcher of the catalog. Prints a message if a watcher runs but its answer requires the scan to examine
    /// everything.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read. The catalog is unchanged.
    pub(super) fn ask(
        scan: &ScanSettings,
        settings: &Settings,
        writer: Option<&Writer>,
    ) -> Result<Noted, CommandError> {
        let (Some(catalog), Some(writer)) = (&scan.catalog, writer) else {
            return Ok(Noted::default());
        };
        let client = Client { catalog, settings };
        // This question names no roots. If no watcher runs, this function does not access the roots, because a root on
        // a dead mount would block it.
        if client.ask(&[], None).is_none() {
            return Ok(Noted::default());
        }
        let (roots, unused) = match roots(scan) {
            Ok(roots) => match client.changes(scan, writer, &roots) {
                Ok(noted) => return Ok(noted),
                Err(unused) => (roots, unused),
            },
            Err(reason) => (Vec::new(), Unused::Because(reason)),
        };
        match unused {
            Unused::Failed(error) => return Err(error),
            Unused::NoAnswer => return Ok(Noted::default()),
            Unused::Because(reason) if settings.verbosity != Verbosity::Quiet => {
                settings.note(&format!("examining everything: {reason}"));
            }
            Unused::Because(_) | Unused::Expected => {}
        }
        if roots.is_empty() {
            return Ok(Noted::default());
        }
        let answer = client.ask(&roots, None);
        Ok(Noted { position: answer.map(|answer| of_catalog(answer.position)), changes: None })
    }
}

/// A client of the watcher of a catalog.
struct Client<'a> {
    catalog: &'a Path,
    settings: &'a Settings,
}

impl Client<'_> {
    /// Returns the answer of the watcher. Prints a message if a watcher runs but does not answer.
    fn ask(&self, roots: &[PathBuf], since: Option<Position>) -> Option<Answer> {
        match watch::ask(self.catalog, roots, since, ANSWER_TIMEOUT) {
            Ok(answer) => Some(answer),
            Err(NoWatcher::NotRunning) => None,
            Err(error) => {
                self.settings.report(
                    &CommandError::failed(
                        "cannot get the changes from 'lop watch', so the scan examines everything",
                    )
                    .because(error),
                );
                None
            }
        }
    }

    /// Returns the changes below `roots` since their last scans.
    fn changes(
        &self,
        scan: &ScanSettings,
        writer: &Writer,
        roots: &[PathBuf],
    ) -> Result<Noted, Unused> {
        if writer.is_new() || scan.examines_all() {
            return Err(Unused::Expected);
        }
        let catalog = writer.catalog();
        let absolute: Vec<&[u8]> = roots.iter().map(|root| bytes(root)).collect();
        let mut last = match catalog.watched_scan(&absolute, &scan.options)? {
            Ok(last) => last,
            Err(UnusableScan::New(_)) => return Err(Unused::Expected),
            Err(unusable) => return Err(Unused::Because(unusable.to_string())),
        };
        let since = Position { session: last.position.watcher, number: last.position.number };
        let answer = self.ask(roots, Some(since)).ok_or(Unused::NoAnswer)?;
        let noted = answer.changes.map_err(|reason| Unused::Because(reason.to_string()))?;
        // A full scan does not need these indexes.
        writer.index_for_changes().map_err(|error| Unused::Because(error.to_string()))?;
        let unsettled = catalog.unsettled(&absolute)?.ok_or_else(|| {
            Unused::Because(
                "the last scan left too many files that have to be examined again".into(),
            )
        })?;
        let mut entries = Changes::default();
        for path in &unsettled {
            entries.add_tree(path);
        }
        for path in &catalog.paths_of_inodes(&noted.inodes)? {
            entries.add_entry(path);
        }
        for dir in &noted.dirs {
            add(&mut entries, &dir.path, &dir.entries);
        }
        if self.may_have_run_since(&last) {
            // lop has also updated the rows of the files that it changed, so the notes do not tell their number.
            let sizes = scan.walk.filter.sizes();
            (last.files, last.bytes) = catalog.count_below(&absolute, &sizes)?;
        }
        let position = Some(of_catalog(answer.position));
        Ok(Noted { position, changes: Some(NotedChanges { entries, last }) })
    }

    /// Returns whether lop itself may have changed files since a scan started.
    fn may_have_run_since(&self, last: &WatchedScan) -> bool {
        let changed_ms = Runs::last_change_ms(&Catalog::runs_dir(self.catalog));
        // The scan does not need the journals, so unreadable ones are no error here.
        changed_ms.map_or(true, |ms| ms.is_some_and(|ms| ms >= last.started_ms))
    }
}

/// Adds the changes in one directory.
fn add(changes: &mut Changes, dir: &[u8], entries: &Entries) {
    match entries {
        Entries::All => changes.add_listing(dir),
        Entries::Tree => changes.add_tree(dir),
        Entries::Names(names) => {
            let mut path = Vec::new();
            for (name, is_new_dir) in names {
                path.clear();
                path.extend_from_slice(dir);
                walk::push_component(&mut path, name);
                if *is_new_dir { changes.add_tree(&path) } else { changes.add_entry(&path) }
            }
        }
    }
}

impl NotedChanges {
    /// Finds the changed files, reads their heads, and adds the remembered files that may be identical to them.
    ///
    /// # Errors
    ///
    /// Fails on an interrupt, or if the catalog cannot be read. The catalog is unchanged.
    pub(super) fn find(
        self,
        scan: &ScanSettings,
        writer: &Writer,
        progress: &Progress,
    ) -> Result<Listed, CommandError> {
        // Other processes can record decisions while this scan walks and reads, because it then holds no snapshot.
        let catalog = writer.catalog();
        let (mut entries, mut requested) = (self.entries, HashSet::new());
        let (mut tree, mut found) = loop {
            let tree = walk_changes(scan, &entries, progress)?;
            let (found, mut further) = catalog.look_up(|| {
                let mut found = catalog.match_changes(&tree)?;
                let further = found.further_names(catalog, &tree)?;
                Ok::<_, catalog::Error>((found, further))
            })?;
            // The watcher noted a change under one name of an inode, but the change affects all names of the inode. The
            // loop adds each further name only once, because the walk may be unable to reach a name, for example if a
            // file system is mounted above it. The row of such a name stays unchanged.
            further.retain(|path| requested.insert(path.clone()));
            if further.is_empty() {
                break (tree, found);
            }
            for path in &further {
                entries.add_entry(path);
            }
        };
        let growth = found.growth(&tree, &scan.walk.filter.sizes());
        let unread = catalog.look_up(|| found.without_head(catalog, &tree))?;
        let unreadable = read_heads(scan, &tree, found.fingerprints(), &unread, progress)?;
        let recall = catalog.look_up(|| found.add_candidates(catalog, &mut tree))?;
        Ok(Listed {
            tree,
            recall,
            files: self.last.files.saturating_add_signed(growth.files),
            bytes: self.last.bytes.saturating_add_signed(growth.bytes),
            changed: Some(growth.changed),
            unreadable,
        })
    }
}

fn walk_changes(
    scan: &ScanSettings,
    changes: &Changes,
    progress: &Progress,
) -> Result<Tree, CommandError> {
    let mut options = scan.walk.clone();
    options.changes = Some(changes.clone().into());
    walk::walk(&scan.roots(), &options, None, progress)
        .map_err(|_interrupted| super::interrupted_walk(scan))
}

/// Reads the heads of files, and returns those that cannot be read. The search for duplicates does not read such a file
/// again if the tree contains no other file of its size.
fn read_heads(
    scan: &ScanSettings,
    tree: &Tree,
    fingerprints: &Fingerprints,
    files: &[FileId],
    progress: &Progress,
) -> Result<Vec<Problem>, Interrupted> {
    let work = Work::new(tree, fingerprints, &scan.compare, progress);
    let is_wanted = |file| files.binary_search(&file).is_ok().then_some(Part::Head);
    let mut problems = Vec::new();
    for batch in wanted(tree, is_wanted) {
        problems.extend(read_wanted(&work, &batch)?);
    }
    Ok(problems)
}

/// Returns the roots as absolute paths without links. Fails with the reason if one of them is not a directory, or if
/// the scan reads its paths from a list.
fn roots(scan: &ScanSettings) -> Result<Vec<PathBuf>, String> {
    if scan.args.files_from.is_some() {
        return Err(
            "the notes of 'lop watch' are about directories, not about a list of files".into()
        );
    }
    let absolute = |root: PathBuf| {
        let real = root.canonicalize().ok().filter(|real| real.is_dir());
        real.ok_or_else(|| format!("{} is not a directory", root.display()))
    };
    scan.roots().into_iter().map(absolute).collect()
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

fn of_catalog(position: Position) -> WatchPosition {
    WatchPosition { watcher: position.session, number: position.number }
}
