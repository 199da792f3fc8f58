//! Races, in which the tools take turns at the same work.
//!
//! Each comparison begins with one untimed run of each tool. Its answer is compared with the known
//! content of the tree. Timed rounds follow, A B C A B C. Work that changes a file system starts
//! each run from a fresh image.

mod change;
mod find;
pub(crate) mod fleet;
mod kinds;
mod machine;
pub(crate) mod review;
pub(crate) mod serve;
pub(crate) mod spark;
pub(crate) mod survey;
pub(crate) mod sweep;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub use kinds::{KINDS, Kind, Setup};
pub use machine::today;

use testkit::Sshd;

use crate::Failure;
use crate::corpus::Counts;
use crate::measure::{self, Task, Usage};
use crate::record::{Ending, Fact, Record, Role, Run, Tool};
use crate::scenario::{Cache, Device, Scenario, Work};
use crate::store::{Announced, Store};
use crate::tools::{ENTRANTS, Entrant, Places, Programs};

/// Tools whose untimed run took longer than this are timed only once.
const SLOW_RUN_S: f64 = 45.0;

/// The settings of a race.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder of trees and images; needs 30 GB.
    pub store: Store,
    /// lop and the programs that are not found by their names.
    pub programs: Programs,
    /// The tools that take part besides lop. An empty list means all tools.
    pub only: Vec<String>,
    /// The number of timed runs, if it differs from that of the setup.
    pub rounds: Option<u32>,
    /// The time limit of each run. A run on Spark gets at least 30 minutes.
    pub limit: Duration,
    /// True if the store is on an SSD, whatever its disk reports.
    pub ssd: bool,
}

/// A race in progress.
pub struct Race {
    options: Options,
    field: Vec<(&'static Entrant, Tool)>,
    record: Record,
    /// Set by Ctrl-C. The race then stops and unmounts its images.
    interrupted: Arc<AtomicBool>,
    /// Errors: wrong answers of lop, and comparisons that failed.
    complaints: Vec<String>,
    /// The ssh server for benchmarks that copy between hosts.
    server: Option<Sshd>,
    _announced: Option<Announced>,
}

/// The programs that are installed on this machine, and those that are missing.
#[derive(Debug)]
pub struct Field {
    /// Installed programs, with their versions.
    pub present: Vec<(&'static Entrant, Tool)>,
    /// Missing programs.
    pub missing: Vec<&'static Entrant>,
}

impl Field {
    /// Looks for all programs.
    pub fn find(programs: &Programs) -> Self {
        let mut field = Self { present: Vec::new(), missing: Vec::new() };
        for entrant in &ENTRANTS {
            match entrant.tool(programs) {
                Some(tool) => field.present.push((entrant, tool)),
                None => field.missing.push(entrant),
            }
        }
        field
    }
}

impl Race {
    /// Prepares a race.
    ///
    /// # Errors
    ///
    /// lop is missing, or the options name an unknown tool.
    pub fn new(options: Options, interrupted: Arc<AtomicBool>) -> Result<Self, Failure> {
        for dir in ["home", "empty"].map(|name| options.store.join(name)) {
            fs::create_dir_all(&dir).map_err(|e| Failure::at(&dir, e))?;
        }
        let known = |name: &str| ENTRANTS.iter().any(|entrant| entrant.name == name);
        if let Some(name) = options.only.iter().find(|name| !known(name)) {
            return Err(Failure::new(format!("no tool is called {name}")));
        }
        let mut machine = machine::facts(&options.store, options.ssd);
        let announced = options.ssd.then(|| Announced::as_ssd(&options.store)).transpose()?;
        let Field { mut present, missing } = Field::find(&options.programs);
        if !missing.is_empty() {
            let mut names: Vec<_> = missing.iter().map(|entrant| entrant.name).collect();
            names.dedup();
            machine.push(Fact { name: "not installed".into(), value: names.join(", ") });
        }
        present.retain(|(entrant, _)| {
            let named = |name: &String| entrant.name == name;
            entrant.role != Role::Peer || options.only.is_empty() || options.only.iter().any(named)
        });
        if !present.iter().any(|(entrant, _)| entrant.role == Role::Ours) {
            let lop = &options.programs.lop;
            return Err(Failure::at(lop, "does not run; cargo build --release makes it"));
        }
        let record = Record { machine, ..Record::default() };
        Ok(Self {
            options,
            field: present,
            record,
            interrupted,
            complaints: Vec::new(),
            server: None,
            _announced: announced,
        })
    }

