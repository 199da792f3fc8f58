//! A catalog in its own directory, and operations on it for tests.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use catalog::{Catalog, CopyCount, Entry, Error, Findings, ScanRecord, TreeMatch, Writer};
use content::Fingerprints;
use rusqlite::Connection;
use rusqlite::types::Value;
use testkit::TempTree;
use walk::{Changes, FileId, Problem, Tree};

use crate::disk::{bytes, ids, walked, walked_changes};
use crate::engine::{compare, read_head};

/// A catalog in its own directory.
pub(crate) struct Sandbox {
    dir: TempTree,
}

impl Sandbox {
    pub(crate) fn new() -> Sandbox {
        Sandbox { dir: TempTree::in_memory() }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.beside("")
    }

    pub(crate) fn beside(&self, suffix: &str) -> PathBuf {
        self.dir.join(format!("state/lop.db{suffix}"))
    }

    /// Creates the directory, for catalogs that are not created by a writer.
    pub(crate) fn make_dir(&self) {
        fs::create_dir_all(self.path().parent().expect("a directory")).expect("made");
    }

    /// Opens the catalog for changes.
    ///
    /// Even a single writer may have to wait for the lock. The workers of a walk in another test's
    /// thread may hold copies of the lock's descriptor, and a lock is free only after the last copy
    /// is closed.
    pub(crate) fn writer(&self) -> Writer {
        Writer::open(&self.path(), |_| ()).expect("opens")
    }

    pub(crate) fn catalog(&self) -> Catalog {
        Catalog::open(&self.path()).expect("opens")
    }

    /// Returns what is remembered about a file.
    pub(crate) fn entry(&self, path: &Path) -> Option<Entry> {
        let dir = bytes(path.parent().expect("a directory"));
        let name = path.file_name().expect("a name").as_encoded_bytes();
        self.catalog().file(&dir, name).expect("query succeeds")
    }

    /// Scans as if all files were old enough to be trusted.
    pub(crate) fn scan(&self, roots: &[&Path]) -> Scan {
        self.scan_at(roots, later())
    }

    /// Scans as if the scan started at this time.
    pub(crate) fn scan_at(&self, roots: &[&Path], started: SystemTime) -> Scan {
        self.learn(walked(roots), started, compare)
    }

    /// Scans only the noted entries, as if the scan started at this time. If `saves`, saves the results before and
    /// after the files are compared, as long scans do. Returns how many files the scan read or compared.
    pub(crate) fn scan_changes(
        &self,
        roots: &[&Path],
        notes: Changes,
        started: SystemTime,
        saves: bool,
    ) -> usize {
        self.scan_changes_while(roots, notes, started, saves, || ())
    }

    /// Scans only the noted entries like [`Sandbox::scan_changes`], and calls `meanwhile` before it compares the files.
    pub(crate) fn scan_changes_while(
        &self,
        roots: &[&Path],
        mut notes: Changes,
        started: SystemTime,
        saves: bool,
        meanwhile: impl FnOnce(),
    ) -> usize {
        let mut writer = self.writer();
        writer.index_for_changes().expect("indexed");
        let catalog = writer.catalog();
        let absolute: Vec<Vec<u8>> = roots.iter().map(|root| bytes(root)).collect();
        let absolute: Vec<&[u8]> = absolute.iter().map(Vec::as_slice).collect();
        for path in catalog.unsettled(&absolute).expect("query succeeds").expect("few") {
            notes.add_tree(&path);
        }
        let mut requested = HashSet::new();
        let (mut tree, found) = loop {
            let tree = walked_changes(roots, Some(notes.clone()));
            let mut found = catalog.match_changes(&tree).expect("matches");
            let mut further = found.further_names(catalog, &tree).expect("query succeeds");
            // A new file may have the inode number of a file outside the roots that is gone.
            further.retain(|path| requested.insert(path.clone()));
            if further.is_empty() {
                break (tree, found);
            }
            for path in &further {
                notes.add_entry(path);
            }
        };
        for file in found.without_head(catalog, &tree).expect("query succeeds") {
            read_head(&tree, found.fingerprints(), file);
        }
        let mut matched = found.add_candidates(catalog, &mut tree).expect("adds");
        let problems: Vec<&Problem> = tree.problems.iter().collect();
        let (files, record) = (tree.files().len(), record(started));
        if saves {
            save(&mut writer, &tree, &mut matched, &record);
        }
        meanwhile();
        let copies = compare(&tree, &matched.fingerprints);
        if saves {
            save(&mut writer, &tree, &mut matched, &record);
        }
        writer
            .commit(&tree, matched, copies.into_iter(), &problems, &record, &[])
            .expect("commits");
        files
    }

    /// Commits a tree with what `engine` finds out about its files.
    pub(crate) fn learn(
        &self,
        mut tree: Tree,
        started: SystemTime,
        engine: impl FnOnce(&Tree, &Fingerprints) -> Vec<CopyCount>,
    ) -> Scan {
        let (writer, walked) = (self.writer(), tree.files().len());
        let match_tree = match_tree(&writer, &mut tree);
        let fingerprints = &match_tree.fingerprints;
        let known =
            |id: FileId| fingerprints.head(id.0).is_some() || fingerprints.content(id.0).is_some();
        let known = ids(&tree).map(known).collect();
        let copies = engine(&tree, fingerprints);
        let record = record(started);
        writer.commit(&tree, match_tree, copies.into_iter(), &[], &record, &[]).expect("commits");
        Scan { tree, walked, known }
    }

