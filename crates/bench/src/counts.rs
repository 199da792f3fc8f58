//! Reproducible figures: system calls, bytes and instructions for one small tree.
//!
//! Times on shared machines hide a change of a few percent, but these counts reveal it. The
//! reference is `benchsuite/counts.csv`. A count more than 5 % above the reference is an error, so
//! an author who makes lop do more work has to update the reference. Every command runs with one
//! thread.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Failure;
use crate::corpus::Spec;
use crate::measure::{self, Task};
use crate::record::Ending;
use crate::scenario::Order;
use crate::store::Store;

/// The factor by which a count may exceed the reference.
const TOLERANCE: f64 = 1.05;
/// System calls with a lower count are not compared individually. Starting a process makes a few
/// dozen calls, and threads make some more by chance.
const MIN_COMPARED_CALLS: u64 = 200;
/// The name of the instruction count. valgrind measures it, and it depends on the compiler.
const INSTRUCTIONS: &str = "instructions";

/// The commands, with `DIR` for the tree and `FILE` for the catalog. The options of each command
/// replace measurements that would differ from run to run.
const SCENES: [(&str, &str); 3] = [
    ("scan", "scan --no-catalog -q --threads 1 --io cached DIR"),
    ("scan, new catalog", "scan --catalog FILE -q --threads 1 --io cached DIR"),
    ("scan, again", "scan --catalog FILE -q --threads 1 --io cached DIR"),
];

/// One count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// The command.
    pub(crate) scene: String,
    /// The name of a system call, `all calls`, `bytes read`, `instructions`, or `files` of the tree.
    pub(crate) what: String,
    /// The count.
    pub count: u64,
}

/// Counts everything that this machine has tools for. Prints what it cannot count.
///
/// # Errors
///
/// The tree cannot be made, or lop fails on it.
pub fn take(lop: &Path, store: &Store) -> Result<Reference, Failure> {
    let spec = Spec::new("server2018", Some(3_000), 0.1, Order::Created)?;
    let (tree, made) = spec.ensure(store.path())?;
    let mut counts = vec![count("tree", "files", made.names)];
    for counter in [calls, bytes, instructions] {
        let catalog = store.join("counts.db");
        drop(std::fs::remove_file(&catalog));
        for (scene, args) in SCENES {
            let fill = |word: &str| match word {
                "DIR" => tree.clone(),
                "FILE" => catalog.clone(),
                word => PathBuf::from(word),
            };
            let mut argv = vec![lop.to_path_buf()];
            argv.extend(args.split(' ').map(fill));
            match counter(&argv, store)? {
                Ok(found) => {
                    counts.extend(found.iter().map(|(what, number)| count(scene, what, *number)));
                }
                Err(reason) => println!("skipped: {scene}: {reason}"),
            }
        }
    }
    Ok(Reference { compiler: compiler(), counts })
}

fn compiler() -> String {
    let said = Command::new("rustc").arg("--version").output();
    said.map_or_else(|_| "unknown".into(), |o| String::from_utf8_lossy(&o.stdout).trim().to_owned())
}

/// Counts, and the compiler that built the measured program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The output of `rustc --version`.
    pub(crate) compiler: String,
    /// The counts.
    pub counts: Vec<Count>,
}

impl Reference {
    /// Reads a stored reference.
    ///
    /// # Errors
    ///
    /// The file is missing or not in the format of [`write`](Self::write).
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path).map_err(|e| Failure::at(path, e))?;
        let (first, rows) = text.split_once('\n').unwrap_or_default();
        let counts = csv::Reader::from_reader(rows.as_bytes()).into_deserialize();
        let counts = counts.collect::<Result<_, _>>().map_err(|e| Failure::at(path, e))?;
        Ok(Self { compiler: first.trim_start_matches("# ").to_owned(), counts })
    }

    /// Writes the compiler as a comment, then the rows.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        let mut rows = csv::Writer::from_writer(Vec::new());
        for count in &self.counts {
            rows.serialize(count).map_err(|e| Failure::at(path, e))?;
        }
        let rows = rows.into_inner().map_err(|e| Failure::at(path, e))?;
        let text = [format!("# {}\n", self.compiler).into_bytes(), rows].concat();
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))
            .and_then(|()| std::fs::write(path, text))
            .map_err(|e| Failure::at(path, e))
    }
}

