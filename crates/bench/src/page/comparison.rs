//! A comparison: the results of all tools in one scenario, fastest first.
//!
//! A tool has a figure if more than half of its timed runs succeeded. The figure is the median of
//! these runs.

use crate::record::{Dated, Ending, Record, Role, Run, Tool};
use crate::scenario::Scenario;
use crate::stats::{Spread, median, spread};

use super::figures::{as_shown, number};

/// A scenario with the results of all tools.
pub(super) struct Comparison<'a> {
    /// The kind of race that recorded the comparison.
    pub(super) kind: &'a str,
    /// The folder of the record.
    pub(super) folder: &'a str,
    pub(super) record: &'a Record,
    pub(super) scenario: &'a Scenario,
    /// lop and its peers, fastest first.
    pub(super) ranked: Vec<Row<'a>>,
    /// Results of lop when it does more or less work than the others, fastest first.
    pub(super) asides: Vec<Row<'a>>,
    /// Tools without a figure.
    pub(super) out: Vec<Out<'a>>,
}

/// A tool with a figure.
pub(super) struct Row<'a> {
    pub(super) tool: &'a Tool,
    /// Seconds of wall-clock time, or of simulated disk time where that counts.
    pub(super) figure: Spread,
    /// The median divided by the median of the fastest peer; `None` if there is no peer.
    pub(super) ratio: Option<f64>,
    /// Description of the failed runs, if any failed.
    pub(super) trouble: Option<String>,
    /// The timed runs that succeeded.
    pub(super) done: Vec<&'a Run>,
}

/// A tool without a figure.
pub(super) struct Out<'a> {
    pub(super) tool: &'a Tool,
    /// The reason why the tool has no figure.
    pub(super) why: String,
}

impl<'a> Comparison<'a> {
    /// Collects the results of a scenario from its record.
    pub(super) fn new(dated: &'a Dated, scenario: &'a Scenario) -> Self {
        let Dated { kind, folder, record } = dated;
        let mut comparison = Self {
            kind,
            folder,
            record,
            scenario,
            ranked: Vec::new(),
            asides: Vec::new(),
            out: Vec::new(),
        };
        for (at, tool) in record.tools.iter().enumerate() {
            // A program can have several entries, one for each kind of work. Runs name only the
            // program, so the first entry stands for all.
            if record.tools[..at].iter().any(|known| known.name == tool.name) {
                continue;
            }
            let of_both = |run: &&Run| run.scenario == scenario.id && run.tool == tool.name;
            let runs: Vec<&Run> = record.runs.iter().filter(of_both).collect();
            match row_of(tool, scenario, &runs) {
                _ if runs.is_empty() => {}
                Ok(row) if tool.role == Role::Aside => comparison.asides.push(row),
                Ok(row) => comparison.ranked.push(row),
                Err(out) => comparison.out.push(out),
            }
        }
        comparison.sort();
        comparison
    }

    /// Sorts the rows by their figures and computes the ratios to the fastest peer.
    fn sort(&mut self) {
        let fastest_first = |a: &Row, b: &Row| a.figure.median.total_cmp(&b.figure.median);
        self.ranked.sort_by(fastest_first);
        self.asides.sort_by(fastest_first);
        let fastest = self.fastest_peer().map(|row| row.figure.median).filter(|s| *s > 0.0);
        for row in self.ranked.iter_mut().chain(&mut self.asides) {
            row.ratio = fastest.map(|fastest| row.figure.median / fastest);
        }
    }

