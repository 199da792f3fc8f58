//! Computes the report with SQL, on an engine that can use several hosts.
//!
//! The queries are in `fleet/sql`. They give the same answers as the comparison in this process (`fleet::compare`).

use std::collections::HashMap;
use std::error::Error;

use export::Stored;
use serde_json::Value;

use super::{Amount, Compared, Content, Document, Host, Pair};
use crate::args::ReportArgs;
use crate::engines::{Engine, Job, Tables};
use crate::formats::{Format, Printer};

/// The query for the files that are compared. Each of the other queries follows this text.
const FILES: &str = include_str!("../../../sql/report-files.sql");
const QUERIES: [&str; 5] = [
    include_str!("../../../sql/report-seen.sql"),
    include_str!("../../../sql/report-hosts.sql"),
    include_str!("../../../sql/report-groups.sql"),
    include_str!("../../../sql/report-pairs.sql"),
    include_str!("../../../sql/report-contents.sql"),
];

/// Largest number that all engines accept after LIMIT.
const MOST_ROWS: usize = i32::MAX as usize;

/// The rows of a result, each with its values.
type Rows = Vec<Vec<Value>>;

/// Compares the exports with an engine.
///
/// # Errors
///
/// Fails if the engine fails.
pub(super) fn report(
    args: &ReportArgs,
    engine: &Engine,
    exports: &[Stored],
) -> Result<Compared, Box<dyn Error>> {
    let limit = args.limit.min(MOST_ROWS);
    let queries = QUERIES.map(|query| {
        let largest = i64::MAX.unsigned_abs();
        format!("{FILES}{query}")
            .replace("{min_size}", &args.min_size.min(largest).to_string())
            .replace("{limit}", &limit.to_string())
            .replace("{pairs}", &if args.html { MOST_ROWS } else { limit }.to_string())
    });
    let tables = Tables::new(args.dir.clone(), exports);
    let job = Job { engine, tables: &tables, queries: &queries, memory: args.memory };
    let results: [Rows; 5] =
        results(&job)?.try_into().map_err(|_| "the engine did not answer all queries")?;
    let [seen, hosts, groups, pairs, contents] = &results;
    let document = Document {
        hosts: exports.iter().map(|export| host(export, hosts)).collect(),
        groups: number(groups, 0, 0),
        redundant: Amount { files: number(groups, 0, 1), bytes: number(groups, 0, 2) },
        shared_groups: number(groups, 0, 3),
        pairs: (0..pairs.len().min(args.limit)).map(|row| pair(pairs, row)).collect(),
        contents: (0..contents.len()).map(|row| content(contents, row)).collect(),
    };
    let index = |name: &String| exports.iter().position(|export| export.host == *name);
    let bytes = (0..pairs.len()).map(|row| pair(pairs, row)).filter_map(|pair| {
        let [one, other] = &pair.hosts;
        Some(((index(one)?, index(other)?), pair.shared_bytes))
    });
    let bytes: HashMap<(usize, usize), u64> = bytes.collect();
    let shared = move |one: usize, other: usize| {
        bytes.get(&(one.min(other), one.max(other))).copied().unwrap_or(0)
    };
    Ok(Compared { document, seen_before: number(seen, 0, 0), shared: Box::new(shared) })
}

/// Runs the queries of a job and returns the rows of each.
fn results(job: &Job<'_>) -> Result<Vec<Rows>, Box<dyn Error>> {
    let mut printer = Printer::new(Format::Json, false, Vec::new());
    job.run(&mut |step| printer.print(&step))?;
    let documents = printer.into_output().unwrap_or_default();
    let rows = |line: &str| -> Result<Rows, Box<dyn Error>> {
        let mut document: Value = serde_json::from_str(line)?;
        Ok(serde_json::from_value(document["rows"].take())?)
    };
    std::str::from_utf8(&documents)?.lines().map(rows).collect()
}

fn number(rows: &Rows, row: usize, column: usize) -> u64 {
    rows.get(row).and_then(|row| row.get(column)).and_then(Value::as_u64).unwrap_or(0)
}

fn text(rows: &Rows, row: usize, column: usize) -> String {
    let value = rows.get(row).and_then(|row| row.get(column)).and_then(Value::as_str);
    value.unwrap_or_default().to_owned()
}

fn host(export: &Stored, rows: &Rows) -> Host {
    let is_of_host = |row: &&Vec<Value>| row.first().is_some_and(|host| *host == export.host);
    let rows: Rows = rows.iter().filter(is_of_host).cloned().collect();
    let sum = |column: usize, answer: Option<&str>| {
        let counts = |row: &usize| answer.is_none_or(|answer| text(&rows, *row, 1) == answer);
        let found = || (0..rows.len()).filter(counts);
        Amount {
            files: found().map(|row| number(&rows, row, column)).sum(),
            bytes: found().map(|row| number(&rows, row, column + 1)).sum(),
        }
    };
    Host {
        name: export.host.clone(),
        export_id: export.export_id.clone(),
        all: sum(2, None),
        elsewhere: sum(2, Some("elsewhere")),
        only_here: sum(2, Some("only_here")),
        unknown: sum(2, Some("unknown")),
        redundant: sum(4, None),
    }
}

fn pair(rows: &Rows, row: usize) -> Pair {
    Pair { hosts: [text(rows, row, 0), text(rows, row, 1)], shared_bytes: number(rows, row, 2) }
}

fn content(rows: &Rows, row: usize) -> Content {
    Content {
        size: number(rows, row, 0),
        digest: text(rows, row, 1),
        files: number(rows, row, 2),
        hosts: u32::try_from(number(rows, row, 3)).unwrap_or(u32::MAX),
        redundant_bytes: number(rows, row, 4),
    }
}
