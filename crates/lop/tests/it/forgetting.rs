//! `lop forget` with paths that exist, no longer exist, lead through links, or are on unmounted disks.

use std::fs;

use testkit::{FileSystem, Mount, TreeBuilder, assert_groups, groups_of, skipped};

use crate::lop::{Lop, assert_exit_record, document, settle};

fn scanned() -> Lop {
    let tree = TreeBuilder::new()
        .file("d/a", "alike")
        .file("d/sub/b", "alike")
        .file("e/c", "alike")
        .file("e/d", "alike")
        .symlink("link", "d");
    let lop = Lop::with(&tree);
    lop.remember(["d", "e"]);
    lop
}

#[test]
fn a_path_is_forgotten_however_it_is_spelt() {
    let absolute = |lop: &Lop| lop.path("d").display().to_string();
    let spellings: [&dyn Fn(&Lop) -> String; 6] = [
        &|_| "d".into(),
        &|_| "./d/".into(),
        &|_| "e/../d".into(),
        &|_| "link".into(),
        &absolute,
        &|lop| format!("{}/sub/..", absolute(lop)),
    ];
    for spelling in spellings {
        for is_there in [true, false] {
            let lop = scanned();
            let path = spelling(&lop);
            if !is_there {
                if path == "link" {
                    continue;
                }
                fs::remove_dir_all(lop.path("d")).expect("removed");
            }
            let output = lop.run(["forget", &path]);
            assert_eq!(output.success().stdout_str(), "2 files forgotten\n", "{path} {is_there}");
            assert_groups(&groups_of([["e/c", "e/d"]]), &lop.report());
            lop.assert_whole_catalog();
        }
    }
}

#[test]
fn forgotten_files_are_new_to_the_next_scan_and_the_rest_is_known() {
    let lop = scanned();
    assert_eq!(document(&lop.run(["forget", "--json", "d/a"]))["summary"]["forgotten"], 1);
    let figures = lop.scan_figures(["d", "e"]);
    assert_eq!(figures.get("candidates") - figures.get("known"), 1);
    assert_groups(&groups_of([["d/a", "d/sub/b", "e/c", "e/d"]]), &lop.report());
}

#[test]
fn a_path_that_is_not_in_the_catalog_is_reported() {
    let lop = scanned();
    let output = lop.run(["forget", "nowhere", "e"]);
    output.code(3);
    assert_eq!(output.stderr_str(), "lop: nowhere: not in the catalog\n");
    assert_eq!(output.stdout_str(), "2 files forgotten\n");
    assert_exit_record(&lop.run(["forget", "--json", "nowhere"]), 1);
    lop.run(["forget"]).code(2);
    let lop = Lop::new();
    lop.run(["forget", "d"]).code(5);
    assert!(!lop.catalog().exists());
}

#[test]
fn a_link_in_the_place_of_a_directory_does_not_hide_what_was_there() {
    let lop = scanned();
    fs::rename(lop.path("d"), lop.path("moved")).expect("renamed");
    std::os::unix::fs::symlink("moved", lop.path("d")).expect("linked");
    assert_eq!(lop.run(["forget", "d"]).success().stdout_str(), "2 files forgotten\n");
}

#[test]
fn disks_that_are_not_mounted_are_forgotten_as_a_whole_or_in_part() {
    let Ok(mount) = Mount::new(FileSystem::Ext4, 16 << 20).map_err(skipped) else { return };
    TreeBuilder::new().file("x/f", "alike").file("y/g", "alike").file("z/h", "alike").make(&mount);
    settle();
    let lop = scanned();
    lop.remember([mount.path()]);
    let point = |name: &str| mount.path().join(name).display().to_string();
    assert_eq!(lop.run(["forget", "--offline"]).success().stdout_str(), "0 files forgotten\n");
    let away = mount.away().expect("unmounted");
    let in_x = lop.run(["forget", "--offline", &point("x")]);
    assert_eq!(in_x.success().stdout_str(), "1 file forgotten\n");
    assert_eq!(lop.run(["forget", &point("y")]).success().stdout_str(), "1 file forgotten\n");
    assert_eq!(lop.run(["forget", "--offline"]).success().stdout_str(), "1 file forgotten\n");
    assert_groups(&groups_of([["d/a", "d/sub/b", "e/c", "e/d"]]), &lop.report());
    drop(away);
}
