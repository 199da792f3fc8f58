//! The files of each host, and the part of them that exists elsewhere.

use maud::{Markup, html};
use runtime::quantity::{count, size};

use super::{Host, name, percent, thousandths};

/// Returns the table of hosts. The bars of all hosts have the same scale.
pub(super) fn of(hosts: &[Host]) -> Markup {
    let largest = hosts.iter().map(|host| host.all.bytes).max().unwrap_or(0);
    html! {
        section aria-labelledby="hosts" {
            h2 #hosts { "Hosts" }
            ul.legend {
                li { i.elsewhere {} " Elsewhere: another host has a file with the same digest" }
                li { i.unknown {} " Not compared: another host may have an equal file" }
                li { i.only {} " Only here: no other host has an equal file" }
            }
            div.scroll tabindex="0" role="region" aria-label="Table of hosts" {
                table {
                    thead {
                        tr {
                            th scope="col" { "Host" }
                            th.num scope="col" { "Files" }
                            th.num scope="col" { "Size" }
                            th.wide scope="col" { span.hidden { "Shares" } }
                            th.num scope="col" { "Elsewhere" }
                            th.num scope="col" { "Not compared" }
                            th.num scope="col" { "Only here" }
                            th.num scope="col" { "Redundant" }
                        }
                    }
                    tbody { @for host in hosts { (row(host, largest)) } }
                }
            }
            p.dim {
                "The column Redundant counts files that are equal to another file of the same host. "
                code { "lop-fleet plan" } " writes a plan for these files."
            }
        }
    }
}

fn row(host: &Host, largest: u64) -> Markup {
    let part = |bytes| html! { (size(bytes)) " " span.dim { (percent(bytes, host.all.bytes)) } };
    html! {
        tr {
            th scope="row" { (name(&host.name)) }
            td.num { (count(host.all.files)) }
            td.num { (size(host.all.bytes)) }
            td.wide { (bar(host, largest)) }
            td.num { (part(host.elsewhere.bytes)) }
            td.num { (part(host.unknown.bytes)) }
            td.num { (part(host.only_here.bytes)) }
            td.num { (size(host.redundant.bytes)) }
        }
    }
}

/// Returns the bar of a host. Screen readers skip the bar, because the table contains the same numbers.
fn bar(host: &Host, largest: u64) -> Markup {
    let parts = [
        ("elsewhere", host.elsewhere.bytes),
        ("unknown", host.unknown.bytes),
        ("only", host.only_here.bytes),
    ];
    let bars = parts.iter().scan(0, |end, (class, bytes)| {
        let (start, width) = (*end, thousandths(*bytes, largest));
        *end += width;
        Some((class, start, width))
    });
    html! {
        svg.bar viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true" {
            @for (class, start, width) in bars {
                rect class=(class) x=(start) y="0" width=(width) height="10" {}
            }
        }
    }
}
