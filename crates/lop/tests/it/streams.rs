//! Standard output and standard error: closed pipes, full disks, `--quiet` and `--verbose`, and
//! progress.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use testkit::{Invocation, NOBODY, Output, Sandbox, TreeBuilder, When, is_root, skipped};

use crate::lop::{Lop, assert_exit_record, last_record};

fn pairs(count: u64) -> TreeBuilder {
    let mut tree = TreeBuilder::new();
    for n in 0..count {
        tree = tree.file(format!("pair {n:05} a"), format!("{n:08}").as_str());
        tree = tree.file(format!("pair {n:05} b"), format!("{n:08}").as_str());
    }
    tree
}

/// Runs the program through a shell, for redirections. `$0` is the program.
fn shell(lop: &Lop, script: &str) -> Output {
    let shell = Sandbox::new("/bin/sh");
    let command = shell.command().args(["-c", script, env!("CARGO_BIN_EXE_lop")]);
    command.env("XDG_STATE_HOME", lop.state()).cwd(lop.work()).run()
}

#[test]
fn a_closed_pipe_ends_every_command_quietly() {
    let lop = Lop::with(&pairs(3000));
    lop.remember(["."]);
    for (args, code) in [
        (&["report", "--limit", "0"][..], 0),
        (&["report", "--json"], 0),
        (&["scan", "--format", "fdupes", "."], 0),
        (&["scan", "--no-catalog", "."], 0),
        (&["dups"], 0),
        (&["uniques"], 6),
        (&["ls"], 0),
        (&["ls", "--json"], 0),
        (&["file", "pair 00000 a"], 0),
        (&["refresh"], 0),
        (&["generate"], 0),
        (&["scan", "."], 0),
        (&["--help"], 0),
    ] {
        for bytes in [0, 1000] {
            let output = lop.command().args(args).close_stdout_after(bytes).run();
            output.code(code);
            assert_eq!(output.stderr_str(), "", "{args:?} after {bytes} bytes");
        }
    }
}

#[test]
fn a_closed_pipe_does_not_lose_the_catalog() {
    let lop = Lop::with(&pairs(3000));
    lop.command().args(["scan", "--format", "nul", "."]).close_stdout_after(0).run().success();
    assert_eq!(lop.report().len(), 3000);
}

#[test]
fn output_that_cannot_be_written_is_a_failure() {
    if !Path::new("/dev/full").exists() {
        return skipped("no /dev/full");
    }
    let lop = Lop::with(&pairs(3));
    lop.remember(["."]);
    for args in [
        "report",
        "report --json",
        "scan .",
        "scan --format csv .",
        "dups",
        "uniques",
        "ls",
        "file 'pair 00000 a'",
        "refresh",
        "validate --json",
        "generate",
    ] {
        let output = shell(&lop, &format!("exec \"$0\" {args} >/dev/full"));
        output.code(1);
        let said = "lop: cannot write to standard output: No space left on device\n";
        assert!(output.stderr_str().contains(said), "{args}: {}", output.stderr_str());
    }
    let output = shell(&lop, "exec \"$0\" report --json >/dev/full");
    assert_exit_record(&output, 1);
    let output = shell(&lop, "exec \"$0\" scan . nowhere >/dev/full");
    output.code(1);
}

#[test]
fn messages_that_cannot_be_written_change_no_answer() {
    let lop = Lop::with(&pairs(3));
    for script in [
        "exec \"$0\" scan --stats --progress always . nowhere 2>/dev/full",
        "exec \"$0\" scan --stats . nowhere 2>&-",
    ] {
        let output = shell(&lop, script);
        output.code(3);
        assert!(output.stdout_str().starts_with("Scanned   6 files"), "{}", output.stdout_str());
    }
    shell(&lop, "exec \"$0\" report >&- 2>&- <&-").success();
    shell(&lop, "exec \"$0\" scan . >&- 2>&- <&-").success();
    lop.assert_whole_catalog();
}

/// If the standard streams are closed, files that lop opens must not get the descriptors of these streams.
#[test]
fn closed_streams_do_not_leak_into_the_catalog() {
    let lop = Lop::with(&pairs(300));
    let script = "exec \"$0\" scan --stats --format text . nowhere <&- >&- 2>&-";
    shell(&lop, script).code(3);
    lop.assert_whole_catalog();
    assert_eq!(lop.report().len(), 300);
}

