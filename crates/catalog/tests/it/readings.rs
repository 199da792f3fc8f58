//! Heads and digests that are recorded between scans. The catalog is then as after a scan that has
//! read the same files.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use catalog::{CopyCount, Error, FileState, Loaded, Mark, Marker, Rows, Writer};
use content::{Digest, Fingerprints, head_of};
use testkit::{Dice, PathBytes, TempTree, TreeBuilder};
use walk::{FileId, Tree};

use crate::disk::{bytes, ids, let_the_clock_tick, stat, walked};
use crate::engine::compare;
use crate::sandbox::{Sandbox, later};

/// The part of a file to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Head,
    Whole,
}

/// A catalog that was loaded through a writer.
struct Session {
    writer: Writer,
    loaded: Loaded,
}

impl Session {
    fn new(sandbox: &Sandbox) -> Session {
        let writer = sandbox.writer();
        let loaded = writer.catalog().load(Rows::All).expect("loads");
        Session { writer, loaded }
    }

    /// Returns all names of the inode that has the name `path`.
    fn names(&self, path: &Path) -> Vec<FileId> {
        let tree = &self.loaded.tree;
        let is_it = |id: &FileId| tree.absolute_path(*id) == bytes(path);
        let file = ids(tree).find(is_it).expect("a remembered file");
        ids(tree).filter(|&other| tree.key(other) == tree.key(file)).collect()
    }

    /// Reads an inode as the engine does: each inode that is read whole has a content of its own.
    fn read(&self, names: &[FileId], part: Part) {
        let (tree, facts) = (&self.loaded.tree, &self.loaded.fingerprints);
        let bytes = fs::read(tree.absolute_path(names[0]).to_path()).expect("readable");
        let content = (part == Part::Whole).then(|| {
            let new = || facts.new_content(None);
            let content = facts.content(names[0].0).unwrap_or_else(new);
            facts.set_digest(content, Digest::of(&bytes));
            content
        });
        for name in names {
            facts.set_head(name.0, head_of(&bytes[..bytes.len().min(8192)]));
            content.inspect(|content| facts.set_content(name.0, *content));
        }
    }

    fn record(&mut self, files: &[FileId], inspected: SystemTime) -> Result<(), Error> {
        let since = inspected.duration_since(UNIX_EPOCH).expect("after 1970");
        let inspected_ns = i64::try_from(since.as_nanos()).expect("before the end of time");
        self.writer.record(&mut self.loaded, files, inspected_ns)
    }

    /// Reads a file and records the result.
    fn learn(&mut self, path: &Path, part: Part) {
        let names = self.names(path);
        self.read(&names, part);
        self.record(&names, later()).expect("records");
    }
}

/// An engine that reads nothing.
fn nothing(_: &Tree, _: &Fingerprints) -> Vec<CopyCount> {
    Vec::new()
}

/// An engine that reads everything, as `lop scan --hash-all` does.
fn everything(tree: &Tree, facts: &Fingerprints) -> Vec<CopyCount> {
    let copies = compare(tree, facts);
    let mut new = HashMap::new();
    for id in ids(tree).filter(|id| facts.content(id.0).is_none()) {
        let bytes = fs::read(tree.absolute_path(id).to_path()).expect("readable");
        let fresh = || facts.new_content(Some(Digest::of(&bytes)));
        let content = *new.entry(tree.key(id)).or_insert_with(fresh);
        facts.set_head(id.0, head_of(&bytes[..bytes.len().min(8192)]));
        facts.set_content(id.0, content);
    }
    let alone = new.into_values().map(|content| CopyCount { content, inodes: 1, reclaimable: 0 });
    copies.into_iter().chain(alone).collect()
}

/// The names with their heads, and with the digest and the number of inodes of their contents.
const FACTS: &str = "SELECT f.dir || ' ' || CAST(f.name AS TEXT) || ' ' || f.state || ' ' \
    || ifnull(f.head, '-') || ' ' || ifnull(hex(c.digest), '-') || ' ' || ifnull(c.inodes, '-') \
    FROM file f LEFT JOIN content c ON c.id = f.content ORDER BY f.dir, f.name";

/// The contents. Each digest has a single row.
const CONTENTS: &str = "SELECT hex(digest) || ' ' || size || ' ' || inodes FROM content ORDER BY 1";

/// The usual disk space of all copies of a content but one.
const USUAL: &str = "(size + 4095) / 4096 * 4096 * (inodes - 1)";

fn facts(sandbox: &Sandbox) -> (Vec<String>, Vec<String>) {
    assert_eq!(sandbox.query("PRAGMA foreign_key_check"), [""; 0]);
    let unequal = format!("SELECT id FROM content WHERE reclaimable <> {USUAL}");
    assert_eq!(sandbox.query(&unequal), [""; 0], "the reclaimable bytes are wrong");
    (sandbox.query(FACTS), sandbox.query(CONTENTS))
}

