//! Tests of the replay of journals with lines that were cut off or damaged.

use std::path::PathBuf;

use testkit::TempTree;

use super::{Fate, Replay};
use crate::error::Error;
use crate::journal::lines::{FORMAT, Lines};
use crate::journal::record::Record;
use crate::plan::kind::Kind;

fn version() -> crate::plan::target::Version {
    crate::plan::target::Version { device: 1, inode: 2, size: 3, mtime_ns: 4, ctime_ns: 5 }
}

fn will(n: u64) -> Record {
    let text = format!(
        r#"{{"record":"will","n":{n},"kind":"delete","path":"/b{n}","keep":"/a","store":null,
        "was":{{"device":1,"inode":2,"size":3,"mtime_ns":4,"ctime_ns":5,"atime_ns":0,"mode":33188,
        "uid":0,"gid":0,"links":1,"allocated":0}},"kept":{},"kept_fsid":0}}"#,
        serde_json::to_string(&version()).expect("is written")
    );
    serde_json::from_str(&text).expect("an intent")
}

fn begin() -> Record {
    let id = "x".into();
    Record::Begin { format_version: FORMAT, run: 1, id, by: Kind::Delete, started_ms: 1 }
}

fn line(record: &Record) -> Vec<u8> {
    let mut lines = Lines::default();
    lines.push(record);
    lines.bytes().to_vec()
}

#[expect(clippy::disallowed_methods, reason = "writes to a test's own tree")]
fn journal(lines: &[Vec<u8>]) -> (TempTree, PathBuf) {
    let folder = TempTree::new();
    let path = folder.join("1.jsonl");
    std::fs::write(&path, lines.concat()).expect("written");
    (folder, path)
}

fn read(lines: &[Vec<u8>]) -> Result<Option<Replay>, Error> {
    let (_folder, path) = journal(lines);
    Replay::read(&path)
}

fn fates(replay: &Replay) -> Vec<(u64, Fate)> {
    replay.entries.iter().map(|(&n, entry)| (n, entry.fate)).collect()
}

#[test]
fn lines_that_were_cut_off_are_ignored_and_the_others_apply() {
    let did = line(&Record::Did { n: 2, freed: 3, ctime_ns: None });
    let cut = |line: Vec<u8>| line[..line.len() / 2].to_vec();
    let lines = [
        line(&begin()),
        line(&will(1)),
        line(&will(2)),
        cut(line(&will(3))),
        b"\n\n".to_vec(),
        did,
        b"\n\n".to_vec(),
        cut(line(&Record::Did { n: 1, freed: 9, ctime_ns: None })),
    ];
    let replay = read(&lines).expect("is read").expect("is a run");
    assert_eq!(fates(&replay), [(1, Fate::Open), (2, Fate::Done)]);
    assert_eq!((replay.damaged, replay.freed), (0, 3));
    for n in [1, 2] {
        let path = replay.intent(n).expect("exists").intent.path.0;
        assert_eq!(path, format!("/b{n}").into_bytes());
    }
    assert!(replay.intent(3).is_err());
    assert!(read(&[cut(line(&begin()))]).expect("is read").is_none());
}

#[test]
fn a_damaged_line_is_counted_and_ignored() {
    let whole =
        [line(&begin()), line(&will(1)), line(&will(2)), line(&Record::UndoEnd { ended_ms: None })];
    let text = whole[1].clone();
    // Flip each bit in turn, except those of the newline.
    for bit in 0..(text.len() - 1) * 8 {
        let mut lines = whole.clone();
        lines[1][bit / 8] ^= 1 << (bit % 8);
        if lines[1][bit / 8] == b'\n' {
            continue;
        }
        let replay = read(&lines).expect("is read").expect("is a run");
        assert_eq!(fates(&replay), [(2, Fate::Open)], "{}", text[bit / 8].escape_ascii());
        assert_eq!(replay.damaged, 1);
    }
    let mut lines = whole.clone();
    lines[0][30] ^= 1;
    let error = read(&lines).expect_err("damaged").to_string();
    assert!(error.ends_with("its first line is damaged"), "{error}");
}

#[test]
fn journals_of_other_formats_are_refused() {
    let with = |format: u32| {
        let text = format!(
            r#"{{"record":"begin","format_version":{format},"run":1,"id":"x","by":"delete","started_ms":1}}"#
        );
        read(&[text.into_bytes(), b"\n".to_vec()]).expect_err("refused").to_string()
    };
    assert!(with(1).ends_with("an earlier version of lop wrote it (format 1); use that one"));
    assert!(with(3).ends_with("a later version of lop wrote it (format 3)"), "{}", with(3));
    let no_run = line(&will(1));
    let error = read(&[no_run.clone(), no_run]).expect_err("refused").to_string();
    assert!(error.ends_with("its first line is damaged"), "{error}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "changes a test's own tree")]
fn a_journal_that_others_may_write_to_is_refused() {
    use std::os::unix::fs::{PermissionsExt, chown};
    let (_folder, path) = journal(&[line(&begin()), line(&will(1))]);
    let allow = |mode| std::fs::set_permissions(&path, PermissionsExt::from_mode(mode));
    for (mode, is_read) in [(0o600, true), (0o644, true), (0o620, false), (0o602, false)] {
        allow(mode).expect("allowed");
        assert_eq!(Replay::read(&path).is_ok(), is_read, "{mode:o}");
    }
    allow(0o600).expect("allowed");
    if !testkit::is_root() {
        return testkit::skipped("only root can make files of others");
    }
    chown(&path, Some(testkit::NOBODY), None).expect("given away");
    assert!(matches!(Replay::read(&path), Err(Error::File(_))));
}

fn take(n: u64) -> Record {
    let text = format!(
        r#"{{"record":"take","n":{n},"store":0,"path":"/c{n}","rule":"r","device":1,"inode":2,
        "size":3,"mtime_ns":4,"allocated":5,"files":6}}"#
    );
    serde_json::from_str(&text).expect("a record")
}

#[test]
fn one_record_covers_all_entries_that_were_moved_in_a_row() {
    let not = Record::Not { n: 3, why: "x".into() };
    let begin = Record::Begin {
        format_version: FORMAT,
        run: 1,
        id: "x".into(),
        by: Kind::Sweep,
        started_ms: 1,
    };
    let took = Record::Took { first: 1, last: 2 };
    let records = [begin, take(1), take(2), take(3), take(4), took, not];
    let (_folder, path) = journal(&records.each_ref().map(line));
    let replay = Replay::read(&path).expect("is read").expect("has begun");
    let expected = [(1, Fate::Done), (2, Fate::Done), (3, Fate::NotDone), (4, Fate::Open)];
    assert_eq!((fates(&replay), replay.damaged), (expected.to_vec(), 0));
    let intent = replay.intent(2).expect("is read").intent;
    assert_eq!((intent.kind, intent.path.0.as_slice()), (Kind::Sweep, &b"/c2"[..]));
    assert!(intent.is_tree() && intent.was.allocated == 5);
}

#[test]
fn a_run_of_an_unknown_kind_is_refused() {
    let text = String::from_utf8(line(&begin())).expect("is text").replace("delete", "future");
    let record: serde_json::Value = serde_json::from_str(&text).expect("an object");
    let serde_json::Value::Object(mut members) = record else { panic!("{record}") };
    members.remove("sum");
    let mut lines = Lines::default();
    lines.push(&members);
    let refused = read(&[lines.bytes().to_vec()]).expect_err("is refused");
    assert!(refused.to_string().contains("it is not the journal of a run"), "{refused}");
}
