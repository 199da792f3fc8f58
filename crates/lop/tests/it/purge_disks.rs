//! `lop purge` on hard disks, and on disks with sectors that cannot be read. Needs root and /dev/fuse.

use bench::hdd::{Settings, Trouble};
use serde_json::Value;
use testkit::{Output, TreeBuilder};

use crate::disks::Ailing;
use crate::lop::{Lop, unversioned};

/// Returns a tree in which each directory occupies a block that is read separately.
fn tree() -> TreeBuilder {
    let files = (0..600).map(|i| format!("tree/{}/{i}", i / 2));
    files.fold(TreeBuilder::new(), |tree, file| tree.file(file, "x")).file("kept", "kept")
}

fn figures(output: &Output) -> Value {
    let said = output.stderr_str();
    let line = said.lines().find(|line| line.starts_with('{')).expect("figures");
    unversioned(line).expect("figures")
}

/// Purges a tree on a hard disk, and returns the statistics.
fn purged_before_an_arm(io: &str) -> Option<Value> {
    let ailing = Ailing::with_settings(&tree(), &Settings::default())?;
    let tree = ailing.join("tree");
    let args = ["purge", "--stats", "--io", io];
    let output = Lop::new().command().args(args).arg(tree.as_os_str()).run();
    output.success();
    assert!(!tree.exists() && ailing.join("kept").exists());
    Some(figures(&output))
}

#[test]
fn a_hard_disk_is_read_in_elevator_order() {
    let Some(figures) = purged_before_an_arm("hdd") else { return };
    assert_eq!(figures["devices"][0]["seek_bound"], true, "{figures}");
    assert!(figures["prefetch_rounds"].as_u64() > Some(0), "{figures}");
}

/// Only the duration of its reads reveals that a disk is seek-bound, and durations are unreliable on a busy machine.
#[test]
fn a_seek_bound_disk_is_recognised_by_the_duration_of_reads() {
    let mut tries = Vec::new();
    while tries.len() < 5 {
        let Some(figures) = purged_before_an_arm("auto") else { return };
        if figures["devices"][0]["seek_bound"] == true
            && figures["prefetch_rounds"].as_u64() > Some(0)
        {
            return;
        }
        tries.push(figures);
    }
    panic!("it was never noticed: {tries:?}");
}

#[test]
fn an_unreadable_directory_is_kept_and_the_rest_is_removed() {
    let Some(ailing) = Ailing::with(&tree()) else { return };
    for (bad, io) in ["auto", "hdd", "ssd", "cached"].iter().enumerate() {
        let tree = ailing.join("tree");
        let bad = format!("tree/{bad}");
        if !ailing.join(&bad).exists() {
            TreeBuilder::new().file(format!("{bad}/x"), "x").make(ailing.path());
        }
        let sector = ailing.sector(&bad, 0);
        ailing.cool();
        ailing.disk().afflict(sector, Trouble::Error);
        let lop = Lop::new();
        let output = lop.command().args(["purge", "--io", io]).arg(tree.as_os_str()).run();
        output.code(3);
        let line = format!("{}: cannot list: Input/output error", ailing.join(&bad).display());
        assert!(output.stderr_str().contains(&line), "{io}: {}", output.stderr_str());
        let left = std::fs::read_dir(&tree).expect("it is there").flatten();
        let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
        assert_eq!(left.len(), 1, "{io}: {left:?}");
        ailing.disk().heal();
        ailing.cool();
    }
    let tree = ailing.join("tree");
    Lop::new().run(["purge".as_ref(), tree.as_os_str()]).success();
    assert!(!tree.exists() && ailing.join("kept").exists());
}
