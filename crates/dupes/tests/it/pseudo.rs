//! Files whose metadata is wrong: those in /proc and /sys.

use std::path::Path;

use testkit::skipped;

use crate::scan::setup;

#[test]
fn files_of_proc_with_size_zero_are_never_equal() {
    let root = Path::new("/proc/self");
    if !root.is_dir() {
        return skipped("no /proc");
    }
    for inline_reads in [false, true] {
        let scan = setup().empty(true).inline_reads(inline_reads).scan_once(&[root]);
        for group in scan.found.groups.iter() {
            let filled = |&&file: &&walk::FileId| {
                let path = String::from_utf8_lossy(&scan.tree.path(file)).into_owned();
                std::fs::read(path).is_ok_and(|bytes| !bytes.is_empty())
            };
            let wrong = group.files.iter().find(filled).map(|&f| scan.tree.path(f));
            assert_eq!(wrong.map(|p| p.escape_ascii().to_string()), None);
        }
    }
}

#[test]
fn files_of_sys_end_before_their_size_and_are_reported() {
    let root = Path::new("/sys/devices/virtual");
    if !root.is_dir() {
        return skipped("no /sys");
    }
    let scan = setup().scan_once(&[root]);
    let problems = scan.problems();
    let short = problems.values().filter(|reason| reason.contains("fewer bytes")).count();
    assert!(short > 10, "{problems:?}");
    assert!(scan.found.groups.iter().all(|group| group.size != 4096));
}
