//! The bar chart of a comparison: one bar per tool, fastest on top, lop in a different colour.
//!
//! Bars start at zero. The thin line across the end of a bar spans the fastest to the slowest run.

use crate::record::Role;
use crate::stats::Spread;

use super::comparison::{Comparison, Row};
use super::figures::{count, number};
use super::svg::{
    ASIDE, Anchor, BOLD, INK, OURS, PEER, PLAIN, SMALL, Svg, TITLE, WIDTH, fitting, pixels,
    text_width,
};
use super::words::{chart_title, conditions, measure};

/// The height of the title area.
const TOP: i32 = 62;
/// The distance from one bar to the next.
const ROW: i32 = 24;
const BAR: i32 = 14;
const MARGIN: i32 = 12;
/// Room for the value to the right of the longest bar.
const VALUE: i32 = 84;
/// Room for the names of the tools.
const NAMES: i32 = 230;

/// Returns the chart.
pub(super) fn svg(comparison: &Comparison) -> String {
    let rows: Vec<&Row> = comparison.rows().collect();
    let lines = i32::try_from(rows.len() + comparison.out.len()).unwrap_or(0);
    let mut svg = Svg::new(TOP + lines * ROW + MARGIN);
    write_titles(&mut svg, comparison);
    let scale = Scale::new(comparison, &rows);
    let mut middle = TOP + ROW / 2;
    for row in &rows {
        draw_row(&mut svg, &scale, row, middle);
        middle += ROW;
    }
    for out in &comparison.out {
        write_name(&mut svg, &scale, &out.tool.name, out.tool.role, middle);
        let why = fitting(&out.why, SMALL, WIDTH - MARGIN - scale.left);
        svg.text((scale.left + 6, middle), Anchor::Start, SMALL, &why);
        middle += ROW;
    }
    svg.finish()
}

fn write_titles(svg: &mut Svg, comparison: &Comparison) {
    let scenario = comparison.scenario;
    let title = format!("{}, {} names", chart_title(scenario), count(scenario.names));
    let conditions = format!("{}; {}", measure(scenario), conditions(scenario));
    svg.text((MARGIN, 20), Anchor::Start, TITLE, &fitting(&title, TITLE, WIDTH - 2 * MARGIN));
    svg.text((MARGIN, 42), Anchor::Start, SMALL, &conditions);
}

fn draw_row(svg: &mut Svg, scale: &Scale, row: &Row, middle: i32) {
    let colour = match row.tool.role {
        Role::Ours => OURS,
        Role::Peer => PEER,
        Role::Aside => ASIDE,
    };
    let Spread { median, min, max } = row.figure;
    let end = scale.x(median).max(scale.left + 1);
    svg.rectangle((scale.left, middle - BAR / 2), (end, middle + BAR / 2), colour);
    let (min, max) = (scale.x(min), scale.x(max));
    if max - min > 2 {
        svg.line(&[(min, middle), (max, middle)], INK);
        for end in [min, max] {
            svg.line(&[(end, middle - 3), (end, middle + 3)], INK);
        }
    }
    write_name(svg, scale, &row.tool.name, row.tool.role, middle);
    let lettering = if row.tool.role == Role::Ours { BOLD } else { PLAIN };
    let value = format!("{} s", number(median));
    svg.text((end.max(max) + 6, middle), Anchor::Start, lettering, &value);
}

fn write_name(svg: &mut Svg, scale: &Scale, name: &str, role: Role, middle: i32) {
    let lettering = if role == Role::Ours { BOLD } else { PLAIN };
    svg.text((scale.left - 8, middle), Anchor::End, lettering, &fitting(name, lettering, NAMES));
}

/// The mapping from seconds to pixels.
struct Scale {
    left: i32,
    right: i32,
    /// The seconds at `right`.
    longest: f64,
}

impl Scale {
    fn new(comparison: &Comparison, rows: &[&Row]) -> Self {
        let out = comparison.out.iter().map(|out| &out.tool.name);
        let names = rows.iter().map(|row| &row.tool.name).chain(out);
        let widest =
            names.map(|name| text_width(&fitting(name, BOLD, NAMES), BOLD)).max().unwrap_or(0);
        let longest = rows.iter().map(|row| row.figure.max).fold(0.0, f64::max);
        let longest = if longest > 0.0 { longest } else { 1.0 };
        Self { left: MARGIN + widest + 8, right: WIDTH - VALUE, longest }
    }

    fn x(&self, seconds: f64) -> i32 {
        self.left + pixels(seconds / self.longest, self.right - self.left)
    }
}
