//! `lop mirror` run by a user who lacks some permissions.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::process::Command;

use testkit::{TreeBuilder, is_root, skipped};

use crate::lop::Lop;
use crate::mirror::alike;

#[test]
fn an_ordinary_user_mirrors_what_it_may() {
    if !is_root() {
        return skipped("only root can become another user");
    }
    let tree = TreeBuilder::new()
        .file("src/mine", "m")
        .file("src/roots", "r")
        .mode("src/roots", 0o6755)
        .file("src/secret", "s")
        .mode("src/secret", 0o600)
        .file("src/closed/in", "i")
        .mode("src/closed", 0o555)
        .owner("src/mine", 65534, 65534)
        .dir("dst")
        .owner("dst", 65534, 65534)
        .file("dst/extraneous", "s");
    let lop = Lop::with(&tree);
    let run =
        || lop.command().args(["mirror", "--delete", "src", "dst"]).as_user(65534, 65534).run();
    let output = run();
    output.code(3);
    let said = output.stderr_str();
    assert!(said.starts_with("lop: src/secret: cannot open: Permission denied\n"), "{said}");
    assert!(said.contains("kept 1 extraneous entry: not all"), "{said}");
    let stat = |name: &str| lop.path(name).metadata().expect("there");
    // Permissions that were meant for the original owner must not be granted to the new owner.
    assert_eq!((stat("dst/roots").uid(), stat("dst/roots").mode() & 0o7777), (65534, 0o755));
    assert_eq!(stat("dst/closed").mode() & 0o7777, 0o555);
    assert!(lop.path("dst/extraneous").exists());
    fs::remove_file(lop.path("src/secret")).expect("removed");
    fs::write(lop.path("src/closed/more"), "more").expect("written");
    run().success();
    assert!(lop.path("dst/closed/more").exists() && !lop.path("dst/extraneous").exists());
    let again = run();
    again.success();
    assert!(again.stderr_str().ends_with("nothing to change\n"), "{}", again.stderr_str());
}

/// The content of an unreadable directory is unknown, even if the copy of its parent could not be created.
#[test]
fn nothing_is_removed_if_entries_below_a_failed_directory_cannot_be_read() {
    if !is_root() {
        return skipped("only root can become another user");
    }
    let tree = TreeBuilder::new()
        .file("src/name/f1", "1")
        .file("src/name/d/f2", "2")
        .mode("src/name/d", 0)
        .file("src/f3", "3")
        .dir("dst")
        .owner("dst", 65534, 65534)
        .file("dst/name", "in the way, and left out")
        .file("dst/f4", "extraneous");
    let lop = Lop::with(&tree);
    let args = ["mirror", "--delete", "--include", "f*", "src", "dst"];
    let output = lop.command().args(args).as_user(65534, 65534).run();
    output.code(3);
    assert!(lop.path("dst/f4").exists(), "{}", output.stderr_str());
    let said = output.stderr_str();
    assert!(said.contains("kept 1 extraneous entry: not all of the source"), "{said}");
}

/// Files whose attributes cannot be written, and directories that are not writable or not even searchable.
#[test]
fn an_ordinary_user_changes_what_it_has_closed_to_itself() {
    if !is_root() {
        return skipped("only root can become another user");
    }
    let mut tree = TreeBuilder::new()
        .file("src/read-only", "r")
        .xattr("src/read-only", "user.one", b"1")
        .mode("src/read-only", 0o444)
        .file("src/closed/in", "i")
        .mode("src/closed", 0o555)
        .file("src/dark/in", "i")
        .file("dst/closed/extraneous", "s")
        .file("dst/closed/in", "i")
        .mode("dst/closed", 0o555)
        .file("dst/dark/other", "o")
        .mode("dst/dark", 0o000);
    let all = ["src", "src/read-only", "src/closed", "src/closed/in", "src/dark", "src/dark/in"];
    let there = ["dst", "dst/closed", "dst/closed/in", "dst/closed/extraneous", "dst/dark"];
    for name in all.into_iter().chain(there).chain(["dst/dark/other"]) {
        tree = tree.owner(name, 65534, 65534);
    }
    let lop = Lop::with(&tree);
    let run =
        || lop.command().args(["mirror", "--delete", "src", "dst"]).as_user(65534, 65534).run();
    run().success();
    alike(&lop);
    // An ACL takes away the permissions of the owner.
    let acl = |entry: &str, name: &str| {
        let mut setfacl = std::process::Command::new("setfacl");
        let set = setfacl.args(["-m", entry]).arg(lop.path(name)).status();
        set.is_ok_and(|status| status.success())
    };
    if !(acl("u:1000:r", "src/read-only") && acl("u:1000:rx", "src/closed")) {
        return skipped("setfacl is not installed");
    }
    for from_nothing in [false, true] {
        if from_nothing {
            fs::remove_dir_all(lop.path("dst")).expect("removed");
            TreeBuilder::new().dir("dst").owner("dst", 65534, 65534).make(lop.path("."));
        }
        run().success();
        alike(&lop);
        let again = run();
        again.success();
        assert!(again.stderr_str().ends_with("nothing to change\n"), "{}", again.stderr_str());
    }
}

