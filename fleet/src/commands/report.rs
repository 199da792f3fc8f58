//! `lop-fleet report`: what the hosts have in common.

mod page;
mod queries;
mod text;

use std::error::Error;
use std::thread;

use export::Stored;
use fleet::{Copies, HostTotals, Options, Part, Report, TopContent, compare};
use jiff::Timestamp;
use runtime::Progress;
use runtime::quantity::counted;
use serde::Serialize;

use crate::Exit;
use crate::args::ReportArgs;
use crate::commands::growth;
use crate::engines::Engine;
use crate::exports::{Distinct, newest};
use crate::output::Output;

/// Runs the command.
pub(crate) fn run(args: &ReportArgs, output: Output) -> Result<Exit, Box<dyn Error>> {
    let (exports, has_problems) = newest(&args.dir, &args.hosts)?;
    let Compared { document, seen_before, shared } = match &args.engine {
        Engine::Local => compare_here(args, &exports)?,
        engine @ Engine::Spark(_) => queries::report(args, engine, &exports)?,
    };
    if args.html {
        Output::write(page_of(args, &document, &shared)?.as_bytes())?;
    } else {
        output.print(&document, text::of(&document).as_bytes())?;
    }
    if seen_before > 0 {
        output.note(&format!(
            "{} counted once, for the first of the hosts that have scanned its file system",
            counted(seen_before, "file is", "files are")
        ));
    }
    if document.hosts.iter().any(|host| host.unknown.files > 0) {
        output.hint_hash_all();
    }
    Ok(if has_problems { Exit::Partial } else { Exit::Done })
}

/// The result of a comparison.
struct Compared {
    document: Document,
    /// Number of files that count only for another host.
    seen_before: u64,
    /// Returns the bytes that two hosts have in common.
    shared: Box<dyn Fn(usize, usize) -> u64>,
}

/// Compares the exports in this process.
fn compare_here(args: &ReportArgs, exports: &[Stored]) -> Result<Compared, Box<dyn Error>> {
    let options = Options {
        memory: args.memory,
        threads: thread::available_parallelism().map_or(1, usize::from),
        min_size: args.min_size,
    };
    let empty = || Report::new(exports.len(), args.limit);
    let distinct = Distinct::new(exports.iter().map(Part::whole).collect(), args.memory)?;
    let report = compare(&distinct.parts(), &options, empty, &Progress::default())?;
    Ok(Compared {
        document: Document::new(exports, &report, args.limit),
        seen_before: distinct.seen_before(),
        shared: Box::new(move |one, other| report.matrix.shared(one, other)),
    })
}

/// The report for programs.
#[derive(Serialize)]
struct Document {
    hosts: Vec<Host>,
    /// Contents that several files have, and these files without one of each.
    groups: u64,
    redundant: Amount,
    /// Contents that several hosts have.
    shared_groups: u64,
    /// The pairs of hosts that share most.
    pairs: Vec<Pair>,
    /// The contents with the most redundant bytes.
    contents: Vec<Content>,
}

#[derive(Clone, Copy, Serialize)]
struct Amount {
    files: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct Host {
    #[serde(rename = "host")]
    name: String,
    export_id: String,
    all: Amount,
    elsewhere: Amount,
    only_here: Amount,
    unknown: Amount,
    redundant: Amount,
}

#[derive(Serialize)]
struct Pair {
    hosts: [String; 2],
    shared_bytes: u64,
}

#[derive(Serialize)]
struct Content {
    size: u64,
    digest: String,
    files: u64,
    hosts: u32,
    redundant_bytes: u64,
}

impl Document {
    fn new(exports: &[Stored], report: &Report, limit: usize) -> Document {
        let hosts = exports.iter().zip(&report.hosts);
        Document {
            hosts: hosts.map(|(export, totals)| Host::new(export, totals)).collect(),
            groups: report.groups,
            redundant: report.redundant.into(),
            shared_groups: report.shared_contents,
            pairs: pairs(exports, report, limit),
            contents: report.top().iter().map(Content::from).collect(),
        }
    }
}

impl Host {
    fn new(export: &Stored, totals: &HostTotals) -> Host {
        Host {
            name: export.host.clone(),
            export_id: export.export_id.clone(),
            all: totals.all.into(),
            elsewhere: totals.elsewhere.into(),
            only_here: totals.only_here.into(),
            unknown: totals.unknown.into(),
            redundant: totals.redundant.into(),
        }
    }
}

/// Returns the report as a web page, with the growth of the hosts.
fn page_of(
    args: &ReportArgs,
    document: &Document,
    shared: &dyn Fn(usize, usize) -> u64,
) -> Result<String, Box<dyn Error>> {
    let hosts: Vec<String> = document.hosts.iter().map(|host| host.name.clone()).collect();
    // 'lop-fleet growth' reports the exports that cannot be used.
    let (exports, _unusable) = growth::exports(&args.dir, &hosts)?;
    Ok(page::of(document, shared, &exports, Timestamp::now()))
}

/// Returns the pairs of hosts that share most, largest first.
fn pairs(exports: &[Stored], report: &Report, limit: usize) -> Vec<Pair> {
    let mut pairs: Vec<(u64, usize, usize)> = Vec::new();
    for high in 1..exports.len() {
        let shared = (0..high).map(|low| (report.matrix.shared(low, high), low, high));
        pairs.extend(shared.filter(|(bytes, ..)| *bytes > 0));
    }
    pairs.sort_unstable_by_key(|&(bytes, low, high)| (std::cmp::Reverse(bytes), low, high));
    let name = |host: usize| exports[host].host.clone();
    let pair = |(shared_bytes, low, high)| Pair { hosts: [name(low), name(high)], shared_bytes };
    pairs.into_iter().take(limit).map(pair).collect()
}

impl From<Copies> for Amount {
    fn from(copies: Copies) -> Amount {
        Amount { files: copies.inodes, bytes: copies.bytes }
    }
}

impl From<&TopContent> for Content {
    fn from(content: &TopContent) -> Content {
        let TopContent { redundant_bytes, size, digest, inodes, hosts } = *content;
        let digest = digest.to_string();
        Content { size, digest, files: inodes, hosts, redundant_bytes }
    }
}
