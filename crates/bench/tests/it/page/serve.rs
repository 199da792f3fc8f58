//! The page about web servers, made from readings with known medians.

use std::collections::BTreeMap;

use bench::page;
use bench::record::{Count, Reading, Record, Role, Tool, Unit};
use bench::scenario::{Cache, Device, Order, Scenario, Work};

use super::{names, only, rows};

const LOP: &str = "lop";
const SENDFILE: &str = "nginx (sendfile)";
const COPY: &str = "nginx (no sendfile)";
const OTHER: &str = "static-web-server";

fn record() -> Record {
    let mut record = Record::default();
    for name in [LOP, SENDFILE, COPY, OTHER, "lop, limit", "nginx (limit_rate)"] {
        record.tools.push(Tool {
            name: name.into(),
            role: if name.starts_with(LOP) { Role::Ours } else { Role::Peer },
            version: "1".into(),
            command: "serve".into(),
        });
    }
    let per_cpu_second = "requests per CPU second";
    for load in ["small-1", "small-10", "small-10-wrk"] {
        add_scenario(&mut record, load, Work::Serve);
        let medians = [(LOP, 110.0), (SENDFILE, 100.0), (COPY, 105.0), (OTHER, 80.0)];
        for (tool, median) in medians {
            let median = if load == "small-1" { 100.0 } else { median };
            read(&mut record, load, tool, per_cpu_second, median * 1_000.0);
        }
    }
    add_scenario(&mut record, "big-1", Work::Serve);
    read(&mut record, "big-1", LOP, "CPU time", 2.2);
    read(&mut record, "big-1", SENDFILE, "CPU time", 2.0);
    add_scenario(&mut record, "throttled-100", Work::Throttle);
    for (tool, cpu_s) in [("lop, limit", 0.1), ("nginx (limit_rate)", 0.2)] {
        read(&mut record, "throttled-100", tool, "CPU time", cpu_s);
        let softirqs = "CPU time of softirqs outside the server";
        read(&mut record, "throttled-100", tool, softirqs, 0.1);
        for (what, rate) in [("slowest client", 990_000.0), ("fastest client", 1_030_000.0)] {
            read(&mut record, "throttled-100", tool, what, rate);
        }
    }
    add_scenario(&mut record, "calls-10", Work::Serve);
    let counts = [("all calls", 30_300), ("requests", 10_000), ("writev", 10_000)];
    let without_strace = [("all calls without strace", 250), ("requests without strace", 100)];
    for (what, count) in counts.into_iter().chain(without_strace) {
        let (scenario, tool) = ("calls-10".into(), LOP.into());
        record.counts.push(Count { scenario, tool, what: what.into(), count });
    }
    record
}

fn add_scenario(record: &mut Record, id: &str, work: Work) {
    record.scenarios.push(Scenario {
        id: id.into(),
        work,
        corpus: "served".into(),
        scale: 1.0,
        names: 101_065,
        bytes: 5 << 30,
        order: Order::Created,
        device: Device::AsIs,
        cache: Cache::Warm,
        answers: "dufs has no figure: closed".into(),
    });
}

/// Adds three rounds around a median.
fn read(record: &mut Record, load: &str, tool: &str, what: &str, median: f64) {
    for (round, factor) in [(1, 1.02), (2, 1.0), (3, 0.97)] {
        let factor = if what.ends_with("client") { 1.0 } else { factor };
        let (scenario, tool, what) = (load.into(), tool.into(), what.into());
        let value = median * factor;
        record.readings.push(Reading { scenario, tool, what, round, unit: Unit::Number, value });
    }
}

fn files() -> BTreeMap<String, String> {
    page::render(&only("serve", record()))
}

#[test]
fn requirements_compare_lop_with_the_better_nginx() {
    let files = files();
    let summary = rows(&files["benchmarks.md"], "## Send files over HTTP");
    let found = |start: &str| {
        let row = summary.iter().find(|row| row[2..].starts_with(start)).expect("a requirement");
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        cells[2..5].join(", ")
    };
    let against = "against the better of the tuned nginx";
    let of = |clients: &str, by: &str| {
        found(&format!("requests per CPU second for 8 KiB, {clients}, {against}{by} |"))
    };
    assert_eq!(of("1 client", ""), "at least 1.00x, 1.00x, yes");
    assert_eq!(of("10 clients", ""), "at least 1.00x, 1.05x, yes");
    assert_eq!(of("10 clients", ", measured by wrk"), "at least 1.00x, 1.05x, yes");
    assert_eq!(of("4 clients", ""), "at least 1.00x, not measured, -");
    assert_eq!(found("the same, 1 client,"), "at least 1.30x, **1.00x**, **no**");
    assert_eq!(found("system calls per request, 10"), "3.10, 2.50, yes");
    assert_eq!(found("CPU time for 4 GiB"), "1.05x, **1.10x**, **no**");
    assert_eq!(found("100 throttled clients"), "5.00 %, 3.00 %, yes");
    assert_eq!(found("CPU time with softirqs for 100 throttled"), "1.20x, 0.67x, yes");
    assert_eq!(found("memory with 10,000"), "60.0 MiB, not measured, -");
    assert!(files["benchmarks.md"].contains("lop meets 7 of 18 requirements"), "{summary:?}");
}

#[test]
fn each_load_has_a_table_with_the_most_efficient_server_first() {
    let page = &files()["benchmarks/serve.md"];
    let table = rows(page, "<a id=\"serve-small-10\">");
    assert_eq!(names(&table), [LOP, COPY, SENDFILE, OTHER]);
    assert_eq!(table[0], "| **lop** | 110,000 | 106,700 - 112,200 |");
    let table = rows(page, "<a id=\"serve-big-1\">");
    assert_eq!(names(&table), [SENDFILE, LOP], "the least time comes first");
    let calls = rows(page, "<a id=\"serve-calls-10\">");
    assert_eq!(calls, ["| **lop** | 3.03 | writev 1.00 | 2.50 |"]);
    assert!(page.contains("Dufs has no figure: closed."), "{page}");
    assert!(page.contains("runs/2026-07-20-serve/readings.csv"), "{page}");
}

#[test]
fn the_efficiency_of_all_loads_is_one_table() {
    let page = &files()["benchmarks/serve.md"];
    let table = rows(page, "## Requests per CPU second");
    let lop = "| **lop** | 100,000 | - | - | 110,000 | - | - | - | 110,000 |";
    assert_eq!(table[0], lop, "{table:?}");
}

#[test]
fn the_chart_has_a_bar_for_each_server() {
    let files = files();
    let chart = &files["benchmarks/serve.svg"];
    for text in ["lop", SENDFILE, COPY, OTHER, "110,000", "80,000"] {
        assert!(chart.contains(&format!(">{text}<")), "{text}: {chart}");
    }
    assert!(files["benchmarks.md"].contains("(benchmarks/serve.svg)"));
}