impl fmt::Display for Reference {
    /// Prints the large counts, in total and per file of the tree.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files = self.counts.first().map_or(1, |files| files.count.max(1));
        for Count { scene, what, count } in
            self.counts.iter().filter(|c| c.count >= MIN_COMPARED_CALLS)
        {
            let (whole, part) = (count / files, count % files * 100 / files);
            writeln!(f, "{scene:18} {what:14} {count:>12} {whole:>9}.{part:02} per file")?;
        }
        Ok(())
    }
}

/// Returns a complaint about each count that exceeds the stored one. Prints counts that fell and
/// counts that are missing.
///
/// Instruction counts are compared only if the same compiler built both programs.
pub fn compare(stored: &Reference, now: &Reference) -> Vec<String> {
    let alike = stored.compiler == now.compiler;
    if !alike {
        println!("instructions not compared: {} then, {} now", stored.compiler, now.compiler);
    }
    let mut complaints = Vec::new();
    let key = |count: &Count| (count.scene.clone(), count.what.clone());
    let before: BTreeMap<_, _> = stored.counts.iter().map(|c| (key(c), c.count)).collect();
    for count in now.counts.iter().filter(|count| alike || count.what != INSTRUCTIONS) {
        let known = before.get(&key(count)).copied().unwrap_or(0);
        if count.count.max(known) < MIN_COMPARED_CALLS {
            continue;
        }
        let Count { scene, what, count } = count;
        #[expect(clippy::cast_precision_loss, reason = "a ratio to two digits")]
        let ratio = *count as f64 / known.max(1) as f64;
        if known == 0 {
            complaints.push(format!("{scene}: {what} was not there, now {count}"));
        } else if ratio > TOLERANCE {
            complaints.push(format!("{scene}: {what} {known} -> {count} ({ratio:.2})"));
        } else if ratio < 1.0 / TOLERANCE {
            println!("better: {scene}: {what} {known} -> {count} ({ratio:.2}); store it");
        }
    }
    let counted: BTreeSet<_> = now.counts.iter().map(key).collect();
    for ((scene, what), count) in before.iter().filter(|(_, count)| **count >= MIN_COMPARED_CALLS) {
        if !counted.contains(&(scene.clone(), what.clone())) {
            println!("not counted now: {scene}: {what}, {count} are stored");
        }
    }
    complaints
}

fn count(scene: &str, what: &str, count: u64) -> Count {
    Count { scene: scene.to_owned(), what: what.to_owned(), count }
}

/// The counts by name, or the reason why counting is impossible.
pub(crate) type Counted = Result<Result<BTreeMap<String, u64>, String>, Failure>;

/// Counts system calls by kind, with strace.
pub(crate) fn calls(argv: &[PathBuf], store: &Store) -> Counted {
    let table = store.join("strace.out");
    let command = ["strace", "-f", "-c", "-U", "calls,name", "-o"];
    if let Err(reason) = under(&command, Some(&table), argv)? {
        return Ok(Err(reason));
    }
    let text = std::fs::read_to_string(&table).map_err(|e| Failure::at(&table, e))?;
    Ok(Ok(parse_calls(&text)))
}

/// The name of the sum of all counts of system calls.
pub(crate) const ALL_CALLS: &str = "all calls";

/// Reads the counts from the table that `strace -c -U calls,name` writes.
pub(crate) fn parse_calls(text: &str) -> BTreeMap<String, u64> {
    let mut calls = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        if let (Some(Ok(calls_made)), Some(name)) = (words.next().map(str::parse), words.next()) {
            let name = if name == "total" { ALL_CALLS } else { name };
            calls.insert(name.to_owned(), calls_made);
        }
    }
    calls
}

