//! The page about the method: how races are run, on which machines and with which tools. It serves
//! readers who distrust the results or want to repeat them.

use crate::corpus::{CORPORA, Corpus};
use crate::record::{Dated, Fact, Role, Tool};

use super::figures::count;
use super::words::{inline, one_line};

const METHOD: &str = "\
# How the benchmarks are run

[Summary of all jobs](../benchmarks.md).

**The same work.** Each tool is run with a command line, listed below, that makes it do the same work as the others.
Duplicate finders examine hidden files, skip empty files, follow no links, and do not report hard links to one file as
duplicates. Every tool runs in its quietest mode, gets absolute paths, and keeps nothing between runs: `HOME` is a
scratch directory, and caches are turned off. One difference remains. lop, jdupes and fdupes compare files byte by byte,
while the other finders trust a hash.

**lop, new catalog** is a run that also writes a catalog of the results. **lop, again** is a scan with that catalog,
which reads only what has changed. fclones and czkawka can keep a similar cache, but it is turned off in these races.
Neither of the two compares like with like, so both are shown in italics and not ranked.

**bare scan** makes only the system calls that no finder can avoid. It gets a list of the files and of what must be
read of them, so it knows the answer. Two threads open and list the directories, call `statx` for each file, and read
each file that has a duplicate, as well as the first 8 KiB of each other file whose size is not unique. It hashes,
compares and prints nothing, and takes part only with warm caches
([source](../../crates/bench/src/bare_scan.rs)).

Tools that make hard links find the groups first. lop keeps a catalog, writes a journal to disk before each change, and
compares each file again immediately before it replaces it. jdupes compares files once, and fclones and rdfind compare
checksums. **lop, quarantine** moves the same files aside instead. The other tools cannot do that.

Tools that copy preserve hard links, holes, times, ownership, ACLs and extended attributes. Only a repeated copy also
deletes extraneous entries. For copies through ssh, the race starts an ssh server on the loopback device of the same
machine, so both ends share the processors. The memory and CPU time of the remote end are not measured there, only the
time. Tools that delete must leave nothing behind.

Tools that sweep list the junk on a made Windows disk by 17,681 patterns, and change nothing. The rules have the size
and the shape of `winapp2.ini`: entries, patterns, wildcards, exclusions and variables occur as often as there, but all
programs are invented. Each tool gets them in its own format: lop as `winapp2.ini`, BleachBit as a cleaner with paths
of Windows 10 only, find as one long expression. **globset** walks everything and compares each path with sets of 500
patterns by the crate of this name ([source](../../crates/bench/src/globset_walk.rs)). The script gets one path glob per line in the spelling of Windows XP,
and rewrites it for later generations and for VirtualStore, as the author of jdupes described for a script of his. It
was written anew for these races ([source](../../crates/bench/scripts/clean-windows.sh)), in the three stages of his
article. **bare walk** opens, lists and closes the directories that lop opened according to strace, or all directories
for rules that match anywhere. It has two threads and compares no names. **bare walk and statx**
also calls `statx` for each file that lop lists. The time of **lop** includes loading the rules.
It is also measured alone, on a Windows disk without junk, because lop compiles only rules whose variables occur on the
disk. The number of `statx` calls comes from `strace -c -f`.

**Reviewing** is measured without peers, because none of them does the same work. `lop serve` works on the catalog of a
million files in 120,000 groups. Each round starts a new server on a fresh copy of the catalog. Chromium, controlled
through chromedriver, opens the page *Groups* as soon as the server has printed its address. **First rows** is the time
from the start of the navigation until the first row is in the document. The **bytes of the page** are those of the page
and everything that it loads, with HTTP headers, as the browser reports them (`transferSize`), without previews of the
user's files. The list is then scrolled from the top to the bottom three times, in steps of one frame, with ten stops to
load rows. A **task** is reported by the browser if it blocks the page for more than 50 ms. The **heap** is measured
after garbage collection. **Filters** and **decisions** are sent by HTTP, each on a connection of its own. The time ends
when the answer is complete. Each filter is sent once to each server, because the server remembers lists. The **memory**
of the server is its resident memory: the most in each round (`VmHWM`), and that of another server which nobody has used
for five minutes. `lop space` reads the same catalog. du, ncdu and gdu walk the tree, so they are shown but not ranked.

