//! `lop validate` and `lop refresh`: files are read again, and missing files are forgotten.

use std::fs::{self, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt};

use testkit::{FileSystem, Mount, NOBODY, TreeBuilder, assert_groups, groups_of, is_root, skipped};

use crate::lop::{Lop, assert_exit_record, document, settle};

fn tree() -> TreeBuilder {
    TreeBuilder::new()
        .file("a", "alike")
        .file("b", "alike")
        .file("d/sub/c", "alike")
        .file("d/other", "other")
        .file("single", "no other file has this size")
        .seeded("large 1", 1, 300_000)
        .seeded("large 2", 1, 300_000)
}

fn scanned() -> Lop {
    let lop = Lop::with(&tree());
    lop.remember(["."]);
    lop
}

#[test]
fn files_as_they_were_are_valid() {
    let lop = scanned();
    let output = lop.run(["validate"]);
    output.success();
    assert_eq!(
        (output.stdout_str(), output.stderr_str()),
        ("", "5 files as scanned, 2 not checked: they have no digest\n")
    );
    let output = lop.run(["validate", "-q"]);
    assert_eq!((output.stdout_str(), output.stderr_str()), ("", ""));
}

#[test]
fn changes_that_show_in_the_metadata_are_not_damage() {
    let lop = scanned();
    // The modification time is restored, so only the status change time reveals the change.
    let before = fs::metadata(lop.path("a")).and_then(|m| m.modified()).expect("a time");
    fs::write(lop.path("a"), "blike").expect("written");
    let file = fs::File::options().write(true).open(lop.path("a")).expect("opens");
    file.set_modified(before).expect("set");
    fs::remove_file(lop.path("d/other")).expect("removed");
    let output = lop.run(["validate"]);
    output.success();
    let said = "4 files as scanned, 1 changed since the scan, 1 gone, \
                1 not checked: it has no digest\n";
    assert_eq!((output.stdout_str(), output.stderr_str()), ("", said));
}

/// Bytes change below the file system, as on a failing disk.
#[test]
fn damage_on_the_disk_is_named() {
    let Ok(mount) = Mount::new(FileSystem::Ext4, 16 << 20).map_err(skipped) else { return };
    let marker = b"0123456789 these bytes are on the disk once, and will be others";
    TreeBuilder::new()
        .file("good", marker[..].to_ascii_uppercase())
        .file("bad", marker)
        .make(&mount);
    TreeBuilder::new().file("newline\n in \\ its name", "alike").file("copy", "alike").make(&mount);
    settle();
    let lop = Lop::new();
    lop.remember([mount.path()]);
    lop.run(["validate"]).success();
    let image = mount.path().with_file_name("image");
    mount.remount("ro").expect("written out");
    let bytes = fs::read(&image).expect("readable");
    let at = bytes.windows(marker.len()).position(|w| w == marker).expect("on the disk");
    let disk = fs::File::options().write(true).open(&image).expect("opens");
    disk.write_all_at(b"#", at as u64 + 3).expect("written");
    let bad = mount.path().join("bad");
    let file = fs::File::open(&bad).expect("opens");
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).expect("forgotten");
    if fs::read(&bad).expect("readable") == marker {
        return skipped("the cache still has the undamaged bytes");
    }
    let output = lop.run(["validate", "--json"]);
    assert_exit_record(&output, 3);
    let document = document(&output);
    assert_eq!(document["files"][0]["path"], bad.to_str().expect("UTF-8"));
    assert_eq!(document["summary"]["differing"], 1);
    let output = lop.run(["validate"]);
    output.code(3);
    let said = ": differs from what was scanned, though its size and times are the same\n";
    assert_eq!(output.stdout_str(), format!("{}{said}", bad.display()));
}

#[test]
fn bytes_that_are_not_those_of_the_digest_are_named() {
    let lop = scanned();
    let changed = lop
        .database()
        .execute("UPDATE content SET digest = zeroblob(32) WHERE size = 5 AND inodes = 3", []);
    assert_eq!(changed, Ok(1));
    let output = lop.run(["validate", "--json"]);
    assert_exit_record(&output, 3);
    let document = document(&output);
    let names = ["a", "b", "d/sub/c"].map(|name| lop.path(name).display().to_string());
    let listed = document["files"].as_array().expect("a list").iter();
    let listed: Vec<&str> = listed.map(|file| file["path"].as_str().expect("a path")).collect();
    assert_eq!(listed, names);
    // A file without a digest is compared by its first block.
    lop.database()
        .execute("UPDATE file SET head = 7 WHERE name = x'6f74686572'", [])
        .expect("changed");
    let output = lop.run(["validate"]);
    output.code(3);
    assert_eq!(output.stdout_str().lines().count(), 4);
    assert_eq!(
        output.stderr_str(),
        "2 files as scanned, 4 differing, 1 not checked: it has no digest\n"
    );
}

