//! The record of a race: a dated folder of CSV files.
//!
//! A folder `DATE-KIND` contains `machine.csv` ([`Fact`]), `tools.csv` ([`Tool`]), `scenarios.csv`
//! ([`Scenario`]) and `runs.csv` ([`Run`], including failed runs). Some races also have a
//! `counts.csv` ([`Count`]) or a `readings.csv` ([`Reading`]). The pages ([`crate::page`]) are
//! computed from these files alone.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Failure;
use crate::scenario::Scenario;

/// The role of a tool in a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// lop, starting without a catalog, like its peers.
    Ours,
    /// A program to compare lop with. The fastest peer is the reference.
    Peer,
    /// A program doing more work than the others (lop writing a catalog) or less (lop using an
    /// existing one). Such a result is shown but not ranked.
    Aside,
}

/// A property of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// The name of the property.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// A program that takes part in a race.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// Its name in the tables.
    pub name: String,
    /// The role of the program.
    pub role: Role,
    /// The version that it reports.
    pub version: String,
    /// The command line for a shell. `DIR`, `SRC`, `DST` and `FILE` stand for the parts that differ
    /// between runs.
    pub command: String,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// Exit code 0.
    Done,
    /// Any other exit code, or a signal.
    Failed,
    /// The race stopped the program at the time limit.
    Stopped,
}

/// One run of one tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The [`Scenario::id`].
    pub scenario: String,
    /// The [`Tool::name`].
    pub tool: String,
    /// The number of the round, from 1. Round 0 is the untimed run, whose figures are not used.
    pub round: u32,
    /// How the run ended. Only the figures of runs that ended with `Done` are used.
    pub ending: Ending,
    /// Seconds from the start of the process to its end.
    pub wall_s: f64,
    /// Seconds from the start until `syncfs` returned after the end of the process; `None` if the
    /// run writes nothing.
    pub settled_s: Option<f64>,
    /// CPU seconds in user mode of all threads and children.
    pub user_s: f64,
    /// CPU seconds in the kernel.
    pub sys_s: f64,
    /// Peak resident memory of the largest process in KiB.
    pub peak_kib: u64,
    /// Number of bytes that read calls returned (`rchar`), cached or not. Memory maps do not count.
    pub read_bytes: u64,
    /// Number of bytes that came from storage (`read_bytes`).
    pub storage_bytes: u64,
    /// Seconds that the simulated disk was busy, unscaled; `None` without a simulated disk.
    pub disk_s: Option<f64>,
    /// Number of seeks of the simulated disk.
    pub seeks: Option<u64>,
    /// Number of bytes that the simulated disk read or wrote.
    pub disk_bytes: Option<u64>,
}

/// A count that is not a property of a timed run, such as the number of system calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// The [`Scenario::id`].
    pub scenario: String,
    /// The [`Tool::name`].
    pub tool: String,
    /// The name of the count.
    pub what: String,
    /// The count.
    pub count: u64,
}

/// A measurement of something that is not the run of a tool, such as the time until a page shows its
/// first rows, or the requests that a server answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// The [`Scenario::id`].
    pub scenario: String,
    /// The [`Tool::name`]; empty if the measurement is not about one of several tools.
    #[serde(default)]
    pub tool: String,
    /// The name of the measurement.
    pub what: String,
    /// The number of the round, from 1. Round 0 is the untimed one, whose values are not used.
    pub round: u32,
    /// The unit of the value.
    pub unit: Unit,
    /// The value.
    pub value: f64,
}

/// The unit of a [`Reading`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Milliseconds.
    Ms,
    /// Seconds.
    Seconds,
    /// Bytes, or bytes per second.
    Bytes,
    /// A number of things, or things per second.
    #[default]
    Number,
}

/// A record and the name of its folder.
#[derive(Debug, Clone, PartialEq)]
pub struct Dated {
    /// The kind of race.
    pub kind: String,
    /// `DATE-KIND`, or `DATE.N-KIND`.
    pub folder: String,
    /// The record.
    pub record: Record,
}

/// Everything that one race recorded.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Record {
    /// The properties of the machine, in display order.
    pub machine: Vec<Fact>,
    /// The programs.
    pub tools: Vec<Tool>,
    /// The scenarios, in display order.
    pub scenarios: Vec<Scenario>,
    /// All runs, in the order in which they ran.
    pub runs: Vec<Run>,
    /// Other counts.
    pub counts: Vec<Count>,
    /// Measurements that are not runs of tools.
    pub readings: Vec<Reading>,
}

impl Record {
    /// Writes the record to a new folder.
    ///
    /// # Errors
    ///
    /// The folder exists or cannot be written. An incomplete folder may exist afterwards.
    pub fn write(&self, folder: &Path) -> Result<(), Failure> {
        std::fs::create_dir_all(folder.parent().unwrap_or(Path::new(".")))
            .and_then(|()| std::fs::create_dir(folder))
            .map_err(|e| Failure::at(folder, e))?;
        write_rows(&folder.join("machine.csv"), &self.machine)?;
        write_rows(&folder.join("tools.csv"), &self.tools)?;
        write_rows(&folder.join("scenarios.csv"), &self.scenarios)?;
        write_rows(&folder.join("runs.csv"), &self.runs)?;
        if !self.counts.is_empty() {
            write_rows(&folder.join("counts.csv"), &self.counts)?;
        }
        if !self.readings.is_empty() {
            write_rows(&folder.join("readings.csv"), &self.readings)?;
        }
        Ok(())
    }

