//! Forged catalogs: values that were changed with SQL, and flipped bits.
//!
//! Every command ends within a time limit and a memory limit and with one of its exit codes, and no run loses
//! content. Each round is generated from a seed. `LOP_TEST_SEEDS=FIRST+COUNT` chooses other
//! seeds.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use testkit::{
    Compare, Dice, Ending, Sandbox, Snapshot, TempTree, TreeBuilder, assert_contents_kept,
    assert_same,
};

use crate::lop::{Lop, settle};

/// Commands that only read or change the catalog and never change the tree.
const COMMANDS: [&[&str]; 20] = [
    &["report"],
    &["report", "--format", "csv", "d0"],
    &["report", "--dirs"],
    &["dups"],
    &["dups", "d1", "--json"],
    &["ls"],
    &["ls", "d2"],
    &["file", "d1/f4"],
    &["status"],
    &["status", "--json"],
    &["uniques", "d1"],
    &["contains", "d0", "d1"],
    &["dedupe", "--all", "--by", "delete"],
    &["dedupe", "--by", "hardlink", "d1"],
    &["validate"],
    &["refresh"],
    &["forget", "d2"],
    &["scan", "."],
    &["scan", "d1"],
    &["scan", "--reread", "."],
];

/// Actions that remove duplicates but can be undone.
const WAYS: [&str; 4] = ["delete", "delete", "hardlink", "quarantine"];

/// Returns a tree with pairs, different files of the same size, hard links, a file with the same prefix as another,
/// and unique files.
fn tree() -> TreeBuilder {
    let mut tree = TreeBuilder::new()
        .file("d0/log", "precious")
        .file("d1/log", "precious, and more")
        .file("d0/old log", "precious")
        .dir("d2/empty");
    for n in 0..24 {
        tree = tree.seeded(format!("d{}/f{n}", n % 3), n / 4 * (n % 2) + n % 4, 3000 + n / 8);
    }
    tree.hard_link("d0/f0", "d1/link").hard_link("d0/f0", "d2/sub/link")
}

/// The program with a memory limit. The limit suffices for a catalog of this size, but not for forged sizes.
struct Frugal {
    lop: Lop,
    _script: TempTree,
}

impl Frugal {
    fn new() -> Frugal {
        let script = TempTree::new();
        let path = script.join("lop");
        let lop = env!("CARGO_BIN_EXE_lop");
        let text = format!("#!/bin/sh\nulimit -v 2000000\nexec '{lop}' \"$@\"\n");
        fs::write(&path, text).expect("written");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&path, mode).expect("set");
        Frugal { lop: Lop { sandbox: Sandbox::new(path) }, _script: script }
    }

    /// Recreates the tree, and returns a correct catalog for it.
    fn begin(&self) -> Vec<u8> {
        for dir in [self.lop.work(), self.lop.state().join("lop")] {
            drop(fs::remove_dir_all(&dir));
        }
        fs::create_dir(self.lop.work()).expect("made");
        self.lop.lay(&tree());
        settle();
        self.lop.remember(["--hash-all", "."]);
        fs::read(self.lop.catalog()).expect("readable")
    }

    /// Installs a catalog and removes its database journal.
    fn put(&self, catalog: &[u8]) {
        drop(fs::remove_file(self.lop.state().join("lop/catalog.db-journal")));
        fs::write(self.lop.catalog(), catalog).expect("written");
    }

    /// Runs a command and returns its exit code, which must be one of those that lop documents.
    #[track_caller]
    fn run(&self, command: &[&str]) -> i32 {
        let output = self.lop.run(command);
        match output.ending {
            Ending::Code(code @ (0 | 3..=6)) => code,
            // The catalog has no entry that could be forgotten.
            Ending::Code(1) if command[0] == "forget" => 1,
            _ => output.fail("neither an answer nor a refusal"),
        }
    }

    /// Runs some queries, removes duplicates and undoes the removal. Returns whether any were removed.
    fn judge(&self, forged: &[u8], dice: &mut Dice) -> bool {
        let before = Snapshot::of(self.lop.work());
        self.put(forged);
        for _ in 0..4 {
            self.run(dice.pick(&COMMANDS).expect("some"));
        }
        assert_same(&before, &Snapshot::of(self.lop.work()), Compare::ALL);
        self.put(forged);
        let way = dice.pick(&WAYS).expect("some");
        self.run(&["dedupe", "--all", "--by", way, "--apply"]);
        let after = Snapshot::of(self.lop.work());
        assert_contents_kept(&before, &[&after]);
        let acted = !before.diff(&after, Compare::ALL).is_empty();
        if acted {
            // An undo restores everything even if the catalog cannot be updated.
            let output = self.lop.run(["undo"]);
            if output.ending != Ending::Code(3) {
                output.success();
            }
            assert_same(&before, &Snapshot::of(self.lop.work()), Compare::VISIBLE);
        }
        acted
    }
}

/// Replacements for a value: constants, another value of the same kind, or a number close to the old one.
const NUMBERS: [&str; 16] = [
    "0",
    "1",
    "-1",
    "2",
    "3",
    "256",
    "4294967296",
    "1 << 62",
    "9223372036854775807",
    "-9223372036854775807 - 1",
    "NULL",
    "{c} + 1",
    "{c} - 1",
    "-{c}",
    "~{c}",
    "{another}",
];
const BLOBS: [&str; 11] = [
    "x''",
    "x'2e'",
    "x'2e2e'",
    "x'2f'",
    "x'612f62'",
    "x'6100'",
    "zeroblob(32)",
    "zeroblob(70000)",
    "NULL",
    "{c} || {c}",
    "{another}",
];
const TEXTS: [&str; 4] = ["''", "'\u{1b}[1m'", "hex(zeroblob(50000))", "{another}"];

