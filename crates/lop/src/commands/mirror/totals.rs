//! The totals of a mirror, and its exit code.

use std::time::Duration;

use mirror::{KeptReason, LeftOut, Options, Outcome};
use serde::Serialize;

use crate::args::MirrorArgs;
use crate::exit::Exit;
use crate::output::devices::Device;
use crate::output::formats::JsonPath;
use crate::output::stats::peak_memory_bytes;
use crate::settings::Patterns;

/// The totals of a run or a dry run.
#[derive(Debug, Default, Serialize)]
pub(super) struct Totals {
    pub(super) dry_run: bool,
    /// True if the run was not cut short.
    pub(super) complete: bool,
    pub(super) entries: u64,
    pub(super) files_copied: u64,
    pub(super) bytes_copied: u64,
    pub(super) dirs_made: u64,
    pub(super) symlinks_made: u64,
    pub(super) special_files_made: u64,
    pub(super) linked: u64,
    pub(super) files_reused: u64,
    pub(super) bytes_reused: u64,
    /// Inodes with changed metadata and unchanged content.
    pub(super) adjusted: u64,
    pub(super) removed: u64,
    /// Extraneous entries that were not deleted.
    #[serde(rename = "extraneous_kept")]
    pub(super) kept: u64,
    /// Hard links that were copied as new files because the previous copy had reached the maximum number of links.
    pub(super) link_limit_copies: u64,
    pub(super) vanished: u64,
    pub(super) failed: u64,
    /// Names below directories that could not be created.
    pub(super) missing: u64,
    /// Directories of the source that could not be read.
    pub(super) unread_dirs: u64,
    /// Entries that were skipped even though no pattern excludes them.
    pub(super) left_out: Vec<SkippedEntry>,
    /// Metadata that the destination does not support.
    pub(super) not_kept: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) unmatched_patterns: Vec<String>,
    pub(super) seconds: f64,
    #[serde(skip)]
    pub(super) max_delete: Option<u64>,
    #[serde(skip)]
    pub(super) changes: u64,
    #[serde(skip)]
    pub(super) kept_reason: KeptReason,
    #[serde(skip)]
    pub(super) kept_entries: u64,
    #[serde(skip)]
    pub(super) unremoved: u64,
    /// Number of skipped entries, including those that are not listed.
    #[serde(skip)]
    pub(super) left_out_count: u64,
    /// True if the counts may be too low, because the connection failed before the receiver had reported all changes.
    #[serde(skip)]
    pub(super) is_least: bool,
}

/// An entry that was skipped.
#[derive(Debug, Serialize)]
pub(super) struct SkippedEntry {
    pub(super) why: &'static str,
    #[serde(flatten)]
    pub(super) path: JsonPath<'static>,
    #[serde(skip)]
    pub(super) bytes: Vec<u8>,
    #[serde(skip)]
    pub(super) reason: LeftOut,
}

impl Totals {
    pub(super) fn new(
        outcome: &Outcome,
        complete: bool,
        args: &MirrorArgs,
        patterns: &Patterns,
        took: Duration,
    ) -> Totals {
        Totals {
            dry_run: args.dry_run,
            complete,
            entries: outcome.counts.names,
            files_copied: outcome.counts.files,
            bytes_copied: outcome.counts.bytes,
            dirs_made: outcome.counts.dirs,
            symlinks_made: outcome.counts.symlinks,
            special_files_made: outcome.counts.specials,
            linked: outcome.counts.linked,
            files_reused: outcome.counts.reused,
            bytes_reused: outcome.counts.reused_bytes,
            adjusted: outcome.counts.adjusted,
            removed: outcome.counts.removed,
            kept: outcome.counts.kept,
            link_limit_copies: outcome.counts.link_limit_copies,
            vanished: outcome.counts.vanished,
            failed: outcome.counts.failed,
            missing: outcome.counts.missing,
            unread_dirs: outcome.counts.unread_dirs,
            left_out: outcome.left_out_paths.iter().map(SkippedEntry::of).collect(),
            not_kept: not_kept(outcome),
            unmatched_patterns: patterns.unmatched(),
            seconds: (took.as_secs_f64() * 1e3).round() / 1e3,
            max_delete: args.max_delete,
            changes: outcome.counts.changes(),
            kept_reason: outcome.counts.kept_reason,
            kept_entries: outcome.counts.kept_entries,
            unremoved: outcome.counts.unremoved,
            left_out_count: outcome.counts.left_out,
            is_least: outcome.is_lower_bound,
        }
    }

