//! `docs/benchmarks.md`: a summary to read in three minutes, with links to everything else.

use crate::record::{Dated, Role};

use super::comparison::{Comparison, Row};
use super::figures::{number, ratio};
use super::job::{GROWTH, Job, RANKED_CORPUS, headline};
use super::words::{alternative, entries, inline, link, plural, storage};
use super::{ranking, requirements, serve, verdict};

const OPENING: &str = "\
# Benchmarks

These benchmarks compare lop with the tools that people use for the same work. All tools ran on the same trees and
on the same machine, in alternating runs. Every figure is computed from
[recorded runs](benchmarks/method.md#every-run). The [method](benchmarks/method.md) explains how the comparison is kept
fair, and lists the command line of each tool. Ratios matter more than seconds, because all times come from one machine
with two cores.

";

/// The tool that scans with the catalog of an earlier scan.
const RESCAN: &str = "lop, again";

/// Returns the page.
pub(super) fn page(records: &[&Dated], all: &[&Comparison]) -> String {
    let mut page = String::from(OPENING);
    verdict::write(&mut page, all);
    for job in Job::ALL {
        write_job(&mut page, job, &job.comparisons(all));
        if job == Job::FindHdd {
            write_rescans(&mut page, all);
        }
    }
    ranking::write(&mut page, all);
    let races: Vec<String> =
        records.iter().map(|dated| format!("`cargo xtask race {}`", dated.kind)).collect();
    if !races.is_empty() {
        page.push_str(&format!(
            "## Repeat the benchmarks\n\nThese commands repeat them: {}.\n",
            races.join(", ")
        ));
    }
    page
}

/// Writes the section of a job: one row for each comparison with a peer.
fn write_job(page: &mut String, job: Job, comparisons: &[&Comparison]) {
    let Some(headline) = headline(comparisons) else { return };
    let (title, slug) = (job.title(), job.slug());
    page.push_str(&format!("## {title}\n\n"));
    page.push_str(&span(comparisons));
    if let Some(score) = requirements::score(job, comparisons) {
        page.push_str(&format!("lop meets {score} requirements. "));
    }
    page.push_str(&format!("All tools and figures: [{slug}](benchmarks/{slug}.md).\n\n"));
    let chart = match job {
        Job::Serve => serve::alternative(comparisons),
        _ => alternative(headline),
    };
    page.push_str(&format!("![{chart}](benchmarks/{slug}.svg)\n\n"));
    if matches!(job, Job::Review | Job::Serve) {
        // No peer does the same work, or the figures are not run times.
        page.push_str(&requirements::table(job, comparisons));
        return;
    }
    let entries = entries(headline.scenario);
    page.push_str(&format!("| tree | {entries} | storage | lop | fastest peer | lop / peer |\n"));
    page.push_str("|---|---:|---|---:|---:|---:|\n");
    // Some sweeps and exports are compared only with other runs of lop.
    let is_alone = |each: &Comparison| match job {
        Job::Sweep | Job::Fleet => !each.has_peers(),
        _ => false,
    };
    let is_shown = |each: &&&Comparison| each.kind != GROWTH && !is_alone(each);
    for comparison in comparisons.iter().filter(is_shown) {
        let ours = comparison.ours();
        let lop = ours.map_or("no figure".into(), |row| format!("{} s", number(row.figure.median)));
        let peer = comparison.fastest_peer().map_or("no figure".into(), seconds);
        let ratio = ours.and_then(|row| row.ratio).map_or("-".into(), ratio_cell);
        page.push_str(&row(comparison, &[lop, peer, ratio]));
    }
    page.push('\n');
}

/// Returns a sentence with the range of the ratios.
fn span(comparisons: &[&Comparison]) -> String {
    let ours = comparisons.iter().filter_map(|comparison| comparison.ours());
    let ratios: Vec<f64> = ours.filter_map(|row| row.ratio).collect();
    let least = ratios.iter().copied().reduce(f64::min);
    let most = ratios.iter().copied().reduce(f64::max);
    let Some((least, most)) = least.zip(most) else { return String::new() };
    let of = plural(ratios.len(), "comparison", "comparisons");
    match ratios.len() {
        1 => format!("lop takes {} the time of the fastest peer. ", ratio(least)),
        _ => format!(
            "In {of}, lop takes {} to {} the time of the fastest peer. ",
            ratio(least),
            ratio(most)
        ),
    }
}

/// Writes the section about rescanning the tree of the average ranking with a catalog.
fn write_rescans(page: &mut String, all: &[&Comparison]) {
    let is_rescan = |row: &&Row| row.tool.role == Role::Aside && row.tool.name == RESCAN;
    let rescans =
        all.iter().filter(|each| each.kind != GROWTH && each.scenario.corpus == RANKED_CORPUS);
    let rescans: Vec<_> = rescans
        .filter_map(|comparison| Some((comparison, comparison.asides.iter().find(is_rescan)?)))
        .collect();
    if rescans.is_empty() {
        return;
    }
    page.push_str(
        "## Scan again\n\nlop keeps a catalog, and a repeated scan reads only what has changed. The peers \
         start without a cache, so this does not compare like with like and is not ranked. \
         fclones and czkawka can also keep a cache, but it was turned off. The pages of the jobs \
         have this row for every tree.\n\n\
         | tree | names | storage | lop, again | fastest peer's scan | lop / peer |\n\
         |---|---:|---|---:|---:|---:|\n",
    );
    for (comparison, again) in rescans {
        let peer = comparison.fastest_peer().map_or("no figure".into(), seconds);
        let again_s = format!("{} s", number(again.figure.median));
        let ratio = again.ratio.map_or("-".into(), ratio_cell);
        page.push_str(&row(comparison, &[again_s, peer, ratio]));
    }
    page.push('\n');
}

/// Returns the table row of a comparison.
fn row(comparison: &Comparison, cells: &[String]) -> String {
    let (link, scenario) = (link(comparison), comparison.scenario);
    let (names, cells) = (super::figures::count(scenario.names), cells.join(" | "));
    format!("| {link} | {names} | {} | {cells} |\n", storage(scenario))
}

fn seconds(row: &Row) -> String {
    format!("{} {} s", inline(&row.tool.name), number(row.figure.median))
}

/// Returns a ratio, bold where lop is slower.
fn ratio_cell(value: f64) -> String {
    let shown = ratio(value);
    if value >= 1.0 { format!("**{shown}**") } else { shown }
}
