//! The configuration: what each key does, which value has precedence, and what `lop config` shows.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::time::Duration;

use testkit::{Invocation, Output, Sandbox, Signal, TreeBuilder, When, is_root, skipped};

use crate::lop::{Lop, document};
use crate::purge_background::{process, send, wait_for_process};

/// Writes a configuration into the home directory of the sandbox, and returns its path.
pub(crate) fn configure(lop: &Lop, text: impl AsRef<[u8]>) -> PathBuf {
    let file = lop.home().join(".config/lop/config.toml");
    write(&file, text);
    file
}

/// Writes a configuration that only its owner can change.
pub(crate) fn write(file: &PathBuf, text: impl AsRef<[u8]>) {
    fs::create_dir_all(file.parent().expect("a folder")).expect("made");
    fs::write(file, text).expect("written");
    fs::set_permissions(file, Permissions::from_mode(0o644)).expect("set");
}

/// Returns a run that reads the configuration in the home directory.
pub(crate) fn command(lop: &Lop) -> Invocation<'_> {
    lop.command().env_remove("LOP_CONFIG")
}

fn run<'a>(lop: &Lop, args: impl IntoIterator<Item = &'a str>) -> Output {
    command(lop).args(args).run()
}

/// Returns the lines of `lop config`, with single spaces.
fn settings(output: &Output) -> Vec<String> {
    let lines = output.success().stdout_str().lines();
    lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

fn tree() -> TreeBuilder {
    TreeBuilder::new()
        .file("a/x", "alike")
        .file("a/x.tmp", "alike")
        .file("b/x", "alike")
        .mtime("a/x", 1_000_000_000, 0)
        .mtime("b/x", 1_500_000_000, 0)
        .file("c/y", "alone")
}

#[test]
fn without_a_configuration_the_files_are_named_and_an_example_is_shown() {
    let lop = Lop::new();
    let output = run(&lop, ["config"]);
    let text = output.success().stdout_str();
    let files =
        "No configuration. lop looked for ~/.config/lop/config.toml and /etc/lop/config.toml.\n";
    // The machine of the test may have a configuration.
    if !PathBuf::from("/etc/lop/config.toml").exists() {
        assert!(text.starts_with(files), "{text}");
        let (_, example) =
            text.split_once("An example of ~/.config/lop/config.toml:\n\n").expect("one");
        let named = lop.home().join("example.toml");
        write(&named, example);
        let output = lop.command().arg("config").env("LOP_CONFIG", &named).run();
        let lines = settings(&output);
        assert!(lines.contains(&"exclude .cache/ ~/example.toml:5".into()), "{lines:?}");
        let page = include_str!("../../../../docs/config.md");
        assert!(
            page.contains(&format!("```toml\n{example}```\n")),
            "docs/config.md has the example"
        );
    }
    let output = lop.run(["config"]);
    assert!(
        output.success().stdout_str().starts_with("No configuration, because LOP_CONFIG is empty")
    );
}

#[test]
fn every_setting_is_shown_with_its_origin() {
    let lop = Lop::new();
    configure(
        &lop,
        "catalog = '~/c.db'\nroots = ['/r1', '/r2']\nexclude = ['*.o']\nkeep = ['newest']\n\
         protect = ['/p']\n[rates]\nmirror = '20M'\npurge = 2000\nserve = '1M'\nshare = '2M'\n",
    );
    let (home, file) = (lop.home().display().to_string(), "~/.config/lop/config.toml");
    let expected = [
        format!("catalog {home}/c.db {file}:1"),
        format!("roots /r1 {file}:2"),
        format!("/r2 {file}:2"),
        format!("exclude *.o {file}:3"),
        format!("keep newest {file}:4"),
        format!("protect /p {file}:5"),
        format!("rates.mirror 20.0 MiB/s {file}:7"),
        format!("rates.purge 2,000 entries per second {file}:8"),
        format!("rates.serve 1.0 MiB/s {file}:9"),
        format!("rates.share 2.0 MiB/s {file}:10"),
    ];
    assert_eq!(settings(&run(&lop, ["config"])), expected);
    let catalog = |output: &Output| settings(output)[0].clone();
    let output = command(&lop).args(["config"]).env("LOP_CATALOG", "/v.db").run();
    assert_eq!(catalog(&output), "catalog /v.db LOP_CATALOG");
    let output =
        command(&lop).args(["config", "--catalog", "/o.db"]).env("LOP_CATALOG", "/v.db").run();
    assert_eq!(catalog(&output), "catalog /o.db --catalog");
    let usual = format!("catalog {} default", lop.catalog().display());
    assert_eq!(settings(&lop.run(["config"]))[2], usual);
    let shown = document(&command(&lop).args(["config", "--json"]).run());
    let mirror = &shown["settings"][5];
    assert_eq!(
        (&mirror["key"], &mirror["values"][0]["value"]),
        (&"rates.mirror".into(), &"20971520".into())
    );
    assert_eq!(mirror["values"][0]["line"], 7);
}

#[test]
fn variables_choose_the_file() {
    let lop = Lop::new();
    configure(&lop, "keep = ['oldest']\n");
    let folder = lop.home().join("xdg");
    write(&folder.join("lop/config.toml"), "keep = ['newest']\n");
    let rule = |invocation: Invocation<'_>| {
        let lines = settings(&invocation.arg("config").run());
        lines.into_iter().find(|line| line.starts_with("keep")).expect("a line")
    };
    assert_eq!(rule(command(&lop)), "keep oldest ~/.config/lop/config.toml:1");
    let chosen = rule(command(&lop).env("XDG_CONFIG_HOME", &folder));
    assert_eq!(chosen, "keep newest ~/xdg/lop/config.toml:1");
    // The specification requires a relative path to be ignored.
    let chosen = rule(command(&lop).env("XDG_CONFIG_HOME", "xdg"));
    assert_eq!(chosen, "keep oldest ~/.config/lop/config.toml:1");
    let named = lop.home().join("named.toml");
    symlink(folder.join("lop/config.toml"), &named).expect("made");
    assert_eq!(rule(lop.command().env("LOP_CONFIG", &named)), "keep newest ~/named.toml:1");
    for missing in [lop.home().join("none.toml"), PathBuf::from("named.toml")] {
        let output = lop.command().arg("status").env("LOP_CONFIG", &missing).run();
        let said = output.code(2).stderr_str();
        assert!(said.contains(&*missing.file_name().expect("a name").to_string_lossy()), "{said}");
    }
}

