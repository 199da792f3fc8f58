//! The beginning of the summary page: how often lop is fastest, and the comparisons that it loses.

use std::collections::BTreeSet;

use crate::record::{Role, Run};
use crate::scenario::{Cache, Scenario};
use crate::stats::float;

use super::comparison::{Comparison, Row};
use super::figures::{as_shown, number, ratio};
use super::words::{entries, inline, link, plural, storage};

/// The result of lop in a comparison.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// The slowest run of lop is faster than every run of its peers.
    Clear,
    /// lop has the lowest median.
    Fastest,
    /// lop and the fastest peer have the same displayed median.
    Level,
    /// A peer has the lowest median.
    Slower,
    /// lop has no figure.
    Out,
}

/// Writes the verdict on all comparisons of lop with a peer.
pub(super) fn write(page: &mut String, comparisons: &[&Comparison]) {
    let met = comparisons.iter().filter_map(|each| Some((each.scenario, outcome(each)?)));
    let met: Vec<(&Scenario, Outcome)> = met.collect();
    if met.is_empty() {
        page.push_str("No race between lop and its peers has been recorded yet.\n\n");
        return;
    }
    write_losses(page, comparisons);
    page.push_str("## Where lop wins\n\n");
    let number_of = |wanted| met.iter().filter(|(_, outcome)| *outcome == wanted).count();
    let clear = number_of(Outcome::Clear);
    let fastest = clear + number_of(Outcome::Fastest);
    let (level, slower) = (number_of(Outcome::Level), number_of(Outcome::Slower));
    let of = plural(met.len(), "comparison", "comparisons");
    let (warm, cold) = (won_with(&met, Cache::Warm), won_with(&met, Cache::Cold));
    page.push_str(&format!(
        "**lop has the lowest median in {fastest} of {of}**: in {warm} with warm caches, and in \
         {cold} with cold caches. In {clear} of them, its slowest run was faster than the fastest \
         run of any peer. lop ties with the fastest peer in {level}, and a peer is faster in \
         {slower}"
    ));
    match number_of(Outcome::Out) {
        0 => page.push_str(". "),
        out => page.push_str(&format!(". lop has no figure in {out}. ")),
    }
    match comparisons.iter().filter(|comparison| is_without_lop(comparison)).count() {
        0 => {}
        1 => page.push_str("One more comparison is shown without lop. "),
        more => page.push_str(&format!("{more} more comparisons are shown without lop. ")),
    }
    let trees: BTreeSet<&str> = met.iter().map(|(scenario, _)| &*scenario.corpus).collect();
    page.push_str(&format!(
        "A comparison is one tree of one size on one kind of storage, with warm or cold caches. \
         There are {} with different contents. In the tables below, a ratio in bold means that \
         lop is slower.\n\n",
        plural(trees.len(), "tree", "trees")
    ));
}

/// Returns the share of comparisons with this state of the caches in which lop is fastest, such as
/// `34 of 37`.
fn won_with(met: &[(&Scenario, Outcome)], cache: Cache) -> String {
    let with: Vec<_> = met.iter().filter(|(scenario, _)| scenario.cache == cache).collect();
    let won = with.iter().filter(|(_, o)| matches!(o, Outcome::Clear | Outcome::Fastest)).count();
    format!("{won} of {}", with.len())
}

/// Returns the result of lop, or `None` if no peer took part.
fn outcome(comparison: &Comparison) -> Option<Outcome> {
    if !comparison.has_peers() {
        return None;
    }
    if comparison.out.iter().any(|out| out.tool.role == Role::Ours) {
        return Some(Outcome::Out);
    }
    let ours = comparison.ours()?;
    Some(match comparison.fastest_peer() {
        Some(peer) if peer.beats(ours) => Outcome::Slower,
        Some(peer) if !ours.beats(peer) => Outcome::Level,
        _ if comparison.peers().all(|peer| ours.figure.max < peer.figure.min) => Outcome::Clear,
        _ => Outcome::Fastest,
    })
}

/// Returns true if programs were compared without lop.
fn is_without_lop(comparison: &Comparison) -> bool {
    comparison.has_tools()
        && comparison.ours().is_none()
        && comparison.out.iter().all(|out| out.tool.role != Role::Ours)
}

