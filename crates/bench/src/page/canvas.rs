//! A white sheet of pixels to draw the graphs on, which becomes an SVG.
//!
//! Nothing knows how wide a text will be where it is shown, so [`text_width`] guesses high.

use plotters::coord::Shift;
use plotters::prelude::{
    Circle, Color, DrawingArea, FontDesc, FontFamily, FontStyle, IntoDrawingArea, PathElement,
    Polygon, RGBColor, Rectangle, SVGBackend, Text, WHITE,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// The width of every graph.
pub(super) const WIDTH: i32 = 720;

/// The colour of lop.
pub(super) const OURS: RGBColor = RGBColor(0xD9, 0x48, 0x0F);
/// The colour of lop with more or less work than its peers.
pub(super) const ASIDE: RGBColor = RGBColor(0xF3, 0xB4, 0x8B);
/// The colour of peers where they need not be told apart.
pub(super) const PEER: RGBColor = RGBColor(0x8F, 0xA3, 0xBF);
/// The colour of text and of what matters.
pub(super) const INK: RGBColor = RGBColor(0x24, 0x29, 0x2F);
/// The colour of text that explains.
pub(super) const FAINT: RGBColor = RGBColor(0x5F, 0x68, 0x72);
/// The colour of lines that only guide the eye.
pub(super) const GRID: RGBColor = RGBColor(0xE1, 0xE4, 0xE8);

/// Which point of a text is given.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text looks.
#[derive(Clone, Copy)]
pub(super) struct Lettering {
    pub(super) pixels: i32,
    pub(super) colour: RGBColor,
    pub(super) bold: bool,
}

/// Usual text.
pub(super) const PLAIN: Lettering = Lettering { pixels: 14, colour: INK, bold: false };
/// Text that explains.
pub(super) const SMALL: Lettering = Lettering { pixels: 12, colour: FAINT, bold: false };
/// Text that is to be seen first.
pub(super) const TITLE: Lettering = Lettering { pixels: 16, colour: INK, bold: true };

/// A marker of a point in a line chart.
#[derive(Clone, Copy)]
pub(super) enum Marker {
    Disc,
    Square,
    Triangle,
    Ring,
}

/// The sheet.
pub(super) struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
}

/// Draws a graph of a height and returns its SVG.
pub(super) fn draw(height: i32, graph: impl FnOnce(&Canvas)) -> String {
    let mut svg = String::new();
    let size = (WIDTH.unsigned_abs(), height.unsigned_abs());
    let canvas = Canvas { area: SVGBackend::with_string(&mut svg, size).into_drawing_area() };
    canvas.area.fill(&WHITE).expect(NEVER_FAILS);
    graph(&canvas);
    canvas.area.present().expect(NEVER_FAILS);
    drop(canvas);
    svg
}

/// Returns how many pixels a text takes at most in the usual fonts.
pub(super) fn text_width(text: &str, lettering: Lettering) -> i32 {
    let letters = i32::try_from(text.chars().count()).unwrap_or(i32::MAX / 1000);
    letters * lettering.pixels * if lettering.bold { 68 } else { 62 } / 100
}

/// Returns as much of a text as fits into some pixels, with a sign where it is cut.
pub(super) fn fitting(text: &str, lettering: Lettering, width: i32) -> String {
    if text_width(text, lettering) <= width {
        return text.to_owned();
    }
    let mut fitting = text.to_owned();
    while text_width(&fitting, lettering) + lettering.pixels > width && fitting.pop().is_some() {}
    format!("{}\u{2026}", fitting.trim_end())
}

const NEVER_FAILS: &str = "drawing into a string cannot fail";

impl Canvas<'_> {
    /// Writes a text, centred vertically on a point.
    pub(super) fn text(&self, at: (i32, i32), anchor: Anchor, lettering: Lettering, text: &str) {
        let style = if lettering.bold { FontStyle::Bold } else { FontStyle::Normal };
        // The SVG backend divides by this.
        let size = f64::from(lettering.pixels) * 1.24;
        let family = FontFamily::Name("Helvetica, Arial, DejaVu Sans, sans-serif");
        let horizontal = match anchor {
            Anchor::Start => HPos::Left,
            Anchor::Middle => HPos::Center,
            Anchor::End => HPos::Right,
        };
        let style = FontDesc::new(family, size, style).color(&lettering.colour);
        let style = style.pos(Pos::new(horizontal, VPos::Center));
        self.area.draw(&Text::new(text, at, style)).expect(NEVER_FAILS);
    }

    /// Fills a rectangle.
    pub(super) fn bar(&self, from: (i32, i32), to: (i32, i32), colour: RGBColor) {
        self.area.draw(&Rectangle::new([from, to], colour.filled())).expect(NEVER_FAILS);
    }

    /// Draws a line through points.
    pub(super) fn line(&self, points: &[(i32, i32)], width: u32, colour: RGBColor) {
        let path = PathElement::new(points.to_vec(), colour.stroke_width(width));
        self.area.draw(&path).expect(NEVER_FAILS);
    }

    /// Draws a marker.
    pub(super) fn marker(&self, (x, y): (i32, i32), marker: Marker, colour: RGBColor) {
        let filled = colour.filled();
        let done = match marker {
            Marker::Disc => self.area.draw(&Circle::new((x, y), 4, filled)),
            Marker::Square => {
                self.area.draw(&Rectangle::new([(x - 4, y - 4), (x + 4, y + 4)], filled))
            }
            Marker::Triangle => {
                let corners = vec![(x - 5, y + 4), (x + 5, y + 4), (x, y - 5)];
                self.area.draw(&Polygon::new(corners, filled))
            }
            Marker::Ring => self
                .area
                .draw(&Circle::new((x, y), 4, WHITE.filled()))
                .and_then(|()| self.area.draw(&Circle::new((x, y), 4, colour.stroke_width(2)))),
        };
        done.expect(NEVER_FAILS);
    }
}

/// Returns the pixel for a part of a length.
#[expect(clippy::cast_possible_truncation, reason = "a graph is a few hundred pixels wide")]
pub(super) fn pixels(part: f64, of: i32) -> i32 {
    (part * f64::from(of)).round() as i32
}

#[cfg(test)]
mod tests {
    use super::{PLAIN, fitting, text_width};

    #[test]
    fn a_long_text_is_cut_with_a_sign() {
        assert_eq!(fitting("lop", PLAIN, 200), "lop");
        let cut = fitting(&"word ".repeat(40), PLAIN, 200);
        assert!(cut.ends_with('\u{2026}') && text_width(&cut, PLAIN) <= 200, "{cut}");
    }
}