#[test]
fn quiet_prints_results_and_problems_alone() {
    let lop = Lop::with(&pairs(1));
    for quiet in ["-q", "--quiet"] {
        let output = lop.run(["scan", quiet, ".", "nowhere"]);
        output.code(3);
        let said = "lop: nowhere: No such file or directory\n";
        assert_eq!((output.stdout_str(), output.stderr_str()), ("", said));
    }
    let output = lop.run(["scan", "-q", "--format", "fdupes", "."]);
    let files = "./pair 00000 a\n./pair 00000 b\n";
    assert_eq!((output.stdout_str(), output.stderr_str()), (files, ""));
    let output = lop.run(["-q", "report", "--format", "fdupes"]);
    assert_eq!((output.stdout_str().lines().count(), output.stderr_str()), (2, ""));
    let output = lop.run(["dups", "-q"]);
    assert_eq!((output.stdout_str(), output.stderr_str()), (files, ""));
}

#[test]
fn the_summary_is_on_standard_output_unless_groups_are() {
    let lop = Lop::with(&pairs(2).file("empty", "").fifo("fifo"));
    let output = lop.run(["scan", "."]);
    let lines: Vec<&str> = output.stdout_str().lines().collect();
    assert!(lines[0].starts_with("Scanned   4 files, 32 B in "), "{lines:?}");
    assert!(lines[1].starts_with("Found     2 groups: 2 redundant files, "), "{lines:?}");
    assert!(lines[1].ends_with(" reclaimable"), "{lines:?}");
    assert_eq!(lines[2..], ["Skipped   1 empty, 1 FIFO"]);
    assert_eq!(output.stderr_str(), "");
    let output = lop.run(["scan", "--no-catalog", "."]);
    assert!(output.stdout_str().starts_with("2 files of 8 B, "));
    assert!(output.stderr_str().starts_with("Scanned   4 files"));
    let output = lop.run(["report", "--format", "fdupes"]);
    assert!(output.stderr_str().starts_with("2 groups: 2 redundant files, "));
}

#[test]
fn problems_are_cut_short_unless_verbose() {
    let lop = Lop::with(&pairs(1));
    let missing: Vec<String> = (0..35).map(|n| format!("missing {n:02}")).collect();
    let run = |options: &[&str]| {
        let output = lop.command().args(["scan", "-q", "."]).args(options).args(&missing).run();
        output.code(3);
        output.stderr_str().to_string()
    };
    let said = run(&[]);
    assert_eq!(said.lines().count(), 21, "{said}");
    assert_eq!(said.lines().last(), Some("lop: … and 15 more (-v shows more)"));
    let output = lop.command().args(["scan", "-v", "."]).args(&missing).run();
    output.code(3);
    let problems = output.stderr_str().lines().filter(|line| line.starts_with("lop: "));
    assert_eq!(problems.count(), 35);
    let output = lop.command().args(["scan", "--json", "."]).args(&missing).run();
    assert_eq!(last_record(&output)["error"]["message"], "35 entries could not be examined");
}

#[test]
fn a_message_is_one_line_whatever_the_name() {
    let lop = Lop::with(&pairs(1));
    let output = lop.command().args(["scan", "-q", "."]).arg(b"\xff\x1b[2J\nlop: forged").run();
    output.code(3);
    let line = "lop: \\xff\\x1b[2J\\nlop: forged: No such file or directory\n";
    assert_eq!(output.stderr_str(), line);
    let output = lop.command().args(["mirror", "-q", "no\nwhere", "d"]).run();
    assert!(output.stderr_str().contains("no\\nwhere"), "{}", output.stderr_str());
    // Results are never suppressed.
    let lop = Lop::with(&TreeBuilder::new().file(b"a\x1b", "alike").file("b", "alike"));
    let output = lop.run(["scan", "--no-catalog", "--format", "nul", "."]);
    assert_eq!(output.success().stdout, b"./a\x1b\0./b\0\0");
}

/// Runs a scan of a list until the scan has shown its progress.
fn scan_of_a_list(lop: &Lop, command: &Invocation<'_>, shown: bool) -> Output {
    let mut running = command.spawn();
    let mut list = fs::File::options().write(true).open(lop.path("list")).expect("opens");
    list.write_all(b"pair 00000 a\n").expect("written");
    if shown {
        assert!(running.wait_for(&When::Stderr(b"Finding files: ".to_vec())));
    }
    list.write_all(b"pair 00000 b\n").expect("written");
    drop(list);
    running.wait()
}

#[test]
fn progress_in_a_log_is_whole_lines() {
    let lop = Lop::with(&pairs(2).fifo("list"));
    for (options, shown) in
        [(&["--progress", "always"][..], true), (&[], false), (&["--progress", "never"], false)]
    {
        let scan = ["scan", "--no-catalog", "--files-from", "list"];
        let scan = lop.command().args(scan).args(options);
        let output = scan_of_a_list(&lop, &scan, shown);
        let said = output.success().stderr_str();
        assert!(!said.contains(['\r', '\x1b']), "{said:?}");
        assert_eq!(said.starts_with("Finding files: "), shown, "{said:?}");
        let summary = said.lines().position(|line| line.starts_with("Scanned   2 files"));
        assert_eq!(summary.map(|lines| lines > 0), Some(shown), "{said:?}");
    }
}