/// Asserts that nothing of a file is recorded.
#[track_caller]
fn assert_unknown(sandbox: &Sandbox, path: &Path) {
    let entry = sandbox.entry(path).expect("remembered");
    assert_eq!((entry.content, entry.digest, entry.state), (None, None, FileState::Known));
    let name = path.file_name().and_then(|name| name.to_str()).expect("UTF-8");
    let sql = format!("SELECT head IS NULL FROM file WHERE CAST(name AS TEXT) = '{name}'");
    assert_eq!(sandbox.query(&sql), ["1"], "{name}");
}

/// Creates many small files, of which some are equal and some have several names.
fn random_tree(dice: &mut Dice) -> TempTree {
    let (mut tree, mut names) = (TreeBuilder::new(), Vec::new());
    for n in 0..30 {
        let name = format!("{}/{n}", dice.below(3));
        tree = match dice.below(4) {
            0 if !names.is_empty() => tree.hard_link(dice.pick(&names).expect("one"), &name),
            _ => tree.seeded(&name, dice.below(2), 1 + dice.below(4) * 6000),
        };
        names.push(name);
    }
    tree.make_temp()
}

#[test]
fn reading_everything_in_any_order_gives_the_catalog_of_a_scan_with_all_digests() {
    for seed in 0..12 {
        let mut dice = Dice::new(seed);
        let (tree, sandbox, scanned) = (random_tree(&mut dice), Sandbox::new(), Sandbox::new());
        scanned.learn(walked(&[tree.path()]), later(), everything);
        scanned.run(&format!("UPDATE content SET reclaimable = {USUAL}"));
        let first = if seed % 2 == 0 { nothing } else { compare };
        sandbox.learn(walked(&[tree.path()]), later(), first);
        sandbox.run(&format!("UPDATE content SET reclaimable = {USUAL}"));

        let mut session = Session::new(&sandbox);
        let mut left: Vec<FileId> = ids(&session.loaded.tree).collect();
        let mut batches = 0;
        while !left.is_empty() {
            let mut batch = Vec::new();
            for _ in 0..=dice.below(6) {
                let Some(&file) = dice.pick(&left) else { break };
                let names =
                    session.names(session.loaded.tree.absolute_path(file).to_path().as_ref());
                // Some inodes have been read by the scan, and reading them again changes nothing.
                session.read(&names, Part::Whole);
                left.retain(|other| !names.contains(other));
                batch.extend(names);
            }
            session.record(&batch, later()).expect("records");
            batches += 1;
        }
        drop(session);
        assert!(batches > 1);
        assert_eq!(facts(&sandbox), facts(&scanned), "seed {seed}");

        // Another scan knows all of it.
        let before = sandbox.rows();
        let known = sandbox.learn(walked(&[tree.path()]), later(), nothing).known();
        assert_eq!(known.len(), walked(&[tree.path()]).files().len());
        let rows = |all: Vec<String>| -> Vec<String> {
            all.into_iter().filter(|row| !row.starts_with("scan ")).collect()
        };
        let (before, after) = (rows(before), rows(sandbox.rows()));
        let changed: Vec<_> = after.iter().filter(|row| !before.contains(row)).collect();
        assert!(changed.iter().all(|row| row.starts_with("root ")), "{changed:?}");
    }
}

#[test]
fn heads_are_recorded_without_a_content() {
    let tree = TreeBuilder::new().seeded("a", 1, 20_000).hard_link("a", "b").make_temp();
    let sandbox = Sandbox::new();
    sandbox.scan(&[tree.path()]);
    assert_unknown(&sandbox, &tree.join("a"));
    Session::new(&sandbox).learn(&tree.join("a"), Part::Head);
    let bytes = fs::read(tree.join("a")).expect("readable");
    let head = head_of(&bytes[..8192]).0.get().cast_signed().to_string();
    assert_eq!(sandbox.query("SELECT head FROM file"), [head.clone(), head]);
    assert_eq!(sandbox.query("SELECT count(*) FROM content"), ["0"]);
    assert_eq!(sandbox.scan(&[tree.path()]).known(), ["a", "b"]);
}

#[test]
fn only_rows_that_were_read_are_written() {
    let tree = TreeBuilder::new().file("a", "1").file("b", "22").file("c", "333").make_temp();
    let sandbox = Sandbox::new();
    sandbox.scan(&[tree.path()]);
    sandbox.run(
        "CREATE TABLE noted (name BLOB);
         CREATE TRIGGER t1 AFTER UPDATE ON file BEGIN INSERT INTO noted VALUES (NEW.name); END;
         CREATE TRIGGER t2 AFTER UPDATE ON content BEGIN INSERT INTO noted VALUES (NEW.id); END",
    );
    let mut session = Session::new(&sandbox);
    session.learn(&tree.join("b"), Part::Whole);
    drop(session);
    assert_eq!(sandbox.query("SELECT name FROM noted"), ["b", "1"]);
}

