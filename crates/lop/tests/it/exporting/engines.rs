//! Exports as `DuckDB` reads them, compared with the catalogs that they were made of.
//!
//! The script `oracles/duckdb_fleet.py` answers each question twice: with SQL from the Parquet files,
//! and with loops over the rows of the `SQLite` catalogs. It shares no code with lop.

use std::fs;
use std::path::{Path, PathBuf};

use testkit::{Ending, Output, Sandbox, TreeBuilder, hostile_tree, python};

use super::names_in;
use crate::lop::{Lop, settle};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/oracles/duckdb_fleet.py");
const KEYED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/oracles/duckdb_keyed.py");
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/fleet.md");

/// Two hosts whose exports are in the same folder.
struct Fleet {
    nas: Lop,
    laptop: Lop,
    exports: [PathBuf; 2],
}

impl Fleet {
    fn new() -> Fleet {
        let (nas, laptop) = (nas(), laptop());
        let fleet = nas.fleet();
        // An older export of the host is not the newest one.
        nas.export_as("nas", &[]);
        spoil(&nas);
        let export = nas.export_as("nas", &[]);
        let output = laptop.command().args(["export", "--host", "laptop"]).arg(&fleet).run();
        output.success();
        let other = fleet.join("laptop");
        let other = other.join(names_in(&other).first().expect("an export"));
        Fleet { nas, laptop, exports: [export, other] }
    }

    /// Runs the script.
    fn ask(&self, python: &Sandbox) -> Output {
        let catalog = |host: &str, lop: &Lop| format!("{host}={}", lop.catalog().display());
        let script = python.command().arg("-B").arg(SCRIPT).arg(PAGE).arg(self.nas.fleet());
        script.arg(catalog("nas", &self.nas)).arg(catalog("laptop", &self.laptop)).run()
    }
}

/// Returns a host with odd names. Files that have no copy on this host have no digest.
fn nas() -> Lop {
    let lop = Lop::new();
    hostile_tree(lop.work());
    lop.lay(&shared("nas"));
    settle();
    let scan = lop.run(["scan", "."]);
    assert!(matches!(scan.ending, Ending::Code(0 | 3)), "{scan:?}");
    lop
}

/// Returns a host with the digests of all files.
fn laptop() -> Lop {
    let lop = Lop::new();
    // Paths of more than 4096 bytes are not exported as text.
    lop.lay(&shared("laptop").deep_chain(40, "d".repeat(200), "deep"));
    settle();
    let scan = lop.run(["scan", "--hash-all", "."]);
    assert!(matches!(scan.ending, Ending::Code(0 | 3)), "{scan:?}");
    lop
}

/// Returns files of which some are on both hosts.
fn shared(host: &str) -> TreeBuilder {
    let tree = (0..40).fold(TreeBuilder::new(), |tree, n| {
        tree.seeded(format!("shared/{host} {n}"), n, 1000 + n).seeded(
            format!("shared/{host} again {n}"),
            n,
            1000 + n,
        )
    });
    (0..20).fold(tree, |tree, n| {
        let seed = n + if host == "nas" { 0 } else { 10 };
        // These files have the same size. Half of them have no copy on the other host.
        tree.seeded(format!("alone/{host} only {n}"), 1000 + seed, 5000)
    })
}

/// Changes a catalog so that it has values that few scans find.
fn spoil(lop: &Lop) {
    let database = lop.database();
    let of = |pattern: &str| format!("CAST(name AS TEXT) LIKE '{pattern}'");
    for sql in [
        format!("UPDATE file SET state = 1, head = NULL, content = NULL WHERE {}", of("nas 1")),
        format!("UPDATE file SET state = 2 WHERE {}", of("nas 2")),
        format!("UPDATE file SET state = 3 WHERE {}", of("nas 3")),
        format!("UPDATE file SET inode = -5, mtime_ns = -1, ctime_ns = -7 WHERE {}", of("nas 4")),
        format!("UPDATE file SET allocated = 0 WHERE {}", of("nas 5")),
        "INSERT INTO problem SELECT max(id), x'2fff0a', 'Input/output error' FROM scan".into(),
        "INSERT INTO problem SELECT max(id), x'2fc3a9', 'Permission denied' FROM scan".into(),
    ] {
        assert_eq!(database.execute(&sql, []).expect("changed"), 1, "{sql}");
    }
}

#[test]
fn duckdb_answers_as_the_catalogs_do() {
    let Some(python) = python() else { return };
    let fleet = Fleet::new();
    let output = fleet.ask(&python);
    let said = output.success().stdout_str();
    assert!(said.contains(" questions have the same answer\n"), "{said}");
}

/// A comparison that cannot fail proves nothing.
#[test]
fn duckdb_notices_rows_that_are_missing_or_wrong() {
    let Some(python) = python() else { return };
    let fleet = Fleet::new();
    let [nas, laptop] = &fleet.exports;
    let differs = |what: &str| {
        let output = fleet.ask(&python);
        output.code(1);
        assert!(output.stdout_str().contains("differ"), "{what}: {output:?}");
    };
    let aside = |from: &Path, change: &dyn Fn(&Path), what: &str| {
        let copy = fs::read(from).expect("a file");
        change(from);
        differs(what);
        fs::write(from, copy).expect("restored");
    };
    let remove = |path: &Path| fs::remove_file(path).expect("removed");
    for table in ["inodes-1", "names", "dirs", "contents", "problems"] {
        aside(&nas.join(format!("{table}.parquet")), &remove, table);
    }
    let swap = |path: &Path| {
        fs::copy(laptop.join("names.parquet"), path).expect("copied");
    };
    aside(&nas.join("names.parquet"), &swap, "the names of the other host");
    fleet.ask(&python).success();
}

#[test]
fn keyed_exports_of_two_hosts_can_be_compared() {
    let Some(python) = python() else { return };
    let hosts = [("nas", nas()), ("laptop", laptop())];
    spoil(&hosts[0].1);
    let [plain, keyed] = ["plain", "keyed"].map(|name| python.path(name));
    fs::write(python.path("key"), "the secret of the fleet").expect("written");
    for (host, lop) in &hosts {
        let export = || lop.command().args(["export", "--host", host]);
        export().arg(&plain).run().success();
        export().arg("--key").arg(python.path("key")).arg(&keyed).run().success();
    }
    let ask = || python.command().args(["-B", KEYED]).arg(&plain).arg(&keyed).run();
    ask().success();
    // With another key, the hosts have nothing in common.
    fs::write(python.path("key"), "another secret of a fleet").expect("written");
    let (host, lop) = &hosts[1];
    fs::remove_dir_all(keyed.join(host)).expect("removed");
    let export = lop.command().args(["export", "--host", host, "--key"]).arg(python.path("key"));
    export.arg(&keyed).run().success();
    let output = ask();
    output.code(1);
    assert!(output.stdout_str().contains("groups differ"), "{output:?}");
}