#[test]
fn the_file_of_the_user_has_precedence_over_that_of_the_system() {
    if !is_root() {
        return skipped("only root can show another /etc to a process");
    }
    let lop = Lop::new();
    configure(&lop, "roots = ['/user']\nexclude = ['u']\n[rates]\npurge = 1\n");
    let system = lop.home().join("system.toml");
    write(
        &system,
        "roots = ['/system']\nkeep = ['oldest']\nexclude = ['s']\nprotect = ['/p']\n[rates]\npurge = 2\nmirror = 3\n",
    );
    let shell = Sandbox::new("/bin/sh");
    let script = format!(
        "mount -t tmpfs none /etc && mkdir /etc/lop && cp {} /etc/lop/config.toml && exec {} config",
        system.display(),
        env!("CARGO_BIN_EXE_lop")
    );
    let script = format!("unshare --mount sh -c '{script}' || exit 77");
    let command = shell.command().args(["-c", &script]).env_remove("LOP_CONFIG");
    let output = command.env("HOME", lop.home()).run();
    if output.ending == testkit::Ending::Code(77) {
        return skipped("this process may not mount");
    }
    let (user, system) = ("~/.config/lop/config.toml", "/etc/lop/config.toml");
    let lines = settings(&output);
    let expected = [
        format!("roots /user {user}:1"),
        format!("exclude u {user}:2"),
        format!("s {system}:3"),
        format!("keep oldest {system}:2"),
        format!("protect /p {system}:4"),
        format!("rates.mirror 3 B/s {system}:7"),
        format!("rates.purge 1 entry per second {user}:4"),
    ];
    assert_eq!(lines[1..8], expected);
}

