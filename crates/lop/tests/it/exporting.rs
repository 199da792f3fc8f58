//! `lop export` and `lop import`: the files of an export, and catalogs that were made of one.

mod engines;
mod errors;
mod kills;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rusqlite::types::Value as Cell;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use testkit::{
    Ending, FileSystem, Mount, Output, TreeBuilder, groups_of, hostile_tree, parse_nul,
    relative_to, skipped,
};

use crate::lop::{Lop, assert_whole, document, settle};

/// Returns the program with a catalog of three groups, one of them with hard links, and a file
/// without a copy.
fn scanned() -> Lop {
    let tree = TreeBuilder::new()
        .file("d/a", "alike")
        .file("d/sub/b", "alike")
        .hard_links("linked", &["d/l1", "d/l2"])
        .file("e/copy of l", "linked")
        .seeded("e/large", 1, 100_000)
        .seeded("e/large too", 1, 100_000)
        .file("e/alone", "without a copy");
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    lop
}

impl Lop {
    /// Exports the catalog as `host` to the folder `fleet` in the home, and returns the folder of the
    /// export.
    #[track_caller]
    fn export_as(&self, host: &str, more: &[&str]) -> PathBuf {
        let fleet = self.fleet();
        let output =
            self.command().args(["export", "--json", "--host", host]).args(more).arg(&fleet).run();
        output.success();
        let path = document(&output)["summary"]["path"].as_str().expect("a path").to_owned();
        PathBuf::from(path)
    }

    /// Returns the folder that the exports of all hosts are in.
    fn fleet(&self) -> PathBuf {
        self.home().join("fleet")
    }

    /// Imports an export into a new catalog, and returns the path of the catalog.
    #[track_caller]
    fn import(&self, export: &Path, name: &str) -> PathBuf {
        let catalog = self.home().join(name);
        let import = self.command().arg("import").arg("--catalog").arg(&catalog).arg(export);
        import.run().success();
        assert_whole(&catalog);
        catalog
    }

    /// Runs a command with another catalog.
    fn ask(&self, catalog: &Path, args: &[&str]) -> Output {
        self.command().args(args).arg("--catalog").arg(catalog).run()
    }
}

/// Returns the names in a folder.
fn names_in(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .collect()
}

/// Returns the manifest of an export.
fn manifest(export: &Path) -> Value {
    let text = fs::read(export.join("_MANIFEST.json")).expect("a manifest");
    serde_json::from_slice(&text).expect("JSON")
}

/// Returns a number from a database.
fn number(database: &Connection, sql: &str) -> u64 {
    let number: i64 = database.query_row(sql, [], |row| row.get(0)).expect("a number");
    number.cast_unsigned()
}

/// Returns the sorted rows of a query.
fn rows(catalog: &Path, sql: &str) -> Vec<String> {
    let database = Connection::open_with_flags(catalog, OpenFlags::SQLITE_OPEN_READ_ONLY);
    let database = database.expect("a catalog");
    let mut query = database.prepare(sql).expect("a query");
    let columns = query.column_count();
    let row = |row: &rusqlite::Row<'_>| {
        (0..columns).map(|at| row.get(at)).collect::<Result<Vec<Cell>, _>>()
    };
    let all = query.query_map([], row).expect("runs");
    let mut all: Vec<String> = all.map(|row| format!("{:?}", row.expect("a row"))).collect();
    all.sort();
    all
}

/// Asserts that two catalogs have the same rows, except for those that an export leaves out.
#[track_caller]
fn assert_same_catalogs(one: &Path, other: &Path) {
    for sql in [
        "SELECT * FROM volume",
        "SELECT * FROM scan WHERE id IN (SELECT scan FROM root UNION SELECT scan FROM problem)",
        "SELECT * FROM root",
        "SELECT * FROM problem",
        "SELECT * FROM dir",
        "SELECT * FROM file",
        "SELECT * FROM content WHERE id IN (SELECT content FROM file)",
    ] {
        let (expected, found) = (rows(one, sql), rows(other, sql));
        assert_eq!(expected, found, "{sql}");
    }
}

