//! The report as text for people.

use std::fmt::Write;

use runtime::quantity::{count, counted, size};

use super::{Content, Document, Host, Pair};
use crate::output::shown;
use crate::table::table;

/// Number of digits of a digest that are shown.
const DIGEST_DIGITS: usize = 12;

/// Returns the report as text.
pub(super) fn of(document: &Document) -> String {
    let mut text = hosts(&document.hosts);
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "\n{}: {}, {}; {} on several hosts",
        counted(document.groups, "group", "groups"),
        counted(document.redundant.files, "redundant file", "redundant files"),
        size(document.redundant.bytes),
        count(document.shared_groups)
    );
    if !document.pairs.is_empty() {
        text.push_str("\nHosts that share most:\n");
        text.push_str(&table(&document.pairs.iter().map(pair).collect::<Vec<_>>()));
    }
    if !document.contents.is_empty() {
        text.push_str("\nContents with the most redundant copies:\n");
        text.push_str(&table(&document.contents.iter().map(content).collect::<Vec<_>>()));
    }
    text
}

fn hosts(hosts: &[Host]) -> String {
    let heading = ["HOST", "FILES", "SIZE", "ELSEWHERE", "ONLY HERE", "NOT COMPARED", "REDUNDANT"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for host in hosts {
        let amounts = [host.all, host.elsewhere, host.only_here, host.unknown, host.redundant];
        let mut row = vec![shown(&host.name), count(host.all.files)];
        row.extend(amounts.iter().map(|amount| size(amount.bytes)));
        rows.push(row);
    }
    table(&rows)
}

fn pair(pair: &Pair) -> Vec<String> {
    let [one, other] = &pair.hosts;
    vec![format!("  {}, {}", shown(one), shown(other)), size(pair.shared_bytes)]
}

fn content(content: &Content) -> Vec<String> {
    let Content { size: bytes, digest, files, hosts, redundant_bytes } = content;
    vec![
        format!("  {}", &digest[..DIGEST_DIGITS]),
        size(*redundant_bytes),
        format!("{} of {}", counted(*files, "file", "files"), size(*bytes)),
        counted((*hosts).into(), "host", "hosts"),
    ]
}