    /// Scans, reports `problems`, and calls `probe` in the middle of the transaction.
    pub(crate) fn try_scan(
        &self,
        roots: &[&Path],
        problems: &[&Problem],
        probe: impl FnOnce(),
    ) -> Result<(), Error> {
        let (writer, mut tree) = (self.writer(), walked(roots));
        let match_tree = match_tree(&writer, &mut tree);
        let copies = compare(&tree, &match_tree.fingerprints);
        let record = record(later());
        writer.commit(&tree, match_tree, probing(probe, copies), problems, &record, &[])
    }

    /// Changes the database directly with SQL.
    pub(crate) fn run(&self, sql: &str) {
        let database = Connection::open(self.path()).expect("opens");
        database.execute_batch(sql).expect("runs");
    }

    /// Returns the first column of the result of a query, as text.
    pub(crate) fn query(&self, sql: &str) -> Vec<String> {
        let database = Connection::open(self.path()).expect("opens");
        column(&database, sql)
    }

    /// Returns every row of every table.
    pub(crate) fn rows(&self) -> Vec<String> {
        rows(&self.path())
    }
}

/// The result of a scan.
pub(crate) struct Scan {
    pub(crate) tree: Tree,
    /// Number of files that the walk found. The other files were added from the catalog.
    walked: usize,
    /// For each file, true if anything was known about its content.
    known: Vec<bool>,
}

impl Scan {
    /// Returns the names of those walked files that had a known head or content.
    pub(crate) fn known(&self) -> Vec<String> {
        let known = ids(&self.tree).take(self.walked).filter(|id| self.known[id.0 as usize]);
        let mut names: Vec<String> =
            known.map(|id| self.tree.name(id).to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Returns the paths of the files that were added from the catalog.
    pub(crate) fn added(&self) -> Vec<Vec<u8>> {
        ids(&self.tree).skip(self.walked).map(|id| self.tree.path(id)).collect()
    }
}

/// Saves what is known about the files of a scan that is not finished.
pub(crate) fn save(writer: &mut Writer, tree: &Tree, matched: &mut TreeMatch, record: &ScanRecord) {
    let TreeMatch { fingerprints, rows } = matched;
    let pending = Some(&vec![true; tree.files().len()][..]);
    let found = Findings { tree, fingerprints, problems: &[], record, pending };
    writer.save(rows, &found).expect("saves");
}

/// Matches a tree with the catalog the way the program does.
pub(crate) fn match_tree(writer: &Writer, tree: &mut Tree) -> TreeMatch {
    if writer.is_new() {
        return TreeMatch::empty(tree);
    }
    writer.catalog().match_tree(tree, true).expect("matches")
}

/// Returns a time in the future at which all files are old enough to be trusted.
pub(crate) fn later() -> SystemTime {
    SystemTime::now() + Duration::from_secs(10)
}

pub(crate) fn record(started: SystemTime) -> ScanRecord {
    let since = started.duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
    let started_ms = i64::try_from(since.as_millis()).expect("before the end of time");
    let options = "--empty".to_string();
    ScanRecord {
        started_ms,
        finished_ms: started_ms + 5,
        options,
        files: 7,
        bytes: 70,
        position: None,
    }
}

/// Returns copy counts, and calls `probe` before the first one. A commit iterates over the counts
/// inside its transaction, after it has written the files.
pub(crate) fn probing(
    probe: impl FnOnce(),
    copies: Vec<CopyCount>,
) -> impl Iterator<Item = CopyCount> {
    let probed = std::iter::once_with(move || {
        probe();
        None
    });
    probed.flatten().chain(copies)
}

/// Returns every row of every table of a database.
pub(crate) fn rows(path: &Path) -> Vec<String> {
    let database = Connection::open(path).expect("opens");
    let tables =
        column(&database, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name");
    let mut all = Vec::new();
    for table in tables {
        let mut query = database.prepare(&format!("SELECT * FROM {table}")).expect("a query");
        let columns = query.column_count();
        let text = |row: &rusqlite::Row<'_>| {
            let values: Vec<Value> = (0..columns).map(|n| row.get(n)).collect::<Result<_, _>>()?;
            Ok(format!("{table} {values:?}"))
        };
        all.extend(query.query_map([], text).expect("rows").map(|row| row.expect("a row")));
    }
    all
}

fn column(database: &Connection, sql: &str) -> Vec<String> {
    let mut query = database.prepare(sql).expect("a query");
    let text = |row: &rusqlite::Row<'_>| {
        Ok(match row.get(0)? {
            Value::Null => "NULL".to_string(),
            Value::Integer(n) => n.to_string(),
            Value::Real(n) => n.to_string(),
            Value::Text(text) => text,
            Value::Blob(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        })
    };
    query.query_map([], text).expect("rows").map(|row| row.expect("a row")).collect()
}

/// Returns the error from opening a catalog for queries.
pub(crate) fn refusal(path: &Path) -> Error {
    match Catalog::open(path) {
        Ok(_) => panic!("{} was opened", path.display()),
        Err(error) => error,
    }
}

/// Returns the errors from opening a catalog for queries and for changes.
pub(crate) fn refusals(path: &Path) -> [Error; 2] {
    match Writer::open(path, |_| ()) {
        Ok(_) => panic!("{} was opened to be changed", path.display()),
        Err(error) => [refusal(path), error],
    }
}
