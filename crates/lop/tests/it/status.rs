//! `lop status`: the contents of the catalog, the disks, and the runs.

use std::fs;

use serde_json::{Value, json};
use testkit::{FileSystem, Mount, TreeBuilder, skipped};

use crate::lop::{Lop, document, settle};

fn scanned() -> Lop {
    let tree = TreeBuilder::new()
        .file("x/a", "alike")
        .file("x/sub/b", "alike")
        .file("y/c", "no other file is as long")
        .file("y/large", "as long as two others!");
    let lop = Lop::with(&tree);
    lop.remember(["x"]);
    lop.remember(["--min-size", "10", "y"]);
    lop
}

/// Returns the minute of the day from a line that contains a time such as `2026-11-25 23:56`.
fn minute_of_day(line: &str) -> u32 {
    let (hour, minute) =
        line.split_whitespace().find_map(|word| word.split_once(':')).expect("a time");
    let number = |text: &str| text.parse::<u32>().expect("a number");
    number(hour) * 60 + number(minute)
}

#[test]
fn times_are_shown_in_the_local_time_zone_and_in_json_since_the_epoch() {
    let lop = Lop::with(&TreeBuilder::new().file("a/1", "alike").file("b/2", "alike"));
    lop.remember(["."]);
    lop.run(["dedupe", "--by", "quarantine", "--apply", "--all"]).success();
    for command in [&["history"][..], &["quarantine", "list"]] {
        let run = |zone: &str, json: bool| {
            let json = json.then_some("--json");
            let command = lop.command().args(command.iter().copied().chain(json)).env("TZ", zone);
            command.run().success().stdout_str().to_owned()
        };
        // 5 hours and 45 minutes east of Greenwich, the time zone of Nepal.
        let (utc, local) = (run("UTC", false), run("<+0545>-5:45", false));
        let ahead = (1440 + minute_of_day(&local) - minute_of_day(&utc)) % 1440;
        assert_eq!(ahead, 5 * 60 + 45, "{utc}{local}");
        assert_eq!(run("UTC", true), run("<+0545>-5:45", true));
    }
}

fn path(lop: &Lop, name: &str) -> String {
    lop.path(name).to_str().expect("UTF-8").to_owned()
}

#[test]
fn all_that_is_remembered_is_counted_by_root_and_by_disk() {
    let lop = scanned();
    let mut status = lop.json(["status"]);
    let bytes = fs::metadata(lop.catalog()).expect("there").len();
    let catalog = json!({ "path": lop.catalog().to_str(), "size": bytes });
    assert_eq!(status["catalog"], catalog);
    assert_eq!(
        status["remembered"],
        json!({
            "files": 4, "bytes": 56, "digested": 2, "pending": 0, "damaged": 0,
        })
    );
    for root in status["roots"].as_array_mut().expect("a list") {
        let finished = root.as_object_mut().and_then(|root| root.remove("ended_ms"));
        assert!(finished.and_then(|ms| ms.as_u64()) > Some(1_600_000_000_000));
    }
    let root = |name: &str, options: &str, files: u64, bytes: u64, digested: u64| {
        json!({
            "path": path(&lop, name), "options": options, "complete": true, "files": files,
            "bytes": bytes, "digested": digested, "pending": 0, "damaged": 0,
        })
    };
    let (x, y) = (root("x", "", 2, 10, 2), root("y", "--min-size 10", 2, 46, 0));
    assert_eq!(status["roots"], json!([x, y]));
    let disks = status["disks"].as_array().expect("a list");
    assert_eq!(disks.len(), 1);
    assert_eq!((&disks[0]["files"], &disks[0]["offline"]), (&4.into(), &false.into()));
    assert_eq!(disks[0]["path"], lop.work().to_str().expect("UTF-8"));
    for key in ["problems", "runs", "undoable", "not_over", "quarantined", "quarantined_bytes"] {
        assert_eq!(status[key], 0, "{key}");
    }
}

