//! The queries in `fleet/queries`, answered by every engine.
//!
//! `DuckDB` and loops in Python (`oracles/golden.py`) answer the same queries as `lop-fleet sql`. All rows must be
//! equal, and in the same order.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use catalog::{FileRow, FileState, StoredContent};
use content::{Digest, Head};
use export::{Names, Options, export_rows};
use runtime::Progress;
use serde_json::Value;
use testkit::{Invocation, Output, Sandbox, Spark, python};

use crate::hosts::Hosts;
use crate::spark::on;
use crate::{digest, worlds};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/oracles/golden.py");
const COPIES_SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/oracles/copies.py");
const QUERIES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/queries");

/// The rows of each query, by its name.
pub(crate) type Answers = BTreeMap<String, Value>;

/// Returns the files of the queries, sorted.
pub(crate) fn queries() -> Vec<PathBuf> {
    let entries = fs::read_dir(QUERIES).expect("a folder").map(|entry| entry.expect("one").path());
    let mut files: Vec<PathBuf> = entries.collect();
    files.sort();
    assert!(files.len() >= 20, "{files:?}");
    files
}

pub(crate) fn name(query: &Path) -> String {
    query.file_stem().expect("a name").to_string_lossy().into_owned()
}

/// Runs all queries in one process.
fn ask(hosts: &Hosts, args: &[&str]) -> Output {
    ask_with(hosts, &queries(), |command| command.args(args))
}

/// Runs some queries in one process, with a command that `prepare` has changed.
pub(crate) fn ask_with(
    hosts: &Hosts,
    queries: &[PathBuf],
    prepare: impl for<'a> FnOnce(Invocation<'a>) -> Invocation<'a>,
) -> Output {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_lop-fleet"));
    let mut command = prepare(sandbox.command().args(["sql", "--json"]).arg(hosts.dir.path()));
    for query in queries {
        command = command.arg("--file").arg(query);
    }
    command.run()
}

/// Returns the rows of a run with these queries.
pub(crate) fn answers(output: &Output, queries: &[PathBuf]) -> Answers {
    let documents = output.success().stdout_str().lines();
    let rows = documents.map(|line| {
        let mut document: Value = serde_json::from_str(line).expect("JSON");
        document["rows"].take()
    });
    let answers: Answers = queries.iter().map(|query| name(query)).zip(rows).collect();
    assert_eq!(answers.len(), queries.len(), "{output:?}");
    answers
}

/// Returns the answers of `DuckDB` and of the loops, if there is a Python that has `DuckDB`.
pub(crate) fn oracles(hosts: &Hosts) -> Option<[Answers; 2]> {
    let python = python()?;
    let output = python.command().args(["-B", SCRIPT]).arg(hosts.dir.path()).arg(QUERIES).run();
    let both: BTreeMap<String, BTreeMap<String, Value>> =
        serde_json::from_str(output.success().stdout_str()).expect("JSON");
    Some(["duckdb", "oracle"].map(|who| {
        both.iter().map(|(query, answers)| (query.clone(), answers[who].clone())).collect()
    }))
}

/// Returns the names of the queries with other rows.
pub(crate) fn differences(answers: &Answers, expected: &Answers) -> Vec<String> {
    let differ = answers.iter().filter(|(query, rows)| expected.get(*query) != Some(rows));
    differ
        .map(|(query, rows)| {
            let expected = expected.get(query).unwrap_or(&Value::Null);
            format!("{query}:\n{rows}\ninstead of\n{expected}\n")
        })
        .collect()
}

/// Checks the answers of `lop-fleet` about a fleet.
fn compare(hosts: &Hosts) {
    let Some(expected) = oracles(hosts) else { return };
    let answers = answers(&ask(hosts, &[]), &queries());
    for expected in &expected {
        assert_eq!(differences(&answers, expected), [""; 0]);
    }
}

#[test]
fn all_engines_agree_about_unusual_files() {
    let hosts = worlds::unusual();
    compare(&hosts);
    // A comparison of empty answers would prove nothing.
    let answers = answers(&ask(&hosts, &[]), &queries());
    let empty: Vec<_> =
        answers.iter().filter(|(_, rows)| rows == &&serde_json::json!([])).collect();
    assert!(empty.is_empty(), "{empty:?}");
    assert!(answers["largest-files"].to_string().contains("4611686018427387905"));
    assert!(answers["seen-by-several-hosts"].to_string().contains("[61267,-6,"));
    assert!(answers["paths-of-groups"].to_string().contains(&digest(1)));
}