    /// Races all setups of a kind. Returns the record and the errors.
    ///
    /// A setup that this machine cannot race (no root, no mkfs) is skipped with a message. A setup
    /// that fails is left out of the record and reported as an error.
    ///
    /// # Errors
    ///
    /// The race was interrupted, or the kind names an unknown corpus.
    pub fn hold(mut self, kind: &Kind) -> Result<(Record, Vec<String>), Failure> {
        for setup in kind.setups()? {
            let tree = setup.spec.folder_name();
            println!("\n{tree} {} {}", verb(setup.work), setup.device);
            if let Some(reason) = setup.unavailable() {
                println!("skipped: {reason}");
                continue;
            }
            if matches!(setup.work, Work::Push | Work::Pull) && self.server.is_none() {
                self.server = Sshd::start();
                if self.server.is_none() {
                    continue;
                }
            }
            let (scenarios, runs) = (self.record.scenarios.len(), self.record.runs.len());
            let (counts, readings) = (self.record.counts.len(), self.record.readings.len());
            let held = match setup.work {
                Work::Find => self.find(&setup),
                Work::Mirror | Work::Copy | Work::Again | Work::Push | Work::Pull => {
                    self.mirror(&setup)
                }
                Work::Link | Work::Delete | Work::Apply => self.in_place(&setup),
                Work::Sweep | Work::Anywhere | Work::Load => self.sweep(&setup),
                Work::Space => self.space(&setup),
                Work::Review => self.review(&setup),
                Work::Serve | Work::Throttle => self.serve(&setup),
                Work::Export => self.export(&setup),
                Work::Fleet => self.fleet(&setup),
                Work::Spark => self.spark(&setup),
                Work::Survey => self.survey(&setup),
            };
            if self.interrupted.load(Ordering::Relaxed) {
                return Err(Failure::new("interrupted: nothing is recorded"));
            }
            if let Err(reason) = held {
                self.complaints.push(format!("{tree}: {reason}"));
                self.record.scenarios.truncate(scenarios);
                self.record.runs.truncate(runs);
                self.record.counts.truncate(counts);
                self.record.readings.truncate(readings);
            }
        }
        for (entrant, tool) in self.field {
            let raced = self.record.scenarios.iter().any(|scenario| scenario.work == entrant.work);
            if raced && !self.record.tools.contains(&tool) {
                self.record.tools.push(tool);
            }
        }
        Ok((self.record, self.complaints))
    }

    fn entrants(&self, work: Work) -> Vec<&'static Entrant> {
        let of_work = self.field.iter().map(|(entrant, _)| *entrant);
        of_work.filter(|entrant| entrant.work == work).collect()
    }

    /// Adds a scenario whose answers are still unknown, and returns its id.
    fn scenario(&mut self, setup: &Setup, cache: Cache, counts: &Counts) -> String {
        let Setup { work, ref spec, device, .. } = *setup;
        let id = format!("{}-{device:?}-{cache:?}-{work:?}", spec.folder_name()).to_lowercase();
        self.record.scenarios.push(Scenario {
            id: id.clone(),
            work,
            corpus: spec.corpus.clone(),
            scale: spec.scale,
            names: counts.names,
            bytes: counts.bytes,
            order: spec.order,
            device,
            cache,
            answers: String::new(),
        });
        id
    }

    /// Stores the result of the check in the scenarios with these ids.
    fn note_answers(&mut self, ids: &[String], answers: &str) {
        println!("  {answers}");
        for scenario in &mut self.record.scenarios {
            if ids.contains(&scenario.id) {
                answers.clone_into(&mut scenario.answers);
            }
        }
    }