**Serving** files is measured in requests per second of processor time, because a server is rarely the only program of
its machine. Each server runs alone on one processor, in its own control group, whose `cpuacct.usage` counts the
processor time of all its processes and threads in nanoseconds. The clients run on another processor. Servers take turns
in the order A B C C B A. Servers that the requirements do not name run for three rounds. With one client, a server
sleeps and wakes up for every request, and with ten it rarely sleeps, so the two are different measurements and are never
averaged. A run is repeated once if the hypervisor took more than 1 % of the time (steal time).

All connections are on the loopback device. There, the kernel processes a packet in the context of its sender: the
server pays for delivering its responses, the client for its requests. This is the same for all servers. The work of
softirqs (timers and the network) is charged to the task that they interrupt, which is the server itself as long as it
is busy. If a server leaves the rate of a connection to the kernel (`SO_MAX_PACING_RATE`), most of the work happens while
it sleeps. For throttled clients, perf therefore measures the softirqs outside the server, and their time is added.

Our [load generator](../../crates/bench/src/load/mod.rs) sends prepared requests over keep-alive connections, and checks
the status and length of every response. wrk verifies the results independently: it sends the same requests from a table
in Lua. Both are closed loops, in which a client waits for its response. A stall then delays only a few requests and
barely shows in the latencies (coordinated omission). One load therefore sends requests at a fixed rate, half of what the
tuned nginx reaches with ten clients, and measures each latency from the time at which the request was due. Before the
first round, all bodies of the 1,000 files and the 64 files, one in a hundred of the many files, and 64 ranges are
compared with the files. Before each measurement, the files of the load are read, so that their contents are in the page
cache.

nginx runs with the settings of Debian, which include a log and a worker for each processor, and tuned: one worker, no
log, `open_file_cache_valid 1s`, no limit of requests per connection, with and without `sendfile`. lop is compared with
the faster of the two tuned configurations. If the limit of descriptors is low, `open_file_cache` is smaller. No server
compresses. Ranges begin at any byte. On the loopback device, nginx with `sendfile` sends the last bytes of a range 40 ms
late, also to wrk, because the last partial segment waits until the client acknowledges the earlier ones. The **memory**
of a server is the sum over its processes. System calls come from `strace -c -f` during 10,000 requests, which are not
timed. strace slows a server down, so a server that polls before it sleeps polls less often. perf therefore counts the
system calls again.

**Exports** are compared in two ways. `lop export` writes the catalog of a million files, with and without names, and
syncs the files to the disk. No peer does the same. The sizes are exact counts of bytes. `lop-fleet report` and DuckDB
find the contents that several files of many hosts have. The rows are made, but the code of `lop export` writes them:
100 hosts have 60 % of their inodes from a pool of contents that all share, with digests, and some of these are much more
popular than others. The sizes have a log-normal distribution. The other inodes are unlike all others and have no digest.
DuckDB runs in Python, with the memory limit of lop-fleet, on both processors, with the order of rows not preserved, and
gets one query that groups by bucket, size and digest ([source](../../crates/bench/scripts/groups.py)). It counts groups,
files, redundant bytes, and groups on several hosts. lop-fleet does more: it also sums up the inodes of each host and
each pair of hosts, and those that exist on one host only. Spark runs the queries of `lop-fleet report --engine` on a
master and two workers with one core and 6 GiB each on this machine. The report must equal the report of lop-fleet alone
in every value. The processor time in the table includes lop-fleet and the processes that it starts, and the memory is that
of the largest of them. Both figures leave out the workers.

The **survey** has ten hosts that list 10,000,000 heads each. A host has 30 % of the heads of a common pool that is twice
as large as its list, and fills its list with heads that no other host has. The sizes have the same distribution as in
the exports. The code of `lop survey` computes the keys and writes the lists. Before each run, the race deletes the
answers; after the untimed run, it compares them with the lists. The sizes of lists and answers are exact counts of bytes.

**The same results.** Before anything is timed, the groups that each finder reports are compared, as groups of inodes,
with the groups that the tree was built to contain. Each copy is read back and compared with its source, including
names, links and bytes. After hard links were made, every name and its content are checked. The list of each sweeper is
compared with the junk that the disk was made with, as a set of files, where a directory stands for all files in it. The
result of the check is printed above each table.

