//! Tests of notes. The key of each directory is its path.

use super::{Directories, MAX_BYTES, Notes};
use crate::answer::{Changes, Counts, Entries, Unknown};

/// Finds directories whose keys are their paths, except for those that are gone.
#[derive(Default)]
struct Paths {
    gone: Vec<&'static str>,
}

impl Directories for Paths {
    fn paths(&mut self, key: &[u8]) -> Vec<Vec<u8>> {
        let is_gone = self.gone.iter().any(|gone| gone.as_bytes() == key);
        if is_gone { Vec::new() } else { vec![key.to_vec()] }
    }
}

fn roots(paths: &[&str]) -> Vec<Vec<u8>> {
    paths.iter().map(|path| path.as_bytes().to_vec()).collect()
}

fn changes(notes: &mut Notes, paths: &[&str], since: u64) -> Result<Changes, Unknown> {
    notes.changes(&roots(paths), since, &mut Paths::default())
}

/// Returns the changes as text. A `*` after a name marks an entry that may be a different directory.
fn text(notes: &mut Notes, paths: &[&str], since: u64) -> String {
    let Changes { dirs, inodes } = changes(notes, paths, since).expect("known");
    let dir = |dir: &crate::answer::ChangedDir| {
        let entries = match &dir.entries {
            Entries::Names(names) => {
                let name = |(name, is_dir): &(Vec<u8>, bool)| {
                    String::from_utf8_lossy(name).into_owned() + if *is_dir { "*" } else { "" }
                };
                names.iter().map(name).collect::<Vec<_>>().join(",")
            }
            Entries::All => "all".into(),
            Entries::Tree => "tree".into(),
        };
        format!("{}:{entries}", dir.path().display())
    };
    let dirs = dirs.iter().map(dir);
    dirs.chain(inodes.iter().map(|(_, inode)| format!("#{inode}"))).collect::<Vec<_>>().join(" ")
}

#[test]
fn changes_after_a_position_are_named() {
    let mut notes = Notes::default();
    notes.name(b"/r/a", b"one", false);
    let first = notes.number();
    notes.name(b"/r/a", b"two", false);
    notes.name(b"/r/b", b"dir", true);
    notes.inode(1, 77);
    assert_eq!(text(&mut notes, &["/r"], 0), "/r/a:one,two /r/b:dir* #77");
    assert_eq!(text(&mut notes, &["/r"], first), "/r/a:two /r/b:dir* #77");
    assert_eq!(text(&mut notes, &["/r/b"], first), "/r/b:dir* #77");
    notes.name(b"/r/a", b"one", false);
    assert_eq!(text(&mut notes, &["/r"], first), "/r/a:one,two /r/b:dir* #77");
    let last = notes.number();
    assert_eq!(text(&mut notes, &["/r"], last), "");
}

#[test]
fn directory_counts_as_another_one_only_after_it_was_replaced() {
    let mut notes = Notes::default();
    notes.name(b"/r", b"dir", true);
    let position = notes.number();
    notes.name(b"/r", b"dir", false);
    assert_eq!(text(&mut notes, &["/r"], 0), "/r:dir*");
    assert_eq!(text(&mut notes, &["/r"], position), "/r:dir");
}

#[test]
fn directory_that_is_gone_is_not_named() {
    let mut notes = Notes::default();
    notes.name(b"/r/a", b"x", false);
    notes.name(b"/r/b", b"x", false);
    let bytes = notes.bytes;
    let mut paths = Paths { gone: vec!["/r/a"] };
    let changes = notes.changes(&roots(&["/r"]), 0, &mut paths).expect("known");
    assert_eq!(changes.dirs.len(), 1);
    assert_eq!(notes.bytes, bytes / 2, "its memory is free");
}

#[test]
fn replaced_directory_above_a_root_replaces_the_root() {
    let mut notes = Notes::default();
    notes.name(b"/r", b"a", true);
    assert_eq!(text(&mut notes, &["/r/a/b"], 0), "/r/a/b:tree");
    assert_eq!(text(&mut notes, &["/r/ab"], 0), "");
    let mut notes = Notes::default();
    notes.tree(b"/r");
    assert_eq!(text(&mut notes, &["/r/a"], 0), "/r/a:tree");
    assert_eq!(text(&mut notes, &["/"], 0), "/r:tree");
}