/// A run in which only a removal failed is a partial success.
#[test]
fn a_failure_to_remove_only_is_a_partial_result() {
    if !is_root() {
        return skipped("only root can become another user");
    }
    let mut tree = TreeBuilder::new().file("src/d/a", "a").file("dst/d/theirs/in", "i");
    for name in ["src", "src/d", "src/d/a", "dst", "dst/d"] {
        tree = tree.owner(name, 65534, 65534);
    }
    let lop = Lop::with(&tree);
    for args in [&["--delete", "-i"][..], &["--delete", "-i", "--json"]] {
        let run = lop.command().args(["mirror", "src", "dst"]).args(args);
        let output = run.as_user(65534, 65534).run();
        output.code(3);
        let reported = output.stdout_str();
        assert!(!reported.contains("remove ") && !reported.contains("\"remove\""), "{reported}");
        let said = output.stderr_str();
        assert!(
            said.contains("lop: dst/d/theirs/in: cannot remove: Permission denied\n"),
            "{said}"
        );
    }
}

#[test]
fn an_ordinary_user_removes_directories_that_it_has_closed_to_itself() {
    if !is_root() {
        return skipped("only root can become another user");
    }
    let mut tree = TreeBuilder::new()
        .file("src/kept", "k")
        .file("dst/kept", "k")
        .mtime("src/kept", 1_000_000_000, 0)
        .mtime("dst/kept", 1_000_000_000, 0)
        .file("dst/mod/one/go.mod", "1")
        .file("dst/mod/two/deep/er/go.mod", "2")
        .file("dst/mod/dark/in", "i")
        .dir("dst/mod/unlisted/in")
        .dir("dst/mod/empty")
        .file("dst/mod/roots/in", "i");
    let own = [
        ("dst/mod/one/go.mod", 0o444),
        ("dst/mod/one", 0o555),
        ("dst/mod/two/deep/er", 0o500),
        ("dst/mod/two/deep", 0o555),
        ("dst/mod/two", 0o555),
        ("dst/mod/dark", 0o000),
        ("dst/mod/unlisted", 0o300),
        ("dst/mod/empty", 0o000),
        ("dst/mod", 0o555),
        ("dst", 0o555),
        ("src", 0o555),
    ];
    for (name, mode) in own {
        tree = tree.owner(name, 65534, 65534).mode(name, mode);
    }
    let lop = Lop::with(&tree);
    let run = |args: &[&str]| {
        lop.command().args(["mirror", "src", "dst"]).args(args).as_user(65534, 65534).run()
    };
    // Files of other users are kept, and lop reports them.
    let output = run(&["--delete"]);
    output.code(3);
    assert!(output.stderr_str().contains("mod/roots/in: cannot remove"), "{}", output.stderr_str());
    assert!(lop.path("dst/mod/roots/in").exists() && !lop.path("dst/mod/two").exists());
    std::os::unix::fs::chown(lop.path("dst/mod/roots"), Some(65534), None).expect("given");
    run(&["--delete"]).success();
    assert!(!lop.path("dst/mod").exists());
    alike(&lop);
}

#[test]
fn modes_of_unreadable_entries_are_preserved() {
    let lop = Lop::with(&TreeBuilder::new().file("src/none", "n"));
    fs::set_permissions(lop.path("src/none"), fs::Permissions::from_mode(0o200)).expect("set");
    if !is_root() {
        return skipped("only root can read files without permissions");
    }
    lop.run(["mirror", "src", "dst"]).success();
    alike(&lop);
}

/// In a container, for example, root may be unable to set some owners.
#[test]
fn a_file_whose_owner_cannot_be_set_is_copied_without_it() {
    let lop = Lop::with(&TreeBuilder::new().file("src/d/a", "a").mode("src/d/a", 0o6755));
    if !is_root() {
        return skipped("only root can change the owner of a file");
    }
    for name in ["src/d/a", "src/d"] {
        chown(lop.path(name), Some(1000), Some(1000)).expect("given away");
    }
    for (name, mode) in [("src/d/a", 0o6755), ("src/d", 0o2555)] {
        fs::set_permissions(lop.path(name), fs::Permissions::from_mode(mode)).expect("set");
    }
    let inside = |program: &str, args: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", program]).args(args).current_dir(lop.path(""));
        command.output()
    };
    if !inside("true", &[]).is_ok_and(|output| output.status.success()) {
        return skipped("user namespaces are not available");
    }
    for changes in ["1 file copied (1 B), 1 directory made", "metadata of 2 entries updated"] {
        let output = inside(env!("CARGO_BIN_EXE_lop"), &["mirror", "src", "dst"]).expect("ran");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains("dst/d/a: cannot set the owner: Invalid argument"), "{said}");
        assert!(said.ends_with(&format!("; {changes}, 2 failed\n")), "{said}");
        let there = lop.path("dst/d/a").metadata().expect("copied");
        // Set-id bits are meant for the original owner, but the copy has a different owner.
        assert_eq!((there.mode() & 0o7777, there.uid()), (0o755, 0));
        let above = lop.path("dst/d").metadata().expect("made");
        assert_eq!((above.mode() & 0o7777, above.gid()), (0o555, 0));
        assert_eq!(fs::read_to_string(lop.path("dst/d/a")).expect("read"), "a");
    }
}
