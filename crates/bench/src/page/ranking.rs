//! The average ranking: one tree on two kinds of disk with two kinds of caches, as in the articles
//! by the author of dupd.

use std::collections::BTreeSet;

use crate::record::{Role, Tool};
use crate::scenario::{Cache, Device, Order, Work};
use crate::stats::ranks;

use super::GROWTH;
use super::figures::as_shown;
use super::line_up::LineUp;
use super::words::{inline, link};

/// The tree, made to the counts that the articles give of theirs.
const CORPUS: &str = "server2018";

const ARTICLES: &str = "https://www.virkki.com/jyri/articles/index.php/category/tech/dupd/";

/// What a tool is ranked in.
const CONDITIONS: [(&str, Device, Cache); 4] = [
    ("hard disk, cold", Device::Arm, Cache::Cold),
    ("hard disk, warm", Device::Arm, Cache::Warm),
    ("SSD, cold", Device::AsIs, Cache::Cold),
    ("SSD, warm", Device::AsIs, Cache::Warm),
];

/// The rank of a tool in a condition.
struct Place {
    rank: f64,
    has_figure: bool,
}

/// A tool's ranks by condition, and their average.
struct Line<'a> {
    tool: &'a Tool,
    places: Vec<Place>,
    average: f64,
}

/// Writes the section.
pub(super) fn write(page: &mut String, line_ups: &[&LineUp]) {
    page.push_str(&format!(
        "## Average ranking\n\nThe method of the [articles by the author of dupd]({ARTICLES}): \
         one tree on a hard disk and on an SSD, with cold and with warm caches; tools are ranked \
         by their median in each of the four, and the ranks are averaged. Ties (the same three \
         digits) share a rank; a tool that failed or was stopped shares the last. Here the hard \
         disk is the simulated one, and the machine's own disk stands for the SSD.\n\n"
    ));
    let of_condition =
        CONDITIONS.map(|(name, device, cache)| (name, find(line_ups, device, cache)));
    let present: Vec<(&str, &LineUp)> =
        of_condition.iter().filter_map(|(name, line_up)| Some((*name, (*line_up)?))).collect();
    let missing: Vec<&str> =
        of_condition.iter().filter(|(_, l)| l.is_none()).map(|(name, _)| *name).collect();
    if !present.is_empty() {
        write_table(page, &present);
        for (name, line_up) in &present {
            page.push_str(&format!("- {name}: {}\n", link(line_up)));
        }
        page.push('\n');
    }
    if !missing.is_empty() {
        page.push_str(&format!("Not raced yet: {}.\n\n", missing.join("; ")));
    }
}

/// Returns the line-up for a condition: the largest, with files scattered rather than in order.
fn find<'a>(line_ups: &[&'a LineUp<'a>], device: Device, cache: Cache) -> Option<&'a LineUp<'a>> {
    let fits = |line_up: &&LineUp| {
        let scenario = line_up.scenario;
        line_up.kind != GROWTH
            && (scenario.work, scenario.device, scenario.cache) == (Work::Find, device, cache)
            && scenario.corpus == CORPUS
    };
    line_ups.iter().copied().filter(fits).max_by(|a, b| {
        let (a, b) = (a.scenario, b.scenario);
        let by_order = (a.order == Order::Shuffled).cmp(&(b.order == Order::Shuffled));
        a.names.cmp(&b.names).then(a.scale.total_cmp(&b.scale)).then(by_order)
    })
}

fn write_table(page: &mut String, present: &[(&str, &LineUp)]) {
    let titles: Vec<&str> = present.iter().map(|(name, _)| *name).collect();
    page.push_str(&format!("| tool | {} | average |\n", titles.join(" | ")));
    page.push_str(&format!("|---|{}---:|\n", "---:|".repeat(present.len())));
    let line_ups: Vec<&LineUp> = present.iter().map(|(_, line_up)| *line_up).collect();
    for line in lines(&line_ups) {
        let cells: Vec<String> = line.places.iter().map(cell).collect();
        let mark = if line.tool.role == Role::Ours { "**" } else { "" };
        let (name, cells, average) = (inline(&line.tool.name), cells.join(" | "), line.average);
        page.push_str(&format!("| {mark}{name}{mark} | {cells} | {mark}{average:.2}{mark} |\n"));
    }
    page.push('\n');
    let elsewhere: BTreeSet<String> = line_ups
        .iter()
        .flat_map(|line_up| takers(line_up))
        .filter(|(tool, _)| !is_in_all(tool, &line_ups))
        .map(|(tool, _)| inline(&tool.name))
        .collect();
    if !elsewhere.is_empty() {
        let names: Vec<String> = elsewhere.into_iter().collect();
        page.push_str(&format!(
            "Not raced in all of them, so not ranked: {}.\n\n",
            names.join(", ")
        ));
    }
}

fn cell(place: &Place) -> String {
    if place.has_figure { place.rank.to_string() } else { format!("no figure: {}", place.rank) }
}

/// Returns everybody who took part in all line-ups, best average first.
fn lines<'a>(line_ups: &[&'a LineUp]) -> Vec<Line<'a>> {
    let mut lines: Vec<Line> = Vec::new();
    let number: f64 = line_ups.iter().map(|_| 1.0).sum();
    for line_up in line_ups {
        let all: Vec<_> =
            takers(line_up).into_iter().filter(|(tool, _)| is_in_all(tool, line_ups)).collect();
        let figures: Vec<f64> = all.iter().map(|(_, figure)| *figure).collect();
        for ((tool, figure), rank) in all.into_iter().zip(ranks(&figures)) {
            let known = lines.iter().position(|line| line.tool.name == tool.name);
            let at = known.unwrap_or_else(|| {
                lines.push(Line { tool, places: Vec::new(), average: 0.0 });
                lines.len() - 1
            });
            lines[at].places.push(Place { rank, has_figure: figure.is_finite() });
            lines[at].average += rank / number;
        }
    }
    lines.sort_by(|a, b| a.average.total_cmp(&b.average));
    lines
}

/// Returns who is to be ranked in a line-up, with the figure shown; infinite for none.
fn takers<'a>(line_up: &LineUp<'a>) -> Vec<(&'a Tool, f64)> {
    let ranked = line_up.ranked.iter().map(|row| (row.tool, as_shown(row.figure.median)));
    let out = line_up.out.iter().filter(|out| out.tool.role != Role::Aside);
    ranked.chain(out.map(|out| (out.tool, f64::INFINITY))).collect()
}

fn is_in_all(tool: &Tool, line_ups: &[&LineUp]) -> bool {
    let is_in =
        |line_up: &&LineUp| takers(line_up).iter().any(|(other, _)| other.name == tool.name);
    line_ups.iter().all(is_in)
}
