//! The arguments of the commands that look after the catalog.

use std::path::PathBuf;

use clap::Args;

/// Read remembered files again and compare them with their digests
///
/// A file whose content is no longer what the catalog says although its size and times are the
/// same is damaged. Each is named, and marked in the catalog at once: until a scan has read it
/// again, no command takes it for a copy of anything. The exit code is then 3.
///
/// Files have a digest if another one had their size and beginning when they were scanned; 'lop scan
/// --hash-all' gives one to all others too. Those without are counted.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop validate                  Check every file that has a digest
  lop validate ~/Pictures       Check those in there
  lop scan --hash-all ~         Give every file a digest first")]
pub(crate) struct ValidateArgs {
    /// Files and directories to check [default: all that is remembered]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
}

/// Forget what is remembered below paths
///
/// Nothing but the catalog changes. A PATH need not be there: it may be a disk that does not come
/// back, or a directory that was removed. What is there is new to the next scan.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop forget /mnt/old-usb       Forget a disk that does not come back
  lop forget ~/src/target       Forget a directory that scans leave out now
  lop forget --offline          Forget all files on disks that are not mounted")]
pub(crate) struct ForgetArgs {
    /// Files and directories to forget, with all that is below them
    #[arg(value_name = "PATH", required_unless_present = "offline")]
    pub(crate) paths: Vec<PathBuf>,

    /// Forget only files on disks that are not mounted
    #[arg(long)]
    pub(crate) offline: bool,
}