#[test]
fn directory_with_many_changes_is_listed_as_a_whole() {
    let mut notes = Notes::default();
    for number in 0..1024 {
        notes.name(b"/r", format!("{number}").as_bytes(), false);
    }
    assert!(text(&mut notes, &["/r"], 0).contains("999"));
    notes.name(b"/r", b"one more", false);
    assert_eq!(text(&mut notes, &["/r"], 0), "/r:all");
    let position = notes.number();
    assert_eq!(text(&mut notes, &["/r"], position), "");
    notes.name(b"/r", b"dir", true);
    assert_eq!(text(&mut notes, &["/r"], position), "/r:tree");
    let position = notes.number();
    notes.name(b"/r", b"file", false);
    assert_eq!(text(&mut notes, &["/r"], position), "/r:all");
}

#[test]
fn long_names_count_by_their_length() {
    let mut notes = Notes::default();
    for number in 0..130 {
        notes.name(b"/r", format!("{number:0250}").as_bytes(), number == 0);
    }
    assert!(text(&mut notes, &["/r"], 0).starts_with("/r:000"));
    notes.name(b"/r", &[b'x'; 255], false);
    notes.name(b"/r", &[b'y'; 255], false);
    assert_eq!(text(&mut notes, &["/r"], 0), "/r:tree", "a directory was replaced");
}

#[test]
fn memory_is_bounded() {
    let mut notes = Notes::default();
    for dir in 0..200_u32 {
        for name in 0..1000 {
            notes.name(format!("/r/{dir}").as_bytes(), format!("{name}").as_bytes(), false);
            assert!(notes.bytes <= MAX_BYTES);
        }
    }
    let found = text(&mut notes, &["/r"], 0);
    assert!(found.contains("/r/0:all"), "the names of the first directories are gone");
    assert_eq!(found.split(' ').count(), 200);
    for dir in 0..200_000_u32 {
        notes.name(format!("/r/many/{dir}").as_bytes(), b"x", false);
        assert!(notes.bytes <= MAX_BYTES);
    }
    assert_eq!(changes(&mut notes, &["/r"], 0), Err(Unknown::TooMany));
    let position = notes.number();
    notes.name(b"/r/later", b"x", false);
    assert_eq!(text(&mut notes, &["/r"], position), "/r/later:x");
}

#[test]
fn lost_events_make_older_positions_unknown() {
    let mut notes = Notes::default();
    notes.name(b"/r", b"x", false);
    let before = notes.number();
    notes.lose(Unknown::EventsLost);
    let after = notes.number();
    assert_eq!(changes(&mut notes, &["/r"], before), Err(Unknown::EventsLost));
    assert_eq!(text(&mut notes, &["/r"], after), "");
}

#[test]
fn changes_that_the_catalog_has_are_discarded() {
    let mut notes = Notes::default();
    notes.name(b"/r/a", b"old", false);
    notes.name(b"/r/b", b"old", false);
    notes.tree(b"/r/t");
    notes.inode(1, 77);
    let position = notes.number();
    notes.name(b"/r/a", b"new", false);
    let empty = Notes::default().bytes;
    notes.discard(&roots(&["/r/a"]), position, false, &mut Paths::default());
    assert_eq!(text(&mut notes, &["/r/b"], 0), "/r/b:old #77");
    assert_eq!(text(&mut notes, &["/r/a"], position), "/r/a:new");
    assert_eq!(changes(&mut notes, &["/r/a"], 0), Err(Unknown::Discarded));
    assert_eq!(changes(&mut notes, &["/r"], 0), Err(Unknown::Discarded), "a part is unknown");
    assert_eq!(changes(&mut notes, &["/r/a/x"], 0), Err(Unknown::Discarded));
    let last = notes.number();
    notes.discard(&roots(&["/r"]), last, true, &mut Paths::default());
    assert_eq!(notes.bytes, empty);
    assert_eq!(text(&mut notes, &["/r"], last), "");
}

#[test]
fn changes_since_the_last_answer_are_counted() {
    let mut notes = Notes::default();
    for name in ["x", "y", "x"] {
        notes.name(b"/r/a", name.as_bytes(), false);
    }
    notes.name(b"/r/b", b"x", false);
    assert_eq!(notes.fresh(), Counts { entries: 3, dirs: 2 });
    notes.answered(&roots(&["/r"]), true, &mut Paths::default());
    assert_eq!(notes.fresh(), Counts::default());
    notes.name(b"/r/a", b"x", false);
    assert_eq!(notes.fresh(), Counts { entries: 1, dirs: 1 });
    notes.answered(&roots(&["/r/b"]), false, &mut Paths::default());
    assert_eq!(notes.fresh(), Counts { entries: 1, dirs: 1 }, "nobody knows them");
    notes.tree(b"/r/b/c");
    assert_eq!(notes.fresh(), Counts { entries: 2, dirs: 1 });
    notes.answered(&roots(&["/r/a"]), false, &mut Paths::default());
    assert_eq!(notes.fresh(), Counts { entries: 1, dirs: 0 });
}
