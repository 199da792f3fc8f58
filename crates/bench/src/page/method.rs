//! The page about the method: how races are run, on which machines and with which tools. It serves
//! readers who distrust the results or want to repeat them.

use crate::corpus::{CORPORA, Corpus};
use crate::record::{Dated, Fact, Role, Tool};

use super::figures::count;
use super::words::{inline, one_line};

const METHOD: &str = "\
# How the benchmarks are run

[Summary of all jobs](../benchmarks.md).

**The same work.** Every tool gets a command line, listed below, that makes it do what the others do.
Finders of duplicates examine hidden files, skip empty ones, follow no links, and do not report hard
links of one file as duplicates. Every tool runs as quietly as it can, gets absolute paths, and keeps
nothing between runs: `HOME` is a scratch folder, and caches are off. One difference remains: lop,
jdupes and fdupes prove equality by comparing bytes, the others trust a hash.

**lop, new catalog** also writes a catalog of what it found, and **lop, again** scans with that
catalog, so that it reads only what changed. fclones and czkawka can keep such a cache too, but not
in these races. Neither row compares like with like, so both are in italics and not ranked.

Tools that make hard links find the groups first. lop keeps a catalog and a journal that is on the
disk before each change, and compares each file again immediately before it replaces it; jdupes
compares once, fclones and rdfind compare checksums. **lop, quarantine** moves the same files aside
instead, which the others cannot do.

Tools that copy keep hard links, holes, times, ownership, ACLs and extended attributes; only a repeated
copy also deletes extraneous entries. The ssh server is on the loopback device of the same machine,
started by the race, so that both ends share the processors; only time is measured there, not the
memory and CPU time of the remote end. Tools that delete leave nothing behind.

**The same answers.** Before anything is timed, the groups of each finder are compared, as groups of
inodes, with the groups that the tree was made to hold. Each copy is read back and compared with its
source: names, links, bytes. After hard links were made, every name and content is checked. The result
is above each table.

**Storage.** A virtual disk often claims to rotate, and fclones and rmlint then read in another way,
which can take several times as long. The option `--ssd` corrects this for the races (see the machines
below). Loop images are announced as SSDs, the simulated hard disk as a hard disk, where those two
tools do read in that other way, with warm caches too.

**In turns.** Each tool runs once untimed on each tree (round 0 in the CSV; not when trees are deleted).
Then the tools run in turns, A B C A B C, as often as each table says, so that disturbances hit all
of them alike. Very slow tools are timed less often; their tables say so. First copies, links and deletions
start on a fresh image each time; repeated copies start from the finished copy. The tables show medians of the
successful runs. Failed and stopped runs are named but not counted, and a tool has a figure only if
more than half of its timed runs succeeded.

**Warm** means that the same tools ran on the same tree just before. Where trees are changed, all
metadata was read just before, and where links are made, all contents too. Below each table is how much
the runs read from storage all the same. **Cold** means `sync`, then `drop_caches`, and images mounted
anew, before every run. This empties the caches of the kernel; the host of a virtual machine, and the
storage, may have caches of their own.

**The simulated hard disk** is a model of a disk of 7,200 turns a minute, in front of a file. A seek takes
0.8 ms + 15 ms * sqrt(distance / span) + 4.17 ms for half a turn. Short gaps ahead pass under the head;
the transfer rate is 160 MB/s; of up to 32 waiting requests the nearest is served first. The model
has no cache of its own and no slower inner tracks. It compares orders of reading; it does not predict
seconds, and no real disk was measured for it. Another program for the same model, in C, gave the same order
of eight tools on one image, and times within 2 %. With cold caches the figure is `disk s`, the time
that such a disk would have been busy. The waiting itself is shortened, so wall times would mean nothing
there and are not shown. Cold, each tool runs only once, as it takes long even so. With warm
caches the disk is idle, and the wall clock counts.

**Names** are all directory entries except directories; each hard link is one. The **size** of a tree
counts each file once, holes too. **Settled**, where trees are written or deleted, is the time from the
start until `syncfs` returned after the end, as a tool can end long before its work is on storage. **CPU**
is user and system time. **Peak** memory is the resident memory of the largest process of a tool.
**Read** is what its read calls returned (`rchar`), from caches or not; reads through memory maps are
not in it. **From storage** is what the kernel fetched for it (`read_bytes`), metadata and readahead
included. **Seeks** are those of the simulated disk.

**Ratios** are to the median of the fastest peer in the same comparison. They say more than seconds, but
they too depend on the number of cores and on the storage.

";

const TREES: &str = "\
## The trees

`cargo xtask corpus NAME DIR` makes them: the same bytes for everybody. The counts of `server2018` are those
published in dupd's articles, those of `no-dups-135`, `few-dups-762`, `photos` and `huge-mixed` in articles
by the author of jdupes, those of `links` in an article on cpdup. What was not published is our choice:
names, directories and the size of each file; the mean size in `server2018`, 32 kB, so that the tree fits into
memory; how many links and duplicates `huge-mixed` has. The other trees are ours entirely.

The scale multiplies the sizes of files, so that a tree fits on this machine. At scales below 1 finding files
weighs more against reading them than at full size, which favours tools that walk fast. A heading with
another number of names than in this table is a smaller or larger tree of the same kind.

";

const ABSENT: &str = "\
`cargo xtask race` says how to install missing tools: from Debian, where a tool may be older than its latest \
release, and from crates.io. Versions are as the tools report them. dupd, cpdup and fslint are not raced, because \
neither Debian 12 nor crates.io has them. If another command line lets your tool do the same work faster, please \
open an issue: the command line is all that has to change.
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
    page.push_str("## Every run\n\nAs CSV, failed and stopped runs too.\n\n");
    page.push_str("| race | comparisons | runs | folder |\n|---|---:|---:|---|\n");
    for Dated { kind, folder, record } in records {
        let (comparisons, runs) = (record.scenarios.len(), record.runs.len());
        page.push_str(&format!(
            "| `{kind}` | {comparisons} | {runs} | [{folder}](../../benchsuite/runs/{folder}): \
             [runs](../../benchsuite/runs/{folder}/runs.csv), \
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
    page.push_str("| tree | names | what it is |\n|---|---:|---|\n");
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
    page.push_str(
        "## The tools\n\n| tool | version | takes part as | races |\n|---|---|---|---|\n",
    );
    for ((name, version, role), kinds) in &tools {
        let role = match role {
            Role::Ours => "lop",
            Role::Peer => "peer",
            Role::Aside => "lop with more or less work, not ranked",
        };
        let (name, version, kinds) = (inline(name), inline(version), kinds.join(", "));
        page.push_str(&format!("| {name} | {version} | {role} | {kinds} |\n"));
    }
    page.push_str("\nTheir command lines, exactly:\n\n```sh\n");
    for ((name, command), kinds) in tools_by(records, |tool| (&tool.name, &tool.command)) {
        let (name, kinds) = (one_line(name), kinds.join(", "));
        page.push_str(&format!("# {name} ({kinds})\n{}\n", command.trim()));
    }
    page.push_str("```\n\n");
}

/// Returns each distinct key of the tools once, with the kinds of races in which it appears.
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
