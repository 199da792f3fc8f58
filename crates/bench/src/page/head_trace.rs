//! The chart of head positions on the simulated disk, with one panel for each recorded scan.

use crate::head_trace::Moment;
use crate::stats::float;

use super::figures::count;
use super::svg::{Anchor, FAINT, GRID, INK, OURS, SMALL, Svg, TITLE, WIDTH, pixels};

const LEFT: i32 = 64;
const RIGHT: i32 = WIDTH - 16;
const TOP: i32 = 72;
const PANEL: i32 = 180;
/// The distance from the bottom of a panel to the top of the next.
const BETWEEN: i32 = 64;
const GIB: f64 = 1_073_741_824.0;

/// Returns the chart.
pub(super) fn svg(traces: &[(String, Vec<Moment>)]) -> String {
    let panels = i32::try_from(traces.len()).unwrap_or(0);
    let mut svg = Svg::new(TOP + panels * (PANEL + BETWEEN) - 20);
    let title = "Where the head was: server2018, cold caches, on the simulated hard disk";
    svg.text((12, 20), Anchor::Start, TITLE, title);
    let axes = "Position on the disk in GiB, against the seconds that the disk was busy";
    svg.text((12, 42), Anchor::Start, SMALL, axes);
    let highest = traces.iter().flat_map(|(_, trace)| trace).map(|moment| moment.at).max();
    let span = float(highest.unwrap_or(1).max(1));
    let mut top = TOP;
    for (name, trace) in traces {
        draw_panel(&mut svg, top, span, (name, trace));
        top += PANEL + BETWEEN;
    }
    svg.finish()
}

fn draw_panel(svg: &mut Svg, top: i32, span: f64, (name, trace): (&str, &[Moment])) {
    let bottom = top + PANEL;
    let (busy_s, seeks) = trace.last().map_or((0.0, 0), |moment| (moment.busy_s, moment.seeks));
    let y = |at: f64| bottom - pixels(at / span, PANEL);
    let x = |seconds: f64| LEFT + pixels(seconds / busy_s.max(f64::MIN_POSITIVE), RIGHT - LEFT);
    let mut gib = 0.0;
    while gib * GIB <= span {
        svg.line(&[(LEFT, y(gib * GIB)), (RIGHT, y(gib * GIB))], GRID);
        svg.text((LEFT - 8, y(gib * GIB)), Anchor::End, SMALL, &format!("{gib:.0}"));
        gib += 2.0;
    }
    let points: Vec<(i32, i32)> =
        trace.iter().map(|moment| (x(moment.busy_s), y(float(moment.at)))).collect();
    svg.line(&points, if name == "now" { OURS } else { FAINT });
    svg.line(&[(LEFT, bottom), (RIGHT, bottom)], INK);
    let summary = format!("{name}: {busy_s:.0} s, {} seeks", count(seeks));
    svg.text((LEFT, bottom + 16), Anchor::Start, SMALL, &summary);
    svg.text((RIGHT, bottom + 16), Anchor::End, SMALL, &format!("{busy_s:.0} s"));
}
