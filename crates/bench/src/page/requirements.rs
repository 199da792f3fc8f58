//! Requirements: a table of limits with the figures that were measured.
//!
//! Every row is computed from the record. A row whose figures are missing says so, and is never
//! left out, because an absent row could hide a failure.

mod find;
mod fleet;
mod review;
mod serve;
mod sweep;

use crate::record::Run;
use crate::scenario::Work;
use crate::stats::float;

use super::comparison::{Comparison, Row};
use super::figures::{number, ratio};
use super::job::Job;

/// The name of lop in the records.
const LOP: &str = "lop";

/// The kind of a limit and its figure.
#[derive(Clone, Copy)]
enum Measure {
    Times,
    /// A ratio that must be at least the limit.
    AtLeast,
    Percent,
    Seconds,
    Milliseconds,
    /// The longest of the tasks that a browser reports. 0 means that there was none of more than
    /// 50 ms.
    LongestTask,
    Mebibytes,
    Bytes,
    Kilobytes,
    Megabytes,
    /// A number of calls for each thing.
    Each,
}

/// A requirement: the work, the limit, and the figure.
struct Requirement {
    work: String,
    limit: f64,
    measure: Measure,
    figure: Option<f64>,
}

/// Returns the section with the table, or nothing if the job has no requirements.
pub(super) fn section(job: Job, comparisons: &[&Comparison]) -> String {
    let table = table(job, comparisons);
    if table.is_empty() {
        return table;
    }
    format!(
        "## Requirements\n\nComputed from the comparisons below. A figure in bold does not keep \
         its limit.\n\n{table}"
    )
}

/// Returns the table, or nothing if the job has no requirements.
pub(super) fn table(job: Job, comparisons: &[&Comparison]) -> String {
    let requirements = of_job(job, comparisons);
    if requirements.is_empty() {
        return String::new();
    }
    let mut text = String::from("| work | limit | measured | met |\n|---|---:|---:|---|\n");
    for requirement in requirements {
        let Requirement { work, limit, measure, figure } = &requirement;
        let cells = match (figure, requirement.is_met()) {
            (Some(figure), true) => format!("{} | yes", shown(*figure, *measure)),
            (Some(figure), false) => format!("**{}** | **no**", shown(*figure, *measure)),
            (None, _) => "not measured | -".to_owned(),
        };
        let bound = if matches!(measure, Measure::AtLeast) { "at least " } else { "" };
        text.push_str(&format!("| {work} | {bound}{} | {cells} |\n", shown(*limit, *measure)));
    }
    text.push('\n');
    text
}

/// Returns how many requirements are met, such as `9 of 11`; `None` if the job has none.
pub(super) fn score(job: Job, comparisons: &[&Comparison]) -> Option<String> {
    let requirements = of_job(job, comparisons);
    let met = requirements.iter().filter(|requirement| requirement.is_met()).count();
    (!requirements.is_empty()).then(|| format!("{met} of {}", requirements.len()))
}

fn of_job(job: Job, comparisons: &[&Comparison]) -> Vec<Requirement> {
    match job {
        _ if comparisons.is_empty() => Vec::new(),
        Job::FindWarm => find::requirements(comparisons),
        Job::Sweep => sweep::requirements(comparisons),
        Job::Review => review::requirements(comparisons),
        Job::Serve => serve::requirements(comparisons),
        Job::Fleet => fleet::requirements(comparisons),
        _ => Vec::new(),
    }
}

impl Requirement {
    fn is_met(&self) -> bool {
        self.figure.is_some_and(|figure| match self.measure {
            Measure::AtLeast => figure >= self.limit,
            _ => figure <= self.limit,
        })
    }
}

fn row(work: impl Into<String>, limit: f64, measure: Measure, figure: Option<f64>) -> Requirement {
    Requirement { work: work.into(), limit, measure, figure }
}

fn shown(value: f64, measure: Measure) -> String {
    let least_zero = number(value.max(0.0));
    match measure {
        Measure::Times | Measure::AtLeast => ratio(value),
        Measure::Percent => format!("{least_zero} %"),
        Measure::LongestTask if value < f64::EPSILON => "none above 50 ms".into(),
        Measure::Seconds => format!("{least_zero} s"),
        Measure::Bytes => format!("{least_zero} B"),
        Measure::Milliseconds | Measure::LongestTask => format!("{least_zero} ms"),
        Measure::Mebibytes => format!("{least_zero} MiB"),
        Measure::Kilobytes => format!("{least_zero} kB"),
        Measure::Megabytes => format!("{least_zero} MB"),
        Measure::Each => least_zero,
    }
}

/// Returns the comparison of this work.
fn race_of<'c, 'a>(comparisons: &[&'c Comparison<'a>], work: Work) -> Option<&'c Comparison<'a>> {
    comparisons.iter().copied().find(|each| each.scenario.work == work)
}

fn find<'c, 'a>(race: Option<&'c Comparison<'a>>, tool: &str) -> Option<&'c Row<'a>> {
    race?.rows().find(|row| row.tool.name == tool)
}

fn seconds(race: Option<&Comparison>, tool: &str) -> Option<f64> {
    find(race, tool).map(|row| row.figure.median)
}

fn peak(race: Option<&Comparison>, tool: &str) -> Option<f64> {
    find(race, tool)?.median(|run: &Run| Some(float(run.peak_kib) / 1024.0))
}