    /// Returns all tools with a figure, the ranked ones first.
    pub(super) fn rows(&self) -> impl Iterator<Item = &Row<'a>> {
        self.ranked.iter().chain(&self.asides)
    }

    /// Returns the fastest peer that has a figure.
    pub(super) fn fastest_peer(&self) -> Option<&Row<'a>> {
        self.peers().next()
    }

    /// Returns the peers that have a figure, fastest first.
    pub(super) fn peers(&self) -> impl Iterator<Item = &Row<'a>> {
        self.ranked.iter().filter(|row| row.tool.role == Role::Peer)
    }

    /// Returns the row of lop, or the slower one if lop took part with two command lines.
    pub(super) fn ours(&self) -> Option<&Row<'a>> {
        self.ranked.iter().rev().find(|row| row.tool.role == Role::Ours)
    }

    /// Returns true if a peer took part, even if it failed.
    pub(super) fn has_peers(&self) -> bool {
        self.peers().next().is_some() || self.out.iter().any(|out| out.tool.role == Role::Peer)
    }

    /// Returns true if programs were run, even if none has a figure.
    pub(super) fn has_tools(&self) -> bool {
        self.rows().next().is_some() || !self.out.is_empty()
    }

    /// Returns true if the time until all data was on storage was measured.
    pub(super) fn is_settled(&self) -> bool {
        self.rows().any(|row| row.settled().is_some())
    }
}

impl Row<'_> {
    /// Returns the median of a figure over the successful runs.
    pub(super) fn median(&self, figure: impl Fn(&Run) -> Option<f64>) -> Option<f64> {
        median(self.done.iter().filter_map(|run| figure(run)))
    }

    /// Returns the median time in seconds until all data was on storage.
    pub(super) fn settled(&self) -> Option<f64> {
        self.median(|run| run.settled_s)
    }

    /// Returns true if the displayed figure of this row is smaller than that of the other row.
    pub(super) fn beats(&self, other: &Row) -> bool {
        as_shown(self.figure.median) < as_shown(other.figure.median)
    }
}

/// Returns the row of a tool without its ratio, or the reason why the tool has no figure.
fn row_of<'a>(tool: &'a Tool, scenario: &Scenario, runs: &[&'a Run]) -> Result<Row<'a>, Out<'a>> {
    let timed: Vec<&Run> = runs.iter().copied().filter(|run| run.round > 0).collect();
    let done: Vec<&Run> = timed.iter().copied().filter(|run| run.ending == Ending::Done).collect();
    let trouble =
        if timed.is_empty() { untimed_trouble(runs) } else { timed_trouble(&timed, done.len()) };
    let figures = done.iter().filter_map(|run| figure(scenario, run));
    match spread(figures) {
        Some(figure) if 2 * done.len() > timed.len() => {
            Ok(Row { tool, figure, ratio: None, trouble, done })
        }
        _ => Err(Out { tool, why: trouble.unwrap_or_else(|| "no figure was recorded".into()) }),
    }
}

fn figure(scenario: &Scenario, run: &Run) -> Option<f64> {
    if scenario.counts_disk_time() { run.disk_s } else { Some(run.wall_s) }
}

/// Describes the timed runs that failed.
fn timed_trouble(timed: &[&Run], done: usize) -> Option<String> {
    let of = timed.len();
    let among =
        |runs: usize| if of > 1 { format!(" in {runs} of {of} runs") } else { String::new() };
    let stopped: Vec<f64> = stops(timed).collect();
    let failed = of - done - stopped.len();
    let mut parts = Vec::new();
    if let Some(longest) = stopped.iter().copied().reduce(f64::max) {
        parts.push(format!("stopped after {} s{}", number(longest), among(stopped.len())));
    }
    if failed > 0 {
        parts.push(format!("failed{}", among(failed)));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Describes a failed untimed run, after which the tool was not timed.
fn untimed_trouble(runs: &[&Run]) -> Option<String> {
    let stopped = stops(runs).reduce(f64::max).map(number);
    match stopped {
        Some(after) => Some(format!("stopped after {after} s in the untimed run")),
        None if runs.iter().any(|run| run.ending == Ending::Failed) => {
            Some("failed in the untimed run".into())
        }
        None => None,
    }
}

fn stops(runs: &[&Run]) -> impl Iterator<Item = f64> {
    runs.iter().filter(|run| run.ending == Ending::Stopped).map(|run| run.wall_s)
}