#[test]
fn progress_on_a_terminal_is_drawn_over_and_gone_at_the_end() {
    let lop = Lop::with(&pairs(2));
    let scan = lop.command().args(["scan", "--no-catalog", "--files-from", "-"]);
    let dialogue = [("", "pair 00000 a\n"), ("Finding files: ", "pair 00000 b\n\u{4}")];
    let said = scan.talk(80, &dialogue).text;
    let (line, rest) = said.rsplit_once("\r\x1b[K").expect("the line is taken back");
    assert!(rest.contains("Scanned   2 files"), "{said:?}");
    // Text that the user types must remain visible between the updates.
    for (text, _) in line.split('\r').filter_map(|text| text.split_once("\x1b[K")) {
        let known = text.starts_with("Finding files: ") || text == "Sorting files by size";
        assert!(known && text.len() < 80, "{text:?}");
    }
}

#[test]
fn colours_are_used_on_request() {
    let lop = Lop::with(&pairs(1));
    let colours = |options: &[&str]| {
        let output = lop.command().args(["scan", "--no-catalog", "."]).args(options).run();
        output.success();
        output.stdout_str().contains("\x1b[1m")
    };
    assert!(colours(&["--color", "always"]));
    assert!(!colours(&["--color", "never"]));
    assert!(!colours(&["--color", "auto"]));
    assert!(!colours(&[]));
}

#[test]
fn figures_are_one_line_of_json() {
    let lop = Lop::with(&pairs(5).file("empty", "").seeded("single", 1, 99));
    let output = lop.run(["scan", "--stats", "."]);
    let figures = last_record(&output);
    for (key, value) in [("entries", 12), ("files", 11), ("bytes_seen", 179), ("candidates", 10)] {
        assert_eq!(figures[key], value, "{key}");
    }
    assert_eq!((&figures["known"], &figures["groups"]), (&0.into(), &5.into()));
    assert!(figures["bytes_read"].as_u64() >= Some(80), "{figures}");
    assert!(figures["files_opened"].as_u64() >= Some(10), "{figures}");
    assert!(figures["peak_memory_bytes"].as_u64() > Some(1_000_000), "{figures}");
    assert!(figures["threads"].as_u64() >= Some(1), "{figures}");
    let mut stages: Vec<&str> =
        figures["stage_seconds"].as_object().expect("stages").keys().map(String::as_str).collect();
    stages.sort_unstable();
    assert_eq!(stages, ["commit", "compare", "print", "recall", "walk"]);
    let output = lop.run(["scan", "--stats", "--json", "--format", "csv", ".", "nowhere"]);
    assert_exit_record(&output, 3);
}

/// Runs a command on a terminal that `script` provides, and returns the output.
fn terminal(lop: &Lop, command: &str, environment: &[(&str, &str)]) -> Option<String> {
    if !Path::new("/usr/bin/script").exists() {
        skipped("script is not installed");
        return None;
    }
    let line = format!("{} {command}", env!("CARGO_BIN_EXE_lop"));
    let mut script = Command::new("/usr/bin/script");
    script.args(["-qec", &line, "/dev/null"]).current_dir(lop.work()).env_clear();
    script.env("XDG_STATE_HOME", lop.state()).env("LANG", "C.UTF-8").env("TERM", "xterm");
    script.env("SHELL", "/bin/sh").env("PATH", "/usr/bin:/bin").env("LOP_CONFIG", "");
    script.envs(environment.iter().copied());
    let output = script.stdin(Stdio::null()).output().expect("script runs");
    Some(String::from_utf8(output.stdout).expect("terminal output is UTF-8").replace("\r\n", "\n"))
}

#[test]
fn on_a_terminal_names_are_escaped_and_elsewhere_not() {
    let names = [
        &b"\x1b[31mred"[..],
        b"\xff",
        "\u{202e}txt".as_bytes(),
        b"new\nline\t",
        "\u{9b}2J".as_bytes(),
    ];
    let mut tree = TreeBuilder::new();
    for name in names {
        tree = tree.file(name, "alike");
    }
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    let expected = "./\\x1b[31mred\n./new\\nline\\t\n./\\u{9b}2J\n./\\u{202e}txt\n./\\xff\n";
    for command in ["scan --format fdupes .", "dups --format fdupes ."] {
        let Some(text) = terminal(&lop, command, &[]) else { return };
        assert!(text.contains(expected), "{command}: {text:?}");
    }
    for command in
        ["report", "ls", "file --json *", "scan --no-catalog --format csv .", "report --json"]
    {
        let Some(text) = terminal(&lop, &format!("{command} --color never"), &[]) else { return };
        let harmful = |c: char| matches!(c, '\u{1b}' | '\u{202e}' | '\u{9b}' | '\t');
        assert!(!text.contains(harmful), "{command}: {text:?}");
    }
    let output = lop.run(["report", "--format", "fdupes"]);
    assert!(output.stdout.windows(9).any(|w| w == b"/\x1b[31mred"));
}