    /// Reads a record from its folder.
    ///
    /// # Errors
    ///
    /// A file is missing or has another format.
    pub fn read(folder: &Path) -> Result<Self, Failure> {
        Ok(Self {
            counts: read_optional(&folder.join("counts.csv"))?,
            readings: read_optional(&folder.join("readings.csv"))?,
            machine: read_rows(&folder.join("machine.csv"))?,
            tools: read_rows(&folder.join("tools.csv"))?,
            scenarios: read_rows(&folder.join("scenarios.csv"))?,
            runs: read_rows(&folder.join("runs.csv"))?,
        })
    }

    /// Returns a count of a tool in a scenario.
    pub fn count(&self, scenario: &str, tool: &str, what: &str) -> Option<u64> {
        let is_it = |c: &&Count| (&*c.scenario, &*c.tool, &*c.what) == (scenario, tool, what);
        self.counts.iter().find(is_it).map(|count| count.count)
    }

    /// Returns the values of a measurement in the timed rounds of a scenario.
    pub fn values(&self, scenario: &str, what: &str) -> impl Iterator<Item = f64> {
        let is_it = move |r: &&Reading| (&*r.scenario, &*r.what) == (scenario, what) && r.round > 0;
        self.readings.iter().filter(is_it).map(|reading| reading.value)
    }

    /// Returns the values of a measurement of a tool in the timed rounds of a scenario.
    pub fn values_of(&self, scenario: &str, tool: &str, what: &str) -> impl Iterator<Item = f64> {
        let is_it = move |r: &&Reading| {
            (&*r.scenario, &*r.tool, &*r.what) == (scenario, tool, what) && r.round > 0
        };
        self.readings.iter().filter(is_it).map(|reading| reading.value)
    }

    /// Returns the timed runs of a tool in a scenario.
    pub fn timed<'a>(&'a self, scenario: &'a str, tool: &'a str) -> impl Iterator<Item = &'a Run> {
        let of_both = move |run: &&Run| run.scenario == scenario && run.tool == tool;
        self.runs.iter().filter(of_both).filter(|run| run.round > 0)
    }
}

/// Reads the newest record of each kind below `runs`.
///
/// # Errors
///
/// The folder or a record cannot be read.
pub fn read_newest(runs: &Path) -> Result<Vec<Dated>, Failure> {
    let read_one = |(kind, path): (String, PathBuf)| {
        let folder = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Dated { kind, folder, record: Record::read(&path)? })
    };
    newest(runs)?.into_iter().map(read_one).collect()
}

/// Returns the newest folder of each kind below `runs`, with its kind, sorted by kind.
///
/// Folders are named `YYYY-MM-DD-KIND`, or `YYYY-MM-DD.N-KIND` for the Nth record of a day.
///
/// # Errors
///
/// `runs` cannot be listed.
pub fn newest(runs: &Path) -> Result<Vec<(String, PathBuf)>, Failure> {
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(runs).map_err(|e| Failure::at(runs, e))? {
        let entry = entry.map_err(|e| Failure::at(runs, e))?;
        folders.push(entry.file_name().to_string_lossy().into_owned());
    }
    let mut newest = std::collections::BTreeMap::new();
    for folder in folders {
        let Some((when, kind)) = parse_name(&folder) else { continue };
        let entry = newest.entry(kind).or_insert((when.clone(), folder.clone()));
        if when >= entry.0 {
            *entry = (when, folder);
        }
    }
    Ok(newest.into_iter().map(|(kind, (_, folder))| (kind, runs.join(folder))).collect())
}

/// Returns an unused folder name for a race of this date.
///
/// # Panics
///
/// Never: some number is always free.
pub fn fresh_name(runs: &Path, date: &str, kind: &str) -> PathBuf {
    let names = std::iter::once(format!("{date}-{kind}"))
        .chain((2..).map(|n| format!("{date}.{n}-{kind}")));
    names.map(|name| runs.join(name)).find(|folder| !folder.exists()).expect("names never end")
}

/// Returns the date and the number of a record, which sort chronologically as a pair, and its kind.
fn parse_name(folder: &str) -> Option<((String, u32), String)> {
    let date = folder.get(..10)?;
    let well_formed = date.bytes().enumerate().all(|(i, byte)| match i {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    let rest = folder.get(10..).filter(|_| well_formed)?;
    let (number, kind) = match rest.strip_prefix('.') {
        Some(numbered) => numbered.split_once('-').map(|(n, kind)| (n.parse(), kind))?,
        None => (Ok(1), rest.strip_prefix('-')?),
    };
    Some(((date.to_owned(), number.ok()?), kind.to_owned()))
}

pub(crate) fn write_rows<T: Serialize>(path: &Path, rows: &[T]) -> Result<(), Failure> {
    let mut writer = csv::Writer::from_path(path).map_err(|e| Failure::at(path, e))?;
    for row in rows {
        writer.serialize(row).map_err(|e| Failure::at(path, e))?;
    }
    writer.flush().map_err(|e| Failure::at(path, e))
}

/// Reads a file that only some records have.
fn read_optional<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, Failure> {
    if path.exists() { read_rows(path) } else { Ok(Vec::new()) }
}

pub(crate) fn read_rows<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, Failure> {
    let mut reader = csv::Reader::from_path(path).map_err(|e| Failure::at(path, e))?;
    reader.deserialize().collect::<Result<_, _>>().map_err(|e| Failure::at(path, e))
}
