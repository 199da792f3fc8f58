//! Stored catalogs in every format, and the definition of each format.

use std::collections::BTreeSet;

use catalog::{Catalog, Rows};
use content::{head_length, head_of};
use testkit::TreeBuilder;

use crate::sandbox::Sandbox;

/// A catalog in each format, starting with format 1. Append only.
const STORED: [&str; 4] = [
    include_str!("../data/v1.sql"),
    include_str!("../data/v2.sql"),
    include_str!("../data/v3.sql"),
    include_str!("../data/v4.sql"),
];

/// The digest of "alike", as `b3sum` prints it.
const ALIKE: &str = "bb69dc4bd3a0ed0d1c4200832c5c12392bca598a5ad7bb717d122d894fa69b22";

/// Creates each stored catalog as the corresponding version of lop left it.
fn stored() -> impl Iterator<Item = Sandbox> {
    STORED.iter().map(|sql| {
        let sandbox = Sandbox::new();
        sandbox.make_dir();
        sandbox.run(sql);
        sandbox
    })
}

/// Creates each stored catalog and migrates it to the current format.
fn updated() -> impl Iterator<Item = (Sandbox, Catalog)> {
    stored().map(|sandbox| {
        drop(sandbox.writer());
        let catalog = sandbox.catalog();
        (sandbox, catalog)
    })
}

/// Returns a catalog created by this version.
fn new() -> Sandbox {
    let tree = TreeBuilder::new().file("x", "alike").make_temp();
    let sandbox = Sandbox::new();
    sandbox.scan(&[tree.path()]);
    sandbox
}

/// Returns the definitions of tables, indexes and views without comments and with uniform spacing, because
/// `ALTER TABLE` spaces commas and parentheses differently from `CREATE TABLE`.
fn schema(sandbox: &Sandbox) -> BTreeSet<String> {
    let plain = |sql: String| {
        let lines = sql.lines().map(|line| line.split("--").next().unwrap_or_default());
        let text: String = lines.flat_map(|line| [line, " "]).collect();
        let spaced = ["(", ")", ","]
            .iter()
            .fold(text, |text, sign| text.replace(sign, &format!(" {sign} ")));
        spaced.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let rows = sandbox.query("SELECT sql FROM sqlite_schema WHERE sql NOT NULL");
    rows.into_iter().map(plain).collect()
}

#[test]
fn files_of_every_stored_format_are_found() {
    for (_place, catalog) in updated() {
        let file =
            catalog.file(b"/home/me/pictures", b"a.jpg").expect("query succeeds").expect("exists");
        assert_eq!((file.volume, file.inode, file.size), (1, 13_238_269, 5));
        let times = (1_795_260_850_037_479_750, 1_795_260_850_041_479_750);
        assert_eq!((file.mtime_ns, file.ctime_ns), times);
        assert_eq!((file.copies, file.digest.expect("known").to_string()), (2, ALIKE.into()));
    }
}

#[test]
fn groups_of_every_stored_format_are_found() {
    for (_place, catalog) in updated() {
        let entries = catalog.files_with(1).expect("query succeeds");
        let paths: Vec<Vec<u8>> = entries.into_iter().map(|entry| entry.path).collect();
        let expected = [
            &b"/home/me/pictures/a.jpg"[..],
            b"/home/me/pictures/link.jpg",
            b"/home/me/pictures/old/b\xff.jpg",
        ];
        assert_eq!(paths, expected);
    }
}

#[test]
fn every_stored_format_is_loaded_completely() {
    for (_place, catalog) in updated() {
        assert_eq!(catalog.load(Rows::All).expect("loads").tree.files().len(), 4);
        assert_eq!(catalog.load(Rows::Grouped).expect("loads").tree.files().len(), 3);
        assert_eq!(catalog.roots().expect("query succeeds"), [b"/home/me/pictures"]);
    }
}

#[test]
fn the_views_of_every_stored_format_work() {
    for (sandbox, _catalog) in updated() {
        let files = sandbox.query(
            "SELECT path || '|' || modified || '|' || duplicates FROM files \
             WHERE inode = 13238267 OR path LIKE '%/a.jpg' ORDER BY path",
        );
        let expected = [
            "/home/me/pictures/a.jpg|2026-11-21 11:34:10|1",
            "/home/me/pictures/c.jpg|2026-11-21 11:34:10|0",
        ];
        assert_eq!(files, expected);
        let groups = "SELECT \"group\" || size || inodes || reclaimable || digest FROM groups";
        assert_eq!(sandbox.query(groups), [format!("1525{ALIKE}")]);
        assert_eq!(sandbox.query("SELECT count(path) FROM duplicates"), ["3"]);
    }
}

#[test]
fn every_stored_format_can_be_scanned_into() {
    for sandbox in stored() {
        let tree = TreeBuilder::new().file("x", "alike").file("y", "alike").make_temp();
        sandbox.scan(&[tree.path()]);
        assert_eq!(sandbox.query("SELECT count(*) FROM file"), ["6"]);
        // The stored files are unreachable, but their digest shows that they have the same content.
        assert_eq!(sandbox.query("SELECT inodes FROM content"), ["4"]);
    }
}

#[test]
fn a_migrated_catalog_has_the_schema_of_a_new_one() {
    let new = new();
    for (old, _catalog) in updated() {
        assert_eq!(schema(&old), schema(&new));
        for pragma in ["PRAGMA user_version", "PRAGMA application_id"] {
            assert_eq!(old.query(pragma), new.query(pragma), "{pragma}");
        }
    }
}

#[test]
fn a_catalog_created_in_an_empty_file_has_the_schema_of_a_new_one() {
    let sandbox = Sandbox::new();
    sandbox.make_dir();
    sandbox.run("");
    drop(sandbox.writer());
    assert_eq!(schema(&sandbox), schema(&new()));
}

#[test]
fn the_last_stored_format_is_the_one_written() {
    let sandbox = new();
    let version = sandbox.query("PRAGMA user_version");
    assert_eq!(version, [STORED.len().to_string()], "store a catalog of the new format");
    assert_eq!(sandbox.query("PRAGMA application_id"), [0x6c6f_7031.to_string()]);
}

/// Heads are stored. If lop computed heads differently, it would take identical files for different
/// ones. Such a change needs a new format and a migration that forgets the old heads.
///
/// The expected values come from the reference implementation (Python's `xxhash`, `xxh3_64`) for
/// the first 8 KiB of the byte sequence 0 to 250, repeated. Each length exercises another branch of
/// the algorithm.
#[test]
fn heads_are_those_of_the_stored_format() {
    let heads: [(u64, u64); 7] = [
        (1, 0xc44b_dff4_074e_ecdb),
        (5, 0xb075_753a_84ca_0fbe),
        (16, 0x8355_e3a6_f617_70db),
        (100, 0x004e_4f92_1a64_bd1c),
        (200, 0xf42a_8864_feaf_0703),
        (8192, 0x40a7_1c16_bbe3_7322),
        (9000, 0x40a7_1c16_bbe3_7322),
    ];
    let bytes: Vec<u8> = (0..=250).cycle().take(9000).collect();
    for (size, head) in heads {
        let length = usize::try_from(head_length(size)).expect("small");
        assert_eq!(head_of(&bytes[..length]).0.get(), head, "{size} bytes");
    }
}

#[test]
fn a_stored_head_matches_its_file() {
    let head = head_of(b"alike").0.get().cast_signed().to_string();
    for (sandbox, _catalog) in updated() {
        let stored = "SELECT DISTINCT head FROM file WHERE content = 1";
        assert_eq!(sandbox.query(stored), std::slice::from_ref(&head));
    }
}
