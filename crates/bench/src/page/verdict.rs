//! The verdict: how often lop is fastest, and where it is not.

use std::collections::BTreeSet;

use crate::record::{Role, Run};
use crate::scenario::{Cache, Scenario};
use crate::stats::float;

use super::figures::{as_shown, number, ratio};
use super::line_up::{LineUp, Row};
use super::words::{inline, link, plural};

/// How lop came off in a line-up.
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

/// Writes the verdict on all line-ups in which lop met a peer.
pub(super) fn write(page: &mut String, line_ups: &[&LineUp]) {
    let met = line_ups.iter().filter_map(|l| Some((l.scenario, outcome(l)?)));
    let met: Vec<(&Scenario, Outcome)> = met.collect();
    if met.is_empty() {
        page.push_str("No race between lop and its peers has been recorded yet.\n\n");
        return;
    }
    let number_of = |wanted| met.iter().filter(|(_, outcome)| *outcome == wanted).count();
    let clear = number_of(Outcome::Clear);
    let fastest = clear + number_of(Outcome::Fastest);
    let (level, slower) = (number_of(Outcome::Level), number_of(Outcome::Slower));
    let of = plural(met.len(), "line-up", "line-ups");
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
    page.push_str(&other_costs(line_ups));
    match line_ups.iter().filter(|line_up| is_without_us(line_up)).count() {
        0 => {}
        1 => page.push_str(" One more is shown without lop, which cannot do its work yet."),
        more => page.push_str(&format!(
            " {more} more are shown without lop, which cannot do their work yet."
        )),
    }
    let trees: BTreeSet<&str> = met.iter().map(|(scenario, _)| &*scenario.corpus).collect();
    page.push_str(&format!(
        "\n\nA line-up is one tree, of one size, on one device, with caches in one state; those that \
         lop took part in are of {} of different make.\n\n",
        plural(trees.len(), "tree", "trees")
    ));
    write_losses(page, line_ups);
}

/// Returns in how many of the line-ups with such caches lop is the fastest.
fn won_with(met: &[(&Scenario, Outcome)], cache: Cache) -> String {
    let with: Vec<_> = met.iter().filter(|(scenario, _)| scenario.cache == cache).collect();
    let won = with.iter().filter(|(_, o)| matches!(o, Outcome::Clear | Outcome::Fastest)).count();
    format!("{won} of {}", with.len())
}

/// Returns how lop came off; none where it met nobody.
fn outcome(line_up: &LineUp) -> Option<Outcome> {
    if !line_up.has_peers() {
        return None;
    }
    if line_up.out.iter().any(|out| out.tool.role == Role::Ours) {
        return Some(Outcome::Out);
    }
    let ours = line_up.ours()?;
    Some(match line_up.fastest_peer() {
        Some(peer) if peer.beats(ours) => Outcome::Slower,
        Some(peer) if !ours.beats(peer) => Outcome::Level,
        _ if line_up.peers().all(|peer| ours.figure.max < peer.figure.min) => Outcome::Clear,
        _ => Outcome::Fastest,
    })
}

/// Returns whether lop took no part.
fn is_without_us(line_up: &LineUp) -> bool {
    line_up.ours().is_none() && line_up.out.iter().all(|out| out.tool.role != Role::Ours)
}

/// Says how often a peer needs less of what is not time.
fn other_costs(line_ups: &[&LineUp]) -> String {
    let met = line_ups.iter().filter_map(|l| Some((l, l.ours()?))).filter(|(l, _)| l.has_peers());
    let (mut of, mut memory, mut cpu, mut read) = (0, 0, 0, 0);
    for (line_up, ours) in met {
        let some_peer_needs_less = |cost: fn(&Run) -> f64| {
            let cost = |row: &Row| row.median(|run| Some(cost(run)));
            line_up.peers().any(|peer| cost(peer) < cost(ours))
        };
        of += 1;
        memory += u32::from(some_peer_needs_less(|run| float(run.peak_kib)));
        cpu += u32::from(some_peer_needs_less(|run| run.user_s + run.sys_s));
        read += u32::from(some_peer_needs_less(|run| float(run.read_bytes)));
    }
    format!(
        "Time is not all: of the {of} line-ups that lop finished, some peer needs less memory in \
         {memory} and less CPU time in {cpu}, and some peer reads less in {read}."
    )
}

/// Lists every line-up in which lop is not the fastest.
fn write_losses(page: &mut String, line_ups: &[&LineUp]) {
    page.push_str("### Where lop loses\n\n");
    let losses: Vec<String> = line_ups.iter().copied().flat_map(losses).collect();
    if losses.is_empty() {
        page.push_str("In none of these. If you know a tree where it does, please say which.\n\n");
        return;
    }
    for loss in losses {
        page.push_str(&format!("- {loss}\n"));
    }
    page.push('\n');
}

/// Returns what is to be said about a line-up that lop did not win.
fn losses(line_up: &LineUp) -> Vec<String> {
    let mut losses = Vec::new();
    let place = link(line_up);
    for out in line_up.out.iter().filter(|out| out.tool.role == Role::Ours) {
        let best = line_up.fastest_peer().map_or_else(
            || "no peer finished either".to_owned(),
            |peer| format!("{} is the fastest with {}", name(peer), figure(line_up, peer)),
        );
        if line_up.has_peers() {
            losses.push(format!("{place}: {} {}; {best}.", inline(&out.tool.name), out.why));
        }
    }
    let Some(ours) = line_up.ours() else { return losses };
    let faster: Vec<String> = line_up
        .peers()
        .filter(|peer| peer.beats(ours))
        .map(|peer| faster(line_up, peer, ours))
        .collect();
    if !faster.is_empty() {
        let mine = figure(line_up, ours);
        losses.push(format!("{place}: {}; lop takes {mine}.", faster.join("; ")));
    }
    if outcome(line_up) == Some(Outcome::Level) {
        let level = line_up.peers().filter(|peer| !ours.beats(peer)).map(name);
        let (names, mine) = (level.collect::<Vec<_>>().join(", "), figure(line_up, ours));
        losses.push(format!("{place}: level with {names} at {mine}."));
    }
    losses.extend(settled_loss(line_up, ours).map(|loss| format!("{place}: {loss}.")));
    losses
}

/// Says by how much a peer is faster.
fn faster(line_up: &LineUp, peer: &Row, ours: &Row) -> String {
    let factor = ratio(ours.figure.median / peer.figure.median);
    let overlap =
        if ours.figure.min <= peer.figure.max { ", though their runs overlap" } else { "" };
    format!("{} is {factor} as fast ({}{overlap})", name(peer), figure(line_up, peer))
}

/// Says who has all on the storage before lop.
fn settled_loss(line_up: &LineUp, ours: &Row) -> Option<String> {
    let mine = ours.settled()?;
    let settled = line_up.peers().filter_map(|peer| Some((peer.settled()?, peer)));
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

fn figure(line_up: &LineUp, row: &Row) -> String {
    let of = if line_up.scenario.by_arm() { " of the disk's time" } else { "" };
    format!("{} s{of}", number(row.figure.median))
}
