//! Parses every output format of every command, for a tree with hostile names.

use std::collections::BTreeSet;

use testkit::{
    Groups, Hostile, Output, PathBytes, assert_groups, hostile_tree, parse_fdupes, parse_json,
    parse_json_groups, parse_nul, relative_to,
};

use crate::lop::{Lop, document, settle};

/// Returns the program in a tree with hostile names, and the expected results.
fn hostile() -> (Lop, Hostile) {
    let lop = Lop::new();
    let truth = hostile_tree(lop.work());
    settle();
    (lop, truth)
}

/// Returns the exit code of a scan of the tree with hostile names.
fn code() -> i32 {
    if testkit::is_root() { 0 } else { 3 }
}

/// Removes the escapes from a name that is on its own line.
fn unescaped(line: &[u8]) -> Vec<u8> {
    let Some(escaped) = line.strip_prefix(b"\\") else { return line.to_vec() };
    let mut name = Vec::new();
    let mut bytes = escaped.iter();
    while let Some(&byte) = bytes.next() {
        name.push(match (byte, if byte == b'\\' { bytes.next() } else { None }) {
            (b'\\', Some(b'n')) => b'\n',
            (b'\\', Some(b'\\')) => b'\\',
            (b'\\', other) => panic!("an escape of {other:?}"),
            (byte, _) => byte,
        });
    }
    name
}

fn unescaped_groups(groups: &Groups) -> Groups {
    groups.iter().map(|group| group.iter().map(|line| unescaped(line)).collect()).collect()
}

/// Parses the `text` format, a heading followed by lines of two spaces and a path.
fn parse_text(output: &[u8]) -> Groups {
    let mut groups = Groups::new();
    let mut group = BTreeSet::new();
    for line in output.split(|&b| b == b'\n') {
        match line.strip_prefix(b"  ") {
            Some(path) => drop(group.insert(unescaped(path))),
            None => drop(groups.insert(std::mem::take(&mut group))),
        }
    }
    groups.remove(&BTreeSet::new());
    groups
}

fn parse_csv(output: &[u8]) -> Groups {
    let mut reader = csv::Reader::from_reader(output);
    let heading = reader.byte_headers().expect("a heading").clone();
    assert_eq!(heading, csv::ByteRecord::from(vec!["group", "size", "digest", "path"]));
    let mut groups: Vec<BTreeSet<Vec<u8>>> = Vec::new();
    for row in reader.byte_records() {
        let row = row.expect("a well-formed row");
        let number: usize = String::from_utf8_lossy(&row[0]).parse().expect("a number");
        assert!(number == groups.len() || number == groups.len() + 1, "groups are in order");
        groups.resize_with(number, BTreeSet::new);
        assert!(groups[number - 1].insert(row[3].to_vec()), "listed twice");
        assert_eq!(row[2].len(), 64);
    }
    groups.into_iter().collect()
}

/// Parses groups in a format.
fn parse(format: &str, output: &[u8]) -> Groups {
    match format {
        "text" => parse_text(output),
        "fdupes" => unescaped_groups(&parse_fdupes(output)),
        "json" => parse_json(output),
        "csv" => parse_csv(output),
        "nul" => parse_nul(output),
        other => panic!("{other}"),
    }
}

const FORMATS: [&str; 5] = ["text", "fdupes", "json", "csv", "nul"];

#[test]
fn every_format_of_a_scan_gives_the_groups_of_the_oracle() {
    let (lop, truth) = hostile();
    for format in FORMATS {
        let output = lop.run(["scan", "--no-catalog", "--format", format, "."]);
        output.code(code());
        let groups = relative_to(".", &parse(format, &output.stdout));
        assert_groups(truth.groups_here(), &groups);
    }
}

#[test]
fn every_format_of_a_report_gives_the_groups_of_the_oracle() {
    let (lop, truth) = hostile();
    lop.run(["scan", "."]).code(code());
    for format in FORMATS {
        let output = lop.run(["report", "--limit", "0", "--format", format]);
        output.code(code());
        let groups = relative_to(lop.work(), &parse(format, &output.stdout));
        assert_groups(truth.groups_here(), &groups);
    }
}

#[test]
fn groups_are_printed_besides_the_catalog_where_a_format_is_given() {
    let (lop, truth) = hostile();
    for format in FORMATS {
        let output = lop.run(["scan", "--format", format, "."]);
        output.code(code());
        let groups = relative_to(".", &parse(format, &output.stdout));
        assert_groups(truth.groups_here(), &groups);
        assert_groups(truth.groups_here(), &lop.report());
    }
}

#[test]
fn sizes_and_digests_are_those_of_the_files() {
    let (lop, _) = hostile();
    let output = lop.run(["scan", "--format", "json", "."]);
    for group in parse_json_groups(&output.stdout) {
        for file in &group.files {
            let bytes = std::fs::read(lop.path(file)).expect("readable");
            assert_eq!(bytes.len() as u64, group.size);
            assert_eq!(group.digest, Some(blake3::hash(&bytes).to_string()));
        }
    }
}