/// Writes a row for each comparison in which lop is not the fastest, and then a sentence about its
/// other costs.
fn write_losses(page: &mut String, comparisons: &[&Comparison]) {
    page.push_str("## Where lop loses\n\n");
    let losses: Vec<String> = comparisons.iter().filter_map(|each| loss(each)).collect();
    if losses.is_empty() {
        page.push_str(
            "lop loses none of these comparisons. If you know a tree where it does, please report it.\n\n",
        );
    } else {
        page.push_str(
            "| work and tree | storage | lop | tools that are as fast or faster |\n|---|---|---:|---|\n",
        );
        page.push_str(&losses.concat());
        page.push('\n');
    }
    page.push_str(&other_costs(comparisons));
    page.push_str("\n\n");
}

/// Returns a sentence on how often a peer needs less memory, CPU time or reading.
fn other_costs(comparisons: &[&Comparison]) -> String {
    let met = comparisons.iter().filter_map(|each| Some((each, each.ours()?)));
    let (mut of, mut memory, mut cpu, mut read) = (0, 0, 0, 0);
    for (comparison, ours) in met.filter(|(comparison, _)| comparison.has_peers()) {
        let some_peer_needs_less = |cost: fn(&Run) -> f64| {
            let cost = |row: &Row| row.median(|run| Some(cost(run)));
            comparison.peers().any(|peer| cost(peer) < cost(ours))
        };
        of += 1;
        memory += u32::from(some_peer_needs_less(|run| float(run.peak_kib)));
        cpu += u32::from(some_peer_needs_less(|run| run.user_s + run.sys_s));
        read += u32::from(some_peer_needs_less(|run| float(run.read_bytes)));
    }
    format!(
        "Time is not the only cost. Of the {of} comparisons that lop finished, at least one peer \
         needs less memory in {memory} and less CPU time in {cpu}, and reads less in {read}."
    )
}

/// Returns the row about a comparison that lop did not win, or `None` if it won.
fn loss(comparison: &Comparison) -> Option<String> {
    let row = |lop: &str, faster: &[String]| {
        let (place, storage) = (place(comparison), storage(comparison.scenario));
        format!("| {place} | {storage} | {lop} | {} |\n", faster.join("; "))
    };
    let failed = comparison.out.iter().find(|out| out.tool.role == Role::Ours);
    if let Some(out) = failed.filter(|_| comparison.has_peers()) {
        let best = comparison.fastest_peer();
        let best = best.map_or("no peer finished".to_owned(), |peer| {
            format!("{} {}", name(peer), seconds(peer.figure.median))
        });
        return Some(row(&out.why, &[best]));
    }
    let ours = comparison.ours()?;
    let peers = comparison.peers();
    let mut faster: Vec<String> = match outcome(comparison)? {
        Outcome::Level => peers
            .filter(|peer| !ours.beats(peer))
            .map(|peer| format!("{} equally fast", name(peer)))
            .collect(),
        _ => peers.filter(|peer| peer.beats(ours)).map(|peer| lead(peer, ours)).collect(),
    };
    faster.extend(settled_lead(comparison, ours));
    (!faster.is_empty()).then(|| row(&seconds(ours.figure.median), &faster))
}

/// Returns the job and a link to the comparison.
fn place(comparison: &Comparison) -> String {
    let scenario = comparison.scenario;
    let names = super::figures::count(scenario.names);
    let work = super::job::Job::of(scenario).title();
    let work = work.split([',', ' ']).next().unwrap_or(work).to_lowercase();
    format!("{work} {}, {names} {}", link(comparison), entries(scenario))
}

/// Returns the lead of a faster peer.
fn lead(peer: &Row, ours: &Row) -> String {
    let factor = ratio(ours.figure.median / peer.figure.median);
    let overlap = if ours.figure.min <= peer.figure.max { ", runs overlap" } else { "" };
    format!("{} {} ({factor} as fast{overlap})", name(peer), seconds(peer.figure.median))
}

/// Returns the lead of a peer that had its data on storage before lop.
fn settled_lead(comparison: &Comparison, ours: &Row) -> Option<String> {
    let mine = ours.settled()?;
    let settled = comparison.peers().filter_map(|peer| Some((peer.settled()?, peer)));
    let (theirs, peer) = settled.min_by(|a, b| a.0.total_cmp(&b.0))?;
    (as_shown(theirs) < as_shown(mine)).then(|| {
        let factor = ratio(mine / theirs);
        let (mine, theirs) = (seconds(mine), seconds(theirs));
        format!(
            "until all data is on storage: {} {theirs}, lop {mine} ({factor} as fast)",
            name(peer)
        )
    })
}

fn name(row: &Row) -> String {
    format!("**{}**", inline(&row.tool.name))
}

fn seconds(value: f64) -> String {
    format!("{} s", number(value))
}
