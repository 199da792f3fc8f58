//! The arguments of the commands that look after the catalog.

use std::path::PathBuf;

use clap::Args;

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