/// The content of the copies on a disk that is away is found by its digest.
#[test]
fn a_file_gets_the_content_of_its_unreachable_copies() {
    let tree = TreeBuilder::new()
        .seeded("disk/a", 1, 500)
        .seeded("disk/b", 1, 500)
        .seeded("disk/other", 2, 500)
        .seeded("disk/other too", 2, 500)
        .seeded("home/c", 1, 500)
        .hard_link("home/c", "home/linked")
        .make_temp();
    let sandbox = Sandbox::new();
    sandbox.scan(&[&tree.join("disk")]);
    fs::rename(tree.join("disk"), tree.join("away")).expect("renamed");
    sandbox.learn(walked(&[&tree.join("home")]), later(), nothing);
    sandbox.run("UPDATE file SET state = 0");
    Session::new(&sandbox).learn(&tree.join("home/linked"), Part::Whole);
    let entry = |name| sandbox.entry(&tree.join(name)).expect("remembered");
    assert_eq!(entry("home/c").content, entry("disk/a").content);
    assert_eq!(entry("home/c").content, entry("home/linked").content);
    assert_ne!(entry("home/c").content, entry("disk/other").content);
    let counts = "SELECT inodes || ' ' || reclaimable FROM content ORDER BY 1";
    assert_eq!(sandbox.query(counts), ["2 1000", "3 2000"]);
}

#[test]
fn a_content_without_a_digest_gets_one() {
    let tree = TreeBuilder::new().file("a", "alike").file("b", "alike").make_temp();
    let sandbox = Sandbox::new();
    sandbox.scan(&[tree.path()]);
    sandbox.run("UPDATE content SET digest = NULL");
    Session::new(&sandbox).learn(&tree.join("a"), Part::Whole);
    let b = sandbox.entry(&tree.join("b")).expect("remembered");
    assert_eq!((b.digest, b.copies), (Some(Digest::of(b"alike")), 2));
}

/// A file that changed just before it was read may change once more and keep its times.
#[test]
fn a_file_with_recent_times_is_not_recorded() {
    let tree = TreeBuilder::new().file("a", "alike").hard_link("a", "link").file("copy", "alike");
    let tree = tree.make_temp();
    let sandbox = Sandbox::new();
    sandbox.learn(walked(&[tree.path()]), later(), nothing);
    let changed = u64::try_from(stat(&tree.join("a")).ctime_ns).expect("after 1970");
    let changed = UNIX_EPOCH + Duration::from_nanos(changed);
    let mut session = Session::new(&sandbox);
    session.learn(&tree.join("copy"), Part::Whole);
    let names = session.names(&tree.join("a"));
    assert_eq!(names.len(), 2);
    session.read(&names, Part::Whole);
    for after in [0, 1, 9_999_999] {
        session.record(&names, changed + Duration::from_nanos(after)).expect("records");
        assert_unknown(&sandbox, &tree.join("a"));
        assert_unknown(&sandbox, &tree.join("link"));
        assert_eq!(sandbox.query("SELECT inodes FROM content"), ["1"]);
    }
    session.record(&names, changed + Duration::from_secs(3)).expect("records");
    drop(session);
    let link = sandbox.entry(&tree.join("link")).expect("remembered");
    assert_eq!((link.digest, link.copies), (Some(Digest::of(b"alike")), 2));
    assert_eq!(sandbox.query("SELECT inodes FROM content"), ["2"]);
}

#[test]
fn unreliable_files_stay_as_they_are() {
    let tree = TreeBuilder::new()
        .file("damaged", "alike")
        .file("unreadable", "alike")
        .file("pending", "a lone size")
        .file("sound", "another lone size")
        .make_temp();
    let sandbox = Sandbox::new();
    sandbox.scan(&[tree.path()]);
    let now = walked(&[tree.path()]);
    let marks = [("damaged", FileState::Damaged), ("unreadable", FileState::Unreadable)];
    let marks = marks.map(|(name, state)| {
        let file = ids(&now).find(|id| now.name(*id).to_bytes() == name.as_bytes());
        Mark::of(&now, file.expect("exists"), state)
    });
    Marker::open(&sandbox.path()).expect("opens").mark(&marks).expect("marks");
    sandbox.run("UPDATE file SET state = 1 WHERE name = CAST('pending' AS BLOB)");
    let rows = || {
        sandbox.query(
            "SELECT quote(name) || quote(head) || quote(content) || state FROM file \
                                 WHERE name <> CAST('sound' AS BLOB) ORDER BY name",
        )
    };
    let (before, contents) = (rows(), sandbox.query(CONTENTS));
    assert_eq!(before.len(), 3);
    let mut session = Session::new(&sandbox);
    let all: Vec<FileId> = ids(&session.loaded.tree).collect();
    for id in &all {
        session.read(&[*id], Part::Whole);
    }
    session.record(&all, later()).expect("records");
    drop(session);
    assert_eq!(rows(), before);
    let sound = sandbox.entry(&tree.join("sound")).expect("remembered");
    assert_eq!(sound.digest, Some(Digest::of(b"another lone size")));
    let kept = sandbox.query(CONTENTS);
    assert!(contents.iter().all(|row| kept.contains(row)), "{contents:?} {kept:?}");
    assert_eq!(kept.len(), contents.len() + 1);
}

