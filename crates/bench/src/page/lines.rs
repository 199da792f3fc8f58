//! The line chart of growth: seconds by number of names, both axes logarithmic.

use plotters::prelude::RGBColor;

use crate::record::Role;
use crate::stats::float;

use super::canvas::{
    ASIDE, Anchor, Canvas, GRID, Lettering, Marker, OURS, PLAIN, SMALL, TITLE, WIDTH, draw,
    fitting, pixels,
};
use super::figures::{count, number};
use super::growth::{Curve, Series};
use super::words::{chart_title, conditions, measure};

const LEFT: i32 = 76;
const RIGHT: i32 = 480;
const TOP: i32 = 66;
const BOTTOM: i32 = 400;
const HEIGHT: i32 = 452;
/// From one line of the legend to the next.
const LEGEND: i32 = 22;

/// Colours that stay apart for the colour-blind (Okabe and Ito), and markers for when they do not.
const LOOKS: [(RGBColor, Marker); 12] = [
    (RGBColor(0x00, 0x72, 0xB2), Marker::Square),
    (RGBColor(0x00, 0x9E, 0x73), Marker::Triangle),
    (RGBColor(0xCC, 0x79, 0xA7), Marker::Disc),
    (RGBColor(0xE6, 0x9F, 0x00), Marker::Square),
    (RGBColor(0x56, 0xB4, 0xE9), Marker::Disc),
    (RGBColor(0x5F, 0x68, 0x72), Marker::Triangle),
    (RGBColor(0x7A, 0x3E, 0x9D), Marker::Square),
    (RGBColor(0x00, 0x72, 0xB2), Marker::Ring),
    (RGBColor(0x00, 0x9E, 0x73), Marker::Ring),
    (RGBColor(0xCC, 0x79, 0xA7), Marker::Ring),
    (RGBColor(0xE6, 0x9F, 0x00), Marker::Ring),
    (RGBColor(0x5F, 0x68, 0x72), Marker::Ring),
];

/// Returns the chart.
pub(super) fn svg(series: &Series) -> String {
    let lines = i32::try_from(series.curves.len()).unwrap_or(0);
    draw(HEIGHT.max(TOP + lines * LEGEND + 20), |canvas| {
        let scenario = series.first.scenario;
        let title = format!("{}, by size", chart_title(scenario));
        let what = format!("{}; {}", measure(scenario), conditions(scenario));
        canvas.text((12, 20), Anchor::Start, TITLE, &fitting(&title, TITLE, WIDTH - 24));
        canvas.text((12, 42), Anchor::Start, SMALL, &what);
        let axes = Axes::new(series);
        axes.draw(canvas, series);
        let looks: Vec<_> = looks(&series.curves);
        // lop last, so that its line is on top.
        for (curve, (colour, marker)) in series.curves.iter().zip(&looks).rev() {
            axes.draw_curve(canvas, series, curve, *colour, *marker);
        }
        write_legend(canvas, series, &looks);
    })
}

/// Returns how each curve is drawn.
fn looks(curves: &[Curve]) -> Vec<(RGBColor, Marker)> {
    let mut peers = LOOKS.iter().cycle();
    let of_role = |curve: &Curve| match curve.tool.role {
        Role::Ours => (OURS, Marker::Disc),
        Role::Aside => (ASIDE, Marker::Disc),
        Role::Peer => *peers.next().expect("a cycle has no end"),
    };
    curves.iter().map(of_role).collect()
}

/// Where names and seconds are on the sheet.
struct Axes {
    /// The logarithms at the left and the right.
    across: (f64, f64),
    /// The logarithms at the bottom and the top.
    up: (f64, f64),
}

impl Axes {
    fn new(series: &Series) -> Self {
        let names = series.names.iter().map(|names| float((*names).max(1)).log10());
        let medians = series.curves.iter().flat_map(|curve| curve.medians.iter().flatten());
        let seconds = medians.filter(|median| **median > 0.0).map(|median| median.log10());
        Self { across: range(names, 0.05), up: range(seconds, 0.05) }
    }

    fn x(&self, names: u64) -> i32 {
        let part = (float(names.max(1)).log10() - self.across.0) / (self.across.1 - self.across.0);
        LEFT + pixels(part, RIGHT - LEFT)
    }

    fn y(&self, seconds: f64) -> i32 {
        let part = (seconds.log10() - self.up.0) / (self.up.1 - self.up.0);
        BOTTOM - pixels(part, BOTTOM - TOP)
    }

