//! `lop-fleet answer`: tells each host which of its sizes and heads another host has, too.

use std::error::Error;

use runtime::Progress;
use runtime::quantity::{count, size};
use serde::Serialize;
use survey::{Answered, HostCounts, answer};

use crate::Exit;
use crate::args::AnswerArgs;
use crate::output::{Output, complain, shown};
use crate::table::table;

/// Runs the command.
pub(crate) fn run(args: &AnswerArgs, output: Output) -> Result<Exit, Box<dyn Error>> {
    let Answered { hosts, problems } = answer(&args.dir, &Progress::default())?;
    for problem in &problems {
        complain(problem);
    }
    if hosts.is_empty() {
        let text = format!("{}: no host has taken part in a survey", args.dir.display());
        return Err(format!("{text}; run lop survey on the hosts").into());
    }
    let document = Document { hosts: hosts.iter().map(Host::from).collect() };
    output.print(&document, text(&document.hosts).as_bytes())?;
    if document.hosts.iter().any(|host| host.bytes_written > 0) {
        output.note("hint: run 'lop survey' on the hosts again");
    }
    Ok(if problems.is_empty() { Exit::Done } else { Exit::Partial })
}

#[derive(Serialize)]
struct Document {
    hosts: Vec<Host>,
}

#[derive(Serialize)]
struct Host {
    #[serde(rename = "host")]
    name: String,
    sizes: u64,
    shared_sizes: u64,
    heads: u64,
    shared_heads: u64,
    bytes_written: u64,
}

impl From<&HostCounts> for Host {
    fn from(counts: &HostCounts) -> Host {
        let HostCounts { host, sizes, heads, bytes } = counts.clone();
        let ([sizes, shared_sizes], [heads, shared_heads]) = (sizes, heads);
        Host { name: host, sizes, shared_sizes, heads, shared_heads, bytes_written: bytes }
    }
}

fn text(hosts: &[Host]) -> String {
    let heading = ["HOST", "SIZES", "SHARED", "HEADS", "SHARED", "WRITTEN"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for host in hosts {
        let counts = [host.sizes, host.shared_sizes, host.heads, host.shared_heads].map(count);
        let mut row = vec![shown(&host.name)];
        row.extend(counts);
        row.push(size(host.bytes_written));
        rows.push(row);
    }
    table(&rows)
}
