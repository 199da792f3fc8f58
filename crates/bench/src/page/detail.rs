//! The page of a job: each comparison with its table and the notes that a reader needs.

use crate::record::{Role, Run, Tool};
use crate::scenario::{Cache, Work};
use crate::stats::float;

use super::comparison::{Comparison, Row};
use super::figures::{number, ratio, size};
use super::job::{Job, headline};
use super::words::{alternative, heading, inline, plural, sentence, slug};
use super::{growth, readings, requirements};

/// A column of a table: its title, and the function that formats its cells.
type Column = (&'static str, fn(&Row) -> String);

const MEDIAN: Column = ("median s", |row| number(row.figure.median));
const DISK_TIME: Column = ("disk s", MEDIAN.1);
const RANGE: Column = ("min - max", range);
const RATIO: Column = ("vs. fastest peer", |row| row.ratio.map_or("-".into(), ratio));
const CPU: Column = ("CPU s", |row| shown(row, |run| Some(run.user_s + run.sys_s), number));
const SETTLED: Column = ("settled s", |row| shown(row, |run| run.settled_s, number));
const SEEKS: Column = ("seeks", |row| shown(row, |run| run.seeks.map(float), number));
const MOVED: Column =
    ("moved by the disk", |row| shown(row, |run| run.disk_bytes.map(float), size));
const PEAK: Column =
    ("peak MiB", |row| shown(row, |run| Some(float(run.peak_kib) / 1024.0), number));
const READ: Column = ("read", |row| shown(row, |run| Some(float(run.read_bytes)), size));
const FROM_STORAGE: Column =
    ("from storage", |row| shown(row, |run| Some(float(run.storage_bytes)), size));

/// Returns the page of a job.
pub(super) fn page(job: Job, comparisons: &[&Comparison]) -> String {
    let mut kinds: Vec<String> = Vec::new();
    for comparison in comparisons {
        let race = format!("`cargo xtask race {}`", comparison.kind);
        if !kinds.contains(&race) {
            kinds.push(race);
        }
    }
    let mut page = format!(
        "# {}: every comparison\n\n[Summary of all jobs](../benchmarks.md), [method, machines and \
         tools](method.md). To repeat the runs: {}.\n\n",
        job.title(),
        kinds.join(", ")
    );
    if let Some(comparison) = headline(comparisons) {
        let shown = alternative(comparison);
        page.push_str(&format!("![{shown}]({}.svg)\n\n", job.slug()));
    }
    growth::write(&mut page, comparisons);
    page.push_str(&requirements::section(job, comparisons));
    for comparison in comparisons {
        write_comparison(&mut page, comparison);
    }
    page
}

fn write_comparison(page: &mut String, comparison: &Comparison) {
    let slug = slug(comparison.kind, &comparison.scenario.id);
    let words = heading(comparison.scenario);
    page.push_str(&format!("<a id=\"{slug}\"></a>\n\n## {}\n\n", inline(&words)));
    let answers = inline(&sentence(&comparison.scenario.answers));
    if !answers.is_empty() {
        page.push_str(&format!("{answers}\n\n"));
    }
    if comparison.has_tools() {
        write_table(page, comparison);
    }
    readings::write(page, comparison);
    write_notes(page, comparison);
}

/// Returns the columns for a comparison.
fn columns(comparison: &Comparison) -> Vec<Column> {
    if comparison.scenario.counts_disk_time() {
        return vec![DISK_TIME, RANGE, RATIO, SEEKS, MOVED, PEAK];
    }
    let settled = comparison.is_settled().then_some(SETTLED);
    let stored = (comparison.scenario.cache == Cache::Cold).then_some(FROM_STORAGE);
    let always = [CPU, PEAK, READ];
    [MEDIAN, RANGE, RATIO].into_iter().chain(settled).chain(always).chain(stored).collect()
}

fn write_table(page: &mut String, comparison: &Comparison) {
    let columns = columns(comparison);
    let titles: Vec<&str> = columns.iter().map(|(title, _)| *title).collect();
    page.push_str(&format!("| tool | {} |\n", titles.join(" | ")));
    page.push_str(&format!("|---|{}\n", "---:|".repeat(columns.len())));
    for row in &comparison.ranked {
        let is_ours = row.tool.role == Role::Ours;
        write_row(page, row, &columns, if is_ours { "**" } else { "" }, "");
    }
    for row in &comparison.asides {
        write_row(page, row, &columns, "*", "*");
    }
    page.push('\n');
}

/// Writes a row. The name and the ratio are wrapped in `mark`, and the other cells in `others`.
fn write_row(page: &mut String, row: &Row, columns: &[Column], mark: &str, others: &str) {
    page.push_str(&format!("| {mark}{}{mark} |", inline(&row.tool.name)));
    for (title, cell) in columns {
        let mark = if *title == RATIO.0 { mark } else { others };
        page.push_str(&format!(" {mark}{}{mark} |", cell(row)));
    }
    page.push('\n');
}

/// Writes the notes: failures, number of runs, state of the caches, and a link to the runs.
fn write_notes(page: &mut String, comparison: &Comparison) {
    let mut notes = Vec::new();
    for out in &comparison.out {
        notes.push(format!("{} has no figure: {}.", inline(&out.tool.name), out.why));
    }
    for row in comparison.rows() {
        if let Some(trouble) = &row.trouble {
            let others = plural(row.done.len(), "other run", "other runs");
            let name = inline(&row.tool.name);
            notes.push(format!("{name}: {trouble}. Its figures come from the {others}."));
        }
    }
    if comparison.has_tools() {
        notes.push(timed_runs(comparison));
    }
    notes.extend(warmth(comparison));
    if !comparison.asides.is_empty() {
        notes.push(
            match comparison.scenario.work {
                Work::Link => "In italics, not ranked: lop moving the same files to quarantine.",
                Work::Sweep | Work::Anywhere => {
                    "In italics, not ranked: lop with other rules, and a walk that lists directories \
                     without looking at the names."
                }
                Work::Load => "In italics, not ranked: lop with an empty rule file.",
                Work::Apply => "In italics, not ranked: lop removing the whole tree.",
                Work::Space => {
                    "In italics, not ranked: programs that walk the tree. lop reads the catalog of an \
                     earlier scan, so the difference shows what the catalog saves."
                }
                Work::Export => "In italics, not ranked: lop exporting no names.",
                _ => {
                    "In italics, not ranked: lop writing a catalog, and lop scanning again with it."
                }
            }
            .into(),
        );
    }
    if comparison.is_settled() {
        notes.push("Settled: time until `syncfs` returned, when all data was on storage.".into());
    }
    let (folder, date) = (comparison.folder, comparison.folder.get(..10).unwrap_or("once"));
    let file = if comparison.has_tools() { "runs.csv" } else { "readings.csv" };
    let runs = format!("../../benchsuite/runs/{folder}/{file}");
    notes.push(format!("Recorded {date}: [every run]({runs})."));
    for note in notes {
        page.push_str(&format!("- {note}\n"));
    }
    page.push('\n');
}

/// Returns a sentence with the number of timed runs.
fn timed_runs(comparison: &Comparison) -> String {
    let ranked = comparison.rows().map(|row| row.tool);
    let tools = ranked.chain(comparison.out.iter().map(|out| out.tool));
    let runs = |tool: &Tool| comparison.record.timed(&comparison.scenario.id, &tool.name).count();
    let of_tools: Vec<(&str, usize)> = tools.map(|tool| (tool.name.as_str(), runs(tool))).collect();
    let most = of_tools.iter().map(|(_, runs)| *runs).max().unwrap_or(0);
    let fewer = of_tools.iter().filter(|(_, runs)| *runs < most);
    let fewer: Vec<String> =
        fewer.map(|(name, runs)| format!("; {}: {runs}", inline(name))).collect();
    format!("Timed runs per tool: {most}{}.", fewer.concat())
}

/// Returns a sentence about the run with warm caches that read the most bytes from storage.
fn warmth(comparison: &Comparison) -> Option<String> {
    if comparison.scenario.cache != Cache::Warm {
        return None;
    }
    let rows = comparison.rows();
    let most = |row: &Row| row.done.iter().map(|run| run.storage_bytes).max();
    let (bytes, row) = rows.filter_map(|row| Some((most(row)?, row))).max_by_key(|most| most.0)?;
    if bytes == 0 {
        return Some("No timed run read from storage.".into());
    }
    let (bytes, name) = (size(float(bytes)), inline(&row.tool.name));
    Some(format!("The most that a timed run read from storage: {bytes} ({name})."))
}

/// Returns the times of the fastest and the slowest run.
fn range(row: &Row) -> String {
    match row.done.len() {
        1 => "one run".into(),
        _ => format!("{} - {}", number(row.figure.min), number(row.figure.max)),
    }
}

fn shown(row: &Row, figure: impl Fn(&Run) -> Option<f64>, format: fn(f64) -> String) -> String {
    row.median(figure).map_or("-".into(), format)
}