    /// Draws lines and labels at the sizes there are and at round numbers of seconds.
    fn draw(&self, canvas: &Canvas, series: &Series) {
        let mut free = 0;
        for names in &series.names {
            let x = self.x(*names);
            canvas.line(&[(x, TOP), (x, BOTTOM)], 1, GRID);
            if x >= free {
                canvas.text((x, BOTTOM + 15), Anchor::Middle, SMALL, &count(*names));
                free = x + 76;
            }
        }
        let middle = i32::midpoint(LEFT, RIGHT);
        canvas.text((middle, BOTTOM + 36), Anchor::Middle, SMALL, "names in the tree");
        for seconds in ticks(self.up) {
            let y = self.y(seconds);
            canvas.line(&[(LEFT, y), (RIGHT, y)], 1, GRID);
            let label = format!("{} s", short(seconds));
            canvas.text((LEFT - 8, y), Anchor::End, SMALL, &label);
        }
    }

    fn draw_curve(
        &self,
        canvas: &Canvas,
        series: &Series,
        curve: &Curve,
        colour: RGBColor,
        marker: Marker,
    ) {
        let known = curve.medians.iter().zip(&series.names);
        let known = known.filter_map(|(median, names)| Some(((*median)?, names)));
        let points: Vec<(i32, i32)> = known
            .filter(|(median, _)| *median > 0.0)
            .map(|(median, names)| (self.x(*names), self.y(median)))
            .collect();
        let width = if curve.tool.role == Role::Ours { 3 } else { 2 };
        canvas.line(&points, width, colour);
        for point in points {
            canvas.marker(point, marker, colour);
        }
    }
}

/// Returns the range of some logarithms with some room at both ends.
fn range(logarithms: impl Iterator<Item = f64>, room: f64) -> (f64, f64) {
    let widen = |(low, high): (f64, f64), each: f64| (low.min(each), high.max(each));
    let (low, high) = logarithms.fold((f64::INFINITY, f64::NEG_INFINITY), widen);
    if low > high {
        return (0.0, 1.0);
    }
    let room = (room * (high - low)).max(0.05);
    (low - room, high + room)
}

/// Returns the round numbers of seconds between two logarithms.
fn ticks((low, high): (f64, f64)) -> Vec<f64> {
    let factors: &[f64] = if high - low > 2.5 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let powers = (-6..=6).map(|power| 10.0_f64.powi(power));
    let all = powers.flat_map(|power| factors.iter().map(move |factor| factor * power));
    all.filter(|tick| (low..=high).contains(&tick.log10())).collect()
}

/// Returns a round number without the zeros that [`number`] ends it with.
fn short(round: f64) -> String {
    let text = number(round);
    if text.contains('.') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}

/// Names the curves beside the chart, slowest on top like their ends.
fn write_legend(canvas: &Canvas, series: &Series, looks: &[(RGBColor, Marker)]) {
    let mut y = TOP + 10;
    for (curve, (colour, marker)) in series.curves.iter().zip(looks).rev() {
        let ours = curve.tool.role == Role::Ours;
        let x = RIGHT + 20;
        canvas.line(&[(x, y), (x + 26, y)], if ours { 3 } else { 2 }, *colour);
        canvas.marker((x + 13, y), *marker, *colour);
        let lettering = Lettering { bold: ours, ..PLAIN };
        let name = fitting(&name(series, curve), lettering, WIDTH - x - 40);
        canvas.text((x + 34, y), Anchor::Start, lettering, &name);
        y += LEGEND;
    }
}

/// Returns a tool's name, with where its curve ends if that is too early.
fn name(series: &Series, curve: &Curve) -> String {
    let known = curve.medians.iter().rposition(Option::is_some);
    match known.map(|at| at + 1) {
        Some(end) if end < series.names.len() => {
            format!("{}, to {}", curve.tool.name, count(series.names[end - 1]))
        }
        _ => curve.tool.name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::{range, short, ticks};

    #[test]
    fn few_decades_are_divided() {
        let divided = ticks((-0.8, 0.8)).into_iter().map(short).collect::<Vec<_>>();
        assert_eq!(divided, ["0.2", "0.5", "1", "2", "5"]);
        let whole = ticks((-2.1, 3.2)).into_iter().map(short).collect::<Vec<_>>();
        assert_eq!(whole, ["0.01", "0.1", "1", "10", "100", "1,000"]);
    }

    #[test]
    fn a_single_value_has_room_too() {
        let (low, high) = range([1.0].into_iter(), 0.05);
        assert!(low < 1.0 && 1.0 < high);
    }
}
