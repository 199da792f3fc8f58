//! All JSON that lop prints. Each document begins with its version, and `docs/formats.md` lists all
//! keys.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixListener;

use serde_json::Value;
use testkit::TreeBuilder;

use crate::lop::Lop;
use crate::sweep::{MALFORMED, RULES, WIDE, lop_in, tree as sweep_tree};
use crate::swept;

/// Keys that appear only on some machines, or would take hours to produce.
const RARE: &[&str] = &[
    "device_files",
    "hollow",
    "other_file_systems",
    "pseudo_file_systems",
    "seen_before",
    "views",
    "base64",
    "nothing_to_take",
    "unsafe_path",
    "exclusion",
    "unsupported",
    "malformed",
    "seconds_left",
];

/// Commands that do not print JSON, and servers, which do not end by themselves.
const WITHOUT: &[&str] = &["completions", "look", "man", "serve", "share"];

/// The keys of all documents, and the commands that printed them.
#[derive(Default)]
struct Seen {
    keys: BTreeSet<String>,
    commands: BTreeSet<String>,
}

impl Seen {
    /// Runs a command with `--json` and collects the keys of its output.
    fn run(&mut self, lop: &Lop, args: &[&str]) {
        let output = lop.command().arg("--json").args(args).run();
        let lines = output.stderr_str().lines().filter(|line| line.starts_with('{'));
        // CSV need not be UTF-8.
        let stdout = String::from_utf8_lossy(&output.stdout);
        let documents: Vec<&str> =
            std::iter::once(&*stdout).filter(|text| text.starts_with('{')).chain(lines).collect();
        assert!(!documents.is_empty(), "{args:?} prints no document: {}", output.stderr_str());
        for text in documents {
            self.take(text, &format!("{args:?}"));
        }
        self.commands.insert(args[0].into());
    }

    fn take(&mut self, text: &str, whose: &str) {
        assert!(text.starts_with("{\"format_version\":1,"), "{whose}: {text}");
        let document: Value =
            serde_json::from_str(text).unwrap_or_else(|e| panic!("{whose}: {e}: {text}"));
        self.collect(&document);
    }

    fn collect(&mut self, value: &Value) {
        match value {
            Value::Object(members) => members.iter().for_each(|(key, value)| {
                self.keys.insert(key.clone());
                self.collect(value);
            }),
            Value::Array(items) => items.iter().for_each(|item| self.collect(item)),
            _ => {}
        }
    }
}

/// Returns the keys in the first column of the table.
fn documented() -> BTreeSet<String> {
    let page = include_str!("../../../../docs/formats.md");
    let (_, table) = page.split_once("\n## Keys\n").expect("the section of the keys");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    let keys = rows.flat_map(|cell| cell.split('`').step_by(2).map(str::to_string));
    keys.filter(|key| !key.is_empty()).collect()
}

/// Returns the commands of the reference.
fn commands() -> BTreeSet<String> {
    let page = include_str!("../../../../docs/reference.md");
    let titles = page.lines().filter_map(|line| line.strip_prefix("## lop "));
    let words = titles.filter_map(|title| title.split(' ').next());
    words.filter(|word| !WITHOUT.contains(word)).map(str::to_string).collect()
}

fn tree() -> TreeBuilder {
    let tree = ["a", "b", "c"].into_iter().fold(TreeBuilder::new(), |tree, dir| {
        tree.file(format!("t/{dir}/x"), "alike").file(format!("t/{dir}/y"), "alike too")
    });
    tree.file("t/c/z", "alone")
        .file("t/empty", "")
        .file("t/.hidden", "hidden")
        .file("t/large", vec![7; 5000])
        .file("t/.snapshots/x", "alike")
        .file("t/left.o", "object")
        .file(OsStr::from_bytes(b"t/\xff"), "alike")
        .hard_links("linked", &["t/l1", "t/l2"])
        .symlink("t/link", "l1")
        .fifo("t/fifo")
}

#[test]
fn every_document_has_its_version_and_every_key_is_documented() {
    let lop = Lop::with(&tree());
    drop(UnixListener::bind(lop.path("t/socket")).expect("a socket"));
    let mut seen = Seen::default();
    ask(&lop, &mut seen);
    act(&lop, &mut seen);
    mirror_and_purge(&lop, &mut seen);
    sweep(&mut seen);
    assert_eq!(seen.commands, commands(), "every command is to be run here");
    let documented = documented();
    let unlisted: Vec<_> = seen.keys.difference(&documented).collect();
    assert!(unlisted.is_empty(), "not in the table of docs/formats.md: {unlisted:?}");
    let is_rare = |key: &&String| RARE.contains(&key.as_str());
    let unseen: Vec<_> = documented.difference(&seen.keys).filter(|key| !is_rare(key)).collect();
    assert!(unseen.is_empty(), "in the table of docs/formats.md, and nowhere else: {unseen:?}");
}

