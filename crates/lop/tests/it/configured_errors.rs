//! Errors in the configuration: each is reported with its place, and no command runs with half a configuration.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};

use testkit::{NOBODY, Output, TreeBuilder, is_root, skipped};

use crate::configured::{command, configure, write};
use crate::lop::{Lop, assert_exit_record};

/// The name of the configuration in messages.
const FILE: &str = "~/.config/lop/config.toml";

/// Runs `lop config`, which must fail, and returns the lines of its messages.
fn errors(lop: &Lop) -> Vec<String> {
    let output = command(lop).arg("config").run();
    output.code(2);
    assert!(output.stdout.is_empty(), "{}", output.stdout_str());
    output.stderr_str().lines().map(str::to_string).collect()
}

#[test]
fn all_errors_are_shown_in_order() {
    let lop = Lop::new();
    let text = "keeep = ['newest']\nroots = ['photos']\nprotect = 3\n[rates]\nmirror = 'fast'\n";
    configure(&lop, text);
    let said = errors(&lop);
    let expected = [
        format!("lop: {FILE}:1:1: keeep: unknown key"),
        "hint: did you mean keep?".into(),
        format!("lop: {FILE}:2:10: roots: \"photos\" is not an absolute path"),
        "hint: begin each path with / or ~/".into(),
        format!("lop: {FILE}:3:11: protect: expected a list of strings, found an integer"),
        "hint: write a list of strings: protect = [\"...\"]".into(),
        format!("lop: {FILE}:5:10: rates.mirror: \"fast\": not a size such as 4096, 10k or 1.5GiB"),
    ];
    assert_eq!(said[..6], expected[..6]);
    assert!(
        said[6].starts_with(&format!("lop: {FILE}:5:10: rates.mirror: \"fast\": ")),
        "{}",
        said[6]
    );
    let output = command(&lop).args(["config", "--json"]).run();
    assert_exit_record(&output, 2);
    for line in ["1:1", "2:10", "3:11", "5:10"] {
        let last = output.stderr_str().lines().last().expect("a record");
        assert!(last.contains(line), "{last}");
    }
}

#[test]
fn no_command_runs_with_an_error_except_those_that_do_not_use_the_configuration() {
    let lop = Lop::with(&TreeBuilder::new().file("a/x", "x").dir("b"));
    configure(&lop, "keeep = []\nrots = []\n");
    for args in [
        &["scan", "a"][..],
        &["status"],
        &[],
        &["dedupe", "--by", "delete"],
        &["purge", "a"],
        &["mirror", "a", "b"],
        &["sweep", "--rules", "droppings", "a"],
        &["separate", "a"],
        &["serve"],
        &["share", "a"],
        &["undo"],
    ] {
        let output = command(&lop).args(args).run();
        let said = output.code(2).stderr_str();
        assert!(
            said.starts_with(&format!("lop: {FILE}:1:1: keeep: unknown key\n")),
            "{args:?}: {said}"
        );
        assert!(said.ends_with("hint: 'lop config' shows all errors\n"), "{args:?}: {said}");
    }
    assert!(lop.path("a/x").exists() && !lop.path("b/x").exists() && !lop.catalog().exists());
    for args in [
        &["--version"][..],
        &["--help"],
        &["help", "config"],
        &["completions", "bash"],
        &["man", "--list"],
    ] {
        command(&lop).args(args).run().success();
    }
    // An empty variable turns the configuration off.
    lop.run(["scan", "a"]).success();
}

/// Checks that the configuration is refused with a message that contains `why`.
fn is_refused(lop: &Lop, why: &str) {
    let said = errors(lop);
    assert!(said[0].contains(FILE) && said[0].contains(why), "{why}: {said:?}");
    let advice = "hint: to run lop without a configuration, set LOP_CONFIG to an empty string";
    assert!(said.iter().any(|line| line == advice) || said[0].contains(":1:"), "{said:?}");
}

#[test]
fn only_a_regular_file_of_at_most_1_mib_is_read() {
    let lop = Lop::new();
    let file = configure(&lop, "");
    let again = || fs::remove_file(&file).expect("removed");
    again();
    TreeBuilder::new().fifo("config.toml").make(file.parent().expect("a folder"));
    is_refused(&lop, "is not a regular file");
    again();
    fs::create_dir(&file).expect("made");
    is_refused(&lop, "is not a regular file");
    fs::remove_dir(&file).expect("removed");
    symlink("/dev/zero", &file).expect("made");
    is_refused(&lop, "is not a regular file");
    again();
    symlink("nowhere", &file).expect("made");
    is_refused(&lop, "No such file");
    again();
    symlink("config.toml", &file).expect("made");
    is_refused(&lop, "Too many levels of symbolic links");
    again();
    configure(&lop, vec![b'\n'; 1 << 20]);
    command(&lop).arg("config").run().success();
    configure(&lop, vec![b'\n'; (1 << 20) + 1]);
    is_refused(&lop, "is larger than 1 MiB");
    configure(&lop, b"# \xff\n");
    is_refused(&lop, ":1:3: the file is not UTF-8");
    configure(&lop, "keep = [\n");
    is_refused(&lop, ":1:9: not valid TOML: ");
    configure(&lop, "\u{feff}keep = []\r\n");
    command(&lop).arg("config").run().success();
}

#[test]
fn a_file_that_others_can_change_is_refused() {
    let lop = Lop::new();
    let file = configure(&lop, "");
    for mode in [0o664, 0o646, 0o666] {
        fs::set_permissions(&file, Permissions::from_mode(mode)).expect("set");
        is_refused(&lop, "is writable by other users; run chmod go-w on it");
    }
    fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("set");
    // A link is followed, and the file itself decides.
    let target = lop.home().join("dotfiles/lop.toml");
    write(&target, "keep = ['newest']\n");
    fs::remove_file(&file).expect("removed");
    symlink(&target, &file).expect("made");
    let output = command(&lop).arg("config").run();
    assert!(
        output.success().stdout_str().contains(&format!("{FILE}:1")),
        "{}",
        output.stdout_str()
    );
    fs::set_permissions(&target, Permissions::from_mode(0o622)).expect("set");
    is_refused(&lop, "is writable by other users");
}

#[test]
fn root_does_not_obey_the_file_of_another_user_and_a_user_obeys_that_of_root() {
    if !is_root() {
        return skipped("only root can give files away");
    }
    let lop = Lop::new();
    let file = configure(&lop, "keep = ['newest']\n");
    let as_user =
        |lop: &Lop| -> Output { command(lop).arg("config").as_user(NOBODY, NOBODY).run() };
    as_user(&lop).success();
    fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("set");
    let output = as_user(&lop);
    let said = output.code(2).stderr_str();
    assert!(
        said.starts_with(&format!("lop: cannot read the configuration {FILE}: Permission denied")),
        "{said}"
    );
    chown(&file, Some(NOBODY), Some(NOBODY)).expect("given");
    as_user(&lop).success();
    is_refused(&lop, "belongs to user 65534; it must belong to you or root");
    assert!(errors(&lop)[1].contains("sudo -H"), "{:?}", errors(&lop));
}