#[test]
fn on_a_terminal_the_first_scan_says_what_comes_next() {
    let ends = |lop: &Lop, command: &str| {
        Some(terminal(lop, command, &[])?.ends_with("\nnext: lop report\n"))
    };
    for (command, says) in
        [("scan .", true), ("scan -q .", false), ("scan --json .", false), ("scan one", false)]
    {
        let lop = Lop::with(&pairs(2).file("one", "1"));
        let Some(said) = ends(&lop, command) else { return };
        assert_eq!(said, says, "{command}");
        assert_eq!(ends(&lop, "scan ."), Some(false), "the next one is not the first");
    }
    let lop = Lop::with(&pairs(2));
    assert!(!lop.scan(["."]).stderr_str().contains("next"));
}

#[test]
fn on_a_terminal_messages_of_several_lines_stay_so() {
    let lop = Lop::with(&TreeBuilder::new().file("dir/a", "alike").file("dir/b", "alike"));
    lop.remember(["."]);
    let Some(text) = terminal(&lop, "uniques dir", &[]) else { return };
    let said = "2 of 2 files (10 B) have no copy outside\n  2 of these have copies inside only\n";
    assert!(text.ends_with(said), "{text:?}");
    let text = terminal(&lop, "scan 'no\x1bwhere' .", &[]).expect("as before");
    assert!(text.contains("no\\x1bwhere: No such file or directory\n"), "{text:?}");
}

#[test]
fn on_a_terminal_headings_are_bold_unless_no_colour_is_wanted() {
    let lop = Lop::with(&pairs(1));
    let Some(text) = terminal(&lop, "scan --no-catalog .", &[]) else { return };
    assert!(text.contains("\x1b[1m2 files of 8 B"), "{text:?}");
    for (options, environment) in [("--color never", &[][..]), ("", &[("NO_COLOR", "1")])] {
        let command = format!("scan --no-catalog {options} .");
        let text = terminal(&lop, &command, environment).expect("as before");
        assert!(!text.contains("\x1b[1m"), "{text:?}");
    }
    let text = terminal(&lop, "scan --no-catalog .", &[("NO_COLOR", "")]).expect("as before");
    assert!(text.contains("\x1b[1m"), "{text:?}");
}

#[test]
fn the_catalog_is_for_its_owner_alone_where_others_look() {
    if !is_root() {
        return skipped("only root can run the rest as another user");
    }
    let lop = Lop::with(&pairs(1));
    lop.remember(["."]);
    let other = Sandbox::new(env!("CARGO_BIN_EXE_lop"));
    let output = other.command().args(["report", "--catalog"]).arg(lop.catalog());
    let output = output.as_user(NOBODY, NOBODY).run();
    output.code(5);
    assert!(output.stderr_str().contains("Permission denied"), "{}", output.stderr_str());
}

#[test]
fn measurements_of_devices_are_shown_to_people_and_programs() {
    let lop = Lop::with(&pairs(2));
    let stats = |io: &str| {
        let args = ["scan", "--no-catalog", "-q", "--format", "nul", "--stats", "--io", io, "."];
        let output = lop.run(args);
        let figures = last_record(&output);
        let [device] = &figures["devices"].as_array().expect("a list")[..] else {
            panic!("one device: {figures}");
        };
        assert!(device["name"].is_string() && device["waited_seconds"].is_number(), "{figures}");
        (device["cold"].as_bool(), device["seek_bound"].as_bool(), output.stdout.clone())
    };
    let (hdd, ssd, cached, auto) = (stats("hdd"), stats("ssd"), stats("cached"), stats("auto"));
    assert_eq!((hdd.0, hdd.1), (Some(true), Some(true)));
    assert_eq!((ssd.0, ssd.1), (Some(true), Some(false)));
    assert_eq!((cached.0, cached.1), (Some(false), Some(false)));
    assert!([&ssd.2, &cached.2, &auto.2].into_iter().all(|groups| *groups == hdd.2));
    let said = lop.run(["scan", "-v", "--io", "hdd", "."]).stderr_str().to_string();
    assert!(
        said.lines().any(|line| line.contains(": cold, read in the order of positions; ")),
        "{said}"
    );
    lop.command().args(["scan", "--io", "tape", "."]).run().code(2);
}
