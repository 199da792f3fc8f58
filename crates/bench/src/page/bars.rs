//! Bar charts: one bar per tool, the best on top, lop in a different colour.
//!
//! Bars start at zero. The thin line across the end of a bar spans the fastest to the slowest run.

use crate::record::{Role, Tool};
use crate::stats::Spread;

use super::comparison::{Comparison, Out, Row};
use super::figures::{count, number};
use super::svg::{
    ASIDE, Anchor, BOLD, INK, OURS, PEER, PLAIN, SMALL, Svg, TITLE, WIDTH, fitting, pixels,
    text_width,
};
use super::words::{chart_title, conditions, entries, measure};

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

/// A bar: a tool with its figure.
pub(super) struct Bar<'a> {
    pub(super) tool: &'a Tool,
    pub(super) figure: Spread,
    /// The text beside the bar.
    pub(super) value: String,
}

impl<'a> Bar<'a> {
    fn of(row: &Row<'a>) -> Self {
        let Row { tool, figure, .. } = *row;
        Self { tool, figure, value: format!("{} s", number(figure.median)) }
    }
}

/// Returns the chart of a comparison.
pub(super) fn svg(comparison: &Comparison) -> String {
    let bars: Vec<Bar> = comparison.rows().map(Bar::of).collect();
    let scenario = comparison.scenario;
    let (title, names) = (chart_title(scenario), count(scenario.names));
    let title = format!("{title}, {names} {}", entries(scenario));
    let conditions = format!("{}; {}", measure(scenario), conditions(scenario));
    chart(&title, &conditions, &bars, &comparison.out)
}

/// Returns a chart with a title, a line below it, the bars from top to bottom, and the tools without
/// a figure.
pub(super) fn chart(title: &str, below: &str, bars: &[Bar], out: &[Out]) -> String {
    let lines = i32::try_from(bars.len() + out.len()).unwrap_or(0);
    let mut svg = Svg::new(TOP + lines * ROW + MARGIN);
    svg.text((MARGIN, 20), Anchor::Start, TITLE, &fitting(title, TITLE, WIDTH - 2 * MARGIN));
    svg.text((MARGIN, 42), Anchor::Start, SMALL, below);
    let scale = Scale::new(bars, out);
    let mut middle = TOP + ROW / 2;
    for bar in bars {
        draw_bar(&mut svg, &scale, bar, middle);
        middle += ROW;
    }
    for out in out {
        write_name(&mut svg, &scale, &out.tool.name, out.tool.role, middle);
        let why = fitting(&out.why, SMALL, WIDTH - MARGIN - scale.left);
        svg.text((scale.left + 6, middle), Anchor::Start, SMALL, &why);
        middle += ROW;
    }
    svg.finish()
}

fn draw_bar(svg: &mut Svg, scale: &Scale, bar: &Bar, middle: i32) {
    let colour = match bar.tool.role {
        Role::Ours => OURS,
        Role::Peer => PEER,
        Role::Aside => ASIDE,
    };
    let Spread { median, min, max } = bar.figure;
    let end = scale.x(median).max(scale.left + 1);
    svg.rectangle((scale.left, middle - BAR / 2), (end, middle + BAR / 2), colour);
    let (min, max) = (scale.x(min), scale.x(max));
    if max - min > 2 {
        svg.line(&[(min, middle), (max, middle)], INK);
        for end in [min, max] {
            svg.line(&[(end, middle - 3), (end, middle + 3)], INK);
        }
    }
    write_name(svg, scale, &bar.tool.name, bar.tool.role, middle);
    let lettering = if bar.tool.role == Role::Ours { BOLD } else { PLAIN };
    svg.text((end.max(max) + 6, middle), Anchor::Start, lettering, &bar.value);
}

fn write_name(svg: &mut Svg, scale: &Scale, name: &str, role: Role, middle: i32) {
    let lettering = if role == Role::Ours { BOLD } else { PLAIN };
    svg.text((scale.left - 8, middle), Anchor::End, lettering, &fitting(name, lettering, NAMES));
}

/// The mapping from figures to pixels.
struct Scale {
    left: i32,
    right: i32,
    /// The figure at `right`.
    longest: f64,
}

impl Scale {
    fn new(bars: &[Bar], out: &[Out]) -> Self {
        let out = out.iter().map(|out| &out.tool.name);
        let names = bars.iter().map(|bar| &bar.tool.name).chain(out);
        let widest =
            names.map(|name| text_width(&fitting(name, BOLD, NAMES), BOLD)).max().unwrap_or(0);
        let longest = bars.iter().map(|bar| bar.figure.max).fold(0.0, f64::max);
        let longest = if longest > 0.0 { longest } else { 1.0 };
        Self { left: MARGIN + widest + 8, right: WIDTH - VALUE, longest }
    }

    fn x(&self, figure: f64) -> i32 {
        self.left + pixels(figure / self.longest, self.right - self.left)
    }
}
