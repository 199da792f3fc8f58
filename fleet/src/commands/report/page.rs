//! The report as a web page in a single file, which loads no other files and runs no scripts.
//!
//! | module | purpose |
//! |---|---|
//! | `hosts` | A bar for each host, which shows the part of its files that exists elsewhere. |
//! | `matrix` | The bytes that each pair of hosts shares. |
//! | `growth` | A graph of the size of each host over its exports. |

mod growth;
mod hosts;
mod matrix;

use jiff::Timestamp;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use runtime::quantity::{count, counted, size};
use runtime::shown::{shown_name, write_html};

use super::{Content, Document, Host};
use crate::commands::growth::Export;

/// The style sheet. Colours have a contrast of at least 4.5:1 in both schemes, and no information is given by colour
/// alone.
const STYLE: &str = include_str!("page/page.css");

/// Maximum number of hosts in the matrix, so that browsers can still show it.
const MOST_IN_MATRIX: usize = 100;

/// Returns the page. `shared` returns the bytes that two hosts share, by their indexes in the report. `exports` are all
/// exports of these hosts, sorted by host and time.
pub(super) fn of(
    report: &Document,
    shared: impl Fn(usize, usize) -> u64,
    exports: &[Export],
    now: Timestamp,
) -> String {
    let matrix = matrix::of(&report.hosts, shared, MOST_IN_MATRIX);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Fleet report – lop" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { "Fleet report" }
                    p.dim {
                        (counted(report.hosts.len() as u64, "host", "hosts")) " · " (minute(now))
                        " · lop-fleet " (env!("CARGO_PKG_VERSION"))
                    }
                }
                main {
                    (summary(report))
                    (hosts::of(&report.hosts))
                    (matrix)
                    (growth::of(exports))
                    (contents(&report.contents))
                }
            }
        }
    };
    page.into_string()
}

/// Returns the sums over all hosts.
fn summary(report: &Document) -> Markup {
    let sum = |of: fn(&Host) -> u64| report.hosts.iter().map(of).fold(0, u64::saturating_add);
    let tiles = [
        ("All files", size(sum(|host| host.all.bytes)), count(sum(|host| host.all.files))),
        (
            "On one host only",
            size(sum(|host| host.only_here.bytes)),
            count(sum(|host| host.only_here.files)),
        ),
        (
            "Not compared",
            size(sum(|host| host.unknown.bytes)),
            count(sum(|host| host.unknown.files)),
        ),
        ("Redundant", size(report.redundant.bytes), count(report.redundant.files)),
    ];
    html! {
        dl.tiles {
            @for (name, bytes, files) in &tiles {
                div { dt { (name) } dd { strong { (bytes) } " " span.dim { (files) " files" } } }
            }
        }
        p.dim {
            "A file with several hard links counts once; empty files are left out. If several files on any hosts have \
             the same content, all of them but one are redundant. "
            (counted(report.groups, "content has", "contents have"))
            " redundant files, " (count(report.shared_groups)) " of them on several hosts."
        }
    }
}

/// Returns the contents with the most redundant copies.
fn contents(contents: &[Content]) -> Markup {
    if contents.is_empty() {
        return html! {};
    }
    html! {
        section aria-labelledby="contents" {
            h2 #contents { "Contents with the most redundant copies" }
            div.scroll tabindex="0" role="region" aria-label="Table of shared contents" {
                table {
                    thead {
                        tr {
                            th scope="col" { "Digest" }
                            th.num scope="col" { "Size" }
                            th.num scope="col" { "Files" }
                            th.num scope="col" { "Hosts" }
                            th.num scope="col" { "Redundant" }
                        }
                    }
                    tbody {
                        @for content in contents {
                            tr {
                                td.digest { code { (content.digest) } }
                                td.num { (size(content.size)) }
                                td.num { (count(content.files)) }
                                td.num { (count(content.hosts.into())) }
                                td.num { (size(content.redundant_bytes)) }
                            }
                        }
                    }
                }
            }
            p.dim { code { "lop-fleet where DIR DIGEST" } " shows the names of these files." }
        }
    }
}

/// Returns the name of a host. A manifest may contain any name.
fn name(host: &str) -> Markup {
    let mut out = String::with_capacity(host.len());
    write_html(&mut out, shown_name(host.as_bytes()));
    html! { bdi { (PreEscaped(out)) } }
}

/// Returns a time to the minute, in UTC.
fn minute(time: Timestamp) -> Markup {
    let machine = time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    html! { time datetime=(machine) { (time.strftime("%Y-%m-%d %H:%M UTC").to_string()) } }
}

/// Returns a part of a whole in thousandths. Returns 0 if the whole is 0.
fn thousandths(part: u64, whole: u64) -> u64 {
    let thousandths = u128::from(part) * 1000 / u128::from(whole.max(1));
    u64::try_from(thousandths).unwrap_or(u64::MAX)
}

/// Returns a part of a whole in percent, such as `12 %`, or `<1 %` for less than one.
fn percent(part: u64, whole: u64) -> String {
    match thousandths(part, whole) / 10 {
        0 if part > 0 => "<1 %".into(),
        percent => format!("{percent} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::{name, percent, thousandths};

    #[test]
    fn parts_of_large_and_empty_wholes_do_not_overflow() {
        assert_eq!(thousandths(u64::MAX, u64::MAX), 1000);
        assert_eq!((thousandths(0, 0), thousandths(1, 3)), (0, 333));
        assert_eq!((percent(1, 1000), percent(0, 5), percent(5, 5)).0, "<1 %");
        assert_eq!((percent(0, 5), percent(5, 5)), ("0 %".into(), "100 %".into()));
    }

    #[test]
    fn the_name_of_a_host_cannot_leave_its_element() {
        let shown = name("<b>\u{202e}&").into_string();
        assert_eq!(shown, "<bdi>&lt;b&gt;<span class=\"esc\">\\u{202e}</span>&amp;</bdi>");
    }
}
