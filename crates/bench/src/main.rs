//! `lop-bench`: the commands of this crate, usually run as `cargo xtask COMMAND`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bench::corpus::{CORPORA, Spec};
use bench::counts::{self, Reference};
use bench::filter_graph::Graph;
use bench::image::Image;
use bench::race::{Field, KINDS, Kind, Options, Race};
use bench::record::{Dated, Tool};
use bench::scenario::{Device, Order};
use bench::store::Store;
use bench::tools::Programs;
use bench::{
    Failure, bare_scan, bare_walk, filter_graph, globset_walk, hdd, head_trace, load, measure,
    page, profile, race, record, tools,
};
use clap::{Args, Parser, Subcommand};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// A kind of race that is never recorded.
const SMOKE: &str = "smoke";

/// Trees with known answers, races against other tools, and reproducible counts
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make a tree and check it; without arguments, list all trees
    Corpus(CorpusArgs),
    /// Race lop against its peers and record the result; without arguments, list all races
    Race(RaceArgs),
    /// Count system calls, bytes and instructions, and compare them with the stored ones
    Counts(CountsArgs),
    /// Print docs/benchmarks.md and the pages and charts below docs/benchmarks as JSON
    Page,
    /// Put a simulated hard disk in front of a file, until it is unmounted
    Disk {
        /// The backing file, usually an image of a file system
        backing: PathBuf,
        /// The directory that will show `disk` and `stats`
        point: PathBuf,
        /// The real duration of requests as a fraction of the simulated duration
        #[arg(long, default_value_t = hdd::Settings::default().scale)]
        scale: f64,
    },
    /// Scan on a simulated hard disk and record the positions of its head, for docs/io.md
    HeadTrace {
        /// The name of the trace in the chart
        name: String,
        /// The lop binary to run, instead of the optimised one from this build
        #[arg(long, value_name = "FILE")]
        lop: Option<PathBuf>,
        /// The folder that keeps the image
        #[arg(long, value_name = "DIR", default_value = "/var/tmp/lop-bench")]
        store: PathBuf,
    },
    /// Print the shares of the processor time of a scan by kind of work; needs perf
    Profile {
        /// The tree
        tree: PathBuf,
        /// The lop binary to run, instead of the optimised one from this build
        #[arg(long, value_name = "FILE")]
        lop: Option<PathBuf>,
    },
    /// Time inserts into Bloom filters of 8 KiB to 1 GiB, for docs/design/scanning.md
    FilterGraph,
    #[command(hide = true)]
    Measure { task: PathBuf },
    /// Send requests to a web server as a JSON plan says, and print the report
    #[command(hide = true)]
    Load { plan: PathBuf },
    /// List files that match one of many patterns, as a peer in races
    #[command(hide = true)]
    GlobsetWalk {
        /// The tree
        root: PathBuf,
        /// The patterns, one per line, relative to the tree
        patterns: PathBuf,
    },
    /// List directories without looking at their names, as a reference for races
    #[command(hide = true)]
    BareWalk {
        /// The tree
        root: PathBuf,
        /// A list of directories that a race wrote, instead of all
        #[arg(long, value_name = "FILE")]
        list: Option<PathBuf>,
    },
    /// Make the system calls that no duplicate finder can avoid, as a reference for races
    #[command(hide = true)]
    BareScan {
        /// The tree
        root: PathBuf,
        /// A list of its files that a race wrote
        list: PathBuf,
    },
}

#[derive(Args)]
struct CorpusArgs {
    /// The name of the tree
    #[arg(requires = "to")]
    name: Option<String>,
    /// The destination: a missing or empty directory, or a file with --image
    to: Option<PathBuf>,
    /// The scale of file sizes; 1 is the published size
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// The approximate number of names, instead of the published one
    #[arg(long)]
    names: Option<u64>,
    /// Write the files in random order, as on a disk after years of use
    #[arg(long)]
    shuffled: bool,
    /// Make an image of this file system that contains the tree
    #[arg(long, value_name = "ext4|xfs|btrfs", value_parser = device)]
    image: Option<Device>,
}

