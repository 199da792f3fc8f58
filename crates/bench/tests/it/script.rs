//! The script that lists junk by rules, in its three stages.

use std::fs;
use std::process::Command;

use testkit::{TempTree, TreeBuilder};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/clean-windows.sh");

/// Runs a stage of the script on a tree. Returns the sorted paths that it lists, and its messages.
fn listed(stage: &str, rules: &str, tree: &TempTree) -> (Vec<String>, String) {
    let temp = TempTree::new();
    let file = temp.join("rules");
    fs::write(&file, rules).expect("written");
    let mut bash = Command::new("bash");
    let output = bash.args([SCRIPT, stage]).arg(&file).arg(tree.path()).output().expect("bash");
    let text = String::from_utf8(output.stdout).expect("text");
    let top = format!("{}/", tree.path().display());
    let mut paths: Vec<String> =
        text.lines().map(|line| line.strip_prefix(&top).expect("below").to_owned()).collect();
    paths.sort();
    (paths, String::from_utf8(output.stderr).expect("text"))
}

fn disk() -> TempTree {
    let mut tree = TreeBuilder::new();
    for path in [
        "Users/a b/AppData/Local/Balu/Logs/1.log",
        "Users/a b/AppData/Local/Balu/Logs/deep/2.log",
        "Users/a b/AppData/Local/Balu/Logs/3.txt",
        "Users/c/AppData/Roaming/Balu/Cache/x",
        "Users/c/AppData/Local/VirtualStore/Program Files/Balu/Temp/y",
        "ProgramData/Balu/Temp/z",
        "Program Files (x86)/Balu/Temp/p",
        "Documents and Settings/old/Application Data/Balu/Cache/o",
        "Windows/Balu/Temp/w",
    ] {
        tree = tree.file(path, "data");
    }
    tree.make_temp()
}

#[test]
fn every_stage_finds_the_files_of_every_generation() {
    let rules = "\
Documents and Settings/*/Local Settings/Application Data/Balu/Logs/**/*.log
Documents and Settings/*/Application Data/Balu/Cache/*
Documents and Settings/All Users/Application Data/Balu/Temp
Program Files/Balu/Temp/*
WINDOWS/Balu/Temp/*
";
    let expected = [
        "Documents and Settings/old/Application Data/Balu/Cache/o",
        "Program Files (x86)/Balu/Temp/p",
        "ProgramData/Balu/Temp",
        "Users/a b/AppData/Local/Balu/Logs/1.log",
        "Users/a b/AppData/Local/Balu/Logs/deep/2.log",
        "Users/c/AppData/Local/VirtualStore/Program Files/Balu/Temp/y",
        "Users/c/AppData/Roaming/Balu/Cache/x",
        "Windows/Balu/Temp/w",
    ];
    let tree = disk();
    for stage in ["1", "2", "3"] {
        assert_eq!(
            listed(stage, rules, &tree),
            (expected.map(str::to_owned).to_vec(), String::new())
        );
    }
}

#[test]
fn every_stage_refuses_rules_that_are_too_wide() {
    let tree = disk();
    for rule in [
        "/*",
        "*",
        "",
        "*/*",
        "../*",
        "Users/../*",
        "Users/*",
        "Users/*/*",
        "Windows/*",
        "WINDOWS/**",
        "ProgramData/",
        "Application Data/*",
        "Documents and Settings/*",
        "Documents and Settings/*/Application Data/*",
        "Documents and Settings/*/Local Settings/Application Data/*",
        "Documents and Settings/All Users/Application Data/*",
        "Users//AppData",
    ] {
        for stage in ["1", "2", "3"] {
            let (paths, messages) = listed(stage, &format!("{rule}\n"), &tree);
            assert!(paths.is_empty(), "{rule}: {paths:?}");
            assert!(messages.contains("refused: "), "{rule}: {messages}");
        }
    }
}

#[test]
fn the_script_removes_nothing() {
    let text = fs::read_to_string(SCRIPT).expect("it");
    let commands = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let removes = |line: &&str| {
        line.split_whitespace().any(|word| matches!(word, "rm" | "rmdir" | "unlink" | "mv"))
    };
    assert_eq!(commands.filter(removes).collect::<Vec<_>>(), [""; 0]);
}