/// Runs every command that reads the catalog.
fn ask(lop: &Lop, seen: &mut Seen) {
    let limits = ["--min-size", "6", "--max-size", "1k", "--exclude", "*.o"];
    let few = [&["scan", "--no-catalog", "--no-hidden"][..], &limits, &["t"]].concat();
    seen.run(lop, &few[..]);
    std::fs::write(lop.path("list"), "t\nt/a/x\nt/fifo\n").expect("written");
    seen.run(lop, &["scan", "--no-catalog", "--files-from", "list"]);
    std::fs::create_dir(lop.path("t/.lop-quarantine-0")).expect("made");
    seen.run(lop, &["scan", "--no-catalog", "t"]);
    // It ends, because it cannot watch anything.
    seen.run(lop, &["watch", "/proc"]);
    std::fs::remove_dir(lop.path("t/.lop-quarantine-0")).expect("removed");
    seen.run(lop, &["scan", "--stats", "--hash-all", "--exclude", "nothing like it", "t"]);
    seen.run(lop, &["scan", "--stats", "--format", "json", "--progress", "json", "t"]);
    seen.run(lop, &["report"]);
    seen.run(lop, &["report", "--format", "csv"]);
    seen.run(lop, &["report", "--dirs"]);
    for command in ["dups", "uniques", "ls", "space"] {
        seen.run(lop, &[command, "t"]);
    }
    seen.run(lop, &["contains", "t/a", "t/b"]);
    seen.run(lop, &["uniques", "--verify", "t/a"]);
    seen.run(lop, &["file", "t/a/x", "t/l1", "nowhere"]);
    seen.run(lop, &["export", "--host", "nas", "fleet"]);
    seen.run(lop, &["survey", "--host", "other", "fleet"]);
    let export = std::fs::read_dir(lop.path("fleet/nas")).expect("exports").next();
    let export = export.expect("an export").expect("an entry").path();
    seen.run(lop, &["import", "--catalog", "nas.db", export.to_str().expect("UTF-8")]);
    let config = lop.home().join("config.toml");
    crate::configured::write(&config, "roots = ['/r']\n");
    let output = lop.command().args(["--json", "config"]).env("LOP_CONFIG", config).run();
    seen.take(output.success().stdout_str(), "config");
    for command in ["validate", "status", "refresh", "config"] {
        seen.run(lop, &[command]);
    }
}

/// Acts on files, and undoes the action.
fn act(lop: &Lop, seen: &mut Seen) {
    let plan = lop.path("plan");
    let file = plan.to_str().expect("UTF-8");
    seen.run(lop, &["dedupe", "--by", "symlink", "t"]);
    seen.run(lop, &["dedupe", "--by", "delete", "--save-plan", file, "t"]);
    for line in std::fs::read_to_string(&plan).expect("a plan").lines() {
        seen.take(line, "a saved plan");
    }
    for by in ["hardlink", "quarantine"] {
        seen.run(lop, &["dedupe", "--by", by, "--apply", "--progress", "json", "t"]);
        seen.run(lop, &["undo", "--dry-run"]);
        seen.run(lop, &["quarantine", "list"]);
        seen.run(lop, &["history"]);
        seen.run(lop, &["history", if by == "hardlink" { "1" } else { "2" }]);
        seen.run(lop, &["undo"]);
        lop.remember(["t"]);
    }
    seen.run(lop, &["quarantine", "restore"]);
    seen.run(lop, &["quarantine", "purge", "--older-than", "0s"]);
    seen.run(lop, &["separate", "t"]);
    seen.run(lop, &["separate", "--apply", "t"]);
    // Files that cannot be acted on are listed with a reason.
    seen.run(lop, &["dedupe", "--plan", file, "--apply"]);
    seen.run(lop, &["history", "4"]);
    swept::sweep(lop, &["t/a"]);
    seen.run(lop, &["quarantine", "list"]);
    seen.run(lop, &["undo"]);
}

fn mirror_and_purge(lop: &Lop, seen: &mut Seen) {
    seen.run(lop, &["mirror", "--stats", "-i", "t", "t2"]);
    std::fs::write(lop.path("t2/more"), "more").expect("written");
    seen.run(lop, &["mirror", "-n", "--delete", "--exclude", "nothing like it", "t", "t2"]);
    seen.run(lop, &["mirror", "t", "t/c/t3"]);
    seen.run(lop, &["purge", "-n", "t2"]);
    seen.run(lop, &["purge", "--stats", "--exclude", "x", "t2"]);
    seen.run(lop, &["purge", "--instant", "t2"]);
    seen.run(lop, &["purge", "--resume"]);
    seen.run(lop, &["history"]);
    seen.run(lop, &["forget", "nowhere"]);
}

/// Sweeps a tree with a directory of Windows.
fn sweep(seen: &mut Seen) {
    let rules = [RULES, WIDE, MALFORMED].concat();
    let windows =
        sweep_tree().dir("t/Windows/System32/config").file("t/$Recycle.Bin/S-1-5/$Ix", "");
    let lop = lop_in(&windows, &rules);
    let args = ["sweep", "--rules", "rules.toml,bins", "t"];
    let with = |more: &[&'static str]| [&args[..], more].concat();
    seen.run(&lop, &with(&["--stats", "--list"]));
    seen.run(&lop, &with(&["--explain", "t/$Recycle.Bin/S-1-5/$Ix"]));
    seen.run(&lop, &with(&["--plan", "plan"]));
    for line in std::fs::read_to_string(lop.path("plan")).expect("a plan").lines() {
        seen.take(line, "a plan of a sweep");
    }
    seen.run(&lop, &with(&["--apply"]));
    seen.run(&lop, &["history", "1"]);
}