/// Returns the paths from a list in the given format.
fn parse_list(format: &str, output: &Output) -> BTreeSet<Vec<u8>> {
    let lines = |end: u8| {
        let whole = output.stdout.strip_suffix(&[end]).unwrap_or_default();
        whole.split(move |&b| b == end).map(<[u8]>::to_vec)
    };
    match format {
        "text" | "fdupes" => lines(b'\n').map(|line| unescaped(&line)).collect(),
        "nul" => lines(0).collect(),
        "json" => document(output)["files"].as_array().expect("files").iter().map(path).collect(),
        "csv" => {
            let mut reader = csv::Reader::from_reader(&output.stdout[..]);
            let rows = reader.byte_records().map(|row| row.expect("a well-formed row"));
            rows.map(|row| row[4].to_vec()).collect()
        }
        other => panic!("{other}"),
    }
}

/// Returns the exact path of a file in JSON.
fn path(file: &serde_json::Value) -> Vec<u8> {
    use base64::Engine as _;
    let engine = base64::engine::general_purpose::STANDARD;
    match file["path_base64"].as_str() {
        Some(code) => engine.decode(code).expect("base64"),
        None => file["path"].as_str().expect("a path").as_bytes().to_vec(),
    }
}

#[test]
fn every_format_of_dups_lists_the_members_of_all_groups() {
    let (lop, truth) = hostile();
    lop.run(["scan", "."]).code(code());
    let mut expected: BTreeSet<Vec<u8>> = truth.groups_here().iter().flatten().cloned().collect();
    // Every name is counted here, including further hard links of an inode that has a copy.
    expected.insert(b"linked 2".to_vec());
    let expected: BTreeSet<Vec<u8>> =
        expected.iter().map(|path| [b"./", path.as_slice()].concat()).collect();
    for format in FORMATS {
        let output = lop.run(["dups", "--format", format, "."]);
        output.code(code());
        assert_eq!(parse_list(format, &output), expected, "{format}");
    }
}

#[test]
fn every_format_of_uniques_lists_the_files_without_a_copy() {
    let (lop, _) = hostile();
    lop.run(["scan", "."]).code(code());
    let expected = ["./CASE2", "./lone 1", "./lone 2"].map(|path| path.as_bytes().to_vec());
    let expected = BTreeSet::from(expected);
    for format in FORMATS {
        let output = lop.run(["uniques", "--anywhere", "--format", format, "."]);
        output.code(6);
        let mut listed = parse_list(format, &output);
        if format == "text" {
            let marked = |path: Vec<u8>| path.split(|&b| b == b'(').next().map(<[u8]>::to_vec);
            listed = listed.into_iter().filter_map(marked).collect();
        }
        if !testkit::is_root() {
            // If a file cannot be read, lop reports its only copy as unique.
            listed.retain(|path| expected.contains(path));
        }
        assert_eq!(listed, expected, "{format}");
    }
}

#[test]
fn ls_and_file_show_every_name() {
    let (lop, _) = hostile();
    lop.run(["scan", "."]).code(code());
    let output = lop.run(["ls", "-R", "--json", "."]);
    output.code(code());
    let document = document(&output);
    let listed: BTreeSet<Vec<u8>> =
        document["files"].as_array().expect("files").iter().map(path).collect();
    for name in [&b"./new\nline"[..], b"./\xff", b"./dir \xff\n/copy", b"./-rf"] {
        assert!(listed.contains(name), "{}", name.escape_ascii());
        let bare = &name[2..];
        let answer = lop.command().args(["file", "--json", "--"]).arg(bare).run();
        answer.success();
        let answer = crate::lop::document(&answer);
        assert_eq!(path(&answer["files"][0]), bare);
        assert!(answer["files"][0]["duplicates"].as_u64() > Some(0), "{answer}");
    }
    let text = lop.run(["ls", "."]);
    assert!(text.stdout.windows(13).any(|w| w == b"  \\./new\\nline"[..13].path_bytes()));
}

#[test]
fn a_name_that_starts_with_a_backslash_differs_from_an_escape() {
    let tree = testkit::TreeBuilder::new().file("\\n", "alike").file("\n", "alike");
    let lop = Lop::with(&tree);
    let output = lop.command().args(["scan", "--no-catalog", "--format", "fdupes", "--files-from"]);
    let output = output.args(["-", "-0"]).stdin("\\n\0\n\0").run();
    output.success();
    assert_eq!(output.stdout_str(), "\\\\n\n\\\\\\n\n", "the newline, then backslash and n");
    let groups = unescaped_groups(&parse_fdupes(&output.stdout));
    assert_groups(&testkit::groups_of([["\\n", "\n"]]), &groups);
}

#[test]
fn the_order_of_the_output_is_fixed() {
    let (lop, _) = hostile();
    let run = |threads: &str| {
        lop.run(["scan", "--no-catalog", "--format", "csv", "--threads", threads, "."]).stdout
    };
    let first = run("1");
    for threads in ["1", "2", "5"] {
        assert!(run(threads) == first, "{threads} threads");
    }
}

#[test]
fn nothing_found_is_an_empty_output_or_document() {
    let lop = Lop::with(&testkit::TreeBuilder::new().file("a", "1"));
    for (format, expected) in
        [("text", ""), ("fdupes", ""), ("nul", ""), ("csv", "group,size,digest,path\n")]
    {
        assert_eq!(lop.scan(["--format", format, "."]).stdout_str(), expected, "{format}");
    }
    let document = document(&lop.scan(["--format", "json", "."]));
    assert_eq!(document["groups"], serde_json::json!([]));
    assert_eq!(document["summary"]["files"], 1);
}