/// Changes some values of a catalog with SQL, in one row or in all rows. Values that the schema rejects are not
/// changed.
fn forge(catalog: &Path, dice: &mut Dice) {
    let database = Connection::open(catalog).expect("opens");
    let columns = columns(&database);
    for _ in 0..=dice.below(3) {
        let (table, column, kind) = dice.pick(&columns).expect("some");
        let rows = format!("SELECT count(*) FROM {table}");
        let rows: i64 = database.query_row(&rows, [], |row| row.get(0)).expect("a count");
        let mut nth = || dice.below(rows.unsigned_abs().max(1));
        let (one, other) = (nth(), nth());
        let values = match kind.as_str() {
            "INTEGER" => &NUMBERS[..],
            "BLOB" => &BLOBS,
            _ => &TEXTS,
        };
        let another = format!("(SELECT {column} FROM {table} LIMIT 1 OFFSET {other})");
        let value = dice.pick(values).expect("some");
        let value = value.replace("{c}", column).replace("{another}", &another);
        let change = match dice.below(8) {
            0 => format!("DELETE FROM {table}"),
            _ => format!("UPDATE {table} SET {column} = {value}"),
        };
        let key = match table.as_str() {
            "file" => "dir, name",
            "root" => "path",
            _ => "rowid",
        };
        let only = match dice.below(8) {
            0 => String::new(),
            _ => format!(" WHERE ({key}) = (SELECT {key} FROM {table} LIMIT 1 OFFSET {one})"),
        };
        let _refused = database.execute(&[change, only].concat(), []);
    }
}

/// Returns the table, the name and the type of each column.
fn columns(database: &Connection) -> Vec<(String, String, String)> {
    let sql = "SELECT t.name, c.name, c.type FROM sqlite_schema t, pragma_table_info(t.name) c \
               WHERE t.type = 'table' ORDER BY 1, 2";
    let mut query = database.prepare(sql).expect("a query");
    let columns = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    columns.and_then(Iterator::collect).expect("columns")
}

/// Flips bits of nonzero bytes, because most bytes of a small catalog are zero. Sometimes truncates
/// the catalog.
fn flip(catalog: &Path, dice: &mut Dice) {
    let mut bytes = fs::read(catalog).expect("readable");
    let mut used: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at] != 0).collect();
    if dice.below(12) == 0 {
        bytes.truncate(usize::try_from(dice.below(bytes.len() as u64)).expect("fits"));
        used.retain(|&at| at < bytes.len());
    }
    for _ in 0..=dice.below(3) {
        if let Some(&at) = dice.pick(&used) {
            bytes[at] ^= 1 << dice.below(8);
        }
    }
    fs::write(catalog, bytes).expect("written");
}

/// Corrupts catalogs in many ways, and runs every command on each of them.
fn rounds(most: &str, falsify: fn(&Path, &mut Dice)) {
    let seeds = std::env::var("LOP_TEST_SEEDS").unwrap_or_else(|_| format!("1+{most}"));
    let (first, count) = seeds.split_once('+').expect("FIRST+COUNT");
    let first: u64 = first.parse().expect("a number");
    let count: u64 = count.parse().expect("a number");
    let frugal = Frugal::new();
    let (mut changed, mut acted) = (true, 0);
    let mut whole = Vec::new();
    for seed in first..first + count {
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            if changed {
                whole = frugal.begin();
            }
            let mut dice = Dice::new(seed);
            frugal.put(&whole);
            falsify(&frugal.lop.catalog(), &mut dice);
            let forged = fs::read(frugal.lop.catalog()).expect("readable");
            changed = frugal.judge(&forged, &mut dice);
        }));
        if let Err(panic) = checked {
            testkit::skipped(format!("the rest of the rounds: seed {seed} failed"));
            std::panic::resume_unwind(panic);
        }
        acted += u64::from(changed);
    }
    assert!(acted >= count / 8, "too tame: duplicates were removed in {acted} of {count} rounds");
}

#[test]
fn forged_values_crash_no_command_and_lose_nothing() {
    rounds("60", forge);
}

#[test]
fn flipped_and_lost_bytes_crash_no_command_and_lose_nothing() {
    rounds("60", flip);
}

#[test]
fn directories_in_a_circle_or_in_none_are_refused() {
    let last = "(SELECT max(id) FROM dir)";
    let rows = [
        "parent = 1 WHERE id = 1".to_owned(),
        format!("parent = {last} WHERE id = 2"),
        format!("parent = 99999 WHERE id = {last}"),
    ];
    let removal: &[&str] = &["dedupe", "--all", "--by", "delete", "--apply"];
    let refuse = [&["report"][..], &["scan", "."], &["refresh"], &["validate"], removal];
    let frugal = Frugal::new();
    let whole = frugal.begin();
    let before = Snapshot::of(frugal.lop.work());
    for row in rows {
        frugal.put(&whole);
        let database = frugal.lop.database();
        database.pragma_update(None, "foreign_keys", false).expect("set");
        let changed = database.execute(&format!("UPDATE dir SET {row}"), []);
        drop(database);
        assert_eq!(changed.expect("changed"), 1, "{row}");
        let forged = fs::read(frugal.lop.catalog()).expect("readable");
        for command in refuse {
            frugal.put(&forged);
            let output = frugal.lop.run(command);
            let said = output.code(5).stderr_str();
            assert!(said.contains("damaged: "), "{row}: {command:?}: {said}");
        }
        // A command may succeed if it visits only the parents of the directory or only its children.
        for command in COMMANDS {
            frugal.put(&forged);
            frugal.run(command);
        }
        assert_same(&before, &Snapshot::of(frugal.lop.work()), Compare::ALL);
    }
}
