//! Guard 4: a rule file is read only if nobody but the user and root could have written it.

use std::path::Path;

use sweep::formats::{Format, FormatError, parse, read_rule_file};
use testkit::tree::TreeBuilder;

const RULES: &[u8] =
    b"format = 1\n[[rule]]\nid = \"a\"\nwhat = \"a\"\nrisk = \"costs\"\nat = \"{temp}\"\n";

/// Returns the objection to a file.
fn untrusted(path: &Path) -> String {
    match read_rule_file(path) {
        Err(FormatError::Untrusted { why, .. }) => why,
        other => panic!("{}: {other:?}", path.display()),
    }
}

#[test]
fn a_private_file_is_read_and_its_extension_decides_the_format() {
    let names = ["a.toml", "b.ini", "c.xml", "d.conf"];
    let mut tree = TreeBuilder::new();
    for name in names {
        tree = tree.file(name, RULES).mode(name, 0o644);
    }
    let temp = tree.make_temp();
    let formats = names.map(|name| {
        let (format, bytes) = read_rule_file(&temp.join(name)).expect("it is read");
        assert_eq!(bytes, RULES);
        format
    });
    assert_eq!(formats, [Format::Toml, Format::Winapp2, Format::CleanerMl, Format::Tmpfiles]);
    let loaded = parse(Format::Toml, RULES, "a.toml").expect("it parses");
    assert_eq!(loaded.rules.len(), 1);
}

#[test]
fn a_file_of_unknown_format_is_refused() {
    let tree = TreeBuilder::new().file("a.txt", RULES).mode("a.txt", 0o644);
    let temp = tree.file("toml", RULES).mode("toml", 0o644).make_temp();
    for name in ["a.txt", "toml", "absent.exe"] {
        assert!(untrusted(&temp.join(name)).contains("is not a rule file"), "{name}");
    }
}

#[test]
fn a_link_is_refused_even_to_a_trusted_file() {
    let temp = TreeBuilder::new()
        .file("a.toml", RULES)
        .mode("a.toml", 0o644)
        .symlink("link.toml", "a.toml")
        .dangling_symlink("dangling.toml")
        .make_temp();
    for name in ["link.toml", "dangling.toml"] {
        assert_eq!(untrusted(&temp.join(name)), "is not a regular file");
    }
}

#[test]
fn only_regular_files_are_opened() {
    let temp =
        TreeBuilder::new().fifo("fifo.toml").socket("socket.toml").dir("dir.toml").make_temp();
    // Opening a FIFO for reading would wait for a writer.
    for name in ["fifo.toml", "socket.toml", "dir.toml"] {
        assert_eq!(untrusted(&temp.join(name)), "is not a regular file", "{name}");
    }
    let device = TreeBuilder::new().char_device("null.toml", 1, 3);
    let temp = testkit::temp::TempTree::new();
    if device.make(temp.path()).was_made("null.toml") {
        assert_eq!(untrusted(&temp.join("null.toml")), "is not a regular file");
    }
}

#[test]
fn a_file_that_other_users_can_write_is_refused() {
    for mode in [0o664, 0o646, 0o666, 0o602, 0o777] {
        let temp = TreeBuilder::new().file("a.toml", RULES).mode("a.toml", mode).make_temp();
        assert!(untrusted(&temp.join("a.toml")).contains("writable"), "{mode:o}");
    }
}

#[test]
fn a_file_of_another_user_is_refused() {
    if !fsops::may_give_files_away() {
        return;
    }
    let tree = TreeBuilder::new().file("a.toml", RULES).mode("a.toml", 0o644);
    let temp = tree.owner("a.toml", 4711, 0).make_temp();
    assert!(untrusted(&temp.join("a.toml")).contains("belongs to user 4711"));
}

#[test]
fn a_directory_reached_through_the_link_of_another_user_is_refused() {
    if !fsops::may_give_files_away() {
        return;
    }
    let tree = TreeBuilder::new().file("d/a.toml", RULES).mode("d/a.toml", 0o644);
    let temp =
        tree.symlink("theirs", "d").owner("theirs", 4711, 0).symlink("mine", "d").make_temp();
    assert!(read_rule_file(&temp.join("mine/a.toml")).is_ok());
    assert!(untrusted(&temp.join("theirs/a.toml")).contains("symbolic link of user 4711"));
}

#[test]
fn a_file_above_the_limit_is_refused() {
    let temp = TreeBuilder::new()
        .sparse("large.toml", (16 << 20) + 1, &[])
        .mode("large.toml", 0o644)
        .sparse("limit.toml", 16 << 20, &[])
        .mode("limit.toml", 0o644)
        .make_temp();
    assert_eq!(
        untrusted(&temp.join("large.toml")),
        "is larger than 16 MiB, the limit for rule files"
    );
    assert_eq!(read_rule_file(&temp.join("limit.toml")).expect("it is read").1.len(), 16 << 20);
    let parsed = parse(Format::Toml, &vec![b'\n'; (16 << 20) + 1], "large.toml");
    assert!(matches!(parsed, Err(FormatError::Malformed { .. })));
}

#[test]
fn a_file_that_does_not_exist_is_reported_with_its_name() {
    let temp = testkit::temp::TempTree::new();
    for name in ["absent.toml", "absent/a.toml"] {
        match read_rule_file(&temp.join(name)) {
            Err(e @ FormatError::Unreadable { .. }) => assert!(e.to_string().contains(name)),
            other => panic!("{name}: {other:?}"),
        }
    }
}