    fn places(&self, tree: PathBuf) -> Places {
        Places {
            tree,
            copy: self.options.store.join("copy/tree"),
            file: self.options.store.join("file"),
            empty: self.options.store.join("empty"),
            programs: self.options.programs.clone(),
            rsh: self.server.as_ref().map(Sshd::rsh).unwrap_or_default(),
            rules: self.options.store.join("rules"),
            catalog: self.options.store.join("catalog.db"),
            list: self.options.store.join("list"),
            conf: self.options.store.join("conf"),
            port: 0,
            master: String::new(),
            variables: Vec::new(),
        }
    }

    /// Runs a program once and measures it.
    fn run(
        &self,
        entrant: &Entrant,
        places: &Places,
        settle: Option<&Path>,
    ) -> Result<Usage, Failure> {
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(Failure::new("interrupted"));
        }
        if !entrant.remembers {
            // Also removes the files that SQLite keeps beside a catalog, and the journals of lop.
            for ending in ["", "-wal", "-shm", ".runs"] {
                let mut path = places.file.clone().into_os_string();
                path.push(ending);
                drop(fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path)));
            }
        }
        let limit = match entrant.work {
            Work::Spark => self.options.limit.max(spark::LEAST_LIMIT),
            _ => self.options.limit,
        };
        measure::apart(&Task {
            argv: entrant.argv(places),
            variables: places.variables.clone(),
            home: self.options.store.join("home"),
            output: self.options.store.join("output"),
            settle: settle.map(Path::to_path_buf),
            limit,
        })
    }

    /// Records and prints a run.
    fn record(
        &mut self,
        scenario: &str,
        entrant: &Entrant,
        round: u32,
        usage: &Usage,
        disk_usage: Option<crate::hdd::Usage>,
    ) {
        let run = Run {
            scenario: scenario.to_owned(),
            tool: entrant.name.to_owned(),
            round,
            ending: usage.ending,
            wall_s: usage.wall_s,
            settled_s: usage.settled_s,
            user_s: usage.user_s,
            sys_s: usage.sys_s,
            peak_kib: usage.peak_kib,
            read_bytes: usage.read_bytes,
            storage_bytes: usage.storage_bytes,
            disk_s: disk_usage.map(|disk| disk.busy_s),
            seeks: disk_usage.map(|disk| disk.seeks),
            disk_bytes: disk_usage.map(|disk| disk.bytes),
        };
        let busy = run.disk_s.map_or(String::new(), |busy| format!("  disk {busy:9.2} s"));
        let how = if run.ending == Ending::Done { "" } else { "  NOT DONE" };
        let Usage { wall_s, user_s, sys_s, peak_kib, .. } = usage;
        println!(
            "  {round} {:18} {wall_s:9.3} s  cpu {:8.3} s {:6} MiB{busy}{how}",
            entrant.name,
            user_s + sys_s,
            peak_kib / 1024
        );
        self.record.runs.push(run);
    }

    fn rounds(&self, setup: &Setup) -> u32 {
        self.options.rounds.unwrap_or(setup.rounds)
    }
}

fn verb(work: Work) -> &'static str {
    match work {
        Work::Find => "searched",
        Work::Link => "hard linked",
        Work::Mirror | Work::Copy => "copied",
        Work::Again => "copied again",
        Work::Push => "copied through ssh to",
        Work::Pull => "copied through ssh from",
        Work::Delete => "deleted",
        Work::Sweep => "swept by rules",
        Work::Anywhere => "swept by rules that match anywhere",
        Work::Load => "swept, with nothing to find",
        Work::Apply => "cleaned by rules",
        Work::Space => "summed up",
        Work::Review => "reviewed in a browser",
        Work::Serve | Work::Throttle => "served",
        Work::Export => "exported",
        Work::Fleet => "grouped by contents",
        Work::Spark => "grouped by contents on a Spark cluster",
        Work::Survey => "answered",
    }
}

/// Returns the settings of the simulated disk if the device is a simulated disk.
fn hdd_settings(device: Device) -> Option<crate::hdd::Settings> {
    (device == Device::Hdd).then(crate::hdd::Settings::default)
}