#[test]
fn a_scan_without_paths_scans_the_roots() {
    let lop = Lop::with(&tree());
    let work = lop.work().display().to_string();
    configure(&lop, format!("roots = ['{work}/a', '{work}/b']\n"));
    let output = run(&lop, ["scan"]);
    output.success();
    let said = output.stderr_str();
    let expected =
        format!("Scanning the roots of ~/.config/lop/config.toml:1: {work}/a, {work}/b\n");
    assert!(said.starts_with(&expected), "{said}");
    assert!(output.stdout_str().starts_with("Scanned   3 files"), "{}", output.stdout_str());
    let output = run(&lop, ["scan", "--no-catalog", "c"]);
    assert!(!output.success().stderr_str().contains("roots"), "{}", output.stderr_str());
    let output = command(&lop).args(["scan", "--files-from", "-"]).stdin("c/y\n").run();
    assert!(
        output.success().stdout_str().starts_with("Scanned   1 file"),
        "{}",
        output.stdout_str()
    );
    for quiet in ["--quiet", "--json"] {
        assert_eq!(run(&lop, ["scan", quiet]).success().stderr_str(), "");
    }
    configure(&lop, format!("roots = ['{work}/a', '{work}/gone']\n"));
    let output = run(&lop, ["scan"]);
    assert!(output.code(3).stderr_str().contains("/gone: No such file"), "{}", output.stderr_str());
}

#[test]
fn patterns_extend_those_of_the_arguments_and_need_not_match() {
    let lop = Lop::with(&tree());
    configure(&lop, "exclude = ['*.tmp', 'nothing like it']\n");
    let files = |args: &[&str]| {
        let output = run(&lop, [&["scan", "--json"], args].concat());
        let count = document(output.success())["summary"]["files"].as_u64();
        (count.expect("a number"), output.stderr_str().to_owned())
    };
    assert_eq!(files(&["."]), (3, String::new()));
    let (count, said) = files(&["--exclude", "y", "--exclude", "typo", "."]);
    assert_eq!((count, &*said), (2, "lop: --exclude typo matched nothing\n"));
    let output = run(&lop, ["scan", "-v", "--no-catalog", "."]);
    let note = "excluding *.tmp (~/.config/lop/config.toml:1)\n";
    assert!(output.success().stderr_str().contains(note), "{}", output.stderr_str());
    // The catalog remembers which options selected the files of a scan.
    let output = run(&lop, ["status"]);
    assert!(output.success().stdout_str().contains("--exclude *.tmp"), "{}", output.stdout_str());
    // The patterns are those of scans: a mirror copies everything.
    run(&lop, ["mirror", "a", "copy"]).success();
    assert!(lop.path("copy/x.tmp").exists());
}

#[test]
fn rules_choose_the_kept_file_unless_the_arguments_do() {
    let lop = Lop::with(&tree());
    lop.remember(["a", "b"]);
    let kept = |text: &str, args: &[&str]| {
        configure(&lop, text);
        let output = run(&lop, [&["dedupe", "--by", "delete"], args].concat());
        let shown = output.success().stdout_str();
        let line = shown.lines().find_map(|line| line.trim_start().strip_prefix("keep "));
        line.expect("a kept file").trim().replace(&lop.work().display().to_string(), "")
    };
    assert_eq!(kept("", &["--min-size", "5"]), "/a/x  (oldest)");
    assert_eq!(kept("keep = ['path:b/**']", &[]), "/b/x  (path:b/**)");
    assert_eq!(kept("keep = ['path:b/**']", &["--keep", "oldest"]), "/a/x  (oldest)");
    // A rule about PATHs has no effect without them.
    assert_eq!(kept("keep = ['first-root', 'path:b/**']", &[]), "/b/x  (path:b/**)");
    assert_eq!(kept("keep = ['first-root', 'oldest']", &["b", "a"]), "/b/x  (in the first root)");
    configure(&lop, "keep = ['path:nowhere', 'device:/no such disk']");
    let output = run(&lop, ["dedupe", "--by", "delete"]);
    let said = output.code(2).stderr_str();
    assert!(said.contains("~/.config/lop/config.toml:1: keep: "), "{said}");
    configure(&lop, "keep = ['path:nowhere']");
    let output = run(&lop, ["dedupe", "--by", "delete"]);
    assert!(!output.success().stderr_str().contains("matched no file"), "{}", output.stderr_str());
}

