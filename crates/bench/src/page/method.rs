//! How the races are done, on which machine, with which tools: what a reader needs to distrust or
//! repeat them.

use crate::corpus::{CORPORA, Corpus};
use crate::record::{Fact, Role, Tool};

use super::Dated;
use super::figures::count;
use super::words::{inline, one_line};

const METHOD: &str = "\
## How it is done

**The same work.** Every tool is told to do what the others do, by the command lines below. Finders
of duplicates examine hidden files and no empty ones, follow no links, and take hard links of one
file for no duplicates of each other. Every tool is as quiet as it can be, gets absolute paths, and
keeps nothing from run to run: `HOME` is a scratch folder, and caches are off. What stays different is
how equality is proven: lop, jdupes and fdupes compare bytes, the others trust a hash.

**lop, new catalog** also writes a catalog of what it found, and **lop, again** scans with that
catalog, so that it does not read again what has not changed. fclones and czkawka can keep such a
cache too, but not in these races, so that neither row is a comparison of like with like: they are in
italics, and not ranked.

Tools that make hard links find the groups first. lop keeps a catalog and a journal that is on the disk
before each change, and compares each file again when its turn comes; jdupes compares once, fclones
and rdfind compare checksums. **lop, quarantine** moves the same files aside instead, which the others
cannot do.

Tools that copy keep hard links, holes, times, rights, ACLs and extended attributes; only what copies
again removes what is surplus. The host that is reached with ssh is this one, by a server of the race's
own on the loopback device, so that both ends share the processors; of the far end only the time counts, not
the memory and the processor's. Tools that delete leave nothing.

**The same answers.** Before anything is timed, the groups that each finder gives are compared, as
groups of inodes, with those that the tree was made to hold, and each copy is read back and compared
with it: names, links, bytes; after links were made every name and content is looked for. What differed is said above each table.

**The disk says what it is.** A virtual disk often says that it rotates, and fclones and rmlint then
read in another way, which can take several times as long. Whoever knows better says so (`--ssd`, see
the machine below), and the kernel is told for the races. Loop images are SSDs but for the simulated
hard disk, where those two do read in that other way, with warm caches too.

**In turns.** Each tool runs once untimed on each tree (round 0 in the CSV; not to delete), then as often as its
table says, A B C A B C, always in the same order, so that whatever else the machine does hits all
alike. Very slow tools are timed less often; their tables say so. First copies, links and deletions start
on a fresh image each time, copying again on the copy that is there. The tables show
medians of the runs that were done; failed and stopped ones count for nothing but are named, and a
tool needs more than half of its timed runs done to have a figure.

**Warm** means that the same tools ran on the same tree just before, or, where trees are changed,
that all metadata was looked at just before, and where links are made all contents read; below each table it says what was read from
the storage all the same. **Cold** means `sync`, then `drop_caches`, and images mounted anew, before
every run. That empties the caches of this kernel: a virtual machine's host, and the storage, may
have theirs.

**The simulated hard disk** is a model of one of 7,200 turns a minute, in front of a file. To
position its head takes 0.8 ms + 15 ms * sqrt(distance / span) + 4.17 ms for half a turn, short gaps
ahead pass under the head, it transfers 160 MB/s, and of up to 32 waiting requests it serves the
nearest first. It has no cache of its own and no slower inner tracks. It compares orders of reading;
it does not foretell seconds, and no real disk was measured for it. Another program for the same
model, in C, gave the same order of eight tools on one image, and times within 2 %. The figure that
counts with cold caches, `disk s`, is how long such a disk would have been busy. The waiting itself
is shortened, so wall times would mean nothing there and are not shown; cold, each tool runs only
once, as it takes long even so. With warm caches the head rests, and the wall clock counts.

