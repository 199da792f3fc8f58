//! The shares of the processor time of a scan by kind of work.
//!
//! perf samples the stacks of one run of lop after a run that warms the caches. Other runs without
//! perf show how much of the processors the scan used. This module only prints a table; it keeps no
//! record.

mod kinds;

use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::Failure;
use crate::measure::{self, Task, Usage};
use crate::record::Ending;
use crate::stats::float;

use kinds::{Kind, Samples};

/// The arguments of lop before the directory: the command line of lop in races of finders.
const SCAN: [&str; 5] = ["scan", "--no-catalog", "-q", "--format", "fdupes"];

/// The arguments of perf before the file to write. It samples the time on a processor, which virtual
/// machines without hardware counters also know.
const RECORD: [&str; 8] = ["record", "-q", "-e", "cpu-clock", "-F", "4000", "-g", "-o"];

/// Number of measured runs without perf.
const RUNS: usize = 5;

/// The time limit of a run without perf.
const LIMIT: Duration = Duration::from_secs(600);

/// The kernel's setting for who may use perf.
const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";

/// The largest value of [`PARANOID`] with which ordinary users may sample the kernel.
const MAX_PARANOID: i64 = 1;

/// The processor time of a scan.
#[derive(Debug)]
pub struct Profile {
    samples: Samples,
    /// The run without perf that has the median idle time.
    usage: Usage,
    processors: u64,
}

/// Scans a tree and returns the profile.
///
/// # Errors
///
/// lop fails, or perf is missing or may not be used.
pub fn record(lop: &Path, tree: &Path) -> Result<Profile, Failure> {
    check_rights()?;
    let temp = testkit::TempTree::new();
    let mut argv = vec![lop.as_os_str().to_owned()];
    argv.extend(SCAN.map(Into::into));
    argv.push(tree.into());
    let task = Task {
        argv,
        variables: Vec::new(),
        home: temp.path().to_path_buf(),
        output: temp.join("output"),
        settle: None,
        limit: LIMIT,
    };
    let usage = measured(&task)?;
    let samples = sampled(&task, &temp.join("perf.data"))?;
    let processors = std::thread::available_parallelism().map_or(1, |number| number.get() as u64);
    Ok(Profile { samples, usage, processors })
}

/// Warms the caches with one run. Then measures [`RUNS`] runs without perf and returns the one with
/// the median idle time.
fn measured(task: &Task) -> Result<Usage, Failure> {
    once(task)?;
    let mut runs = (0..RUNS).map(|_| once(task)).collect::<Result<Vec<_>, _>>()?;
    runs.sort_by(|a, b| busy_processors(a).total_cmp(&busy_processors(b)));
    Ok(runs.swap_remove(RUNS / 2))
}

/// Returns the number of processors that a run kept busy on average.
fn busy_processors(run: &Usage) -> f64 {
    (run.user_s + run.sys_s) / run.wall_s
}

fn once(task: &Task) -> Result<Usage, Failure> {
    let usage = measure::apart(task)?;
    if usage.ending == Ending::Done {
        return Ok(usage);
    }
    let said = fs::read_to_string(task.output.with_extension("err")).unwrap_or_default();
    let lop = task.argv[0].display();
    Err(Failure::new(format!("{lop} failed or took too long: {}", said.trim())))
}

/// Runs a task with perf, which stores its samples in the file.
fn sampled(task: &Task, file: &Path) -> Result<Samples, Failure> {
    let words = RECORD.iter().map(OsStr::new).chain([file.as_os_str(), OsStr::new("--")]);
    // A file, as in races. Writing into a pipe would wait for this process.
    let output = File::create(&task.output).map_err(|e| Failure::at(&task.output, e))?;
    perf(words.chain(task.argv.iter().map(AsRef::as_ref)), output.into())?;
    let script = ["script", "--no-inline", "-F", "tid,time,ip,sym", "-i"].map(OsStr::new);
    let script = script.into_iter().chain([file.as_os_str()]);
    let samples = Samples::parse(&perf(script, Stdio::piped())?);
    if samples.total() == 0 {
        return Err(Failure::new("perf recorded no samples, so the scan is too short"));
    }
    Ok(samples)
}

/// Fails if the kernel does not let this user sample the kernel.
fn check_rights() -> Result<(), Failure> {
    let text = fs::read_to_string(PARANOID).unwrap_or_default();
    match text.trim().parse::<i64>() {
        Ok(value) if value > MAX_PARANOID && !testkit::is_root() => Err(Failure::new(format!(
            "only root may sample the kernel, because {PARANOID} is {value}; run this as root, or \
             write {MAX_PARANOID} to this file"
        ))),
        _ => Ok(()),
    }
}

/// Runs perf and returns its output, unless this goes elsewhere.
fn perf<'w>(words: impl Iterator<Item = &'w OsStr>, stdout: Stdio) -> Result<String, Failure> {
    let output = Command::new("perf").args(words).stdin(Stdio::null()).stdout(stdout).output();
    let output = output.map_err(|e| match e.kind() {
        ErrorKind::NotFound => {
            Failure::new("perf is not installed; install it with `apt-get install linux-perf`")
        }
        _ => Failure::new(format!("perf: {e}")),
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::new(format!("perf failed: {}", said.trim())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

impl Profile {
    /// Returns the share of the processor time that the processors had nothing to do.
    fn idle(&self) -> f64 {
        1.0 - busy_processors(&self.usage) / float(self.processors)
    }
}

impl fmt::Display for Profile {
    /// Prints a Markdown table.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.samples.total();
        writeln!(f, "| work | share of the processor time |\n|---|---:|")?;
        for (kind, about) in Kind::ALL {
            let share = float(self.samples.count(kind)) / float(total);
            writeln!(f, "| {about} | {:.1} % |", share * 100.0)?;
        }
        let Usage { wall_s, user_s, sys_s, .. } = self.usage;
        let (cpu_s, processors) = (user_s + sys_s, self.processors);
        writeln!(
            f,
            "\n{total} samples. Without perf: {wall_s:.3} s, {cpu_s:.3} s of processor time."
        )?;
        write!(f, "idle processors: {:.1} % of {processors}", self.idle().max(0.0) * 100.0)?;
        if !self.samples.has_names {
            write!(
                f,
                "\n\nThe functions of lop have no names, because the binary is stripped, so all of its work in user \
                 space is in the last row. Build it with `CARGO_PROFILE_RELEASE_STRIP=none cargo build --release -p \
                 lop`, and name it with --lop."
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Profile, Samples};
    use crate::measure::Usage;
    use crate::record::Ending;

    #[test]
    fn shares_and_idle_processors_are_printed() {
        let script = "1 2.0: \n\tffffffff816e3a24 __x64_sys_statx\n\n";
        let usage = Usage {
            ending: Ending::Done,
            wall_s: 2.0,
            settled_s: None,
            user_s: 1.0,
            sys_s: 2.0,
            peak_kib: 0,
            read_bytes: 0,
            storage_bytes: 0,
        };
        let profile = Profile { samples: Samples::parse(script), usage, processors: 2 };
        let text = profile.to_string();
        assert!(text.contains("| querying metadata (`statx`) | 100.0 % |"), "{text}");
        assert!(text.contains("idle processors: 25.0 % of 2"), "{text}");
        assert!(text.contains("CARGO_PROFILE_RELEASE_STRIP=none"), "{text}");
    }
}