#[test]
fn an_export_is_a_folder_of_tables_with_the_rows_of_the_catalog() {
    let lop = scanned();
    let output = lop.command().args(["export", "--host", "nas"]).arg(lop.fleet()).run();
    let said = output.success().stdout_str();
    let exports = names_in(&lop.fleet().join("nas"));
    assert_eq!(exports.len(), 1);
    let export = lop.fleet().join("nas").join(exports.first().expect("one"));
    let begins = format!("7 files of nas exported to {}, ", export.display());
    assert!(said.starts_with(&begins) && said.ends_with(" KiB\n"), "{said}");
    let tables = ["contents", "dirs", "inodes-0", "inodes-1", "names", "problems"];
    let files = tables.map(|table| format!("{table}.parquet"));
    assert_eq!(
        names_in(&export),
        [&["_MANIFEST.json".into()], &files[..]].concat().into_iter().collect()
    );
    for file in &files {
        let bytes = fs::read(export.join(file)).expect("a file");
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"), "{file}");
    }
    let manifest = manifest(&export);
    assert_eq!((&manifest["host"], &manifest["schema_version"]), (&"nas".into(), &1.into()));
    let rows_of = |table: &str| -> u64 {
        let files = manifest["tables"][table].as_array().expect("a list");
        files.iter().map(|file| file["rows"].as_u64().expect("a number")).sum()
    };
    let database = lop.database();
    for (table, sql) in [
        ("inodes", "SELECT count(*) FROM (SELECT DISTINCT volume, inode FROM file)"),
        ("names", "SELECT count(*) FROM file"),
        ("dirs", "SELECT count(*) FROM dir"),
        ("contents", "SELECT count(*) FROM content"),
        ("problems", "SELECT count(*) FROM problem"),
    ] {
        assert_eq!(rows_of(table), number(&database, sql), "{table}");
    }
}

#[test]
fn the_summary_counts_files_names_and_bytes() {
    let lop = scanned();
    let summary = lop.json(["export", "--host", "nas", "../home/fleet"])["summary"].clone();
    let path = summary["path"].as_str().expect("a path");
    let sizes =
        names_in(&lop.work().join(path)).into_iter().filter(|name| name.ends_with(".parquet"));
    let bytes: u64 = sizes
        .map(|name| fs::metadata(lop.work().join(path).join(name)).expect("a file").len())
        .sum();
    let expected = serde_json::json!({
        "host": "nas", "path": path, "names": 8, "files": 7, "undigested": 0,
        "without_digest": 1, "bytes": bytes
    });
    assert_eq!(summary, expected);
    let imported = lop.json(["import", "--catalog", "nas.db", path])["summary"].clone();
    let catalog = lop.path("nas.db").display().to_string();
    assert_eq!(imported, serde_json::json!({ "host": "nas", "path": catalog, "names": 8 }));
}

#[test]
fn the_name_of_the_host_is_the_default() {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    let name = name.trim();
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        return skipped(format!("the host has the odd name {name}"));
    }
    let lop = scanned();
    let summary = lop.json(["export", "fleet"])["summary"].clone();
    assert_eq!(summary["host"], name);
    assert_eq!(names_in(&lop.path("fleet")), BTreeSet::from([name.to_owned()]));
    let in_json = manifest(
        &lop.path("fleet")
            .join(name)
            .join(names_in(&lop.path("fleet").join(name)).first().expect("an export")),
    );
    assert_eq!(in_json["host"], name);
}

#[test]
fn an_imported_catalog_of_odd_names_gives_the_same_answers() {
    let lop = Lop::new();
    hostile_tree(lop.work());
    settle();
    // A user who is not root cannot read everything.
    let scan = lop.run(["scan", "--hash-all", "."]);
    assert!(matches!(scan.ending, Ending::Code(0 | 3)), "{scan:?}");
    let imported = lop.import(&lop.export_as("nas", &[]), "imported.db");
    assert_same_catalogs(&lop.catalog(), &imported);
    for command in [
        &["report", "--format", "nul", "--limit", "0"][..],
        &["report", "--dirs", "--format", "json"],
        &["ls", "--json", "."],
        &["dups", "--format", "csv", "."],
        &["uniques", "--format", "nul", "--anywhere", "."],
        &["file", "CASE", "linked 1"],
        &["space", "--json", "."],
    ] {
        let (own, other) = (lop.run(command), lop.ask(&imported, command));
        assert_eq!((&own.stdout, own.ending), (&other.stdout, other.ending), "{command:?}");
        assert!(!own.stdout.is_empty(), "{command:?}");
    }
    // Nothing has to be read again.
    let args = ["scan", "--stats", "--hash-all", "."];
    let figures = crate::lop::Figures::of(&lop.ask(&imported, &args));
    figures.assert_nothing_read();
}

