//! Writing and reading records, and choosing the newest.

use std::fs;
use std::path::{Path, PathBuf};

use bench::record::{
    Count, Ending, Fact, Reading, Record, Role, Run, Tool, Unit, fresh_name, newest,
};
use bench::scenario::{Cache, Device, Order, Scenario, Work};
use testkit::TempTree;

fn record() -> Record {
    let fact = |name: &str, value: &str| Fact { name: name.into(), value: value.into() };
    let scenario = Scenario {
        id: "warm".into(),
        work: Work::Again,
        corpus: "server2018".into(),
        scale: 0.3,
        names: 154_205,
        bytes: u64::MAX,
        order: Order::Shuffled,
        device: Device::AsIs,
        cache: Cache::Cold,
        answers: "Two lines,\nand a comma".into(),
    };
    let hdd = Scenario { id: "hdd".into(), device: Device::Hdd, scale: 1.0, ..scenario.clone() };
    Record {
        machine: vec![fact("kernel", "Linux 6.1"), fact("empty", "")],
        tools: tools(),
        scenarios: vec![scenario, hdd],
        runs: runs(),
        counts: vec![Count {
            scenario: "hdd".into(),
            tool: "lop".into(),
            what: "statx".into(),
            count: 7,
        }],
        readings: vec![Reading {
            scenario: "hdd".into(),
            tool: "lop".into(),
            what: "filter \"a, b\"".into(),
            round: 1,
            unit: Unit::Ms,
            value: 0.1,
        }],
    }
}

fn tools() -> Vec<Tool> {
    let tool = |name: &str, role, command: &str| Tool {
        name: name.into(),
        role,
        version: "1.2, \"quoted\"".into(),
        command: command.into(),
    };
    vec![
        tool("lop", Role::Ours, "lop scan --no-catalog DIR"),
        tool("duff", Role::Peer, "duff -r DIR | sort > 'FILE'"),
        tool("lop again", Role::Aside, "lop scan DIR"),
    ]
}

/// Returns a stopped, a complete and a failed run. Optional figures are missing from some of them.
fn runs() -> Vec<Run> {
    let done = Run {
        scenario: "warm".into(),
        tool: "lop".into(),
        round: 1,
        ending: Ending::Done,
        wall_s: 0.1 + 0.2,
        settled_s: Some(1.0 / 3.0),
        user_s: 1e-7,
        sys_s: 0.0,
        peak_kib: 38_600,
        read_bytes: 5_261_334_937,
        storage_bytes: 0,
        disk_s: Some(61.0),
        seeks: Some(9_000),
        disk_bytes: Some(1 << 40),
    };
    let (tool, round, ending) = ("duff".into(), 0, Ending::Stopped);
    let (settled_s, disk_s, seeks, disk_bytes) = (None, None, None, None);
    let bare = Run { settled_s, disk_s, seeks, disk_bytes, ..done.clone() };
    let stopped = Run { tool, round, ending, ..bare };
    let failed = Run { round: 2, ending: Ending::Failed, seeks: Some(0), ..stopped.clone() };
    vec![stopped, done, failed]
}

#[test]
fn a_record_survives_writing_and_reading() {
    let place = TempTree::new();
    let folder = place.join("runs/2026-07-18-find");
    record().write(&folder).expect("it can be written");
    assert_eq!(Record::read(&folder), Ok(record()));
}

#[test]
fn an_empty_record_survives_writing_and_reading() {
    let place = TempTree::new();
    let folder = place.join("2026-07-18-find");
    let empty = Record::default();
    empty.write(&folder).expect("it can be written");
    assert_eq!(Record::read(&folder), Ok(empty));
}

#[test]
fn a_record_is_never_written_over_another() {
    let place = TempTree::new();
    let folder = place.join("2026-07-18-find");
    record().write(&folder).expect("it can be written");
    let failure = record().write(&folder).expect_err("it is there");
    assert!(failure.to_string().contains("2026-07-18-find"), "{failure}");
}

#[test]
fn a_missing_file_is_named() {
    let place = TempTree::new();
    let folder = place.join("2026-07-18-find");
    record().write(&folder).expect("it can be written");
    fs::remove_file(folder.join("tools.csv")).expect("it is there");
    let failure = Record::read(&folder).expect_err("it is incomplete");
    assert!(failure.to_string().contains("tools.csv"), "{failure}");
}

#[test]
fn timed_runs_leave_out_the_untimed_one() {
    let record = record();
    let rounds = |tool| record.timed("warm", tool).map(|run| run.round).collect::<Vec<_>>();
    assert_eq!((rounds("lop"), rounds("duff")), (vec![1], vec![2]));
    assert_eq!(record.timed("cold", "lop").count(), 0);
}

/// Returns the newest of the given folders as pairs of kind and name.
fn newest_of(folders: &[&str]) -> Vec<(String, String)> {
    let runs = TempTree::new();
    for folder in folders {
        fs::create_dir(runs.join(folder)).expect("it can be made");
    }
    let name = |folder: PathBuf| folder.file_name().map(|n| n.to_string_lossy().into_owned());
    let newest = newest(runs.path()).expect("it can be listed");
    newest.into_iter().map(|(kind, folder)| (kind, name(folder).expect("a name"))).collect()
}

#[test]
fn the_last_date_is_the_newest() {
    let folders = ["2026-07-18-find", "2025-12-31.7-find", "2026-07-09.3-find", "2024-01-01-hdd"];
    let expected = [("find", "2026-07-18-find"), ("hdd", "2024-01-01-hdd")];
    assert_eq!(newest_of(&folders), expected.map(|(kind, name)| (kind.into(), name.into())));
}

#[test]
fn on_a_day_the_highest_number_is_the_newest() {
    let folders = ["2026-07-18-find", "2026-07-18.2-find", "2026-07-18.10-find"];
    assert_eq!(newest_of(&folders), [("find".into(), "2026-07-18.10-find".into())]);
}

#[test]
fn kinds_with_a_dash_are_separate_kinds() {
    let folders = ["2026-07-18-find-hdd", "2026-07-19-find", "2026-07-18.2-find-hdd"];
    let expected = [("find", "2026-07-19-find"), ("find-hdd", "2026-07-18.2-find-hdd")];
    assert_eq!(newest_of(&folders), expected.map(|(kind, name)| (kind.into(), name.into())));
}

#[test]
fn other_folders_are_ignored() {
    let folders = ["notes", "2026-7-18-find", "2026-07-18", "2026-07-18.x-find", "20260718--find"];
    assert_eq!(newest_of(&folders), []);
}

#[test]
fn a_fresh_name_is_not_taken() {
    let runs = TempTree::new();
    let mut names = Vec::new();
    for _ in 0..12 {
        let name = fresh_name(runs.path(), "2026-07-18", "find");
        assert!(!names.contains(&name), "{}", name.display());
        fs::create_dir(&name).expect("it can be made");
        names.push(name);
    }
    assert_eq!(names[0], runs.join("2026-07-18-find"));
    assert_eq!(names[1], runs.join("2026-07-18.2-find"));
    let other = fresh_name(runs.path(), "2026-07-18", "hdd");
    assert_eq!(other, runs.join("2026-07-18-hdd"));
    let newest = newest(runs.path()).expect("it can be listed");
    assert_eq!(newest, [("find".into(), names[11].clone())]);
}

#[test]
fn a_fresh_name_needs_no_folder_of_runs() {
    let runs = Path::new("/nonexistent/runs");
    assert_eq!(fresh_name(runs, "2026-07-18", "find"), runs.join("2026-07-18-find"));
}
