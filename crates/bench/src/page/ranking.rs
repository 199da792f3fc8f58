//! The average ranking of tools on one tree, with two kinds of disk and two states of the caches,
//! as in the articles by the author of dupd.

use std::collections::BTreeSet;

use crate::record::{Role, Tool};
use crate::scenario::{Cache, Device, Order, Work};
use crate::stats::ranks;

use super::comparison::Comparison;
use super::figures::as_shown;
use super::job::{GROWTH, RANKED_CORPUS};
use super::words::inline;

const ARTICLES: &str = "https://www.virkki.com/jyri/articles/index.php/category/tech/dupd/";

/// The conditions under which tools are ranked.
const CONDITIONS: [(&str, Device, Cache); 4] = [
    ("hard disk, cold", Device::Hdd, Cache::Cold),
    ("hard disk, warm", Device::Hdd, Cache::Warm),
    ("SSD, cold", Device::AsIs, Cache::Cold),
    ("SSD, warm", Device::AsIs, Cache::Warm),
];

/// The rank of a tool under one condition, and whether the tool has a figure for that condition.
struct Rank {
    value: f64,
    has_figure: bool,
}

/// A tool's ranks by condition, and their average.
struct RankedTool<'a> {
    tool: &'a Tool,
    ranks: Vec<Rank>,
    average: f64,
}

/// Writes the section.
pub(super) fn write(page: &mut String, comparisons: &[&Comparison]) {
    page.push_str(&format!(
        "## Average ranking\n\nThis ranking follows the method of the [articles by the author of \
         dupd]({ARTICLES}). It uses the tree {RANKED_CORPUS} on a hard disk (simulated) and on an \
         SSD (the machine's own disk), with cold and with warm caches. Tools are ranked by their \
         median in each of these four conditions, and the ranks are averaged. Tools with equal \
         figures share a rank. Tools that failed or were stopped share the last rank.\n\n"
    ));
    let of_condition =
        CONDITIONS.map(|(name, device, cache)| (name, find(comparisons, device, cache)));
    let present: Vec<(&str, &Comparison)> = of_condition
        .iter()
        .filter_map(|(name, comparison)| Some((*name, (*comparison)?)))
        .collect();
    let missing: Vec<&str> =
        of_condition.iter().filter(|(_, l)| l.is_none()).map(|(name, _)| *name).collect();
    if !present.is_empty() {
        write_table(page, &present);
    }
    if !missing.is_empty() {
        page.push_str(&format!("Not raced yet: {}.\n\n", missing.join("; ")));
    }
}

/// Returns the largest comparison that satisfies the condition. Prefers shuffled order if both were raced.
fn find<'a>(
    comparisons: &[&'a Comparison<'a>],
    device: Device,
    cache: Cache,
) -> Option<&'a Comparison<'a>> {
    let fits = |comparison: &&Comparison| {
        let scenario = comparison.scenario;
        comparison.kind != GROWTH
            && (scenario.work, scenario.device, scenario.cache) == (Work::Find, device, cache)
            && scenario.corpus == RANKED_CORPUS
    };
    comparisons.iter().copied().filter(fits).max_by(|a, b| {
        let (a, b) = (a.scenario, b.scenario);
        let by_order = (a.order == Order::Shuffled).cmp(&(b.order == Order::Shuffled));
        a.names.cmp(&b.names).then(a.scale.total_cmp(&b.scale)).then(by_order)
    })
}

fn write_table(page: &mut String, present: &[(&str, &Comparison)]) {
    let titles: Vec<&str> = present.iter().map(|(name, _)| *name).collect();
    page.push_str(&format!("| tool | {} | average |\n", titles.join(" | ")));
    page.push_str(&format!("|---|{}---:|\n", "---:|".repeat(present.len())));
    let comparisons: Vec<&Comparison> = present.iter().map(|(_, comparison)| *comparison).collect();
    for line in lines(&comparisons) {
        let cells: Vec<String> = line.ranks.iter().map(cell).collect();
        let mark = if line.tool.role == Role::Ours { "**" } else { "" };
        let (name, cells, average) = (inline(&line.tool.name), cells.join(" | "), line.average);
        page.push_str(&format!("| {mark}{name}{mark} | {cells} | {mark}{average:.2}{mark} |\n"));
    }
    page.push('\n');
    let elsewhere: BTreeSet<String> = comparisons
        .iter()
        .flat_map(|comparison| contestants(comparison))
        .filter(|(tool, _)| !is_in_all(tool, &comparisons))
        .map(|(tool, _)| inline(&tool.name))
        .collect();
    if !elsewhere.is_empty() {
        let names: Vec<String> = elsewhere.into_iter().collect();
        page.push_str(&format!(
            "Not ranked, because they were not raced in all conditions: {}.\n\n",
            names.join(", ")
        ));
    }
}

fn cell(rank: &Rank) -> String {
    if rank.has_figure { rank.value.to_string() } else { format!("no figure: {}", rank.value) }
}

/// Returns the tools that took part in all comparisons, best average first.
fn lines<'a>(comparisons: &[&'a Comparison]) -> Vec<RankedTool<'a>> {
    let mut lines: Vec<RankedTool> = Vec::new();
    let number: f64 = comparisons.iter().map(|_| 1.0).sum();
    for comparison in comparisons {
        let all: Vec<_> = contestants(comparison)
            .into_iter()
            .filter(|(tool, _)| is_in_all(tool, comparisons))
            .collect();
        let figures: Vec<f64> = all.iter().map(|(_, figure)| *figure).collect();
        for ((tool, figure), rank) in all.into_iter().zip(ranks(&figures)) {
            let known = lines.iter().position(|line| line.tool.name == tool.name);
            let at = known.unwrap_or_else(|| {
                lines.push(RankedTool { tool, ranks: Vec::new(), average: 0.0 });
                lines.len() - 1
            });
            lines[at].ranks.push(Rank { value: rank, has_figure: figure.is_finite() });
            lines[at].average += rank / number;
        }
    }
    lines.sort_by(|a, b| a.average.total_cmp(&b.average));
    lines
}

/// Returns the tools ranked in a comparison with their displayed figures. Infinity means that a
/// tool has no figure.
fn contestants<'a>(comparison: &Comparison<'a>) -> Vec<(&'a Tool, f64)> {
    let ranked = comparison.ranked.iter().map(|row| (row.tool, as_shown(row.figure.median)));
    let out = comparison.out.iter().filter(|out| out.tool.role != Role::Aside);
    ranked.chain(out.map(|out| (out.tool, f64::INFINITY))).collect()
}

fn is_in_all(tool: &Tool, comparisons: &[&Comparison]) -> bool {
    let is_in = |comparison: &&Comparison| {
        contestants(comparison).iter().any(|(other, _)| other.name == tool.name)
    };
    comparisons.iter().all(is_in)
}
