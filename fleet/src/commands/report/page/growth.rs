//! A graph of the size of each host over its exports.

use maud::{Markup, html};
use runtime::quantity::size;

use super::name;
use crate::commands::growth::Export;

/// Width and height of the graph, in its own units.
const SHEET: (f64, f64) = (1000.0, 320.0);

/// Maximum number of hosts in the graph. More lines would hide each other.
const MOST: usize = 8;

/// Returns the graph of the hosts that have at least two exports.
pub(super) fn of(exports: &[Export]) -> Markup {
    let mut hosts: Vec<&[Export]> =
        exports.chunk_by(|a, b| a.host == b.host).filter(|of| of.len() > 1).collect();
    if hosts.is_empty() {
        return html! {};
    }
    let all = hosts.len();
    let last = |of: &&[Export]| std::cmp::Reverse(of.last().map(|export| export.bytes));
    hosts.sort_by_key(last);
    hosts.truncate(MOST);
    let scale = Scale::of(&hosts);
    html! {
        section aria-labelledby="growth" {
            h2 #growth { "Growth" }
            p.dim {
                "Total size of the files of each host by export, from " (day(scale.from)) " to " (day(scale.to)) "."
                @if hosts.len() < all {
                    " The graph shows the " (hosts.len()) " largest of " (all) " hosts that have several exports. "
                    code { "lop-fleet growth" } " shows all."
                }
            }
            p.axis.dim { (size(scale.most)) }
            // The margins above and below keep the whole width of a line visible.
            svg.graph viewBox={ "0 -10 " (SHEET.0) " " (SHEET.1 + 20.0) } preserveAspectRatio="none"
                role="img" aria-labelledby="growth" {
                @for step in 0..=2 {
                    @let y = SHEET.1 - SHEET.1 / 2.0 * f64::from(step);
                    line.grid x1="0" x2=(SHEET.0) y1=(y) y2=(y) {}
                }
                @for (number, exports) in hosts.iter().enumerate() {
                    polyline class=(format!("line c{number}")) points=(scale.points(exports)) {}
                }
            }
            p.axis.dim { "0 B" }
            div.scroll tabindex="0" role="region" aria-label="Table of sizes" {
                table {
                    thead {
                        tr {
                            th scope="col" { "Host" }
                            th.num scope="col" { "Exports" }
                            th.num scope="col" { "First size" }
                            th.num scope="col" { "Last size" }
                        }
                    }
                    tbody { @for (number, exports) in hosts.iter().enumerate() { (row(number, exports)) } }
                }
            }
        }
    }
}

fn row(number: usize, exports: &[Export]) -> Markup {
    let [first, .., last] = exports else { return html! {} };
    html! {
        tr {
            th scope="row" {
                svg.key viewBox="0 0 30 10" aria-hidden="true" {
                    line class=(format!("line c{number}")) x1="0" x2="30" y1="5" y2="5" {}
                }
                " " (name(&first.host))
            }
            td.num { (exports.len()) }
            td.num { (size(first.bytes)) }
            td.num { (size(last.bytes)) }
        }
    }
}

/// The times and sizes that the graph shows.
struct Scale {
    /// In milliseconds since the epoch.
    from: i64,
    to: i64,
    /// In bytes.
    most: u64,
}

impl Scale {
    fn of(hosts: &[&[Export]]) -> Scale {
        let exports = || hosts.iter().copied().flatten();
        Scale {
            from: exports().map(|export| export.created_ms).min().unwrap_or(0),
            to: exports().map(|export| export.created_ms).max().unwrap_or(0),
            most: exports().map(|export| export.bytes).max().unwrap_or(0),
        }
    }

    /// Returns the points of a line.
    #[expect(clippy::cast_precision_loss, reason = "a pixel is much larger than the error")]
    fn points(&self, exports: &[Export]) -> String {
        let duration = (self.to.saturating_sub(self.from)).max(1) as f64;
        let point = |export: &Export| {
            let x = export.created_ms.saturating_sub(self.from) as f64 / duration * SHEET.0;
            let y = SHEET.1 - export.bytes as f64 / self.most.max(1) as f64 * SHEET.1;
            format!("{x:.1},{y:.1}")
        };
        exports.iter().map(point).collect::<Vec<_>>().join(" ")
    }
}

/// Returns the day of a time in milliseconds since the epoch, in UTC.
fn day(ms: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(ms);
    time.map_or_else(|_| "unknown".into(), |time| time.strftime("%Y-%m-%d").to_string())
}
