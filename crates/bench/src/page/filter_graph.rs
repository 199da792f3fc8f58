//! The time that an insert into a Bloom filter takes, against the filter's size: a page with a table,
//! and a chart.

use std::fmt::Write as _;

use crate::filter_graph::{Figure, Graph, INSERTS, LAYOUTS, Layout};
use crate::stats::{float, spread};

use super::figures::{count, number};
use super::svg::{
    Anchor, FAINT, GRID, INK, OURS, PEER, SMALL, Svg, TITLE, WIDTH, pixels, text_width,
};

const LEFT: i32 = 44;
const RIGHT: i32 = WIDTH - 20;
const TOP: i32 = 112;
const BOTTOM: i32 = TOP + 300;
/// The length of the sample of a line in the legend.
const SAMPLE: i32 = 18;

/// Returns the page, which shows the chart.
pub(super) fn page(graph: &Graph) -> String {
    let caches: Vec<String> =
        graph.caches.iter().map(|cache| format!("{} {}", cache.name, unit(cache.bytes))).collect();
    let caches = if caches.is_empty() { "unknown".into() } else { caches.join(", ") };
    let names = LAYOUTS.map(|layout| style(layout).0);
    let mut page = format!(
        "# Bloom filters and the caches of the processor\n\n\
         `cargo xtask filter-graph` adds {} different numbers to filters of many sizes and layouts. \
         The figures are the median nanoseconds for each insert, and the share of the inserts that \
         found all their bits set. [scanning.md](../design/scanning.md#the-filter-for-sizes) has the \
         conclusions.\n\n\
         Caches for data that the first processor uses: {caches}.\n\n\
         ![Line chart of the figures below](filter.svg)\n\n\
         | size | cache | {} |\n|---:|---|{}\n",
        count(INSERTS),
        names.join(" | "),
        "---:|".repeat(names.len())
    );
    let mut sizes: Vec<u64> = graph.figures.iter().map(|figure| figure.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    for bytes in sizes {
        let cache = graph.caches.iter().find(|cache| bytes <= cache.bytes);
        let cache = cache.map_or("-", |cache| &cache.name);
        let _ = write!(page, "| {} | {cache} |", unit(bytes));
        for layout in LAYOUTS {
            let mut figures = graph.figures.iter();
            match figures.find(|figure| figure.layout == layout && figure.bytes == bytes) {
                Some(figure) => page.push_str(&cell(figure)),
                None => page.push_str(" - |"),
            }
        }
        page.push('\n');
    }
    page
}

/// Returns the cell of a figure, such as ` 5.40 ns, 12.3 % |`.
fn cell(figure: &Figure) -> String {
    let percent = 100.0 * float(figure.false_positives) / float(INSERTS);
    format!(" {} ns, {percent:.2} % |", number(figure.median_ns))
}

/// Returns the chart.
pub(super) fn svg(graph: &Graph) -> String {
    let mut svg = Svg::new(BOTTOM + 34);
    let title = "Inserting ten million different numbers into a Bloom filter";
    svg.text((12, 20), Anchor::Start, TITLE, title);
    let axes =
        "Nanoseconds for each insert, against the size of the filter; both scales are logarithmic";
    svg.text((12, 42), Anchor::Start, SMALL, axes);
    let Some(axes) = Axes::of(&graph.figures) else { return svg.finish() };
    axes.draw(&mut svg);
    for cache in &graph.caches {
        let x = axes.x(cache.bytes);
        if (LEFT..=RIGHT).contains(&x) {
            svg.line(&[(x, TOP - 6), (x, BOTTOM)], FAINT);
            svg.text(
                (x, TOP - 14),
                Anchor::End,
                SMALL,
                &format!("{} {}", cache.name, unit(cache.bytes)),
            );
        }
    }
    let mut legend = 12;
    for layout in LAYOUTS {
        let figures = graph.figures.iter().filter(|figure| figure.layout == layout);
        let points: Vec<(i32, i32)> =
            figures.map(|figure| (axes.x(figure.bytes), axes.y(figure.median_ns))).collect();
        let (name, colour) = style(layout);
        svg.line(&points, colour);
        svg.line(&[(legend, 68), (legend + SAMPLE, 68)], colour);
        svg.text((legend + SAMPLE + 6, 68), Anchor::Start, SMALL, name);
        legend += SAMPLE + 14 + text_width(name, SMALL);
    }
    svg.finish()
}

/// Returns the name and the colour of a layout.
fn style(layout: Layout) -> (&'static str, &'static str) {
    match layout {
        Layout::Scan => ("3 bits in a word, as in scans", OURS),
        Layout::Classic1 => ("1 bit", PEER),
        Layout::Classic4 => ("4 bits", INK),
        Layout::Blocked4 => ("4 bits in a cache line", "#2B8A3E"),
    }
}

/// The scales, both logarithmic: every doubling of the size and of the time has the same length.
struct Axes {
    smallest: f64,
    largest: f64,
    /// Binary logarithm of the shortest time in nanoseconds, rounded down.
    lowest: f64,
    /// Binary logarithm of the longest time in nanoseconds, rounded up.
    highest: f64,
}

impl Axes {
    /// Returns the scales for some figures; `None` if they have fewer than two sizes.
    fn of(figures: &[Figure]) -> Option<Self> {
        let sizes = || figures.iter().map(|figure| figure.bytes);
        let (smallest, largest) = (float(sizes().min()?), float(sizes().max()?));
        let times = spread(figures.iter().map(|figure| figure.median_ns.max(1.0)))?;
        let (lowest, highest) = (times.min.log2().floor(), times.max.log2().floor() + 1.0);
        (smallest < largest).then_some(Self { smallest, largest, lowest, highest })
    }

    fn x(&self, bytes: u64) -> i32 {
        let part = (float(bytes) / self.smallest).log2() / (self.largest / self.smallest).log2();
        LEFT + pixels(part, RIGHT - LEFT)
    }

    fn y(&self, ns: f64) -> i32 {
        let part = (ns.max(1.0).log2() - self.lowest) / (self.highest - self.lowest);
        BOTTOM - pixels(part, BOTTOM - TOP)
    }

    fn draw(&self, svg: &mut Svg) {
        let mut log2_ns = self.lowest;
        while log2_ns <= self.highest {
            let (ns, y) = (log2_ns.exp2(), self.y(log2_ns.exp2()));
            svg.line(&[(LEFT, y), (RIGHT, y)], GRID);
            svg.text((LEFT - 8, y), Anchor::End, SMALL, &format!("{ns:.0}"));
            log2_ns += 1.0;
        }
        svg.line(&[(LEFT, BOTTOM), (RIGHT, BOTTOM)], INK);
        for log2_bytes in (0..u64::BITS).step_by(2) {
            let x = self.x(1 << log2_bytes);
            if (LEFT..=RIGHT).contains(&x) {
                svg.line(&[(x, BOTTOM), (x, BOTTOM + 4)], INK);
                svg.text((x + 18, BOTTOM + 16), Anchor::End, SMALL, &unit(1 << log2_bytes));
            }
        }
    }
}

/// Returns a size in the largest unit in which it is a whole number, such as `48 KiB`.
fn unit(bytes: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")];
    let (size, name) = units
        .into_iter()
        .find(|(size, _)| bytes >= *size && bytes.is_multiple_of(*size))
        .unwrap_or((1, "B"));
    format!("{} {name}", bytes / size)
}

#[cfg(test)]
mod tests {
    use super::unit;

    #[test]
    fn sizes_are_whole_numbers_of_the_largest_unit() {
        let shown = [0, 100, 49_152, 2 << 20, 266_240 << 10, 1 << 30].map(unit);
        assert_eq!(shown, ["0 B", "100 B", "48 KiB", "2 MiB", "260 MiB", "1 GiB"]);
    }
}
