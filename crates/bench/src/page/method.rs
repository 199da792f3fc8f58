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
file for no duplicates of each other. Every tool is as quiet as it can be, gets absolute paths, and keeps no
cache: `HOME` is a scratch folder. What stays different is how equality is proven: lop, jdupes and fdupes
compare bytes, the others trust a hash.

Tools that copy keep hard links, holes, times, rights, ACLs and extended attributes; only what copies
again removes what is surplus. Tools that delete leave nothing.

**The same answers.** Before anything is timed, the groups that each finder gives are compared, as
groups of inodes, with those that the tree was made to hold, and each copy is read back and compared
with it: names, links, bytes. What differed is said above each table.

**The disk says what it is.** A virtual disk often says that it rotates; fclones and rmlint then read
in another way and take two to three times as long on an SSD. The kernel is told the truth for the
races (see the machine below), and loop images are SSDs but for the simulated hard disk.

**In turns.** One untimed run each, then the timed ones in turns, A B C A B C, so that whatever
else the machine does hits all alike. Tools that are very slow are timed fewer times; below each
table it says which. What changes a file system starts each run on a fresh image. The tables show
medians of the runs that were done; failed and stopped ones count for nothing but are named, and a
tool needs more than half of its timed runs done to have a figure.

**Warm** means that the same tools ran on the same tree just before, or, where trees are copied or
deleted, that all metadata was looked at just before. **Cold** means `sync`, then `drop_caches`,
and images mounted anew, before every run.

**The simulated hard disk** is a model of one of 7,200 turns a minute, in front of a file. To
position its arm takes 0.8 ms + 15 ms * sqrt(distance / span) + 4.17 ms for half a turn, short gaps
ahead pass under the head, it transfers 160 MB/s, and of up to 32 waiting requests it serves the
nearest first. The figure that counts on it with cold caches, `disk s`, is how long such a disk
would have been busy. The waiting itself is shortened, so wall times would mean nothing there and
are not shown; cold, each tool runs only once, as it takes long even so. With warm caches the arm
rests, and the wall clock counts. The model was compared once with an independent one in C: eight
programs on one image came out in the same order, each within 2 % of the same time.

**Settled**, where trees are written or deleted, is the time from the start until `syncfs` has
returned after the end: a tool can be done long before its work is on the storage.

**Peak memory** is the resident memory of the largest process of a tool. **Read** is what its read
calls returned (`rchar`), from caches or not; what is read through memory maps is not in it.
**From storage** is what was not in the caches (`read_bytes`), however it was read.

**Ratios** are of the median of the fastest peer in the same line-up. Only ratios carry over to
other machines, and they depend on the number of cores and on the storage.

";

const TREES: &str = "\
### The trees

They are made by `cargo xtask corpus NAME DIR`: the same bytes for everybody. The counts of
`server2018` are those published in dupd's articles, those of `no-dups-135`, `few-dups-762`,
`photos` and `huge-mixed` in articles by the author of jdupes, those of `links` in an article on cpdup;
what was not published (sizes of single files, names, directories) is ours. At scale 0.1 files
are a tenth as large as published, to fit on this machine; that makes reading cheaper against
looking than it would be in the original. A heading with another number of names than here is a
smaller or larger tree of the same kind.

";

const ABSENT: &str = "\
dupd, cpdup and fslint are not raced because no package registry has them. If your tool should be \
called in another way to do the same work faster, please open an issue: the command line is all \
that has to change.
";

/// Writes the section with the links to all runs.
pub(super) fn write_runs(page: &mut String, records: &[&Dated]) {
    page.push_str("## Every run\n\nFailed and stopped ones too, as CSV.\n\n");
    page.push_str("| race | line-ups | runs | folder |\n|---|---:|---:|---|\n");
    for (kind, folder, record) in records {
        let (line_ups, runs) = (record.scenarios.len(), record.runs.len());
        page.push_str(&format!(
            "| `{kind}` | {line_ups} | {runs} | [{folder}](../benchsuite/runs/{folder}): \
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