**Names** are all entries of directories but directories, each hard link one. The **size** of a tree
counts each file once, holes too. **Settled**, where trees are written or deleted, is the time from
the start until `syncfs` has returned after the end: a tool can be done long before its work is on
the storage. **CPU** is user and system time. **Peak** memory is the resident memory of the largest
process of a tool. **Read** is what its read calls returned (`rchar`), from caches or not; what is
read through memory maps is not in it. **From storage** is what the kernel fetched for it
(`read_bytes`), metadata and read-ahead too. **Seeks** are those of the simulated disk.

**Ratios** are of the median of the fastest peer in the same comparison. They say more than seconds, but
they too change with the number of cores and with the storage.

";

const TREES: &str = "\
### The trees

They are made by `cargo xtask corpus NAME DIR`: the same bytes for everybody. The counts of
`server2018` are those published in dupd's articles, those of `no-dups-135`, `few-dups-762`,
`photos` and `huge-mixed` in articles by the author of jdupes, those of `links` in an article on cpdup.
What was not published is ours: names, directories and the size of each file; the mean size in
`server2018`, 32 kB, so that it fits into memory; how many links and duplicates `huge-mixed` has. The
other trees are all ours.

The scale multiplies the sizes of files, to fit on this machine. Below 1, finding files weighs more
against reading them than it would at full size, which favours whoever walks fast. A heading with
another number of names than here is a smaller or larger tree of the same kind.

";

const ABSENT: &str = "\
`cargo xtask race` says how to install whoever is missing: from Debian, where a tool may be older than \
its latest release, and from crates.io. Versions are what the tools say of themselves. dupd, cpdup and \
fslint are not raced, because neither Debian 12 nor crates.io has them. If your tool should be called \
in another way to do the same work faster, please open an issue: the command line is all that has to \
change.
";

/// Writes the section with the links to all runs.
pub(super) fn write_runs(page: &mut String, records: &[&Dated]) {
    page.push_str("## Every run\n\nFailed and stopped ones too, as CSV.\n\n");
    page.push_str("| race | comparisons | runs | folder |\n|---|---:|---:|---|\n");
    for (kind, folder, record) in records {
        let (comparisons, runs) = (record.scenarios.len(), record.runs.len());
        page.push_str(&format!(
            "| `{kind}` | {comparisons} | {runs} | [{folder}](../benchsuite/runs/{folder}): \
             [runs](../benchsuite/runs/{folder}/runs.csv), \
             [scenarios](../benchsuite/runs/{folder}/scenarios.csv), \
             [tools](../benchsuite/runs/{folder}/tools.csv), \
             [machine](../benchsuite/runs/{folder}/machine.csv) |\n"
        ));
    }
    page.push('\n');
}

/// Writes the method, the machine and the tools.
pub(super) fn write(page: &mut String, records: &[&Dated]) {
    page.push_str(METHOD);
    let machines = machines(records);
    for (machine, kinds) in &machines {
        let of = match machines.len() {
            1 => String::new(),
            _ => format!(" of {}", kinds.join(", ")),
        };
        page.push_str(&format!("### The machine{of}\n\n"));
        write_machine(page, machine);
    }
    write_trees(page, records);
    write_tools(page, records);
    page.push_str(ABSENT);
}

/// Returns every machine once, with the kinds of races it ran.
fn machines<'a>(records: &[&'a Dated]) -> Vec<(&'a [Fact], Vec<&'a str>)> {
    let mut machines: Vec<(&[Fact], Vec<&str>)> = Vec::new();
    for (kind, _, record) in records {
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

/// Writes what the raced trees are.
fn write_trees(page: &mut String, records: &[&Dated]) {
    let raced = |corpus: &Corpus| {
        let mut scenarios = records.iter().flat_map(|(_, _, record)| &record.scenarios);
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
        "### The tools\n\n| tool | version | takes part as | races |\n|---|---|---|---|\n",
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

/// Returns once whatever there is of tools, with the kinds of races it is in.
fn tools_by<'a, K: PartialEq>(
    records: &[&'a Dated],
    key: fn(&'a Tool) -> K,
) -> Vec<(K, Vec<&'a str>)> {
    let mut tools: Vec<(K, Vec<&str>)> = Vec::new();
    for (kind, _, record) in records {
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
