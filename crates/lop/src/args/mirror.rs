//! The arguments of `lop mirror`.

use std::ffi::OsString;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use clap::Args;

use super::Io;
use crate::quantity::{at_least_one, parse_rate};

/// Make one directory tree like another, including all hard links
///
/// Copies the contents of SRC into DST, with or without a slash at the end of either. DST need not exist. lop copies
/// files, directories, symbolic links, FIFOs, sockets and devices, with owner, permissions, times, extended
/// attributes, ACLs and holes, and each file under all of its names. Equal files are skipped, so you can resume an
/// interrupted run by starting it again.
///
/// Files are equal if they have the same size and modification time. A file that differs is copied to a temporary
/// name, which then replaces the old file in one step. No name ever refers to a half-written file. A file in DST that
/// has other names is replaced instead of overwritten, so its other names keep the old content. lop removes
/// entries only with --delete. It removes them last, and only if it could read all of SRC.
///
/// Copies share the extents of the original if the file system supports it.
///
/// SRC or DST can be on another host, as HOST:PATH or USER@HOST:PATH. lop starts itself there through ssh. Write a
/// local path that contains a colon as ./a:b.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that is given or not")]
pub(crate) struct MirrorArgs {
    /// Directory to copy from
    #[arg(value_name = "SRC")]
    pub(crate) source: OsString,

    /// Directory to make like SRC
    #[arg(value_name = "DST")]
    pub(crate) destination: OsString,

    /// List what would be changed, but change nothing
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,

    /// List each change
    #[arg(short, long)]
    pub(crate) itemize: bool,

    /// Remove extraneous entries, which are in DST but not in SRC
    #[arg(long)]
    pub(crate) delete: bool,

    /// Do not ask before --delete removes many entries
    ///
    /// By default, lop asks on a terminal before it removes more than 1,000 entries, more entries than SRC has, or
    /// more than half of DST. It never asks in a script; use --max-delete there.
    #[arg(short, long)]
    pub(crate) yes: bool,

    /// Let --delete empty DST if SRC is empty or has only directories
    ///
    /// By default, lop refuses this, because SRC may be on a disk that is not mounted or has just been formatted.
    #[arg(long, requires = "delete")]
    pub(crate) allow_empty_source: bool,

    /// Remove nothing if more than N entries would be removed, including those in directories
    #[arg(long, value_name = "N", requires = "delete")]
    pub(crate) max_delete: Option<u64>,

    /// Compare contents even if size and modification time are equal
    #[arg(short, long)]
    pub(crate) checksum: bool,

    /// Read every copy back from the disk and compare it
    #[arg(long)]
    pub(crate) verify: bool,

    /// Flush each file to disk before it gets its final name
    #[arg(long)]
    pub(crate) fsync: bool,

    /// Hard-link files to identical files in DIR instead of copying them
    ///
    /// Use this for daily backups that take only the space of what has changed. DIR is the previous backup. A relative
    /// DIR is relative to DST.
    #[arg(long, value_name = "DIR")]
    pub(crate) link_dest: Option<PathBuf>,

    /// Reuse content that DST already has, for renamed files and duplicates in SRC
    ///
    /// The catalogs of both hosts record where such content is. Run 'lop scan SRC' and 'lop scan DST' first. lop
    /// compares the content before reusing it, and clones files if the file system supports that. Otherwise, on one
    /// host, lop reuses only files that --delete would remove.
    #[arg(long)]
    pub(crate) reuse: bool,

    /// Do not enter other file systems that are mounted in SRC
    #[arg(short = 'x', long, help_heading = "Selection")]
    pub(crate) one_file_system: bool,

    /// Mirror only files that match
    ///
    /// A GLOB without a slash matches names at any depth. A GLOB with a slash matches paths, either relative to SRC
    /// and DST ('/keep' is SRC/keep and DST/keep) or as the shell completes them (SRC/keep, DST/keep, absolute or
    /// relative). A GLOB that ends in a slash matches only directories.
    #[arg(long, value_name = "GLOB", help_heading = "Selection")]
    pub(crate) include: Vec<String>,

    /// Neither mirror nor remove entries that match, or anything in directories that match
    ///
    /// A GLOB that matched nothing is reported.
    #[arg(long, value_name = "GLOB", help_heading = "Selection")]
    pub(crate) exclude: Vec<String>,

    /// Ignore case in patterns
    #[arg(long, help_heading = "Selection")]
    pub(crate) ignore_case: bool,

    /// Copy at most RATE bytes per second: 500k, 20MiB
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub(crate) bwlimit: Option<NonZeroU64>,

    /// Connect to the other host with COMMAND
    ///
    /// lop appends the host and the command to run there as arguments, as for ssh. Example: 'ssh -p 2222'.
    #[arg(long, value_name = "COMMAND", default_value = "ssh", help_heading = "Other hosts")]
    pub(crate) rsh: String,

    /// Name or path of lop on the other host
    #[arg(long, value_name = "PATH", default_value = "lop", help_heading = "Other hosts")]
    pub(crate) remote_lop: OsString,

    /// Kind of storage of SRC: auto (measure it), hdd, ssd or cached
    #[arg(long, value_name = "KIND", default_value = "auto", hide_default_value = true)]
    #[arg(hide_possible_values = true)]
    pub(crate) io: Io,

    /// Use N threads [default: one per processor, more while they wait for storage]
    #[arg(long, value_name = "N", value_parser = at_least_one::<NonZeroUsize>)]
    pub(crate) threads: Option<NonZeroUsize>,

    /// Print statistics as JSON to standard error
    #[arg(long)]
    pub(crate) stats: bool,
}

const EXAMPLES: &str = "\
Examples:
  lop mirror --dry-run --delete ~/photos /mnt/backup/photos
  lop mirror --delete ~/photos /mnt/backup/photos
  lop mirror --link-dest ../monday /home /mnt/backup/tuesday
  lop mirror --delete ~/photos nas:/volume/photos
  lop mirror -x --exclude /proc/ / /mnt/system
  lop mirror --verify --fsync /srv/archive /mnt/usb/archive";
