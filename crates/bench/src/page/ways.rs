//! The graph of where the head was, one panel for each scan that was kept.

use crate::head_trace::Moment;
use crate::stats::float;

use super::canvas::{Anchor, FAINT, GRID, INK, OURS, SMALL, TITLE, WIDTH, draw, pixels};
use super::figures::count;

const LEFT: i32 = 64;
const RIGHT: i32 = WIDTH - 16;
const TOP: i32 = 72;
const PANEL: i32 = 180;
/// From the bottom of a panel to the top of the next.
const BETWEEN: i32 = 64;
const GIB: f64 = 1_073_741_824.0;

/// Returns the graph.
pub(super) fn svg(ways: &[(String, Vec<Moment>)]) -> String {
    let panels = i32::try_from(ways.len()).unwrap_or(0);
    draw(TOP + panels * (PANEL + BETWEEN) - 20, |canvas| {
        let title = "The way of the head: server2018, cold, on the simulated disk";
        canvas.text((12, 20), Anchor::Start, TITLE, title);
        let what = "Place on the disk in GiB, over the seconds that the disk was busy";
        canvas.text((12, 42), Anchor::Start, SMALL, what);
        let highest = ways.iter().flat_map(|(_, way)| way).map(|moment| moment.at).max();
        let span = float(highest.unwrap_or(1).max(1));
        let mut top = TOP;
        for (name, way) in ways {
            panel(canvas, top, span, name, way);
            top += PANEL + BETWEEN;
        }
    })
}

fn panel(canvas: &super::canvas::Canvas, top: i32, span: f64, name: &str, way: &[Moment]) {
    let bottom = top + PANEL;
    let last = way.last().map_or((0.0, 0), |moment| (moment.busy_s, moment.seeks));
    let y = |at: f64| bottom - pixels(at / span, PANEL);
    let x = |busy_s: f64| LEFT + pixels(busy_s / last.0.max(f64::MIN_POSITIVE), RIGHT - LEFT);
    let mut gib = 0.0;
    while gib * GIB <= span {
        canvas.line(&[(LEFT, y(gib * GIB)), (RIGHT, y(gib * GIB))], 1, GRID);
        canvas.text((LEFT - 8, y(gib * GIB)), Anchor::End, SMALL, &format!("{gib:.0}"));
        gib += 2.0;
    }
    let points: Vec<(i32, i32)> =
        way.iter().map(|moment| (x(moment.busy_s), y(float(moment.at)))).collect();
    canvas.line(&points, 1, if name == "now" { OURS } else { FAINT });
    canvas.line(&[(LEFT, bottom), (RIGHT, bottom)], 1, INK);
    let summary = format!("{name}: {:.0} s, {} movements", last.0, count(last.1));
    canvas.text((LEFT, bottom + 16), Anchor::Start, SMALL, &summary);
    canvas.text((RIGHT, bottom + 16), Anchor::End, SMALL, &format!("{:.0} s", last.0));
}