#[test]
fn people_get_a_few_lines() {
    let lop = scanned();
    let output = lop.run(["status"]);
    let text = output.success().stdout_str();
    let lines: Vec<&str> = text.lines().collect();
    let start = format!("Catalog     {}, ", lop.catalog().display());
    assert!(lines[0].starts_with(&start), "{text}");
    assert_eq!(lines[1], "Remembered  4 files, 56 B; 2 have a digest");
    assert!(lines[2].starts_with("Scanned     2"), "{text}");
    assert!(lines[2].ends_with(&format!("  2 files, 10 B  {}", path(&lop, "x"))), "{text}");
    let y = format!("  2 files, 46 B  {}  (--min-size 10)", path(&lop, "y"));
    assert!(lines[3].starts_with("            2") && lines[3].ends_with(&y), "{text}");
    assert!(lines[4].starts_with("Disks       "), "{text}");
    assert_eq!(lines.len(), 5, "{text}");
}

#[test]
fn runs_that_can_be_undone_and_quarantine_are_counted() {
    let lop = scanned();
    let figures = |status: &Value| {
        ["runs", "undoable", "not_over", "quarantined"].map(|key| status[key].as_u64())
    };
    lop.run(["dedupe", "--by", "quarantine", "--apply", "x"]).success();
    let status = lop.json(["status"]);
    assert_eq!(figures(&status), [1, 1, 0, 1].map(Some));
    assert!(status["quarantined_bytes"].as_u64() > Some(0));
    let output = lop.run(["status"]);
    let text = output.success().stdout_str();
    assert!(text.contains("\nRuns        1, 1 can be undone (lop history, lop undo)\n"), "{text}");
    assert!(
        text.contains("\nQuarantine  1 file, 4.0 KiB on disk (lop quarantine list)\n"),
        "{text}"
    );
    lop.run(["undo"]).success();
    assert_eq!(figures(&lop.json(["status"])), [1, 0, 0, 0].map(Some));
}

#[test]
fn a_disk_that_is_not_mounted_is_offline() {
    let Ok(mount) = Mount::new(FileSystem::Ext4, 16 << 20).map_err(skipped) else { return };
    TreeBuilder::new().file("deep/down/f", "alike").make(&mount);
    settle();
    let lop = scanned();
    lop.remember([mount.path()]);
    let disk = |lop: &Lop| {
        let status = lop.json(["status"]);
        let disks = status["disks"].as_array().expect("a list").clone();
        disks.into_iter().find(|disk| disk["files"] == 1).expect("a disk")
    };
    let down = mount.path().join("deep/down");
    assert_eq!(
        (disk(&lop)["path"].as_str(), &disk(&lop)["offline"]),
        (down.to_str(), &false.into())
    );
    let away = mount.away().expect("unmounted");
    assert_eq!(disk(&lop)["offline"], true);
    let line = format!("ext4, 1 file, 5 B    {}  (offline)\n", down.display());
    let output = lop.run(["status"]);
    assert!(output.success().stdout_str().contains(&line), "{}", output.stdout_str());
    drop(away);
}

#[test]
fn uncertain_files_are_reported() {
    let lop = scanned();
    let change = "UPDATE file SET state = 1 WHERE name = CAST('a' AS BLOB);
                  UPDATE file SET state = 2 WHERE name = CAST('c' AS BLOB);
                  UPDATE scan SET complete = 0 WHERE id = 1";
    lop.database().execute_batch(change).expect("changed");
    let status = lop.json(["status"]);
    assert_eq!(
        (&status["remembered"]["pending"], &status["remembered"]["damaged"]),
        (&1.into(), &1.into())
    );
    assert_eq!(
        (&status["roots"][0]["complete"], &status["roots"][1]["complete"]),
        (&false.into(), &true.into())
    );
    let output = lop.run(["status"]);
    let text = output.success().stdout_str();
    let line = "; 1 is not compared yet; 1 is damaged or unreadable\n";
    assert!(text.contains(line), "{text}");
    let line = format!("{}  (interrupted: scan it again)\n", path(&lop, "x"));
    assert!(text.contains(&line), "{text}");
}

#[test]
fn problems_and_a_missing_catalog_are_reported() {
    let lop = Lop::with(&TreeBuilder::new().file("a", "alike"));
    lop.run(["status"]).code(5);
    lop.run(["scan", ".", "nowhere"]).code(3);
    let status = document(&lop.run(["status", "--json"]));
    assert_eq!(status["problems"], 1);
    let output = lop.run(["status"]);
    let line = "Problems    1 entry could not be examined by the last scans\n";
    assert!(output.success().stdout_str().contains(line));
}
