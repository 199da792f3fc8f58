//! The record of a race: a dated folder of CSV files.
//!
//! A folder `DATE-KIND` has `machine.csv` ([`Fact`]), `tools.csv` ([`Tool`]), `scenarios.csv`
//! ([`Scenario`]) and `runs.csv` ([`Run`], every run, failed ones too). The pages ([`crate::page`])
//! are computed from these files and nothing else.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Failure;
use crate::scenario::Scenario;

/// How a tool takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// lop, starting from nothing like its peers.
    Ours,
    /// Somebody else's; the fastest of them is the measure.
    Peer,
    /// lop with more work than the others (it keeps a catalog) or less (it has one): shown, not
    /// ranked.
    Aside,
}

/// Something to know about the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// What it is.
    pub name: String,
    /// How it is here.
    pub value: String,
}

/// A program that took part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// Its name in the tables.
    pub name: String,
    /// How it takes part.
    pub role: Role,
    /// What it says its version is.
    pub version: String,
    /// The command line for a shell, with `DIR`, `SRC`, `DST` and `FILE` for what differs by run.
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
    /// Stopped by the race, because it took longer than it may.
    Stopped,
}

/// One run of one tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The [`Scenario::id`].
    pub scenario: String,
    /// The [`Tool::name`].
    pub tool: String,
    /// Counted from 1; 0 is the untimed run, whose figures count for nothing.
    pub round: u32,
    /// How it ended; only `Done` counts.
    pub ending: Ending,
    /// From the start of the process to its end.
    pub wall_s: f64,
    /// From the start until `syncfs` has returned after the end; none where nothing is written.
    pub settled_s: Option<f64>,
    /// CPU time in the program, of all its threads and children.
    pub user_s: f64,
    /// CPU time in the kernel for it.
    pub sys_s: f64,
    /// Peak resident memory of its largest process.
    pub peak_kib: u64,
    /// What its read calls returned (`rchar`), cached or not; memory maps do not count.
    pub read_bytes: u64,
    /// What storage delivered for it (`read_bytes`).
    pub storage_bytes: u64,
    /// Seconds the simulated disk was busy, unscaled; none without one.
    pub disk_s: Option<f64>,
    /// How often its head moved.
    pub seeks: Option<u64>,
    /// Bytes it delivered or took.
    pub disk_bytes: Option<u64>,
}

/// A record and the name of its folder.
#[derive(Debug, Clone, PartialEq)]
pub struct Dated {
    /// The kind of race.
    pub kind: String,
    /// `DATE-KIND`, or `DATE.N-KIND`.
    pub folder: String,
    /// Its content.
    pub record: Record,
}

/// Everything that one race recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// What the race ran on, in the order shown.
    pub machine: Vec<Fact>,
    /// Who took part.
    pub tools: Vec<Tool>,
    /// What was raced, in the order shown.
    pub scenarios: Vec<Scenario>,
    /// Every run, in the order they ran.
    pub runs: Vec<Run>,
}

impl Record {
    /// Writes the folder, which must not exist.
    ///
    /// # Errors
    ///
    /// It exists, or cannot be written; a part of it may be there then.
    pub fn write(&self, folder: &Path) -> Result<(), Failure> {
        std::fs::create_dir_all(folder.parent().unwrap_or(Path::new(".")))
            .and_then(|()| std::fs::create_dir(folder))
            .map_err(|e| Failure::at(folder, e))?;
        write_rows(&folder.join("machine.csv"), &self.machine)?;
        write_rows(&folder.join("tools.csv"), &self.tools)?;
        write_rows(&folder.join("scenarios.csv"), &self.scenarios)?;
        write_rows(&folder.join("runs.csv"), &self.runs)
    }

    /// Reads a folder.
    ///
    /// # Errors
    ///
    /// A file is missing or not of this format.
    pub fn read(folder: &Path) -> Result<Self, Failure> {
        Ok(Self {
            machine: read_rows(&folder.join("machine.csv"))?,
            tools: read_rows(&folder.join("tools.csv"))?,
            scenarios: read_rows(&folder.join("scenarios.csv"))?,
            runs: read_rows(&folder.join("runs.csv"))?,
        })
    }

    /// Returns the runs of a scenario by a tool that count: timed ones.
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
/// Folders are named `YYYY-MM-DD-KIND`, or `YYYY-MM-DD.N-KIND` for the Nth more of a day.
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

/// Returns a folder for a race of today that is not there yet.
///
/// # Panics
///
/// Never: there is always another number.
pub fn fresh_name(runs: &Path, date: &str, kind: &str) -> PathBuf {
    let names = std::iter::once(format!("{date}-{kind}"))
        .chain((2..).map(|n| format!("{date}.{n}-{kind}")));
    names.map(|name| runs.join(name)).find(|folder| !folder.exists()).expect("names never end")
}

/// Returns the date and number, comparable, and the kind.
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

pub(crate) fn read_rows<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, Failure> {
    let mut reader = csv::Reader::from_path(path).map_err(|e| Failure::at(path, e))?;
    reader.deserialize().collect::<Result<_, _>>().map_err(|e| Failure::at(path, e))
}