**Storage.** Virtual disks often claim to be rotating disks. fclones and rmlint then read in a different way, which can
take several times as long. The option `--ssd` corrects this for the races (see the machines below). Loop images are
declared as SSDs. The simulated hard disk is declared as a hard disk, so these two tools read in that different way
there, even with warm caches.

**Alternating runs.** Each tool first runs once without being timed on each tree (round 0 in the CSV). This run is
omitted if the tree is deleted. The tools then take turns (A B C A B C), as many times as each table says, so
disturbances affect all of them alike. Very slow tools are timed fewer times, and their tables say so. Link and deletion
runs and first copies start on a fresh image each time. Repeated copies start from the finished copy. The tables show
the medians of the successful runs. Failed and stopped runs are listed but not counted. A tool has a figure only if more
than half of its timed runs succeeded.

**Warm** means that the same tools ran on the same tree just before. If the run changes the tree, all metadata was read
just before. If the run makes links, all contents were read as well. Below each table, a note says how much the runs
nevertheless read from storage. **Cold** means that before every run, `sync` and `drop_caches` are executed and images
are mounted again. This empties the caches of the kernel. The host of a virtual machine and the storage device may have
other caches.

**The simulated hard disk** is a model of a disk with 7,200 revolutions per minute, implemented on top of a file. A seek
takes 0.8 ms + 15 ms * sqrt(distance / span) + 4.17 ms, where the last term is half a revolution. Short gaps ahead pass
under the head without a seek. The transfer rate is 160 MB/s. Of up to 32 waiting requests, the nearest is served first.
The model has no cache and no slower inner tracks. It compares orders of reading but does not predict seconds, and no
real disk was measured for it. Another implementation of the same model, in C, ranked eight tools on one image in the
same order, with times within 2 %. With cold caches, the figure is `disk s`, the time that such a disk
would have been busy. The waits themselves are shortened, so wall-clock times would be meaningless there and are not
shown. With cold caches each tool runs only once, because even a shortened run takes long. With warm caches the disk is
idle, and wall-clock time counts.

**Names** are all directory entries except directories. Each hard link is a name. The **size** of a tree counts each
file once, including holes. **Settled**, for trees that are written or deleted, is the time from the start of the tool
until a `syncfs` after its end returned. It is measured because a tool can end long before its data is on storage.
**CPU** is user and system time. **Peak** memory is the resident memory of the largest process of a tool. **Read** is
the number of bytes that its read calls returned (`rchar`), whether from caches or not. Reads through memory maps are
not included. **From storage** is the number of bytes that the kernel fetched for it (`read_bytes`), including metadata
and readahead. **Seeks** are counted by the simulated disk.

**Ratios** are relative to the median of the fastest peer in the same comparison. They are more meaningful than seconds,
but they too depend on the number of cores and on the storage.

";

const TREES: &str = "\
## The trees

`cargo xtask corpus NAME DIR` builds the trees, with the same bytes on every machine. The counts of `server2018` come
from dupd's articles, those of `no-dups-135`, `few-dups-762`, `photos` and `huge-mixed` from articles by the author of
jdupes, and those of `links` from an article on cpdup. Details that were not published are our choice: names,
directories, the size of each file, the mean size in `server2018` (32 kB, so that the tree fits into memory), and the
numbers of links and duplicates in `huge-mixed`. The other trees are entirely our own.

The scale multiplies the sizes of files, so that a tree fits on this machine. At scales below 1, finding the files takes
a larger share of the time than at full size, and reading them a smaller one. This favours tools that walk fast. If a
heading gives a different number of names than this table, the tree is a smaller or larger one of the same kind.

";

const ABSENT: &str = "\
`cargo xtask race` explains how to install missing tools: from Debian, where a tool may be older than its latest \
release, or from crates.io. Versions are as the tools report them. dupd, cpdup and fslint are not raced, because \
neither Debian 12 nor crates.io has them. If your tool can do the same work faster with another command line, please \
open an issue. Only the command line has to change.
";

/// Returns the page.
pub(super) fn page(records: &[&Dated]) -> String {
    let mut page = String::from(METHOD);
    write_runs(&mut page, records);
    let machines = machines(records);
    for (machine, kinds) in &machines {
        let of = match machines.len() {
            1 => String::new(),
            _ => format!(" of {}", kinds.join(", ")),
        };
        page.push_str(&format!("## The machine{of}\n\n"));
        write_machine(&mut page, machine);
    }
    write_trees(&mut page, records);
    write_tools(&mut page, records);
    page.push_str(ABSENT);
    page
}