#[derive(Args)]
struct RaceArgs {
    /// The names of races, or `all`
    kinds: Vec<String>,
    /// The folder that keeps trees and images between races; needs 30 GB
    #[arg(long, value_name = "DIR", default_value = "/var/tmp/lop-bench")]
    store: PathBuf,
    /// Race only lop and these tools; such a race is not recorded
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    tools: Vec<String>,
    /// Run each tool this many times; such a race is not recorded
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,
    /// Tell the kernel that the store is on an SSD while races run
    #[arg(long)]
    ssd: bool,
    /// Time limit of each run; a run on Spark gets at least 1800 seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    limit: u64,
    /// The lop binary to run, instead of the optimised one from this build
    #[arg(long, value_name = "FILE")]
    lop: Option<PathBuf>,
    /// The lop-fleet binary to run, instead of the optimised one from target/fleet
    #[arg(long, value_name = "FILE")]
    lop_fleet: Option<PathBuf>,
    /// Print the result without recording it
    #[arg(long)]
    dry_run: bool,
}

#[derive(Args)]
struct CountsArgs {
    /// Store the counts as the new reference
    #[arg(long)]
    update: bool,
    /// The lop binary to run, instead of the optimised one from this build
    #[arg(long, value_name = "FILE")]
    lop: Option<PathBuf>,
    /// The folder that keeps the tree
    #[arg(long, value_name = "DIR", default_value = "/var/tmp/lop-bench")]
    store: PathBuf,
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Corpus(args) => corpus(&args),
        Command::Race(args) => hold(&args),
        Command::Counts(args) => count(&args),
        Command::Page => print_pages(),
        Command::Disk { backing, point, scale } => {
            let settings = hdd::Settings { scale, ..hdd::Settings::default() };
            hdd::serve(&backing, &point, &settings).map(|()| Vec::new())
        }
        Command::HeadTrace { name, lop, store } => record_head_trace(&name, lop.as_deref(), &store),
        Command::Profile { tree, lop } => print_profile(&tree, lop.as_deref()),
        Command::FilterGraph => record_filter_graph(),
        Command::Measure { task } => measure::stored(&task).map(|usage| {
            println!("{usage}");
            Vec::new()
        }),
        Command::Load { plan } => load::stored(&plan).map(|report| {
            println!("{report}");
            Vec::new()
        }),
        Command::GlobsetWalk { root, patterns } => {
            globset_walk::run(&root, &patterns).map(|()| Vec::new())
        }
        Command::BareWalk { root, list } => bare_walk::run(&root, list.as_deref()).map(|found| {
            println!("{} directories, {} names", found.0, found.1);
            Vec::new()
        }),
        Command::BareScan { root, list } => bare_scan::run(&root, &list).map(|done| {
            println!("{done}");
            Vec::new()
        }),
    };
    match outcome {
        Ok(complaints) if complaints.is_empty() => ExitCode::SUCCESS,
        Ok(complaints) => {
            eprintln!("{}", complaints.join("\n"));
            ExitCode::FAILURE
        }
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the root of the repository, which holds the records.
fn root() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    crates.and_then(Path::parent).expect("a crate of the workspace").to_owned()
}

/// Returns the given binary, or by default the optimised one from this build.
fn lop(given: Option<&Path>) -> Result<PathBuf, Failure> {
    let lop =
        given.map_or_else(|| Ok(target()?.join("release/lop")), |lop| Ok(lop.to_path_buf()))?;
    lop.canonicalize().map_err(|e| Failure::at(&lop, e))
}

/// Returns the folder of this build.
fn target() -> Result<PathBuf, Failure> {
    let this = std::env::current_exe().map_err(|e| Failure::new(e.to_string()))?;
    Ok(this.ancestors().nth(2).unwrap_or(&this).to_path_buf())
}

/// Returns the programs of a race that are not found by their names.
fn programs(args: &RaceArgs) -> Result<Programs, Failure> {
    let target = target()?;
    let built = target.join("fleet/release/lop-fleet");
    Ok(Programs {
        lop: lop(args.lop.as_deref())?,
        lop_fleet: args.lop_fleet.clone().unwrap_or(built),
        python: target.join("python/bin/python"),
    })
}

fn device(name: &str) -> Result<Device, String> {
    match name {
        "ext4" => Ok(Device::Ext4),
        "xfs" => Ok(Device::Xfs),
        "btrfs" => Ok(Device::Btrfs),
        _ => Err("ext4, xfs or btrfs".to_owned()),
    }
}

fn corpus(args: &CorpusArgs) -> Result<Vec<String>, Failure> {
    let (Some(name), Some(to)) = (&args.name, &args.to) else {
        for corpus in CORPORA {
            println!("{:14} {:>9} names  {}", corpus.name, corpus.names, corpus.about);
        }
        return Ok(Vec::new());
    };
    let order = if args.shuffled { Order::Shuffled } else { Order::Created };
    let spec = Spec::new(name, args.names, args.scale, order)?;
    let counts = match args.image {
        None => spec.make(to)?,
        Some(device) => Image::with_tree(&spec, to, device)?.1,
    };
    println!("{counts}");
    Ok(Vec::new())
}

