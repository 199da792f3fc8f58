//! The page about web servers: efficiency at a glance, and a table for each load.
//!
//! The other pages compare run times. Here, the figures are readings and counts of each server.

use crate::counts::ALL_CALLS;
use crate::race::serve::figures::{
    BYTES_PER_SECOND, CPU, HEAD, LATENCIES, OPEN_RATE, PEAK, PER_CPU_SECOND, PER_SECOND, RATES,
    REQUESTS, RESIDENT, SOFTIRQS, UNDISTURBED_CALLS, UNDISTURBED_REQUESTS,
};
use crate::race::serve::loads::{How, LOADS, Load, by_id};
use crate::record::{Record, Role, Tool, Unit};
use crate::stats::{Spread, float, median, spread};

use super::bars::{self, Bar};
use super::comparison::Comparison;
use super::figures::number;
use super::job::Job;
use super::readings::shown;
use super::requirements;
use super::words::{inline, sentence, slug};

/// The load in the chart.
const CHARTED: &str = "small-10";

/// The measurements in the order of the columns, with the titles of the columns.
const COLUMNS: [(&str, &str, Unit); 14] = [
    (PER_CPU_SECOND, "requests per CPU second", Unit::Number),
    (RATES[0], "slowest client, per second", Unit::Bytes),
    (RATES[1], "median client", Unit::Bytes),
    (RATES[2], "fastest client", Unit::Bytes),
    (CPU, CPU, Unit::Seconds),
    (SOFTIRQS, SOFTIRQS, Unit::Seconds),
    (PER_SECOND, "requests per second", Unit::Number),
    (BYTES_PER_SECOND, "per second", Unit::Bytes),
    (LATENCIES[0], LATENCIES[0], Unit::Ms),
    (LATENCIES[1], LATENCIES[1], Unit::Ms),
    (LATENCIES[2], LATENCIES[2], Unit::Ms),
    (RESIDENT, RESIDENT, Unit::Bytes),
    (PEAK, PEAK, Unit::Bytes),
    (HEAD, HEAD, Unit::Number),
];

/// Returns the page.
pub(super) fn page(comparisons: &[&Comparison]) -> String {
    let mut page = format!(
        "# {}: every load\n\n[Summary of all jobs](../benchmarks.md), [method, machines and \
         tools](method.md). To repeat the runs: `cargo xtask race serve`.\n\n\
         Except for counts of system calls, all figures are medians of the rounds. *min - max* is the range of the first\n\
         figure in a row.\n\n\
         ![{}](serve.svg)\n\n",
        Job::Serve.title(),
        alternative(comparisons)
    );
    page.push_str(&requirements::section(Job::Serve, comparisons));
    write_efficiency(&mut page, comparisons);
    for comparison in comparisons {
        write_load(&mut page, comparison);
    }
    page
}

/// Returns the chart: requests for each second of processor time.
pub(super) fn svg(comparisons: &[&Comparison]) -> String {
    let bar = |(tool, figure): (_, Spread)| Bar { tool, figure, value: number(figure.median) };
    let bars: Vec<Bar> = charted(comparisons).into_iter().map(bar).collect();
    let title = "Sending files of 8 KiB to 10 clients";
    bars::chart(title, "Requests per second of CPU time of the server; more is better", &bars, &[])
}

/// Returns the alternative text of the chart.
pub(super) fn alternative(comparisons: &[&Comparison]) -> String {
    let bar = |(tool, figure): (&Tool, Spread)| format!("{} {}", tool.name, number(figure.median));
    let bars: Vec<String> = charted(comparisons).into_iter().map(bar).collect();
    inline(&format!(
        "Bar chart. Sending files of 8 KiB to 10 clients. Requests per CPU second: {}",
        bars.join("; ")
    ))
}

/// Returns the median of a measurement of a server under a load.
pub(super) fn median_of(
    comparisons: &[&Comparison],
    load: &str,
    tool: &str,
    what: &str,
) -> Option<f64> {
    let comparison = of_load(comparisons, load)?;
    median(comparison.record.values_of(load, tool, what))
}