#[test]
fn the_catalog_of_the_configuration_is_used_and_is_one_of_lops_own_files() {
    let lop = Lop::with(&tree().dir("store"));
    configure(&lop, format!("catalog = '{}'\n", lop.path("store/c.db").display()));
    run(&lop, ["scan", "a"]).success();
    assert!(lop.path("store/c.db").exists() && !lop.catalog().exists());
    let output = run(&lop, ["purge", "store"]);
    assert!(output.code(4).stderr_str().contains("holds lop's catalog"), "{}", output.stderr_str());
    run(&lop, ["mirror", "--delete", "a", "store"]).success();
    assert!(lop.path("store/c.db").exists(), "a mirror leaves the catalog alone");
    command(&lop).args(["scan", "a"]).env("LOP_CATALOG", lop.path("v.db")).run().success();
    run(&lop, ["scan", "a", "--catalog", "o.db"]).success();
    assert!(lop.path("v.db").exists() && lop.path("o.db").exists());
}

#[test]
fn rates_limit_commands_unless_the_arguments_do() {
    let lop = Lop::with(&tree());
    configure(&lop, "rates.mirror = '20M'\nrates.purge = 5000\nrates.share = '3M'\n");
    let place = |line: usize| format!("(~/.config/lop/config.toml:{line})\n");
    let says = |args: &[&str], note: &str| {
        let output = run(&lop, [args, &["-v"]].concat());
        let said = output.success().stderr_str().to_owned();
        assert!(said.contains(note), "{said}");
    };
    says(&["mirror", "a", "m"], &format!("copying at most 20.0 MiB/s {}", place(1)));
    says(&["purge", "m"], &format!("removing at most 5,000 entries per second {}", place(2)));
    for args in [["mirror", "--bwlimit", "1G", "a", "m"], ["purge", "--rate", "9999", "m", "m/x"]] {
        let output = run(&lop, args.iter().copied().chain(["-v"]));
        assert!(!output.stderr_str().contains("at most"), "{}", output.stderr_str());
    }
}

#[test]
fn a_rate_of_the_configuration_is_a_limit() {
    let mut tree = TreeBuilder::new().dir("dst/0").dir("dst/1");
    for i in 0..40 {
        tree = tree.seeded(format!("src/{}/{i}", i % 2), i, 100_000);
    }
    let lop = Lop::with(&tree);
    configure(&lop, "rates.mirror = '1M'\nrates.purge = 1\n");
    // Without a limit, both commands would be over before the signal.
    let mirror = command(&lop).args(["mirror", "src", "dst"]);
    let first = When::File(lop.path("dst/1/1"), Vec::new());
    mirror.signal(Signal::INT, first).run().signal(Signal::INT);
    let purge = command(&lop).args(["purge", "src"]);
    purge.signal(Signal::INT, When::After(Duration::from_millis(1200))).run().signal(Signal::INT);
    assert!(lop.path("src").exists());
    let instant = command(&lop).args(["--json", "purge", "--instant", "src"]).run();
    let process = process(&document(instant.success())["summary"]);
    let arguments = fs::read(format!("/proc/{process}/cmdline")).expect("it runs");
    assert!(String::from_utf8_lossy(&arguments).contains("--rate\x001\x00"), "{arguments:?}");
    send("-TERM", &process);
    wait_for_process(&lop);
    lop.run(["purge", "--resume"]).success();
}

#[test]
fn servers_have_rates_of_their_own() {
    let lop = Lop::with(&tree());
    configure(&lop, "[rates]\nserve = '3M'\nshare = '4M'\n");
    for (server, dir, rate) in [("serve", None, "3.0"), ("share", Some("a"), "4.0")] {
        let args = [server, "-v", "--listen", "0"].into_iter().chain(dir);
        let mut running = command(&lop).args(args).spawn();
        assert!(running.wait_for(&When::Stdout(b"\n".into())), "{server}: no address");
        running.signal(Signal::TERM);
        let output = running.wait();
        let said = output.success().stderr_str();
        let line = if server == "serve" { 2 } else { 3 };
        let note = format!("sending at most {rate} MiB/s (~/.config/lop/config.toml:{line})\n");
        assert!(said.contains(&note), "{server}: {said}");
    }
}
