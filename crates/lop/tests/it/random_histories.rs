//! Random histories: changes and partial scans in any order. Invariants are checked after each
//! step.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use testkit::{Content, Signal, When, assert_groups, naive_groups, relative_to};

use crate::lop::{Lop, settle};

/// A small generator of reproducible random numbers (Knuth's MMIX constants).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        const FACTOR: u64 = 6_364_136_223_846_793_005;
        self.0 = self.0.wrapping_mul(FACTOR).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % limit
    }
}

const DIRS: [&str; 6] = ["a", "a/b", "a/b/c", "d", "d/e", "f"];

/// Returns content from a small pool with few sizes, in which contents share their beginnings.
fn content(random: &mut Random) -> Vec<u8> {
    let len = [5, 5, 100, 9000, 70_000][random.below(5)];
    let at = if random.below(2) == 0 { 0 } else { len - 1 };
    let variant = u8::try_from(random.below(3)).expect("small");
    Content::Differing { seed: 1, len, at, variant }.bytes()
}

fn path(lop: &Lop, random: &mut Random) -> PathBuf {
    lop.path(DIRS[random.below(DIRS.len())]).join(format!("f{}", random.below(8)))
}

/// Makes one random change. Does nothing if the files that the change needs are missing.
fn change(lop: &Lop, random: &mut Random) {
    let (one, other) = (path(lop, random), path(lop, random));
    match random.below(9) {
        0..=3 => drop(fs::write(one, content(random))),
        4 => drop(fs::remove_file(one)),
        5 => drop(fs::hard_link(one, other)),
        6 => drop(fs::rename(one, other)),
        7 => {
            let (dir, away) = (lop.path(DIRS[random.below(DIRS.len())]), lop.path("away"));
            let to = lop.path(format!("{}/moved", DIRS[random.below(DIRS.len())]));
            if !to.starts_with(&dir) && fs::rename(&dir, &away).is_ok() {
                drop(fs::remove_dir_all(&to));
                drop(fs::rename(&away, &to));
                drop(fs::rename(&away, &dir));
            }
            for dir in DIRS {
                drop(fs::create_dir_all(lop.path(dir)));
            }
        }
        _ => {
            let file = fs::File::options().write(true).open(one);
            drop(file.and_then(|file| file.set_modified(std::time::SystemTime::now())));
        }
    }
}

fn scan(lop: &Lop, random: &mut Random) {
    let dir = DIRS[random.below(DIRS.len())];
    match random.below(8) {
        0..=3 => drop(lop.scan([dir])),
        4 => drop(lop.scan([dir, DIRS[random.below(DIRS.len())]])),
        5 => drop(lop.scan(["."])),
        6 => {
            let list = [0, 1, 2, 3].map(|n| format!("{dir}/f{n}\n")).concat();
            let output = lop.command().args(["scan", "--files-from", "-"]).stdin(list).run();
            assert!(matches!(output.ending, testkit::Ending::Code(0 | 1 | 3)), "{output:?}");
        }
        _ => drop(
            lop.command()
                .args(["scan", "."])
                .signal(Signal::KILL, When::Stderr(b"-".to_vec()))
                .run(),
        ),
    }
}

/// Acts on duplicates from the catalog or from a list. Sometimes undoes the action.
fn act(lop: &Lop, random: &mut Random) {
    let kinds = ["delete", "hardlink", "symlink", "quarantine"];
    let by = kinds[random.below(kinds.len())];
    let command = lop.command().args(["dedupe", "--by", by, "--apply", "-q"]);
    let output = if random.below(2) == 0 {
        command.arg("--all").run()
    } else {
        let dir = DIRS[random.below(DIRS.len())];
        let list = [0, 1, 2, 3, 4, 5].map(|n| format!("{dir}/f{n}\na/f{n}\n")).concat();
        command.args(["--files-from", "-"]).stdin(list).run()
    };
    assert!(matches!(output.ending, testkit::Ending::Code(0 | 1 | 3)), "{output:?}");
    assert_contents_are_true(lop);
    if random.below(3) > 0 {
        let output = lop.run(["undo", "-q"]);
        assert!(matches!(output.ending, testkit::Ending::Code(0 | 1 | 3)), "{output:?}");
    }
}

/// An up-to-date row of the table `file`.
struct Live {
    path: PathBuf,
    size: i64,
    content: Option<i64>,
    digest: Option<String>,
}

