//! The arguments of the commands that maintain the catalog.

use std::path::PathBuf;

use clap::Args;

/// Read remembered files again and compare them with their digests
///
/// A file is damaged if its content differs from the catalog although its size and times are the same. Each damaged
/// file is reported and marked in the catalog at once: until a scan has read it again, no command counts it as a copy.
/// The exit code is then 3.
///
/// A file has a digest if another file had the same size and first block when it was scanned; 'lop scan --hash-all'
/// gives one to all other files too. Files without a digest are counted.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop validate                  Check every file that has a digest
  lop validate ~/Pictures       Check the files in there
  lop scan --hash-all ~         Give every file a digest first")]
pub(crate) struct ValidateArgs {
    /// Files and directories to check [default: everything in the catalog]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
}

/// Forget what the catalog knows below paths
///
/// Only the catalog changes. A PATH need not exist: it may be a disk that will not be used again, or a directory that
/// was removed. The next scan treats files there as new.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop forget /mnt/old-usb       Forget a disk that is no longer used
  lop forget ~/src/target       Forget a directory that scans now skip
  lop forget --offline          Forget all files on disks that are not mounted")]
pub(crate) struct ForgetArgs {
    /// Files and directories to forget, with everything below them
    #[arg(value_name = "PATH", required_unless_present = "offline")]
    pub(crate) paths: Vec<PathBuf>,

    /// Forget only files on disks that are not mounted
    #[arg(long)]
    pub(crate) offline: bool,
}