    /// Returns the exit code of a run that was not cut short.
    pub(super) fn exit(&self) -> Exit {
        // Failures to copy. Failures to delete are not included.
        let failed = self.failed.saturating_sub(self.unremoved);
        if self.failed == 0 && self.kept == 0 {
            Exit::Done
        } else if self.kept > 0 && self.kept_reason == KeptReason::SourceEmpty {
            Exit::Refused
        } else if failed > 0 && self.changes == 0 && self.entries <= failed + self.missing {
            Exit::Failed
        } else {
            Exit::Partial
        }
    }
}

impl SkippedEntry {
    fn of((reason, path): &(LeftOut, Vec<u8>)) -> SkippedEntry {
        let why = match reason {
            LeftOut::Destination => "destination",
            LeftOut::Quarantine => "quarantine",
            LeftOut::Temporary => "temporary",
            LeftOut::Pseudo => "pseudo_file_system",
            LeftOut::Catalog => "catalog",
        };
        SkippedEntry { why, path: JsonPath::owned(path), bytes: path.clone(), reason: *reason }
    }
}

/// The output of `--stats`.
#[derive(Serialize)]
pub(super) struct Figures<'a> {
    #[serde(flatten)]
    totals: &'a Totals,
    peak_memory_bytes: u64,
    spilled_bytes: u64,
    devices: Vec<Device>,
}

impl<'a> Figures<'a> {
    pub(super) fn new(totals: &'a Totals, options: &Options) -> Figures<'a> {
        Figures {
            totals,
            peak_memory_bytes: peak_memory_bytes(),
            spilled_bytes: runtime::memory::spilled().most,
            devices: options.disks.profiles().into_iter().map(Device::from).collect(),
        }
    }
}

/// Returns the metadata that the destination does not support.
fn not_kept(outcome: &Outcome) -> Vec<String> {
    let owners = outcome.counts.no_owners.then(|| "owners".to_string());
    let modes = outcome.counts.no_modes.then(|| "permissions".to_string());
    let before = outcome.counts.first_time.map(|time| format!("times before {}", year(time)));
    let after = outcome.counts.last_time.map(|time| format!("times after {}", year(time)));
    [owners, modes, before, after].into_iter().flatten().collect()
}

/// Returns the year of a time in seconds since the epoch.
fn year(seconds: i64) -> i64 {
    /// Average length of a Gregorian year, in seconds.
    const YEAR: i64 = 31_556_952;
    1970 + seconds.div_euclid(YEAR)
}

#[cfg(test)]
mod tests {
    use super::Totals;
    use crate::exit::Exit;

    #[test]
    fn only_a_run_without_any_result_has_failed() {
        let totals = Totals { entries: 5, ..Totals::default() };
        assert_eq!(totals.exit(), Exit::Done);
        let failed = |entries, failed, unremoved, changes| {
            Totals { entries, failed, changes, unremoved, ..Totals::default() }.exit()
        };
        // In the first case the top directory cannot be read, in the second case none of its entries.
        assert_eq!((failed(0, 1, 0, 0), failed(5, 5, 0, 0)), (Exit::Failed, Exit::Failed));
        assert_eq!((failed(5, 4, 0, 0), failed(5, 5, 0, 1)), (Exit::Partial, Exit::Partial));
        // The only changes were deletions.
        assert_eq!((failed(0, 3, 3, 0), failed(2, 3, 3, 0)), (Exit::Partial, Exit::Partial));
        let missing = Totals { entries: 9, failed: 1, missing: 8, ..Totals::default() };
        assert_eq!(missing.exit(), Exit::Failed);
    }
}
