//! Tests the pages about runs and the quarantine through the router.

use std::fs::File;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use action::plan::{Group, Kind, Target, Version};
use action::run::{ApplyOptions, DiskBatch, Runs};
use axum::http::StatusCode;
use fsops::Lock;
use runtime::Progress;
use testkit::TreeBuilder;

use crate::testing::TestServer;

/// A target with the current version of a file.
fn target(path: &Path) -> Target {
    let stat = fsops::Stat::of_path(path).expect("exists");
    Target { path: path.as_os_str().as_bytes().to_vec(), version: Version::from(&stat), tag: 0 }
}

/// Moves `b` to quarantine as run 1, and leaves `c` alone because it differs.
fn quarantine(server: &TestServer) {
    let [keep, b, c] = ["a", "b<i>", "c"].map(|name| target(&server.tree.join(name)));
    let device = keep.version.device;
    let groups = [Group { keep, others: vec![b, c], digest: None }];
    let options = ApplyOptions {
        kind: Kind::Quarantine,
        directory_times: false,
        threads: device::Threads { first: 1, grows: false },
        open_dirs: 8,
        open_files: 8,
        distinct: Vec::new(),
        own: walk::OwnFiles::default(),
    };
    let disk = device::Disks::new(device::Io::Cached).of(device);
    let batches = vec![DiskBatch { disk, groups: Box::new(groups.into_iter()) }];
    let runs = Runs::open(&server.app.runs_dir(), |_| ()).expect("opens");
    let progress = Arc::new(Progress::default());
    let (run, outcome, ended) = runs.apply(&options, batches, &progress).expect("runs");
    ended.expect("ends");
    assert_eq!((run, outcome.done, outcome.refused.len()), (1, 1, 1));
}

fn server_with_run(allow_actions: bool) -> TestServer {
    let tree = TreeBuilder::new().file("a", "same!").file("b<i>", "same!").file("c", "other");
    let server = TestServer::with(&tree, allow_actions);
    quarantine(&server);
    server
}

#[test]
fn a_run_is_listed_with_its_files_failures_and_undo() {
    let server = server_with_run(true);
    let list = server.page("/runs");
    assert!(list.contains("href=\"/runs/1\"") && list.contains("quarantine"));
    let page = server.page("/runs/1");
    for part in ["b&lt;i&gt;", "is not equal to the kept file", "left alone", "undo-dialog"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("b<i>"));
    assert!(
        server.page("/runs/1/undo").contains("1 file</b> would be restored")
            || server.page("/runs/1/undo").contains("1 file would be restored")
    );
    let csv = server.page("/runs/1/files.csv");
    assert_eq!(csv.lines().count(), 3, "{csv}");
    assert!(csv.contains("left alone") && csv.contains("is not equal to the kept file"));
    server.run("/api/undo", r#"{"run":1}"#);
    assert!(server.content("calls").contains("undo --verbose 1"));
}

#[test]
fn only_the_newest_run_without_an_end_may_be_in_progress_while_a_process_holds_the_lock() {
    let server = server_with_run(true);
    let folder = server.app.runs_dir();
    let journal = folder.join("1.jsonl");
    let text = std::fs::read_to_string(&journal).expect("a journal");
    let end = text.trim_end().rfind('\n').expect("several lines") + 1;
    let rewrite = |run, text| {
        let mut file = File::create(folder.join(format!("{run}.jsonl"))).expect("created");
        file.write_all(text).expect("written");
    };
    rewrite(1, &text.as_bytes()[..end]);
    let assert_state = |state: &str, remark: &str, can_be_undone: bool| {
        assert!(server.page("/runs").contains(&format!(">{state}<")), "{state}");
        let page = server.page("/runs/1");
        assert!(page.contains(remark), "{page}");
        assert_eq!(page.contains("<dialog id=\"undo-dialog"), can_be_undone, "{page}");
    };
    assert_state("interrupted", "This run was interrupted.", true);
    let lock = Lock::take(&folder.join("lock"), |_| ()).expect("locked");
    assert_state("may be running", "This run may still be in progress.", false);
    rewrite(2, &text.as_bytes()[..end]);
    assert_state("interrupted", "This run was interrupted.", true);
    drop(lock);
}

#[test]
fn the_quarantine_lists_files_and_counts_what_is_old_enough() {
    let server = server_with_run(true);
    let page = server.page("/quarantine");
    assert!(page.contains("1 file</b> in quarantine") && page.contains("b&lt;i&gt;"));
    assert!(server.page("/quarantine/purge?days=0").contains("1 file</b>"));
    assert!(!server.page("/quarantine/purge?days=0").contains(" day"));
    assert!(server.page("/quarantine/purge?days=1").contains("No file is that old"));
    server.run("/api/purge", r#"{"days":2}"#);
    assert!(server.content("calls").contains("--older-than 172800s"));
    assert_eq!(server.post("/api/purge", r#"{"days":999999}"#).0, StatusCode::BAD_REQUEST);
    assert_eq!(server.post("/api/purge", r#"{"days":-1}"#).0, StatusCode::BAD_REQUEST);
}

#[test]
fn a_read_only_server_shows_runs_and_quarantine_without_their_dialogs() {
    let server = server_with_run(false);
    for path in ["/runs/1", "/quarantine"] {
        let page = server.page(path);
        assert!(page.contains("read-only") && !page.contains("<dialog"), "{path}");
    }
}