/// The counts of system calls and requests under strace, and without it.
const WITH_STRACE: [&str; 2] = [ALL_CALLS, REQUESTS];
const WITHOUT_STRACE: [&str; 2] = [UNDISTURBED_CALLS, UNDISTURBED_REQUESTS];

/// Returns the system calls per request that perf counted, or those that strace counted if perf has none.
pub(super) fn calls_per_request(
    comparisons: &[&Comparison],
    load: &str,
    tool: &str,
) -> Option<f64> {
    let record = of_load(comparisons, load)?.record;
    let undisturbed = per_request(record, load, tool, WITHOUT_STRACE);
    undisturbed.or_else(|| per_request(record, load, tool, WITH_STRACE))
}

/// Returns the system calls per request. `counts` are the names of the counts of system calls and requests.
fn per_request(record: &Record, load: &str, tool: &str, counts: [&str; 2]) -> Option<f64> {
    let [calls, requests] = counts.map(|what| record.count(load, tool, what).map(float));
    Some(calls? / requests?)
}

fn of_load<'c, 'a>(comparisons: &[&'c Comparison<'a>], load: &str) -> Option<&'c Comparison<'a>> {
    comparisons.iter().copied().find(|comparison| comparison.scenario.id == load)
}

fn charted<'a>(comparisons: &[&Comparison<'a>]) -> Vec<(&'a Tool, Spread)> {
    of_load(comparisons, CHARTED).map_or_else(Vec::new, |race| servers(race, PER_CPU_SECOND))
}

/// Returns the servers with a figure, the largest first.
fn servers<'a>(comparison: &Comparison<'a>, what: &str) -> Vec<(&'a Tool, Spread)> {
    let figure = |tool: &'a Tool| {
        let values = comparison.record.values_of(&comparison.scenario.id, &tool.name, what);
        spread(values).map(|figure| (tool, figure))
    };
    let mut servers: Vec<_> = comparison.record.tools.iter().filter_map(figure).collect();
    servers.sort_by(|a, b| b.1.median.total_cmp(&a.1.median));
    servers
}

/// Writes the efficiency for the small files as one table.
fn write_efficiency(page: &mut String, comparisons: &[&Comparison]) {
    let is_shown = |load: &&Load| matches!(load.how, How::Closed | How::Wrk);
    let loads: Vec<&Load> =
        LOADS.iter().filter(|load| load.id.starts_with("small-")).filter(is_shown).collect();
    page.push_str(
        "## Requests per CPU second\n\n1,000 files of 8 KiB. The columns are numbers of clients, \
         first of our own load generator, then of wrk.\n\n| server |",
    );
    for load in &loads {
        let wrk = if load.how == How::Wrk { "wrk, " } else { "" };
        page.push_str(&format!(" {wrk}{} |", load.clients));
    }
    page.push_str(&format!("\n|---|{}\n", "---:|".repeat(loads.len())));
    for (tool, _) in charted(comparisons) {
        page.push_str(&format!("| {} |", name(tool)));
        for load in &loads {
            let figure = median_of(comparisons, load.id, &tool.name, PER_CPU_SECOND);
            page.push_str(&format!(" {} |", figure.map_or("-".into(), number)));
        }
        page.push('\n');
    }
    page.push('\n');
}

fn write_load(page: &mut String, comparison: &Comparison) {
    let scenario = comparison.scenario;
    let load = by_id(&scenario.id);
    let title = load.map_or(&*scenario.id, |load| load.title);
    let slug = slug(comparison.kind, &scenario.id);
    page.push_str(&format!(
        "<a id=\"{slug}\"></a>\n\n## {}\n\n",
        sentence(title).trim_end_matches('.')
    ));
    page.push_str(&format!("{}\n\n", inline(&sentence(&scenario.answers))));
    if let Some(rate) = median(comparison.record.values(&scenario.id, OPEN_RATE)) {
        page.push_str(&format!(
            "{} requests per second are due. Latencies count from the time at which a request was \
             due.\n\n",
            number(rate)
        ));
    }
    if load.is_some_and(|load| load.how == How::Calls) {
        write_calls(page, comparison);
    } else {
        write_table(page, comparison);
    }
    let (folder, date) = (comparison.folder, comparison.folder.get(..10).unwrap_or("once"));
    let file = if load.is_some_and(|load| load.how == How::Calls) { "counts" } else { "readings" };
    page.push_str(&format!(
        "- Recorded {date}: [every figure](../../benchsuite/runs/{folder}/{file}.csv).\n\n"
    ));
}

