//! One comparison: who took part, in which order they came in, and who has no figure.
//!
//! A tool has a figure if most of its timed runs were done; the figure is the median of those.

use crate::record::{Ending, Record, Role, Run, Tool};
use crate::scenario::Scenario;
use crate::stats::{Spread, median, spread};

use super::figures::{as_shown, number};

/// A scenario with what all tools made of it.
pub(super) struct Comparison<'a> {
    /// The kind of race it is from.
    pub(super) kind: &'a str,
    pub(super) scenario: &'a Scenario,
    /// lop and its peers, fastest first.
    pub(super) ranked: Vec<Row<'a>>,
    /// lop with more or less work than the others, fastest first.
    pub(super) asides: Vec<Row<'a>>,
    /// Whoever has no figure.
    pub(super) out: Vec<Out<'a>>,
}

/// A tool with a figure.
pub(super) struct Row<'a> {
    pub(super) tool: &'a Tool,
    /// The figure that counts.
    pub(super) figure: Spread,
    /// How many times the figure of the fastest peer that is; none without a peer.
    pub(super) ratio: Option<f64>,
    /// What happened in the runs that were not done, if there were any.
    pub(super) trouble: Option<String>,
    /// The timed runs that were done.
    pub(super) done: Vec<&'a Run>,
}

/// A tool without a figure.
pub(super) struct Out<'a> {
    pub(super) tool: &'a Tool,
    /// Why it has none.
    pub(super) why: String,
}

impl<'a> Comparison<'a> {
    /// Sorts out a scenario of a record.
    pub(super) fn new(kind: &'a str, record: &'a Record, scenario: &'a Scenario) -> Self {
        let mut comparison =
            Self { kind, scenario, ranked: Vec::new(), asides: Vec::new(), out: Vec::new() };
        for (at, tool) in record.tools.iter().enumerate() {
            // The same program may be there once for each work; runs know it by its name only.
            if record.tools[..at].iter().any(|known| known.name == tool.name) {
                continue;
            }
            let of_both = |run: &&Run| run.scenario == scenario.id && run.tool == tool.name;
            let runs: Vec<&Run> = record.runs.iter().filter(of_both).collect();
            match judge(tool, scenario, &runs) {
                _ if runs.is_empty() => {}
                Ok(row) if tool.role == Role::Aside => comparison.asides.push(row),
                Ok(row) => comparison.ranked.push(row),
                Err(out) => comparison.out.push(out),
            }
        }
        comparison.sort();
        comparison
    }

    /// Sorts by the figure and compares each with the fastest peer.
    fn sort(&mut self) {
        let fastest_first = |a: &Row, b: &Row| a.figure.median.total_cmp(&b.figure.median);
        self.ranked.sort_by(fastest_first);
        self.asides.sort_by(fastest_first);
        let fastest = self.fastest_peer().map(|row| row.figure.median).filter(|s| *s > 0.0);
        for row in self.ranked.iter_mut().chain(&mut self.asides) {
            row.ratio = fastest.map(|fastest| row.figure.median / fastest);
        }
    }

    /// Returns the fastest peer that has a figure.
    pub(super) fn fastest_peer(&self) -> Option<&Row<'a>> {
        self.peers().next()
    }

    /// Returns the peers that have a figure, fastest first.
    pub(super) fn peers(&self) -> impl Iterator<Item = &Row<'a>> {
        self.ranked.iter().filter(|row| row.tool.role == Role::Peer)
    }

    /// Returns lop's row; that of the slower one if it took part in more than one way.
    pub(super) fn ours(&self) -> Option<&Row<'a>> {
        self.ranked.iter().rev().find(|row| row.tool.role == Role::Ours)
    }

    /// Returns whether somebody else took part, with whatever success.
    pub(super) fn has_peers(&self) -> bool {
        self.peers().next().is_some() || self.out.iter().any(|out| out.tool.role == Role::Peer)
    }

    /// Returns whether it is known for a tool when all was on the storage.
    pub(super) fn is_settled(&self) -> bool {
        self.ranked.iter().chain(&self.asides).any(|row| row.settled().is_some())
    }
}

impl Row<'_> {
    /// Returns the median of a figure of the runs that were done.
    pub(super) fn median(&self, figure: impl Fn(&Run) -> Option<f64>) -> Option<f64> {
        median(self.done.iter().filter_map(|run| figure(run)))
    }

    /// Returns the seconds until all was on the storage.
    pub(super) fn settled(&self) -> Option<f64> {
        self.median(|run| run.settled_s)
    }

    /// Returns whether it is faster than another by what is shown.
    pub(super) fn beats(&self, other: &Row) -> bool {
        as_shown(self.figure.median) < as_shown(other.figure.median)
    }
}

/// Returns a row without its ratio, or why there is none.
fn judge<'a>(tool: &'a Tool, scenario: &Scenario, runs: &[&'a Run]) -> Result<Row<'a>, Out<'a>> {
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

/// Says what happened in the timed runs that were not done.
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

/// Says what happened in the untimed run, where that was the last.
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