#[test]
fn unreadable_files_are_reported_with_a_partial_result() {
    if !is_root() {
        return skipped("only root can run the rest as a user without permissions");
    }
    let lop = Lop::with(&tree());
    let nobody = |args: &[&str]| lop.command().args(args).as_user(NOBODY, NOBODY).run();
    nobody(&["scan", "."]).success();
    fs::set_permissions(lop.path("d"), Permissions::from_mode(0o0)).expect("locked");
    let output = nobody(&["validate", "--json"]);
    assert_exit_record(&output, 3);
    let said = output.stderr_str();
    for name in ["d/sub/c", "d/other"] {
        let line = format!("lop: {}: cannot stat: Permission denied\n", lop.path(name).display());
        assert!(said.contains(&line), "{said}");
    }
    let output = nobody(&["refresh", "--json"]);
    assert_exit_record(&output, 3);
    let summary = &document(&output)["summary"];
    assert_eq!((&summary["gone"], &summary["problems"]), (&0.into(), &2.into()));
    fs::set_permissions(lop.path("d"), Permissions::from_mode(0o755)).expect("unlocked");
    nobody(&["validate"]).success();
    let report = lop.report();
    assert!(report.iter().flatten().any(|path| path == b"d/sub/c"), "nothing was forgotten");
}

#[test]
fn a_list_of_damage_is_one_line_a_file() {
    let lop = Lop::with(&TreeBuilder::new().file("new\nline", "alike").file("\\", "alike"));
    lop.remember(["."]);
    lop.database().execute("UPDATE content SET digest = zeroblob(32)", []).expect("changed");
    let output = lop.run(["validate"]);
    output.code(3);
    assert_eq!(output.stdout_str().lines().count(), 2);
    assert!(output.stdout_str().contains("/new\\nline: differs"), "{}", output.stdout_str());
}

#[test]
fn refresh_forgets_missing_files_and_their_empty_directories() {
    let lop = scanned();
    fs::remove_dir_all(lop.path("d")).expect("removed");
    fs::remove_file(lop.path("b")).expect("removed");
    fs::write(lop.path("a"), "other").expect("written");
    let output = lop.run(["refresh"]);
    output.success();
    let said = "7 files checked, 3 gone and forgotten, 1 changed since the scan\n";
    assert_eq!(output.stdout_str(), said);
    let database = lop.database();
    let names = |sql: &str| -> Vec<String> {
        let mut query = database.prepare(sql).expect("a query");
        let rows = query.query_map([], |row| row.get(0));
        rows.and_then(Iterator::collect).expect("rows")
    };
    let files = names("SELECT CAST(name AS TEXT) FROM file ORDER BY name");
    assert_eq!(files, ["a", "large 1", "large 2", "single"]);
    let dirs = names("SELECT CAST(name AS TEXT) FROM dir WHERE name IN (x'64', x'737562')");
    assert_eq!(dirs, [""; 0], "neither d nor d/sub is left");
    assert_groups(&groups_of([["large 1", "large 2"]]), &lop.report());
    lop.assert_whole_catalog();
    let again = lop.run(["refresh"]);
    assert_eq!(
        again.stdout_str(),
        "4 files checked, 0 gone and forgotten, 1 changed since the scan\n"
    );
    let output = lop.run(["refresh", "-q"]);
    assert_eq!((output.stdout_str(), output.stderr_str()), ("", ""));
}

#[test]
fn refresh_reads_nothing_and_keeps_what_is_known() {
    let lop = scanned();
    fs::remove_file(lop.path("b")).expect("removed");
    lop.run(["refresh"]).success();
    assert_groups(&groups_of([["a", "d/sub/c"], ["large 1", "large 2"]]), &lop.report());
    lop.scan_figures(["."]).assert_nothing_read();
    let inodes: i64 = lop
        .database()
        .query_row("SELECT inodes FROM groups WHERE size = 5", [], |row| row.get(0))
        .expect("one group");
    assert_eq!(inodes, 2);
}

#[test]
fn refresh_of_everything_leaves_an_empty_catalog_that_works() {
    let lop = scanned();
    for entry in fs::read_dir(lop.work()).expect("listed") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
            .expect("removed");
    }
    lop.run(["refresh"]).success();
    lop.assert_whole_catalog();
    let left: i64 = lop
        .database()
        .query_row("SELECT (SELECT count(*) FROM file) + (SELECT count(*) FROM content)", [], |r| {
            r.get(0)
        })
        .expect("a count");
    assert_eq!(left, 0);
    lop.run(["report"]).success();
    lop.add(&tree());
    lop.remember(["."]);
    let expected = groups_of([vec!["a", "b", "d/sub/c"], vec!["large 1", "large 2"]]);
    assert_groups(&expected, &lop.report());
}

#[test]
fn refresh_and_validate_report_a_file_system_that_is_not_mounted() {
    let Ok(mount) = Mount::new(FileSystem::Tmpfs, 1 << 20).map_err(skipped) else { return };
    let lop = scanned();
    TreeBuilder::new().file("x", "alike").make(&mount);
    settle();
    lop.remember([mount.path()]);
    let summary = |command: &str| lop.json([command])["summary"].clone();
    assert_eq!(summary("validate")["matching"], 6);
    drop(mount);
    assert_eq!(summary("validate")["gone"], 1);
    assert_eq!(summary("refresh")["gone"], 1);
    assert_eq!(summary("refresh")["gone"], 0);
}
