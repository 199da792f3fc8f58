//! The arguments of the commands that maintain the catalog.

use std::path::PathBuf;

use clap::Args;

/// Read remembered files again and compare them with their digests
///
/// A file is damaged if its content differs from the catalog but its size and times do not. lop reports each damaged
/// file and marks it in the catalog at once. No command counts it as a copy until a scan has read it again. The exit
/// code is 3 if a file is damaged.
///
/// A scan stores a digest for each file that has the same size and first block as another file. 'lop scan --hash-all'
/// adds digests for all other files. Files without a digest are counted but cannot be checked.
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

/// Make the catalog forget files and directories
///
/// Only the catalog changes. A PATH need not exist: it can be on a disk that you no longer use, or a directory that
/// was removed. The next scan treats the files there as new.
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