/// Writes the section with the links to all runs.
fn write_runs(page: &mut String, records: &[&Dated]) {
    page.push_str("## Every run\n\nAll runs as CSV, including failed and stopped ones.\n\n");
    page.push_str("| race | comparisons | runs | folder |\n|---|---:|---:|---|\n");
    for Dated { kind, folder, record } in records {
        let comparisons = record.scenarios.len();
        // Web servers have readings instead of runs.
        let (runs, file) = match record.runs.len() {
            0 => (record.readings.len(), "readings"),
            runs => (runs, "runs"),
        };
        page.push_str(&format!(
            "| `{kind}` | {comparisons} | {runs} | [{folder}](../../benchsuite/runs/{folder}): \
             [{file}](../../benchsuite/runs/{folder}/{file}.csv), \
             [scenarios](../../benchsuite/runs/{folder}/scenarios.csv), \
             [tools](../../benchsuite/runs/{folder}/tools.csv), \
             [machine](../../benchsuite/runs/{folder}/machine.csv) |\n"
        ));
    }
    page.push('\n');
}

/// Returns each machine once, with the kinds of races that ran on it.
fn machines<'a>(records: &[&'a Dated]) -> Vec<(&'a [Fact], Vec<&'a str>)> {
    let mut machines: Vec<(&[Fact], Vec<&str>)> = Vec::new();
    for Dated { kind, record, .. } in records {
        match machines.iter_mut().find(|(known, _)| *known == record.machine) {
            Some((_, kinds)) => kinds.push(kind),
            None => machines.push((&record.machine, vec![kind])),
        }
    }
    machines
}

fn write_machine(page: &mut String, machine: &[Fact]) {
    page.push_str("| | |\n|---|---|\n");
    for fact in machine {
        page.push_str(&format!("| {} | {} |\n", inline(&fact.name), inline(&fact.value)));
    }
    page.push('\n');
}

/// Writes a table of the raced trees.
fn write_trees(page: &mut String, records: &[&Dated]) {
    let raced = |corpus: &Corpus| {
        let mut scenarios = records.iter().flat_map(|dated| &dated.record.scenarios);
        scenarios.any(|scenario| scenario.corpus == corpus.name)
    };
    page.push_str(TREES);
    page.push_str("| tree | names | contents |\n|---|---:|---|\n");
    for corpus in CORPORA.iter().filter(|corpus| raced(corpus)) {
        page.push_str(&format!(
            "| {} | {} | {} |\n",
            corpus.name,
            count(corpus.names),
            corpus.about
        ));
    }
    page.push('\n');
}

fn write_tools(page: &mut String, records: &[&Dated]) {
    let tools = tools_by(records, |tool| (&tool.name, &tool.version, tool.role));
    page.push_str("## The tools\n\n| tool | version | role | races |\n|---|---|---|---|\n");
    for ((name, version, role), kinds) in &tools {
        let role = match role {
            Role::Ours => "lop",
            Role::Peer => "peer",
            Role::Aside => "more or less work (not ranked)",
        };
        let (name, version, kinds) = (inline(name), inline(version), kinds.join(", "));
        page.push_str(&format!("| {name} | {version} | {role} | {kinds} |\n"));
    }
    page.push_str("\nThe exact command lines:\n\n```sh\n");
    for ((name, command), kinds) in tools_by(records, |tool| (&tool.name, &tool.command)) {
        let (name, kinds) = (one_line(name), kinds.join(", "));
        page.push_str(&format!("# {name} ({kinds})\n{}\n", command.trim()));
    }
    page.push_str("```\n\n");
}

/// Returns each distinct value of `key` among the tools once, with the kinds of races in which it
/// appears.
fn tools_by<'a, K: PartialEq>(
    records: &[&'a Dated],
    key: fn(&'a Tool) -> K,
) -> Vec<(K, Vec<&'a str>)> {
    let mut tools: Vec<(K, Vec<&str>)> = Vec::new();
    for Dated { kind, record, .. } in records {
        for key in record.tools.iter().map(key) {
            match tools.iter_mut().find(|(known, _)| *known == key) {
                Some((_, kinds)) if kinds.contains(&kind.as_str()) => {}
                Some((_, kinds)) => kinds.push(kind),
                None => tools.push((key, vec![kind])),
            }
        }
    }
    tools
}