#[test]
fn dropped_files_stay_as_they_are() {
    let tree = TreeBuilder::new()
        .file("changed", "1")
        .file("unreadable", "22")
        .file("sound", "333")
        .make_temp();
    let sandbox = Sandbox::new();
    sandbox.scan(&[tree.path()]);
    let mut session = Session::new(&sandbox);
    for name in ["changed", "unreadable", "sound"] {
        session.learn(&tree.join(name), Part::Head);
    }
    let before = sandbox.query(FACTS);
    let [changed, unreadable, sound] =
        ["changed", "unreadable", "sound"].map(|name| session.names(&tree.join(name))[0]);
    session.loaded.fingerprints.drop_changed(changed.0);
    session.loaded.fingerprints.drop_file(unreadable.0);
    session.read(&[sound], Part::Whole);
    session.record(&[changed, unreadable, sound], later()).expect("records");
    drop(session);
    let after = sandbox.query(FACTS);
    let differing = before.iter().zip(&after).filter(|(before, after)| before != after);
    assert_eq!(differing.map(|(_, after)| after.contains("sound")).collect::<Vec<_>>(), [true]);
    assert_eq!(sandbox.query("SELECT count(*) FROM content"), ["1"]);
}

#[test]
fn a_transaction_that_fails_changes_nothing_and_can_be_repeated() {
    for trigger in [
        "AFTER INSERT ON content",
        "AFTER UPDATE ON content",
        "AFTER UPDATE ON file WHEN NEW.name = CAST('b' AS BLOB)",
    ] {
        let names = [("a", "1"), ("b", "22"), ("c", "22"), ("known", "22")];
        let add = |tree: TreeBuilder, (name, bytes): (&str, &str)| tree.file(name, bytes);
        let tree = names.into_iter().fold(TreeBuilder::new(), add).make_temp();
        let sandbox = Sandbox::new();
        sandbox.learn(walked(&[tree.path()]), later(), nothing);
        Session::new(&sandbox).learn(&tree.join("known"), Part::Whole);
        sandbox.run(&format!("CREATE TRIGGER no {trigger} BEGIN SELECT RAISE(FAIL, 'no'); END"));
        let before = sandbox.rows();
        let mut session = Session::new(&sandbox);
        let all: Vec<FileId> = ids(&session.loaded.tree).collect();
        for id in &all {
            session.read(&[*id], Part::Whole);
        }
        let error = session.record(&all, later()).expect_err("fails");
        assert!(matches!(&error, Error::Database { path, .. } if *path == sandbox.path()));
        assert_eq!(sandbox.query("PRAGMA integrity_check"), ["ok"]);
        assert_eq!(sandbox.rows(), before);
        sandbox.run("DROP TRIGGER no");
        session.record(&all, later()).expect("records");
        drop(session);
        let (names, contents) = facts(&sandbox);
        assert!(names.iter().all(|row| row.split(' ').all(|fact| fact != "-")), "{names:?}");
        assert_eq!(contents.len(), 2);
        let b = sandbox.entry(&tree.join("b")).expect("remembered");
        assert_eq!((b.digest, b.copies), (Some(Digest::of(b"22")), 3));
    }
}

/// After a change, what was recorded is no longer known.
#[test]
fn a_file_that_changes_after_it_was_recorded_is_read_by_the_next_scan() {
    let tree = TreeBuilder::new().file("a", "first").file("b", "a lone size").make_temp();
    let sandbox = Sandbox::new();
    sandbox.scan(&[tree.path()]);
    let mut session = Session::new(&sandbox);
    session.learn(&tree.join("a"), Part::Whole);
    session.learn(&tree.join("b"), Part::Whole);
    drop(session);
    let_the_clock_tick(&tree.join("a"));
    fs::write(tree.join("a"), "other").expect("written");
    assert_eq!(sandbox.scan(&[tree.path()]).known(), ["b"]);
    let a = sandbox.entry(&tree.join("a")).expect("remembered");
    assert_eq!(a.digest, None);
    assert_eq!(sandbox.query("SELECT count(*) FROM content"), ["1"]);
}
