//! Tests of `lop-fleet sql`: what it accepts, and how it prints.

use std::fs;

use testkit::{Output, Sandbox};

use crate::hosts::Hosts;
use crate::{digest, json, two_hosts, worlds};

/// Runs a query.
fn sql(hosts: &Hosts, args: &[&str]) -> Output {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_lop-fleet"));
    sandbox.command().arg("sql").arg(hosts.dir.path()).args(args).run()
}

const TYPES: &str = "SELECT host, size, head, digest, size > 1500 AS large, avg(size) OVER () AS mean FROM inodes \
                     WHERE host = 'nas' OR size = 77 ORDER BY size, inode";

#[test]
fn a_table_has_numbers_on_the_right() {
    let hosts = two_hosts();
    let output = sql(
        &hosts,
        &[
            "SELECT host, size, digest, 'a' AS \"B\" FROM inodes WHERE size BETWEEN 1 AND 1001 ORDER BY 1, 2",
        ],
    );
    let expected = format!(
        "\
host    size  digest{0:58}  B
laptop    77  {0:64}  a
laptop  1000  {1}  a
laptop  1000  {1}  a
nas     1000  {1}  a
",
        "",
        digest(1)
    );
    assert_eq!(output.success().stdout_str(), expected);
    assert_eq!(output.stderr_str(), "");
}

#[test]
fn csv_and_json_keep_types_and_nulls() {
    let hosts = two_hosts();
    let output = sql(&hosts, &["--format", "csv", TYPES]);
    let lines: Vec<&str> = output.success().stdout_str().split("\r\n").collect();
    assert_eq!(lines[0], "host,size,head,digest,large,mean");
    assert_eq!(lines[1], "laptop,77,1,,false,2015.4");
    assert_eq!(lines[2], format!("nas,1000,1,{},false,2015.4", digest(1)));
    assert_eq!(lines[6..], [""]);
    for json_args in [&["--json", TYPES], &["--format=json", TYPES]] {
        let document = json(sql(&hosts, json_args).success());
        assert_eq!(document["format_version"], 1);
        assert_eq!(document["columns"][3], "digest");
        let row = serde_json::json!(["laptop", 77, 1, null, false, 2015.4]);
        assert_eq!(document["rows"][0], row);
        assert_eq!(document["rows"][4][3], serde_json::Value::Null);
    }
}

#[test]
fn parquet_goes_to_a_new_file_that_other_engines_read() {
    let hosts = two_hosts();
    let path = hosts.dir.join("rows.parquet");
    let args = ["--format", "parquet", "--output", path.to_str().expect("UTF-8"), TYPES];
    assert_eq!(sql(&hosts, &args).success().stdout_str(), "");
    let again = sql(&hosts, &args);
    assert!(again.code(1).stderr_str().ends_with("rows.parquet exists\n"), "{again:?}");
    let Some(python) = testkit::python() else { return };
    let script =
        "import duckdb, sys\nfor row in duckdb.read_parquet(sys.argv[1]).fetchall(): print(row)";
    let read = python.command().args(["-B", "-c", script]).arg(&path).run();
    let rows: Vec<&str> = read.success().stdout_str().lines().collect();
    assert_eq!(rows[0], "('laptop', 77, 1, None, False, 2015.4)");
    assert_eq!(rows.len(), 5);
    assert!(rows[1].starts_with("('nas', 1000, 1, b'"), "{rows:?}");
}

#[test]
fn a_file_that_fails_leaves_nothing() {
    let hosts = two_hosts();
    let path = hosts.dir.join("rows.csv");
    let args = ["--format", "csv", "--output", path.to_str().expect("UTF-8")];
    let output = sql(&hosts, &[&args[..], &["SELECT size / (size - 77) FROM inodes"]].concat());
    assert!(output.code(1).stderr_str().contains("Divide by zero"), "{output:?}");
    let left = fs::read_dir(hosts.dir.path()).expect("a folder").count();
    assert_eq!(left, 2, "the folders of two hosts");
    sql(&hosts, &[&args[..], &["SELECT 1 AS one"]].concat()).success();
    assert_eq!(fs::read_to_string(&path).expect("a file"), "one\r\n1\r\n");
}