fn hold(args: &RaceArgs) -> Result<Vec<String>, Failure> {
    let kinds = if args.kinds == ["all"] {
        KINDS.iter().filter(|kind| kind.name != SMOKE).collect()
    } else {
        args.kinds.iter().map(|name| Kind::by_name(name)).collect::<Result<Vec<_>, _>>()?
    };
    let programs = programs(args)?;
    for line in tools::advice(&Field::find(&programs).missing) {
        println!("not here: {line}");
    }
    if kinds.is_empty() {
        for kind in KINDS {
            println!("{:8} {}", kind.name, kind.about);
        }
    }
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))
            .map_err(|e| Failure::new(e.to_string()))?;
    }
    let mut complaints = Vec::new();
    for kind in kinds {
        let options = Options {
            store: Store::open(&args.store)?,
            ssd: args.ssd,
            programs: programs.clone(),
            only: args.tools.clone(),
            rounds: args.rounds,
            limit: Duration::from_secs(args.limit),
        };
        let (record, wrong) = Race::new(options, Arc::clone(&interrupted))?.hold(kind)?;
        complaints.extend(wrong);
        let partial = !args.tools.is_empty() || args.rounds.is_some() || !complaints.is_empty();
        if args.dry_run || partial || kind.name == SMOKE {
            complaints.extend(rehearse(&record, &args.store)?);
        } else {
            let runs = root().join("benchsuite/runs");
            let folder = record::fresh_name(&runs, &race::today()?, kind.name);
            record.write(&folder)?;
            println!("recorded in {}", folder.display());
        }
    }
    Ok(complaints)
}

fn record_head_trace(
    name: &str,
    given: Option<&Path>,
    store: &Path,
) -> Result<Vec<String>, Failure> {
    let moments = head_trace::record(&lop(given)?, &Store::open(store)?)?;
    println!("kept as {}", head_trace::write(&root(), name, &moments)?.display());
    Ok(Vec::new())
}

fn print_profile(tree: &Path, given: Option<&Path>) -> Result<Vec<String>, Failure> {
    println!("{}", profile::record(&lop(given)?, tree)?);
    Ok(Vec::new())
}

fn record_filter_graph() -> Result<Vec<String>, Failure> {
    let caches = filter_graph::read_caches(Path::new(filter_graph::OF_FIRST_PROCESSOR));
    if caches.is_empty() {
        println!("{} does not describe caches", filter_graph::OF_FIRST_PROCESSOR);
    }
    let figures =
        filter_graph::record(&filter_graph::SIZES, filter_graph::INSERTS, filter_graph::ROUNDS);
    let folder = filter_graph::write(&root(), &Graph { figures, caches })?;
    println!("kept in {}", folder.display());
    Ok(Vec::new())
}

fn print_pages() -> Result<Vec<String>, Failure> {
    let files = page::all(&root())?;
    println!("{}", serde_json::to_string(&files).map_err(|e| Failure::new(e.to_string()))?);
    Ok(Vec::new())
}

/// Tests a record by writing it to a temporary folder, reading it back and rendering its pages.
fn rehearse(record: &record::Record, store: &Path) -> Result<Vec<String>, Failure> {
    let temp = testkit::TempTree::new_in(store);
    let folder = temp.join("record");
    record.write(&folder)?;
    let again = record::Record::read(&folder)?;
    let mut complaints = Vec::new();
    if again != *record {
        complaints.push("the record is not read as it was written".to_owned());
    }
    let dated = Dated { kind: "rehearsal".into(), folder: "rehearsal".into(), record: again };
    let pages = page::render(&[dated]);
    let is_named = |tool: &Tool| pages.values().any(|text| text.contains(&tool.name));
    for tool in record.tools.iter().filter(|tool| !is_named(tool)) {
        complaints.push(format!("no page names {}", tool.name));
    }
    Ok(complaints)
}

fn count(args: &CountsArgs) -> Result<Vec<String>, Failure> {
    let lop = lop(args.lop.as_deref())?;
    let now = counts::take(&lop, &Store::open(&args.store)?)?;
    print!("{now}");
    let path = root().join("benchsuite/counts.csv");
    if args.update {
        return now.write(&path).map(|()| Vec::new());
    }
    let complaints = counts::compare(&Reference::read(&path)?, &now);
    if !complaints.is_empty() {
        println!("if that is worth it: cargo xtask counts --update");
    }
    Ok(complaints)
}