/// Runs lop under a tool. Returns the standard error of the tool, or the reason why it cannot run.
fn under(
    command: &[&str],
    last: Option<&Path>,
    argv: &[PathBuf],
) -> Result<Result<String, String>, Failure> {
    let mut tool = Command::new(command[0]);
    let output = tool.args(&command[1..]).args(last).args(argv).output();
    let Ok(output) = output else {
        return Ok(Err(format!("{} is not installed", command[0])));
    };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        return Ok(Ok(said));
    }
    Err(Failure::new(format!("{} {argv:?} failed: {said}", command[0])))
}

/// Counts the bytes that read calls return.
fn bytes(argv: &[PathBuf], store: &Store) -> Counted {
    let usage = measure::apart(&Task {
        argv: argv.iter().map(|word| word.clone().into_os_string()).collect(),
        variables: Vec::new(),
        home: store.path().to_path_buf(),
        output: store.join("output"),
        settle: None,
        limit: Duration::from_secs(60),
    })?;
    if usage.ending != Ending::Done {
        return Err(Failure::new(format!("{argv:?} failed")));
    }
    Ok(Ok(BTreeMap::from([("bytes read".to_owned(), usage.read_bytes)])))
}

/// Counts instructions, with valgrind.
fn instructions(argv: &[PathBuf], _: &Store) -> Counted {
    let command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"];
    let text = match under(&command, None, argv)? {
        Ok(text) => text,
        Err(reason) => return Ok(Err(reason)),
    };
    let collected = text.lines().find_map(|line| line.split("Collected : ").nth(1));
    let number = collected.and_then(|number| number.trim().parse().ok());
    Ok(match number {
        Some(number) => Ok(BTreeMap::from([(INSTRUCTIONS.to_owned(), number)])),
        None => Err("valgrind counted nothing".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::{Count, Reference, compare};

    fn reference(compiler: &str, calls: u64, instructions: u64) -> Reference {
        let count = |what: &str, count| Count { scene: "scan".into(), what: what.into(), count };
        let counts = vec![
            count("openat", calls),
            count("futex", calls / 100),
            count("instructions", instructions),
        ];
        Reference { compiler: compiler.into(), counts }
    }

    #[test]
    fn what_costs_more_than_5_percent_more_is_seen() {
        let stored = reference("rustc 1", 10_000, 1_000_000);
        assert_eq!(compare(&stored, &stored), [""; 0]);
        assert_eq!(compare(&stored, &reference("rustc 1", 10_400, 1_040_000)), [""; 0]);
        assert_eq!(compare(&stored, &reference("rustc 1", 10_600, 1_000_000)).len(), 1);
        assert_eq!(compare(&stored, &reference("rustc 1", 10_600, 1_060_000)).len(), 2);
        assert_eq!(compare(&stored, &reference("rustc 1", 5_000, 500_000)), [""; 0]);
    }

    #[test]
    fn instructions_of_another_compiler_are_not_compared() {
        let stored = reference("rustc 1", 10_000, 1_000_000);
        assert_eq!(compare(&stored, &reference("rustc 2", 10_000, 9_000_000)), [""; 0]);
    }

    #[test]
    fn a_new_kind_of_call_is_noticed() {
        let mut now = reference("rustc 1", 10_000, 1_000_000);
        now.counts.push(Count { scene: "scan".into(), what: "fstat".into(), count: 500 });
        let complaints = compare(&reference("rustc 1", 10_000, 1_000_000), &now);
        assert!(complaints[0].contains("fstat was not there"), "{complaints:?}");
    }

    #[test]
    fn a_reference_survives_writing_and_reading() {
        let temp = testkit::TempTree::new();
        let path = temp.join("counts.csv");
        let reference = reference("rustc 1.95.0 (hash, date)", 1, 2);
        reference.write(&path).expect("room");
        assert_eq!(Reference::read(&path), Ok(reference));
    }
}