#[test]
fn only_queries_are_allowed() {
    let hosts = two_hosts();
    let target = hosts.dir.join("target");
    let target = target.display();
    for statement in [
        format!("COPY inodes TO '{target}'"),
        format!("CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{target}'"),
        "INSERT INTO hosts SELECT * FROM hosts".into(),
        "EXPLAIN ANALYZE INSERT INTO hosts SELECT * FROM hosts".into(),
        "CREATE TABLE t AS SELECT 1".into(),
        "CREATE VIEW t AS SELECT 1".into(),
        "SELECT 1 AS a INTO t".into(),
        "DROP TABLE inodes".into(),
        "SET datafusion.optimizer.prefer_hash_join = true".into(),
        "DELETE FROM hosts".into(),
        "UPDATE hosts SET host = 'a'".into(),
        "PREPARE p AS SELECT 1".into(),
        "BEGIN".into(),
    ] {
        let output = sql(&hosts, &[&statement]);
        output.code(1);
        assert_eq!(output.stderr_str().lines().count(), 1, "{statement}: {output:?}");
        assert!(output.stderr_str().starts_with("lop-fleet: "), "{output:?}");
        assert!(!hosts.dir.join("target").exists(), "{statement}");
    }
    let output = sql(&hosts, &["SELECT 1; SELECT 2"]);
    assert_eq!(output.code(1).stderr_str(), "lop-fleet: 2 statements instead of one query\n");
    let output = sql(&hosts, &["DROP TABLE inodes"]);
    let expected = "lop-fleet: only a query is allowed: SELECT, WITH, VALUES or EXPLAIN\n";
    assert_eq!(output.code(1).stderr_str(), expected);
    assert!(sql(&hosts, &[""]).code(1).stderr_str().contains("the query is empty"));
    for query in [
        "VALUES (1)",
        "WITH a AS (SELECT 1) SELECT * FROM a;",
        "EXPLAIN SELECT * FROM inodes",
        "SHOW TABLES",
        "SHOW COLUMNS FROM inodes",
    ] {
        sql(&hosts, &[query]).success();
    }
}

#[test]
fn errors_say_where_and_why() {
    let hosts = two_hosts();
    let error = |query: &str| sql(&hosts, &[query]).code(1).stderr_str().to_owned();
    let parsed = error("SELECT host\nFROM inodes\nGROUP host");
    assert!(parsed.contains("line 3, column 1: Expected"), "{parsed}");
    let unknown = error("SELECT host,\n  sizes FROM inodes");
    assert!(unknown.contains("line 2, column 3: "), "{unknown}");
    assert!(unknown.contains("sizes") && unknown.lines().count() == 1, "{unknown}");
    assert!(error("SELECT * FROM files").contains("files"));
    assert!(error("SELECT * FROM '/etc/passwd'").contains("not found"));
}

#[test]
fn arguments_must_not_contradict_each_other() {
    let hosts = two_hosts();
    let usage = |args: &[&str]| sql(&hosts, args).code(2).stderr_str().to_owned();
    assert!(usage(&["--json", "--format", "csv", "SELECT 1"]).contains("different formats"));
    assert!(usage(&["--format", "parquet", "SELECT 1"]).contains("needs --output"));
    assert!(usage(&[]).contains("QUERY"));
    assert!(usage(&["--file", "a.sql", "SELECT 1"]).contains("cannot be used with"));
    let output = sql(&hosts, &["--file", "missing.sql"]);
    let expected = "lop-fleet: cannot read missing.sql: No such file or directory\n";
    assert_eq!(output.code(1).stderr_str(), expected);
}

#[test]
fn names_cannot_disturb_a_terminal_or_a_table() {
    let hosts = worlds::unusual();
    let query = "SELECT 'a' || chr(27) || '[2J' || chr(10) || 'b' AS x, path FROM dirs WHERE host = 'laptop'";
    let output = sql(&hosts, &[query]);
    assert_eq!(output.success().stdout_str().lines().count(), 5, "{output:?}");
    assert!(!output.stdout_str().contains('\u{1b}'));
    let csv = sql(&hosts, &["--format", "csv", query]);
    assert!(
        csv.success().stdout_str().contains("\"a\u{1b}[2J\nb\""),
        "a pipe gets the text as it is"
    );
    assert!(!sql(&hosts, &["--json", query]).stdout_str().contains('\u{1b}'));
}

#[test]
fn tables_without_files_have_columns() {
    let hosts = two_hosts();
    let output = sql(&hosts, &["SELECT dir_id, name FROM names"]);
    assert_eq!(output.success().stdout_str(), "dir_id  name\n");
    let rows = json(sql(&hosts, &["--json", "SELECT count(*), max(path) FROM dirs"]).success());
    assert_eq!(rows["rows"], serde_json::json!([[0, null]]));
}

#[test]
fn folders_with_odd_names_are_plain_folders() {
    let mut hosts = Hosts::new();
    hosts.export("laptop", &[(1000, 1, 1)]);
    // Engines could take such a name for a column, or decode it.
    fs::rename(hosts.dir.join("laptop"), hosts.dir.join("host=007 %41#?é")).expect("renamed");
    let output = sql(&hosts, &["--json", "SELECT host, size FROM inodes"]);
    assert_eq!(json(output.success())["rows"], serde_json::json!([["laptop", 1000]]));
}

#[test]
fn a_closed_pipe_ends_a_query_without_a_message() {
    let hosts = worlds::random(1, 2000);
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_lop-fleet"));
    for format in ["table", "csv", "json"] {
        let command = sandbox.command().args(["sql", "--format", format]).arg(hosts.dir.path());
        let command = command.arg("SELECT * FROM inodes a, inodes b WHERE a.size <> b.size");
        let output = command.close_stdout_after(10).run();
        output.success();
        assert_eq!(output.stderr_str(), "", "{format}");
    }
}