/// Writes a table with the medians of all measurements. The first one also has its extremes.
fn write_table(page: &mut String, comparison: &Comparison) {
    let columns = COLUMNS.iter().filter(|(what, ..)| !servers(comparison, what).is_empty());
    let columns: Vec<_> = columns.collect();
    let Some((first, ..)) = columns.first() else { return };
    let titles: Vec<&str> = columns.iter().map(|(_, title, _)| *title).collect();
    page.push_str(&format!("| server | {} | min - max |", titles.join(" | ")));
    page.push_str(&format!("\n|---|{}\n", "---:|".repeat(titles.len() + 1)));
    let mut rows = servers(comparison, first);
    if *first != PER_CPU_SECOND {
        rows.reverse();
    }
    for (tool, range) in rows {
        page.push_str(&format!("| {} |", name(tool)));
        for (what, _, unit) in &columns {
            let id = &comparison.scenario.id;
            let figure = median(comparison.record.values_of(id, &tool.name, what));
            page.push_str(&format!(" {} |", figure.map_or("-".into(), |it| shown(it, *unit))));
        }
        let unit = columns[0].2;
        page.push_str(&format!(" {} - {} |\n", shown(range.min, unit), shown(range.max, unit)));
    }
    page.push('\n');
}

/// Writes a table of system calls per request, with the calls that occur in one of ten requests.
fn write_calls(page: &mut String, comparison: &Comparison) {
    let id = &comparison.scenario.id;
    let mut rows: Vec<(&Tool, f64)> = comparison
        .record
        .tools
        .iter()
        .filter_map(|tool| {
            Some((tool, per_request(comparison.record, id, &tool.name, WITH_STRACE)?))
        })
        .collect();
    rows.sort_by(|a, b| a.1.total_cmp(&b.1));
    page.push_str(
        "Each server answers the requests twice: with strace, which names the calls but slows the \
         server down, and with perf, which only counts them.\n\n\
         | server | calls per request | which | without strace |\n|---|---:|---|---:|\n",
    );
    for (tool, calls) in rows {
        let requests = comparison.record.count(id, &tool.name, REQUESTS).unwrap_or(0);
        let of_tool = comparison.record.counts.iter().filter(|count| {
            (&*count.scenario, &*count.tool) == (&**id, &*tool.name)
                && ![ALL_CALLS, REQUESTS, UNDISTURBED_CALLS, UNDISTURBED_REQUESTS]
                    .contains(&&*count.what)
                && count.count * 10 >= requests
        });
        let mut which: Vec<_> = of_tool.map(|count| (count.count, &*count.what)).collect();
        which.sort_unstable_by(|a, b| b.cmp(a));
        let which: Vec<String> = which
            .into_iter()
            .map(|(calls, what)| format!("{what} {}", number(float(calls) / float(requests))))
            .collect();
        let undisturbed = per_request(comparison.record, id, &tool.name, WITHOUT_STRACE);
        let undisturbed = undisturbed.map_or("-".into(), number);
        let (name, calls, which) = (name(tool), number(calls), inline(&which.join(", ")));
        page.push_str(&format!("| {name} | {calls} | {which} | {undisturbed} |\n"));
    }
    page.push('\n');
}

fn name(tool: &Tool) -> String {
    let name = inline(&tool.name);
    if tool.role == Role::Ours { format!("**{name}**") } else { name }
}