#[test]
fn all_engines_agree_about_keyed_exports() {
    compare(&worlds::keyed());
}

#[test]
fn all_engines_agree_about_exports_without_names() {
    compare(&worlds::without_names());
}

#[test]
fn all_engines_agree_about_random_files() {
    for seed in 1..=3 {
        compare(&worlds::random(seed, 400));
    }
}

/// A comparison that cannot fail proves nothing.
#[test]
fn a_missing_row_is_a_difference() {
    let hosts = worlds::unusual();
    let right = answers(&ask(&hosts, &[]), &queries());
    let wrong = answers(&ask(&hosts, &["--host", "laptop", "--host", "nas"]), &queries());
    let differ = differences(&wrong, &right);
    assert!(differ.len() > 10, "{differ:?}");
    assert!(differ[0].contains("instead of"), "{differ:?}");
}

/// Without disk, `DataFusion` has to fail if the memory does not suffice. It must not return wrong rows.
#[test]
fn little_memory_gives_the_same_rows_or_an_error() {
    let hosts = worlds::random(7, 3000);
    let right = answers(&ask(&hosts, &[]), &queries());
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_lop-fleet"));
    let (mut same, mut failed) = (0, 0);
    for memory in ["20k", "300k", "3M"] {
        for query in queries() {
            let command = sandbox.command().args(["sql", "--json", "--memory", memory]);
            let output = command.arg(hosts.dir.path()).arg("--file").arg(&query).run();
            if output.stderr_str().is_empty() {
                let document = crate::json(output.success());
                assert_eq!(document["rows"], right[&name(&query)], "{}", query.display());
                same += 1;
            } else {
                output.code(1);
                let expected = "lop-fleet: the query needs more than ";
                assert!(output.stderr_str().starts_with(expected), "{output:?}");
                assert!(output.stderr_str().contains("raise --memory"), "{output:?}");
                failed += 1;
            }
        }
    }
    assert!(same >= 10 && failed >= 10, "{same} {failed}");
}

/// Number of copies on each of two hosts.
const COPIES: u64 = 5_000_000;

/// Two hosts with ten million copies of one file.
fn copies() -> Hosts {
    let hosts = Hosts::new();
    for host in ["a", "b"] {
        let content = StoredContent {
            id: 1,
            size: 1000,
            digest: Some(Digest([7; 32])),
            inodes: u32::try_from(COPIES).expect("few"),
            reclaimable: 0,
        };
        let file = |inode| FileRow {
            volume: 1,
            inode,
            size: 1000,
            mtime_ns: 0,
            ctime_ns: 0,
            head: NonZeroU64::new(1).map(Head),
            allocated: 4096,
            content: Some(1),
            state: FileState::Known,
        };
        let options = Options {
            host: host.into(),
            names: Names::None,
            key: None,
            created_ms: 1,
            replaces: false,
        };
        let files = (0..COPIES).map(file);
        let made = export_rows([&content], files, hosts.dir.path(), &options, &Progress::default());
        made.expect("exported");
    }
    hosts
}

/// All copies are in one bucket and in one group.
#[test]
fn all_engines_count_ten_million_copies() {
    let hosts = copies();
    let groups = format!("{QUERIES}/groups-on-several-hosts.sql");
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_lop-fleet"));
    let command = sandbox.command().args(["sql", "--json"]).arg(hosts.dir.path());
    let answer = crate::json(command.args(["--file", &groups]).run().success());
    let digest = Digest([7; 32]).to_string();
    let expected = serde_json::json!([[1000, digest, 2 * COPIES, 2]]);
    assert_eq!(answer["rows"], expected);
    if let Some(spark) = Spark::start() {
        let command = sandbox.command().args(["sql", "--json"]).arg(hosts.dir.path());
        let answer = crate::json(on(&spark, command.args(["--file", &groups])).run().success());
        assert_eq!(answer["rows"], expected);
    }
    let Some(python) = python() else { return };
    let output =
        python.command().args(["-B", COPIES_SCRIPT]).arg(hosts.dir.path()).arg(groups).run();
    for line in output.success().stdout_str().lines() {
        assert_eq!(serde_json::from_str::<Value>(line).expect("JSON"), expected);
    }
}