#[test]
fn a_catalog_of_several_scans_and_problems_survives() {
    let lop = scanned();
    lop.remember(["d"]);
    lop.lay(&TreeBuilder::new().file("d/new", "alike"));
    settle();
    lop.remember(["."]);
    let database = lop.database();
    let changes = [
        "UPDATE file SET state = 2 WHERE name = x'61'",
        "UPDATE file SET state = 1, head = NULL, content = NULL WHERE name = x'6e6577'",
        "UPDATE file SET mtime_ns = -1, inode = -2 WHERE name = x'616c6f6e65'",
        "INSERT INTO problem SELECT max(id), x'2fff0a', 'Input/output error' FROM scan",
    ];
    for sql in changes {
        assert_eq!(database.execute(sql, []).expect("changed"), 1, "{sql}");
    }
    let imported = lop.import(&lop.export_as("nas", &[]), "imported.db");
    // The content of a damaged file is not exported.
    let sql = "UPDATE file SET head = NULL, content = NULL WHERE state = 2";
    assert_eq!(database.execute(sql, []).expect("changed"), 1);
    assert_same_catalogs(&lop.catalog(), &imported);
}

#[test]
fn files_on_a_disk_that_is_elsewhere_are_offline() {
    let Ok(mount) = Mount::new(FileSystem::Ext4, 16 << 20).map_err(skipped) else { return };
    TreeBuilder::new().file("x", "alike").file("y", "alike").make(&mount);
    let lop = Lop::new();
    settle();
    lop.remember([mount.path()]);
    let imported = lop.import(&lop.export_as("nas", &[]), "imported.db");
    let groups = |output: &Output| relative_to(mount.path(), &parse_nul(&output.stdout));
    let report = ["report", "--format", "nul"];
    assert_eq!(groups(&lop.ask(&imported, &report)), groups_of([["x", "y"]]));
    let away = mount.away().expect("unmounted");
    let disks = document(&lop.ask(&imported, &["status", "--json"]))["disks"].clone();
    assert_eq!((disks[0]["offline"].clone(), disks[0]["files"].clone()), (true.into(), 2.into()));
    let output = lop.ask(&imported, &["refresh", "--json"]);
    assert_eq!(document(&output)["summary"]["offline"], 2);
    let space = lop.ask(&imported, &["space"]);
    assert!(space.success().stdout_str().contains("(offline)"), "{space:?}");
    // SQL answers for files that are not here.
    let paths = rows(&imported, "SELECT path FROM files WHERE digest IS NOT NULL");
    assert_eq!(paths.len(), 2);
    drop(away);
}

#[test]
fn a_keyed_export_shows_neither_names_nor_digests() {
    let lop = scanned();
    fs::write(lop.path("key"), [7; 32]).expect("written");
    fs::write(lop.path("other key"), [8; 32]).expect("written");
    let digest: [u8; 32] = lop
        .database()
        .query_row("SELECT digest FROM content WHERE digest IS NOT NULL", [], |row| row.get(0))
        .expect("a digest");
    let shows = |export: &Path, part: &[u8]| {
        let files = names_in(export).into_iter().map(|name| fs::read(export.join(name)));
        files.flatten().any(|bytes| bytes.windows(part.len()).any(|window| window == part))
    };
    let work = lop.work();
    let root = work.as_os_str().as_bytes();
    let plain = lop.export_as("plain", &[]);
    assert!(shows(&plain, &digest) && shows(&plain, b"copy of l") && shows(&plain, root));
    let keyed = lop.export_as("keyed", &["--key", "key"]);
    let nameless = lop.export_as("nameless", &["--key", "key", "--names", "none"]);
    for export in [&keyed, &nameless] {
        for part in [&digest[..], b"copy of l", b"alone", root] {
            assert!(!shows(export, part), "{}", export.display());
        }
    }
    let no_names = names_in(&keyed).difference(&names_in(&nameless)).cloned().collect::<Vec<_>>();
    assert_eq!(no_names, ["dirs.parquet", "names.parquet"]);
    let id = |export: &Path| manifest(export)["key_id"].clone();
    assert_eq!(id(&plain), Value::Null);
    assert!(id(&keyed) == id(&nameless) && id(&keyed) != Value::Null);
    assert_ne!(id(&keyed), id(&lop.export_as("keyed", &["--key", "other key"])));
    // Names are readable and digests are not.
    let mixed = lop.export_as("mixed", &["--key", "key", "--names", "plain"]);
    assert!(shows(&mixed, b"copy of l") && !shows(&mixed, &digest));
}
