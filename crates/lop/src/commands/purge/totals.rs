//! The totals of a removal, its summary, and its exit code.

use std::time::Duration;

use purge::{Options, Outcome};
use runtime::Interrupted;
use serde::Serialize;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::devices::Device;
use crate::output::stats::peak_memory_bytes;
use crate::output::{problems, stdout};
use crate::quantity::{append_counts, count, counted, duration, size};
use crate::settings::Settings;

/// The totals of a run or a dry run.
#[derive(Serialize)]
pub(super) struct Totals {
    dry_run: bool,
    files: u64,
    dirs: u64,
    unselected: u64,
    pub(super) failed: u64,
    /// Number of failures, included in `failed`, that only the user can resolve.
    #[serde(skip)]
    pub(super) to_user: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    reclaimable_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    linked_elsewhere: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unmatched_patterns: Vec<String>,
    seconds: f64,
}

impl Totals {
    pub(super) fn new(
        outcome: &Outcome,
        dry_run: bool,
        unmatched_patterns: Vec<String>,
        took: Duration,
    ) -> Totals {
        let Outcome { files, dirs, unselected, failed, freed, linked, .. } = *outcome;
        let weighed = |amount: u64| dry_run.then_some(amount);
        let seconds = (took.as_secs_f64() * 1e3).round() / 1e3;
        let (reclaimable_bytes, linked_elsewhere) = (weighed(freed), weighed(linked));
        Totals {
            dry_run,
            files,
            dirs,
            unselected,
            failed,
            to_user: 0,
            reclaimable_bytes,
            linked_elsewhere,
            unmatched_patterns,
            seconds,
        }
    }

    pub(super) fn text(&self) -> String {
        let (files, dirs) = (self.files, self.dirs);
        let named = [(files, "file", "files"), (dirs, "directory", "directories")];
        let named = named.into_iter().filter(|&(number, ..)| number > 0);
        let named: Vec<_> = named.map(|(number, one, many)| counted(number, one, many)).collect();
        let what = if named.is_empty() { "nothing".into() } else { named.join(" and ") };
        let mut text = if let Some(freed) = self.reclaimable_bytes {
            format!("would remove {what} and free {}", size(freed))
        } else {
            let took = duration(Duration::from_secs_f64(self.seconds));
            format!("{what} removed in {took}")
        };
        let links = match self.linked_elsewhere.unwrap_or(0) {
            0 => String::new(),
            1 => "; 1 is a hard link to a file outside and frees nothing".into(),
            linked => {
                format!("; {} are hard links to files outside and free nothing", count(linked))
            }
        };
        let failed = if self.dry_run { "could not be examined" } else { "could not be removed" };
        append_counts(&mut text, [(self.unselected, "not selected"), (self.failed, failed)]);
        text.push_str(&links);
        text
    }

    /// Prints the totals to standard output if `--json` is given.
    ///
    /// # Errors
    ///
    /// Fails if standard output cannot be written.
    pub(super) fn print_document(&self, settings: &Settings) -> Result<(), CommandError> {
        if settings.json {
            stdout::print_summary(self)?;
        }
        Ok(())
    }
}

/// The output of `--stats`.
#[derive(Serialize)]
pub(super) struct Figures<'a> {
    #[serde(flatten)]
    totals: &'a Totals,
    subvolumes: u64,
    prefetch_rounds: u64,
    threads: usize,
    peak_memory_bytes: u64,
    spilled_bytes: u64,
    devices: Vec<Device>,
}

impl<'a> Figures<'a> {
    pub(super) fn new(totals: &'a Totals, outcome: &Outcome, options: &Options) -> Figures<'a> {
        Figures {
            totals,
            subvolumes: outcome.subvolumes,
            prefetch_rounds: outcome.prefetch_rounds,
            threads: outcome.threads,
            peak_memory_bytes: peak_memory_bytes(),
            spilled_bytes: runtime::memory::spilled().most,
            devices: options.disks.profiles().into_iter().map(Device::from).collect(),
        }
    }
}

/// Prints the problems and the summary, and returns the exit code.
///
/// # Errors
///
/// Fails if the removal was interrupted. The totals include everything removed before the interrupt.
pub(super) fn conclude(
    totals: &Totals,
    outcome: &Outcome,
    ended: Result<(), Interrupted>,
    settings: &Settings,
) -> Result<Exit, CommandError> {
    problems::print_some(&outcome.problems, outcome.failed, settings);
    let text = totals.text();
    settings.summarize(text.as_bytes());
    let removed_none = outcome.files + outcome.dirs + totals.to_user == 0;
    let exit = match totals.failed {
        0 => Exit::Done,
        _ if removed_none => Exit::Failed,
        _ => Exit::Partial,
    };
    settings.finish(ended.map_err(Into::into), exit, text.as_bytes())
}
