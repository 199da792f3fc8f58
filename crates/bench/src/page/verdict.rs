//! The verdict: how often lop is fastest, and where it is not.

use std::collections::BTreeSet;

use crate::record::{Role, Run};
use crate::scenario::{Cache, Scenario};
use crate::stats::float;

use super::comparison::{Comparison, Row};
use super::figures::{as_shown, number, ratio};
use super::words::{inline, link, plural};

/// How lop came off in a comparison.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// It is the fastest, and even its slowest run beat every run of a peer.
    Clear,
    /// It is the fastest by the medians.
    Fastest,
    /// The fastest peer has the same.
    Level,
    /// A peer is faster.
    Slower,
    /// lop has no figure.
    Out,
}

/// Writes the verdict on all comparisons in which lop met a peer.
pub(super) fn write(page: &mut String, comparisons: &[&Comparison]) {
    let met = comparisons.iter().filter_map(|l| Some((l.scenario, outcome(l)?)));
    let met: Vec<(&Scenario, Outcome)> = met.collect();
    if met.is_empty() {
        page.push_str("No race between lop and its peers has been recorded yet.\n\n");
        return;
    }
    let number_of = |wanted| met.iter().filter(|(_, outcome)| *outcome == wanted).count();
    let clear = number_of(Outcome::Clear);
    let fastest = clear + number_of(Outcome::Fastest);
    let (level, slower) = (number_of(Outcome::Level), number_of(Outcome::Slower));
    let of = plural(met.len(), "comparison", "comparisons");
    let (warm, cold) = (won_with(&met, Cache::Warm), won_with(&met, Cache::Cold));
    page.push_str(&format!(
        "**lop has the lowest median in {fastest} of {of}**: {warm} with warm caches, {cold} with \
         cold ones. In {clear} of them even its slowest run was faster than the fastest run of any \
         peer. In {level} it is level with the fastest peer, in {slower} a peer is faster"
    ));
    match number_of(Outcome::Out) {
        0 => page.push_str(". "),
        out => page.push_str(&format!(", in {out} lop has no figure. ")),
    }
    page.push_str(&other_costs(comparisons));
    match comparisons.iter().filter(|comparison| is_without_us(comparison)).count() {
        0 => {}
        1 => page.push_str(" One more is shown without lop, which cannot do its work yet."),
        more => page.push_str(&format!(
            " {more} more are shown without lop, which cannot do their work yet."
        )),
    }
    let trees: BTreeSet<&str> = met.iter().map(|(scenario, _)| &*scenario.corpus).collect();
    page.push_str(&format!(
        "\n\nA comparison is one tree, of one size, on one device, with caches in one state; those that \
         lop took part in are of {} of different make.\n\n",
        plural(trees.len(), "tree", "trees")
    ));
    write_losses(page, comparisons);
}

/// Returns in how many of the comparisons with such caches lop is the fastest.
fn won_with(met: &[(&Scenario, Outcome)], cache: Cache) -> String {
    let with: Vec<_> = met.iter().filter(|(scenario, _)| scenario.cache == cache).collect();
    let won = with.iter().filter(|(_, o)| matches!(o, Outcome::Clear | Outcome::Fastest)).count();
    format!("{won} of {}", with.len())
}

/// Returns how lop came off; none where it met nobody.
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

/// Returns whether lop took no part.
fn is_without_us(comparison: &Comparison) -> bool {
    comparison.ours().is_none() && comparison.out.iter().all(|out| out.tool.role != Role::Ours)
}

/// Says how often a peer needs less of what is not time.
fn other_costs(comparisons: &[&Comparison]) -> String {
    let met =
        comparisons.iter().filter_map(|l| Some((l, l.ours()?))).filter(|(l, _)| l.has_peers());
    let (mut of, mut memory, mut cpu, mut read) = (0, 0, 0, 0);
    for (comparison, ours) in met {
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
        "Time is not all: of the {of} comparisons that lop finished, some peer needs less memory in \
         {memory} and less CPU time in {cpu}, and some peer reads less in {read}."
    )
}

/// Lists every comparison in which lop is not the fastest.
fn write_losses(page: &mut String, comparisons: &[&Comparison]) {
    page.push_str("### Where lop loses\n\n");
    let losses: Vec<String> = comparisons.iter().copied().flat_map(losses).collect();
    if losses.is_empty() {
        page.push_str("In none of these. If you know a tree where it does, please say which.\n\n");
        return;
    }
    for loss in losses {
        page.push_str(&format!("- {loss}\n"));
    }
    page.push('\n');
}

/// Returns what is to be said about a comparison that lop did not win.
fn losses(comparison: &Comparison) -> Vec<String> {
    let mut losses = Vec::new();
    let place = link(comparison);
    for out in comparison.out.iter().filter(|out| out.tool.role == Role::Ours) {
        let best = comparison.fastest_peer().map_or_else(
            || "no peer finished either".to_owned(),
            |peer| format!("{} is the fastest with {}", name(peer), figure(comparison, peer)),
        );
        if comparison.has_peers() {
            losses.push(format!("{place}: {} {}; {best}.", inline(&out.tool.name), out.why));
        }
    }
    let Some(ours) = comparison.ours() else { return losses };
    let faster: Vec<String> = comparison
        .peers()
        .filter(|peer| peer.beats(ours))
        .map(|peer| faster(comparison, peer, ours))
        .collect();
    if !faster.is_empty() {
        let mine = figure(comparison, ours);
        losses.push(format!("{place}: {}; lop takes {mine}.", faster.join("; ")));
    }
    if outcome(comparison) == Some(Outcome::Level) {
        let level = comparison.peers().filter(|peer| !ours.beats(peer)).map(name);
        let (names, mine) = (level.collect::<Vec<_>>().join(", "), figure(comparison, ours));
        losses.push(format!("{place}: level with {names} at {mine}."));
    }
    losses.extend(settled_loss(comparison, ours).map(|loss| format!("{place}: {loss}.")));
    losses
}

/// Says by how much a peer is faster.
fn faster(comparison: &Comparison, peer: &Row, ours: &Row) -> String {
    let factor = ratio(ours.figure.median / peer.figure.median);
    let overlap =
        if ours.figure.min <= peer.figure.max { ", though their runs overlap" } else { "" };
    format!("{} is {factor} as fast ({}{overlap})", name(peer), figure(comparison, peer))
}

/// Says who has all on the storage before lop.
fn settled_loss(comparison: &Comparison, ours: &Row) -> Option<String> {
    let mine = ours.settled()?;
    let settled = comparison.peers().filter_map(|peer| Some((peer.settled()?, peer)));
    let (theirs, peer) = settled.min_by(|a, b| a.0.total_cmp(&b.0))?;
    (as_shown(theirs) < as_shown(mine)).then(|| {
        let factor = ratio(mine / theirs);
        let (mine, theirs) = (number(mine), number(theirs));
        format!(
            "until all is on the storage, {} is {factor} as fast ({theirs} s); lop takes {mine} s",
            name(peer)
        )
    })
}

fn name(row: &Row) -> String {
    format!("**{}**", inline(&row.tool.name))
}

fn figure(comparison: &Comparison, row: &Row) -> String {
    let of = if comparison.scenario.counts_disk_time() { " of the disk's time" } else { "" };
    format!("{} s{of}", number(row.figure.median))
}