fn live_rows(lop: &Lop) -> Vec<Live> {
    let database = lop.database();
    let sql = "SELECT dir_path.path || '/' || CAST(name AS TEXT), inode, file.size, mtime_ns, \
               ctime_ns, content, lower(hex(digest)) \
               FROM file JOIN dir_path ON dir_path.id = dir LEFT JOIN content ON content.id = content";
    let mut query = database.prepare(sql).expect("a query");
    let rows = query.query_map([], |row| {
        let path: String = row.get(0)?;
        let version: [i64; 4] = [row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?];
        let live = Live {
            path: path.into(),
            size: row.get(2)?,
            content: row.get(5)?,
            digest: row.get(6)?,
        };
        Ok((live, version))
    });
    let rows = rows.and_then(Iterator::collect::<Result<Vec<_>, _>>).expect("rows");
    rows.into_iter()
        .filter(|(live, version)| is_live(&live.path, version))
        .map(|(l, _)| l)
        .collect()
}

fn is_live(path: &Path, version: &[i64; 4]) -> bool {
    let ns = |seconds: i64, ns: i64| seconds * 1_000_000_000 + ns;
    fs::symlink_metadata(path).is_ok_and(|m| {
        let now = [
            m.ino().cast_signed(),
            m.len().cast_signed(),
            ns(m.mtime(), m.mtime_nsec()),
            ns(m.ctime(), m.ctime_nsec()),
        ];
        m.is_file() && now == *version
    })
}

/// Asserts the guarantees of docs/catalog.md about contents.
pub(crate) fn assert_contents_are_true(lop: &Lop) {
    let mut numbers: BTreeMap<(i64, i64), blake3::Hash> = BTreeMap::new();
    let mut contents: BTreeMap<(i64, String), i64> = BTreeMap::new();
    for row in live_rows(lop) {
        let Some(content) = row.content else { continue };
        let hash = blake3::hash(&fs::read(&row.path).expect("readable"));
        let name = row.path.display();
        if let Some(digest) = row.digest.filter(|digest| !digest.is_empty()) {
            assert_eq!(digest, hash.to_string(), "{name}");
        }
        let known = *numbers.entry((row.size, content)).or_insert(hash);
        assert_eq!(known, hash, "{name} shares content {content} with another");
        let number = *contents.entry((row.size, hash.to_string())).or_insert(content);
        assert_eq!(number, content, "{name} is equal to another of content {number}");
    }
    let database = lop.database();
    let mut query = database
        .prepare(
            "SELECT id, inodes, (SELECT count(*) FROM (SELECT DISTINCT volume, inode FROM file \
             WHERE content = content.id)) AS counted FROM content WHERE inodes <> counted",
        )
        .expect("a query");
    let wrong = query
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .and_then(Iterator::collect::<Result<Vec<(i64, i64, i64)>, _>>);
    assert_eq!(wrong.as_deref(), Ok(&[][..]), "contents, their inodes as stored and as counted");
}

/// Asserts that the groups of the report are exactly the groups of the files that are remembered and unchanged.
fn assert_report_is_true(lop: &Lop) {
    for group in lop.report() {
        let hash = |path: &Vec<u8>| blake3::hash(&fs::read(lop.path(path)).expect("readable"));
        let hashes: Vec<_> = group.iter().map(hash).collect();
        assert!(hashes.iter().all(|h| *h == hashes[0]), "{group:?}");
    }
}

fn history(seed: u64) {
    let mut random = Random(seed);
    let lop = Lop::new();
    for dir in DIRS {
        fs::create_dir_all(lop.path(dir)).expect("made");
    }
    (0..40).for_each(|_| change(&lop, &mut random));
    settle();
    lop.remember(["a"]);
    for _ in 0..8 {
        (0..random.below(8)).for_each(|_| change(&lop, &mut random));
        // Otherwise, the scan follows so soon that the times of new files are not reliable yet.
        if random.below(3) > 0 {
            settle();
        }
        if random.below(3) == 0 {
            act(&lop, &mut random);
            assert_contents_are_true(&lop);
            assert_report_is_true(&lop);
        }
        scan(&lop, &mut random);
        assert_contents_are_true(&lop);
        assert_report_is_true(&lop);
    }
    settle();
    lop.remember(["."]);
    assert_contents_are_true(&lop);
    assert_groups(&relative_to(lop.work(), &naive_groups(lop.work())), &lop.report());
    lop.remember(["."]);
    lop.scan_figures(["."]).assert_nothing_read();
    assert_groups(&relative_to(lop.work(), &naive_groups(lop.work())), &lop.report());
    assert_contents_are_true(&lop);
    lop.assert_whole_catalog();
}

#[test]
fn the_catalog_is_true_after_any_history() {
    let seeds = std::env::var("LOP_TEST_SEEDS").unwrap_or_default();
    let (first, count) = seeds.split_once('+').unwrap_or(("1", "12"));
    let first: u64 = first.parse().expect("a number");
    for seed in first..first + count.parse::<u64>().expect("a number") {
        let result = std::panic::catch_unwind(|| history(seed));
        if let Err(panic) = result {
            testkit::skipped(format!("the rest of the histories: seed {seed} failed"));
            std::panic::resume_unwind(panic);
        }
    }
}
