//! SVG for the charts: a white sheet of fixed width with rectangles, lines and text.
//!
//! The viewer's font is unknown here, so [`text_width`] estimates on the high side.

use std::fmt::Write as _;

/// The width of every chart in pixels.
pub(super) const WIDTH: i32 = 720;

/// The colour of lop.
pub(super) const OURS: &str = "#D9480F";
/// The colour of lop when it does more or less work than its peers.
pub(super) const ASIDE: &str = "#F3B48B";
/// The colour of the peers.
pub(super) const PEER: &str = "#8FA3BF";
/// The colour of ordinary text and of the axes.
pub(super) const INK: &str = "#24292F";
/// The colour of explanations.
pub(super) const FAINT: &str = "#5F6872";
/// The colour of grid lines.
pub(super) const GRID: &str = "#E1E4E8";

const SHEET: &str = "#FFFFFF";

/// The part of a text that is placed at a given point.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    End,
}

/// The size, colour and weight of a text.
#[derive(Clone, Copy)]
pub(super) struct Lettering {
    pub(super) pixels: i32,
    pub(super) colour: &'static str,
    pub(super) bold: bool,
}

/// Ordinary text.
pub(super) const PLAIN: Lettering = Lettering { pixels: 14, colour: INK, bold: false };
/// The names and figures of lop.
pub(super) const BOLD: Lettering = Lettering { bold: true, ..PLAIN };
/// Explanations.
pub(super) const SMALL: Lettering = Lettering { pixels: 12, colour: FAINT, bold: false };
/// The title of a chart.
pub(super) const TITLE: Lettering = Lettering { pixels: 16, colour: INK, bold: true };

/// A chart while it is drawn.
pub(super) struct Svg(String);

impl Svg {
    /// Returns an empty sheet of the given height in pixels.
    pub(super) fn new(height: i32) -> Self {
        let mut sheet = Self(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
             viewBox=\"0 0 {WIDTH} {height}\" font-family=\"Helvetica, Arial, DejaVu Sans, \
             sans-serif\">\n"
        ));
        sheet.rectangle((0, 0), (WIDTH, height), SHEET);
        sheet
    }

    /// Returns the complete document.
    pub(super) fn finish(mut self) -> String {
        self.0.push_str("</svg>\n");
        self.0
    }

    /// Writes a text, centred vertically on a point.
    pub(super) fn text(&mut self, at: (i32, i32), anchor: Anchor, how: Lettering, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::End => " text-anchor=\"end\"",
        };
        let weight = if how.bold { " font-weight=\"bold\"" } else { "" };
        let Lettering { pixels, colour, .. } = how;
        // The baseline is about a third of the font size below the middle of the letters.
        let (x, y) = (at.0, at.1 + pixels * 35 / 100);
        let text = escaped(text);
        self.push(format_args!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{pixels}\" fill=\"{colour}\"{weight}{anchor}>\
             {text}</text>"
        ));
    }

    /// Fills the rectangle between two corners.
    pub(super) fn rectangle(&mut self, from: (i32, i32), to: (i32, i32), colour: &str) {
        let ((x, y), (width, height)) = (from, (to.0 - from.0, to.1 - from.1));
        self.push(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{colour}\"/>"
        ));
    }

    /// Draws a line through some points.
    pub(super) fn line(&mut self, points: &[(i32, i32)], colour: &str) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x},{y}")).collect();
        let points = points.join(" ");
        self.push(format_args!(
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\"/>"
        ));
    }

    fn push(&mut self, element: std::fmt::Arguments) {
        writeln!(self.0, "{element}").expect("writing to a string cannot fail");
    }
}

/// Returns the text with the special characters of XML escaped.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Returns the largest width in pixels that a text has in the usual fonts.
pub(super) fn text_width(text: &str, lettering: Lettering) -> i32 {
    let letters = i32::try_from(text.chars().count()).unwrap_or(i32::MAX / 1000);
    letters * lettering.pixels * if lettering.bold { 68 } else { 62 } / 100
}

/// Returns as much of a text as fits into `width` pixels, with an ellipsis where it is cut.
pub(super) fn fitting(text: &str, lettering: Lettering, width: i32) -> String {
    if text_width(text, lettering) <= width {
        return text.to_owned();
    }
    let mut fitting = text.to_owned();
    while text_width(&fitting, lettering) + lettering.pixels > width && fitting.pop().is_some() {}
    format!("{}\u{2026}", fitting.trim_end())
}

/// Returns the pixel that corresponds to a fraction of a length.
#[expect(clippy::cast_possible_truncation, reason = "a chart is a few hundred pixels wide")]
pub(super) fn pixels(part: f64, of: i32) -> i32 {
    (part * f64::from(of)).round() as i32
}

#[cfg(test)]
mod tests {
    use super::{PLAIN, escaped, fitting, text_width};

    #[test]
    fn a_long_text_is_cut_with_an_ellipsis() {
        assert_eq!(fitting("lop", PLAIN, 200), "lop");
        let cut = fitting(&"word ".repeat(40), PLAIN, 200);
        assert!(cut.ends_with('\u{2026}') && text_width(&cut, PLAIN) <= 200, "{cut}");
    }

    #[test]
    fn text_cannot_open_or_close_elements() {
        assert_eq!(escaped("a < b & c > d"), "a &lt; b &amp; c &gt; d");
    }
}
