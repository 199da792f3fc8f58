//! Messages: counts, truncated lists, and errors about the arguments.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use testkit::{NOBODY, TreeBuilder, is_root, skipped};

use crate::lop::Lop;

/// Returns a directory of five files, two of which also have names elsewhere.
fn linked() -> Lop {
    let tree = TreeBuilder::new().file("p/1", "1").file("p/2", "2").file("p/sub/3", "3");
    let tree = tree.file("p/4.log", "4").file("p/5.log", "5").dir("elsewhere");
    let tree = tree.hard_link("p/1", "elsewhere/1").hard_link("p/2", "elsewhere/2");
    Lop::with(&tree)
}

/// Checks that messages about 25 entries are truncated after 20 of them, except with `-v`.
fn is_cut_short(lop: &Lop, args: &[&str]) {
    for (verbosity, messages) in [(&[][..], 21), (&["-v"], 25)] {
        let output = lop.command().args(args).args(verbosity).run();
        let said = output.stderr_str();
        let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("lop: ")).collect();
        assert_eq!(lines.len(), messages, "{args:?} {verbosity:?}: {said}");
        let rest = lines.contains(&"lop: … and 5 more (-v shows more)");
        assert_eq!(rest, verbosity.is_empty(), "{args:?} {verbosity:?}: {said}");
    }
}

#[test]
fn long_lists_are_cut_short_in_one_way() {
    let (mut tree, mut list) = (TreeBuilder::new(), String::new());
    for n in 0..25 {
        let same = format!("{n:02} same");
        tree = tree.file(format!("a/{n}"), &same[..]).file(format!("b/{n}"), &same[..]);
        tree = tree.file(format!("src/{n}"), "file").file(format!("dst/{n}/deep"), "in the way");
        list += &format!("missing {n}\n");
    }
    let lop = Lop::with(&tree.file("list", &list[..]));
    is_cut_short(&lop, &["mirror", "src", "dst"]);
    is_cut_short(&lop, &["purge", "--files-from", "list"]);
    is_cut_short(&lop, &["scan", "--files-from", "list"]);
    lop.run(["dedupe", "--by", "delete", "--save-plan", "plan", "a", "b"]).code(5);
    lop.remember(["a", "b"]);
    lop.run(["dedupe", "--by", "delete", "--save-plan", "plan", "a", "b"]).success();
    for n in 0..25 {
        fs::write(lop.path("b").join(n.to_string()), "changed").expect("written");
    }
    is_cut_short(&lop, &["dedupe", "--plan", "plan"]);
}

#[test]
fn purge_reports_what_it_would_free_and_what_it_kept() {
    let lop = linked();
    let output = lop.run(["purge", "-n", "--exclude", "*.log", "p"]);
    let said = output.success().stderr_str();
    assert!(said.starts_with("would remove 3 files and 1 directory and free "), "{said}");
    let rest = "iB, 2 not selected; 2 are hard links to files outside and free nothing\n";
    assert!(said.ends_with(rest), "{said}");
    fs::remove_file(lop.path("elsewhere/2")).expect("removed");
    let output = lop.run(["purge", "-n", "p"]);
    let said = output.success().stderr_str();
    let rest = "iB; 1 is a hard link to a file outside and frees nothing\n";
    assert!(said.ends_with(rest), "{said}");
    let output = lop.run(["purge", "--include", "*.log", "p"]);
    let said = output.success().stderr_str();
    assert!(
        said.starts_with("2 files removed in ") && said.ends_with(" s, 3 not selected\n"),
        "{said}"
    );
}

#[test]
fn a_dry_run_of_purge_reports_what_could_not_be_examined() {
    if !is_root() {
        return skipped("only root can become another user");
    }
    let lop = Lop::with(
        &TreeBuilder::new().file("p/a", "a").file("p/closed/b", "b").mode("p/closed", 0o700),
    );
    let output = lop.command().args(["purge", "-n", "p"]).as_user(NOBODY, NOBODY).run();
    output.code(3);
    let said = output.stderr_str();
    assert!(said.contains(", 1 could not be examined\n") && !said.contains("removed"), "{said}");
}

#[test]
fn messages_distinguish_kinds_of_links() {
    let lop = Lop::with(&TreeBuilder::new().file("s/a", "a").fifo("s/fifo"));
    for n in 0..3 {
        symlink("a", lop.path("s").join(format!("link {n}"))).expect("made");
    }
    let output = lop.run(["mirror", "s", "d"]);
    let said = output.success().stderr_str();
    let made = "; 1 file copied (1 B), 3 symlinks made, 1 special file made\n";
    assert!(said.ends_with(made), "{said}");
    fs::set_permissions(lop.path("s/a"), Permissions::from_mode(0o640)).expect("set");
    let output = lop.run(["mirror", "s", "d"]);
    assert!(output.success().stderr_str().ends_with("; metadata of 1 entry updated\n"));
    let output = lop.run(["scan", "s"]);
    assert!(output.success().stdout_str().ends_with("Skipped   3 symbolic links, 1 FIFO\n"));
}

#[test]
fn the_freed_space_is_the_same_before_and_after_a_run() {
    let lop = Lop::with(&TreeBuilder::new().seeded("a", 1, 4096).seeded("b", 1, 4096));
    lop.remember(["."]);
    let output = lop.run(["dedupe", "--by", "hardlink", "."]);
    let planned = output.success().stderr_str();
    assert!(
        planned.starts_with("1 file to hardlink, ") && planned.contains("iB to free;"),
        "{planned}"
    );
    let output = lop.run(["dedupe", "--by", "hardlink", "--apply", "."]);
    let said = output.success().stderr_str();
    assert!(said.starts_with("1 file hard linked, "), "{said}");
    assert!(said.ends_with("iB freed; 'lop undo 1' reverts it\n"), "{said}");
}

#[test]
fn errors_in_what_was_typed_look_like_all_others() {
    let lop = Lop::with(&TreeBuilder::new().dir("doc"));
    for (args, first) in [
        (&["purge", "--rm", "doc"][..], "unexpected argument '--rm' found"),
        (
            &["dedupe", "--plan", "p", "doc"],
            "the argument '--plan <FILE>' cannot be used with '[PATH]...'",
        ),
        (
            &["scan", "--threads", "0", "."],
            "invalid value '0' for '--threads <N>': must be 1 or more",
        ),
    ] {
        let output = lop.run(args);
        output.code(2);
        let said = format!("lop: {first}\nhint: try '--help' for more information\n");
        assert_eq!(output.stderr_str(), said, "{args:?}");
    }
    let output = lop.run(["undo", "--dry-run"]);
    output.code(1);
    assert_eq!(output.stderr_str(), "lop: there is nothing to undo\n");
}
