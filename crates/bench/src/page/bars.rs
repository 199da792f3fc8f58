//! The bar chart of a comparison: one bar per tool, fastest on top, lop in its colour.
//!
//! Bars start at zero. The thin line across a bar's end reaches from the fastest run to the
//! slowest.

use crate::record::Role;
use crate::stats::Spread;

use super::canvas::{
    ASIDE, Anchor, Canvas, FAINT, GRID, INK, Lettering, OURS, PEER, PLAIN, SMALL, TITLE, WIDTH,
    draw, fitting, pixels, text_width,
};
use super::comparison::{Comparison, Row};
use super::figures::{count, number, whole};
use super::words::{chart_title, conditions, measure};

const TOP: i32 = 62;
const ROW: i32 = 24;
const BAR: i32 = 14;
/// Room for the labels of the axis.
const BOTTOM: i32 = 32;
/// Room for the value after the longest bar.
const VALUE: i32 = 84;
const MARGIN: i32 = 12;
/// Room for names of tools.
const NAMES: i32 = 230;

const BOLD: Lettering = Lettering { bold: true, ..PLAIN };

/// Returns the chart.
pub(super) fn svg(comparison: &Comparison) -> String {
    let rows: Vec<&Row> = comparison.ranked.iter().chain(&comparison.asides).collect();
    let lines = i32::try_from(rows.len() + comparison.out.len()).unwrap_or(0);
    let bottom = TOP + lines * ROW;
    draw(bottom + BOTTOM, |canvas| {
        write_titles(canvas, comparison);
        let scale = Scale::new(comparison, &rows);
        scale.draw_axis(canvas, bottom);
        let mut middle = TOP + ROW / 2;
        for row in &rows {
            draw_row(canvas, &scale, row, middle);
            middle += ROW;
        }
        for out in &comparison.out {
            write_name(canvas, &scale, &out.tool.name, out.tool.role, middle);
            let why = fitting(&out.why, SMALL, WIDTH - MARGIN - scale.left);
            canvas.text((scale.left + 6, middle), Anchor::Start, SMALL, &why);
            middle += ROW;
        }
    })
}

fn write_titles(canvas: &Canvas, comparison: &Comparison) {
    let scenario = comparison.scenario;
    let title = format!("{}, {} names", chart_title(scenario), count(scenario.names));
    let conditions = format!("{}; {}", measure(scenario), conditions(scenario));
    canvas.text((MARGIN, 20), Anchor::Start, TITLE, &fitting(&title, TITLE, WIDTH - 2 * MARGIN));
    canvas.text((MARGIN, 42), Anchor::Start, SMALL, &conditions);
}

fn draw_row(canvas: &Canvas, scale: &Scale, row: &Row, middle: i32) {
    let colour = match row.tool.role {
        Role::Ours => OURS,
        Role::Peer => PEER,
        Role::Aside => ASIDE,
    };
    let Spread { median, min, max } = row.figure;
    let (top, bottom) = (middle - BAR / 2, middle + BAR / 2);
    let end = scale.x(median).max(scale.left + 1);
    canvas.bar((scale.left, top), (end, bottom), colour);
    let (min, max) = (scale.x(min), scale.x(max));
    if max - min > 2 {
        canvas.line(&[(min, middle), (max, middle)], 1, INK);
        for end in [min, max] {
            canvas.line(&[(end, middle - 3), (end, middle + 3)], 1, INK);
        }
    }
    write_name(canvas, scale, &row.tool.name, row.tool.role, middle);
    let lettering = if row.tool.role == Role::Ours { BOLD } else { PLAIN };
    let value = format!("{} s", number(median));
    canvas.text((end.max(max) + 6, middle), Anchor::Start, lettering, &value);
}

fn write_name(canvas: &Canvas, scale: &Scale, name: &str, role: Role, middle: i32) {
    let lettering = if role == Role::Ours { BOLD } else { PLAIN };
    canvas.text((scale.left - 8, middle), Anchor::End, lettering, &fitting(name, lettering, NAMES));
}

/// Where seconds are on the sheet.
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

    /// Draws the lines and labels of round numbers of seconds.
    fn draw_axis(&self, canvas: &Canvas, bottom: i32) {
        let step = step(self.longest);
        let mut seconds = 0.0;
        let mut at = 0;
        while seconds <= self.longest * 1.001 {
            let x = self.x(seconds);
            canvas.line(&[(x, TOP), (x, bottom)], 1, if at == 0 { FAINT } else { GRID });
            let label = format!("{} s", tick(seconds, step));
            canvas.text((x, bottom + 14), Anchor::Middle, SMALL, &label);
            at += 1;
            seconds = f64::from(at) * step;
        }
    }
}

/// Returns a round step that divides a length into three to seven.
fn step(length: f64) -> f64 {
    let power = 10.0_f64.powf((length / 7.0).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    steps.into_iter().find(|step| length / step <= 7.0).unwrap_or(10.0 * power)
}

/// Returns the label of a number of seconds with as many decimals as its step has.
fn tick(seconds: f64, step: f64) -> String {
    let decimals = (0..6).find(|decimals| {
        let shifted = step * 10.0_f64.powi(*decimals);
        (shifted - shifted.round()).abs() < 1e-6
    });
    let decimals = usize::try_from(decimals.unwrap_or(6)).unwrap_or(0);
    if decimals == 0 { whole(seconds) } else { format!("{seconds:.decimals$}") }
}

#[cfg(test)]
mod tests {
    use super::{step, tick};

    #[test]
    fn steps_are_round() {
        let near = |length: f64, wanted: f64| (step(length) / wanted - 1.0).abs() < 1e-9;
        assert!(near(5.57, 1.0) && near(0.6, 0.1) && near(90.7, 20.0) && near(1_228.0, 200.0));
    }

    #[test]
    fn labels_have_the_decimals_of_their_step() {
        assert_eq!([tick(0.0, 0.1), tick(0.3, 0.1), tick(1_200.0, 200.0)], ["0.0", "0.3", "1,200"]);
        assert_eq!([tick(0.0, 20.0), tick(2.0, 1.0), tick(10.0, 5.0)], ["0", "2", "10"]);
    }
}
