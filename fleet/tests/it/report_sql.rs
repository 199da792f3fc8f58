//! The queries of `lop-fleet report --engine spark://...`, with the engine in the process.
//!
//! They are compared with the report that is computed without SQL. The same queries run on Spark in `spark.rs`.

use serde_json::{Value, json};
use testkit::Sandbox;

use crate::hosts::Hosts;
use crate::{run, worlds};

const FILES: &str = include_str!("../../sql/report-files.sql");
const QUERIES: [&str; 5] = [
    include_str!("../../sql/report-seen.sql"),
    include_str!("../../sql/report-hosts.sql"),
    include_str!("../../sql/report-groups.sql"),
    include_str!("../../sql/report-pairs.sql"),
    include_str!("../../sql/report-contents.sql"),
];

/// Returns the rows of a query.
fn ask(hosts: &Hosts, query: &str, min_size: u64) -> Value {
    let query = format!("{FILES}{query}");
    let query = query
        .replace("{min_size}", &min_size.to_string())
        .replace("{limit}", "10")
        .replace("{pairs}", "10");
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_lop-fleet"));
    let file = hosts.dir.join("query.sql");
    std::fs::write(&file, query).expect("written");
    let command = sandbox.command().args(["sql", "--json"]).arg(hosts.dir.path());
    let output = command.arg("--file").arg(file).run();
    let mut document = crate::json(output.success());
    document["rows"].take()
}

fn compare(hosts: &Hosts, min_size: u64) {
    let size = min_size.to_string();
    let output = run(&["report", "--json", "--min-size", &size], hosts.dir.as_ref());
    let report = crate::json(output.success());
    let [seen, of_hosts, groups, pairs, contents] =
        QUERIES.map(|query| ask(hosts, query, min_size));
    let text = run(&["report", "--min-size", &size], hosts.dir.as_ref());
    match seen[0][0].as_u64().expect("a number") {
        0 => assert!(!text.stderr_str().contains("counted once"), "{text:?}"),
        files => assert!(text.stderr_str().contains(&format!("{files} files are")), "{text:?}"),
    }
    for row in of_hosts.as_array().expect("rows") {
        let all = report["hosts"].as_array().expect("hosts");
        let host = all.iter().find(|host| host["host"] == row[0]).expect("a host");
        let amount = &host[row[1].as_str().expect("a column")];
        assert_eq!(*amount, json!({"files": row[2], "bytes": row[3]}), "{row}");
    }
    for host in report["hosts"].as_array().expect("hosts") {
        let rows = of_hosts.as_array().expect("rows").iter().filter(|row| row[0] == host["host"]);
        let sum = |column: usize| {
            rows.clone().map(|row| row[column].as_u64().expect("a number")).sum::<u64>()
        };
        assert_eq!(host["all"], json!({"files": sum(2), "bytes": sum(3)}), "{host}");
        assert_eq!(host["redundant"], json!({"files": sum(4), "bytes": sum(5)}), "{host}");
    }
    let redundant = &report["redundant"];
    let expected = json!([[
        report["groups"],
        redundant["files"],
        redundant["bytes"],
        report["shared_groups"]
    ]]);
    assert_eq!(groups, expected);
    let list = |key: &str, row: fn(&Value) -> Value| -> Value {
        report[key].as_array().expect("a list").iter().map(row).collect()
    };
    let expected =
        list("pairs", |pair| json!([pair["hosts"][0], pair["hosts"][1], pair["shared_bytes"]]));
    assert_eq!(pairs, expected);
    let row = |content: &Value| {
        ["size", "digest", "files", "hosts", "redundant_bytes"]
            .map(|key| content[key].clone())
            .into()
    };
    assert_eq!(contents, list("contents", row));
}

#[test]
fn the_queries_of_the_report_have_its_numbers() {
    compare(&worlds::unusual(), 1);
    compare(&worlds::unusual(), 1001);
    compare(&worlds::keyed(), 1);
    for seed in 10..14 {
        compare(&worlds::random(seed, 60 << (seed % 4)), 1);
    }
}
