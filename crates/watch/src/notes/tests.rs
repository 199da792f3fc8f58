//! Tests of notes. The key of each directory is its path.

use std::io;

use super::{Directories, MAX_BYTES, Notes};
use crate::answer::{Changes, Counts, Entries, Unknown, Unseen};

/// Finds directories whose keys are their paths, except for those that are gone or cannot be examined.
#[derive(Default)]
struct Paths {
    gone: Vec<&'static str>,
    failing: Vec<&'static str>,
}

impl Directories for Paths {
    fn paths(&mut self, key: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        let is_in = |list: &[&str]| list.iter().any(|path| path.as_bytes() == key);
        if is_in(&self.failing) {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        Ok(if is_in(&self.gone) { Vec::new() } else { vec![key.to_vec()] })
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
    notes.inode(1, 77, true);
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
    let mut paths = Paths { gone: vec!["/r/a"], ..Paths::default() };
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
    notes.inode(1, 77, true);
    let position = notes.number();
    notes.name(b"/r/a", b"new", false);
    let empty = Notes::default().bytes;
    notes.discard(&roots(&["/r/a"]), position, &roots(&["/r"]), &mut Paths::default());
    assert_eq!(text(&mut notes, &["/r/b"], 0), "/r/b:old #77");
    assert_eq!(text(&mut notes, &["/r/a"], position), "/r/a:new");
    assert_eq!(changes(&mut notes, &["/r/a"], 0), Err(Unknown::Discarded));
    assert_eq!(changes(&mut notes, &["/r"], 0), Err(Unknown::Discarded), "a part is unknown");
    assert_eq!(changes(&mut notes, &["/r/a/x"], 0), Err(Unknown::Discarded));
    let last = notes.number();
    notes.discard(&roots(&["/r"]), last, &roots(&["/r"]), &mut Paths::default());
    assert_eq!(notes.bytes, empty);
    assert_eq!(text(&mut notes, &["/r"], last), "");
}

/// Answers a question about some of the roots `/r/a`, `/r/b` and `/s`.
fn answer(notes: &mut Notes, paths: &[&str]) {
    notes.answered(&roots(paths), &roots(&["/r/a", "/r/b", "/s"]), &mut Paths::default());
}

#[test]
fn changes_since_the_last_answer_are_counted() {
    let mut notes = Notes::default();
    for name in ["x", "y", "x"] {
        notes.name(b"/r/a", name.as_bytes(), false);
    }
    notes.name(b"/r/b", b"x", false);
    assert_eq!(notes.fresh(), Counts { entries: 3, dirs: 2 });
    answer(&mut notes, &["/r", "/s"]);
    assert_eq!(notes.fresh(), Counts::default());
    notes.name(b"/r/a", b"x", false);
    assert_eq!(notes.fresh(), Counts { entries: 1, dirs: 1 });
    answer(&mut notes, &["/r/b"]);
    assert_eq!(notes.fresh(), Counts { entries: 1, dirs: 1 }, "nobody knows them");
    notes.tree(b"/r/b/c");
    assert_eq!(notes.fresh(), Counts { entries: 2, dirs: 1 });
    answer(&mut notes, &["/r/a"]);
    assert_eq!(notes.fresh(), Counts { entries: 1, dirs: 0 });
}

#[test]
fn questions_about_one_root_each_answer_all() {
    let mut notes = Notes::default();
    for root in ["/r/a", "/r/b", "/s"] {
        notes.name(root.as_bytes(), b"x", false);
    }
    notes.inode(1, 77, true);
    for (root, entries) in [("/r/a", 3), ("/r/b", 2), ("/s", 0)] {
        answer(&mut notes, &[root]);
        assert_eq!(notes.fresh().entries, entries, "{root}");
    }
    let all = roots(&["/r/a", "/r/b", "/s"]);
    let position = notes.number();
    notes.inode(1, 78, true);
    for root in &all {
        assert_eq!(notes.inodes.len(), 2, "the other roots may contain the file");
        notes.discard(std::slice::from_ref(root), position, &all, &mut Paths::default());
    }
    assert_eq!(notes.inodes.len(), 1, "all catalogs contain the first change");
    assert_eq!(text(&mut notes, &["/s"], position), "#78");
}

#[test]
fn changed_inodes_are_counted_but_new_link_counts_are_not() {
    let mut notes = Notes::default();
    notes.inode(1, 77, false);
    assert_eq!(notes.fresh(), Counts::default());
    for _ in 0..2 {
        notes.inode(1, 77, true);
        notes.inode(1, 77, false);
        assert_eq!(notes.fresh(), Counts { entries: 1, dirs: 0 });
    }
    answer(&mut notes, &["/r", "/s"]);
    notes.inode(1, 77, false);
    assert_eq!(notes.fresh(), Counts::default());
    assert_eq!(text(&mut notes, &["/r"], 0), "#77");
    notes.inode(1, 77, true);
    assert_eq!(notes.fresh(), Counts { entries: 1, dirs: 0 });
}

#[test]
fn directory_that_cannot_be_examined_keeps_its_note() {
    let mut notes = Notes::default();
    notes.name(b"/r/a", b"x", false);
    notes.name(b"/r/b", b"x", false);
    let position = notes.number();
    let mut failing = Paths { failing: vec!["/r/a"], ..Paths::default() };
    let changes = notes.changes(&roots(&["/r"]), 0, &mut failing);
    assert_eq!(changes, Err(Unknown::EventsLost));
    let mut unseen = Unseen::default();
    let roots_since = [(b"/r".to_vec(), 0)];
    assert!(notes.unseen(&roots_since, &mut failing, &mut unseen).is_err());
    let all = roots(&["/r", "/s"]);
    notes.answered(&roots(&["/s"]), &all, &mut failing);
    assert_eq!(notes.fresh().entries, 2);
    assert_eq!(text(&mut notes, &["/r"], 0), "/r/a:x /r/b:x");
    notes.discard(&roots(&["/r"]), position, &all, &mut failing);
    assert_eq!(notes.dirs.len(), 1);
}

#[test]
fn each_root_has_its_own_position_for_people() {
    let mut notes = Notes::default();
    notes.name(b"/r/a", b"early", false);
    notes.name(b"/s", b"early", false);
    let position = notes.number();
    notes.name(b"/s", b"late", false);
    notes.tree(b"/r/t");
    let mut unseen = Unseen::default();
    let roots = [(b"/r".to_vec(), 0), (b"/r/a".to_vec(), position), (b"/s".to_vec(), position)];
    notes.unseen(&roots, &mut Paths::default(), &mut unseen).expect("known");
    let dirs: Vec<_> = unseen.dirs.iter().map(|dir| dir.path().to_str().expect("text")).collect();
    assert_eq!(dirs, ["/r/a", "/r/t", "/s"], "the oldest position counts");
    assert_eq!(unseen.counts, Counts { entries: 3, dirs: 3 });
}

/// Places each directory far below a long path.
struct Deep;

impl Directories for Deep {
    fn paths(&mut self, key: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        Ok(vec![[&b"/r/"[..], &[b'x'; 3000], key].concat()])
    }
}

#[test]
fn answer_is_bounded_but_counts_are_not() {
    let mut notes = Notes::default();
    for dir in 0..5000 {
        notes.name(format!("/{dir}").as_bytes(), b"x", false);
    }
    assert_eq!(notes.changes(&roots(&["/r"]), 0, &mut Deep), Err(Unknown::TooMany));
    let mut unseen = Unseen::default();
    notes.unseen(&[(b"/r".to_vec(), 0)], &mut Deep, &mut unseen).expect("known");
    assert_eq!(unseen.counts, Counts { entries: 5000, dirs: 5000 });
    assert!(notes.changes(&roots(&["/r"]), notes.number() - 100, &mut Deep).is_ok());
}
