//! `docs/benchmarks.md`, the pages below `docs/benchmarks/` and their charts, as text.
//!
//! [`render`] is a pure function of the records, so that `cargo xtask page --check` can compare its
//! result with the files. The pages address readers who distrust benchmarks. The summary begins
//! with the comparisons that lop loses. Failures are named, and every run is linked. This module
//! only returns text, and xtask writes the files.
//!
//! | module | part |
//! |---|---|
//! | `summary` | `docs/benchmarks.md`: one table per job |
//! | `verdict`, `ranking` | its sections: how often lop wins and where it loses, and ranks averaged over disks and caches |
//! | `detail`, `growth`, `requirements`, `readings` | the page of a job: every comparison in full, time by size, limits, and what is not a run |
//! | `serve` | the page about web servers, whose figures are not run times |
//! | `method` | the page on method, machines, trees and tools |
//! | `bars`, `head_trace`, `filter_graph`, on `svg` | the charts |
//! | `job`, `comparison` | the data that the pages are computed from |
//! | `words`, `figures` | scenarios in words, numbers with three digits |

mod bars;
mod comparison;
mod detail;
mod figures;
mod filter_graph;
mod growth;
mod head_trace;
mod job;
mod method;
mod ranking;
mod readings;
mod requirements;
mod serve;
mod summary;
mod svg;
mod verdict;
mod words;

use std::collections::BTreeMap;
use std::path::Path;

use crate::Failure;
use crate::filter_graph::Graph;
use crate::head_trace::{Moment, read_all};
use crate::race::KINDS;
use crate::record::{Dated, read_newest};

use comparison::Comparison;
use job::{Job, headline};

/// The contents of files, keyed by path below `docs/`.
pub(crate) type Files = BTreeMap<String, String>;

/// The chart in `docs/io.md`.
const HEAD_TRACE: &str = "benchmarks/head-trace.svg";

/// Returns all files that are generated from the records below `root/benchsuite`.
///
/// # Errors
///
/// A record, a head trace or the graph of the filters cannot be read.
pub fn all(root: &Path) -> Result<Files, Failure> {
    let mut files = render(&read_newest(&root.join("benchsuite/runs"))?);
    let traces = read_all(root)?;
    if !traces.is_empty() {
        files.insert(HEAD_TRACE.into(), render_head_traces(&traces));
    }
    if let Some(graph) = crate::filter_graph::read(root)? {
        files.extend(render_filter_graph(&graph));
    }
    Ok(files)
}

/// Returns the pages and charts for the given records.
pub fn render(records: &[Dated]) -> Files {
    let mut records: Vec<&Dated> = records.iter().collect();
    records.sort_by_key(|dated| race_order(&dated.kind));
    let comparisons: Vec<Comparison> = records
        .iter()
        .flat_map(|dated| {
            dated.record.scenarios.iter().map(|scenario| Comparison::new(dated, scenario))
        })
        .collect();
    let comparisons: Vec<&Comparison> = comparisons.iter().collect();
    let mut files = Files::new();
    files.insert("benchmarks.md".into(), summary::page(&records, &comparisons));
    files.insert("benchmarks/method.md".into(), method::page(&records));
    for job in Job::ALL {
        let of_job = job.comparisons(&comparisons);
        let Some(headline) = headline(&of_job) else { continue };
        let (page, chart) = match job {
            Job::Serve => (serve::page(&of_job), serve::svg(&of_job)),
            _ => (detail::page(job, &of_job), bars::svg(headline)),
        };
        files.insert(format!("benchmarks/{}.md", job.slug()), page);
        files.insert(format!("benchmarks/{}.svg", job.slug()), chart);
    }
    files
}

/// Returns the chart of the given head traces, each with its name.
pub fn render_head_traces(traces: &[(String, Vec<Moment>)]) -> String {
    head_trace::svg(traces)
}

/// Returns the page and the chart of the times of Bloom filters.
pub fn render_filter_graph(graph: &Graph) -> Files {
    let page = ("benchmarks/filter.md".into(), filter_graph::page(graph));
    Files::from([page, ("benchmarks/filter.svg".into(), filter_graph::svg(graph))])
}

/// Returns the position of a kind in the list of all kinds of races.
fn race_order(kind: &str) -> usize {
    KINDS.iter().position(|known| known.name == kind).unwrap_or(KINDS.len())
}
