//! The arguments of `lop watch`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use runtime::age;

/// Keep the catalog fresh: note changes, and scan only what has changed
///
/// Watches directories until it is stopped, and notes which entries change. 'lop scan' asks for these notes and walks
/// only the directories that they name. If notes are missing, for example after a restart, the scan walks everything.
///
/// With root privileges, whole file systems are watched (fanotify), which takes the same memory however many
/// directories there are. Otherwise, each directory is watched (inotify). Network file systems cannot be watched,
/// because other hosts can change their files.
///
/// At the start and after changes, lop watch also runs 'lop scan' for the directories that the last scan covered
/// without options such as --exclude. Patterns of the configuration do not count. Once a day, it runs a full scan.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop watch                     Watch all directories in the catalog
  lop watch /srv/photos         Watch this one only
  lop watch --scan-every 2h     Scan no later than two hours after a change
  lop watch --scan-every never  Leave the scans to a timer")]
pub(crate) struct WatchArgs {
    /// Directories to watch [default: those that were scanned]
    #[arg(value_name = "ROOT")]
    pub(crate) roots: Vec<PathBuf>,

    /// Scan no later than AGE after a change; 'never' leaves scans to you
    ///
    /// A scan starts earlier if nothing has changed for a minute. AGE is a whole number with a unit: s, min, h, d, w,
    /// mo (30 days) or y (365 days).
    #[arg(long, value_name = "AGE", default_value = "15min", value_parser = interval)]
    pub(crate) scan_every: ScanEvery,
}

/// The longest time between a change and the scan that finds it, and the same as typed. `None` if no scans are started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScanEvery(pub(crate) Option<Duration>, pub(crate) String);

fn interval(text: &str) -> Result<ScanEvery, String> {
    if text == "never" {
        return Ok(ScanEvery(None, text.into()));
    }
    let every = age::parse(text).filter(|every| !every.is_zero());
    let wrong = || format!("expected never, or a whole number with a unit, {}: 15min", age::UNITS);
    every.map(|every| ScanEvery(Some(every), text.into())).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{ScanEvery, interval};

    #[test]
    fn interval_is_an_age_or_never() {
        assert_eq!(interval("never"), Ok(ScanEvery(None, "never".into())));
        assert_eq!(interval("2h"), Ok(ScanEvery(Some(Duration::from_secs(7200)), "2h".into())));
        for text in ["", "0s", "15", "15m", "Never"] {
            assert!(interval(text).is_err(), "{text}");
        }
    }
}
