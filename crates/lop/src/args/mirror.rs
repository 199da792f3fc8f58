//! The arguments of `lop mirror`.

use std::ffi::OsString;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use clap::Args;

use super::Io;
use crate::quantity::{at_least_one, parse_rate};

/// Make one directory tree like another, including all hard links
///
/// Gives DST everything that SRC has: files, directories, symbolic links, FIFOs, sockets and devices, with owner,
/// permissions, times, extended attributes, ACLs and holes, and each file under all of its names. DST need not exist.
/// The contents of SRC go into DST, with or without a slash at the end of either. Equal files are skipped, so the next
/// run resumes an interrupted one.
///
/// Files are equal if their size and modification time are. A file that differs is copied to a temporary name, which
/// then replaces the old file in one step, so no name ever refers to a half-written file. A file of DST that has other
/// names is never written to, only replaced. Nothing is removed without --delete; with it, removing comes last, and
/// only if all of SRC could be read.
///
/// Copies share the extents of the original where the file system can do that.
///
/// SRC or DST can be on another host, as HOST:PATH or USER@HOST:PATH: lop is started there through ssh. Write a local
/// path with a colon as ./a:b.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that is given or not")]
pub(crate) struct MirrorArgs {
    /// The directory to mirror
    #[arg(value_name = "SRC")]
    pub(crate) source: OsString,

    /// The directory to make like SRC
    #[arg(value_name = "DST")]
    pub(crate) destination: OsString,

    /// Change nothing; list what would be changed
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,

    /// List each change
    #[arg(short, long)]
    pub(crate) itemize: bool,

    /// Remove extraneous entries: what is in DST but not in SRC
    #[arg(long)]
    pub(crate) delete: bool,

    /// Do not ask before --delete removes many entries
    ///
    /// Without this option, on a terminal, lop asks before it removes more than 1,000 entries, more than SRC has, or
    /// more than half of DST. Scripts are not asked; give them --max-delete.
    #[arg(short, long)]
    pub(crate) yes: bool,

    /// Let --delete empty DST if SRC is empty or has only directories
    ///
    /// Without this option, lop refuses: SRC may be a disk that is not mounted, or has just been formatted.
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

    /// Wait until each file is on disk before it gets its name
    #[arg(long)]
    pub(crate) fsync: bool,

    /// Hard-link files to equal files in DIR instead of copying them
    ///
    /// Use this for daily backups that only take the space of what has changed: DIR is the previous backup. A relative
    /// DIR is relative to DST.
    #[arg(long, value_name = "DIR")]
    pub(crate) link_dest: Option<PathBuf>,

    /// Reuse content that DST already has: renamed files, and files that SRC has twice
    ///
    /// The catalogs of both hosts tell where such content is (`lop scan SRC`, `lop scan DST`). It is compared before it
    /// is used, and cloned where the file system can do that. Elsewhere, on one host, only files that --delete would
    /// remove are reused.
    #[arg(long)]
    pub(crate) reuse: bool,

    /// Do not enter other file systems that are mounted in SRC
    #[arg(short = 'x', long, help_heading = "Selection")]
    pub(crate) one_file_system: bool,

    /// Mirror only files that match
    ///
    /// A GLOB without a slash matches names at any depth. One with a slash matches paths: from SRC and DST ('/keep' is
    /// SRC/keep and DST/keep), or as the shell completes them (SRC/keep, DST/keep, absolute or relative). One that ends
    /// in a slash matches directories only.
    #[arg(long, value_name = "GLOB", help_heading = "Selection")]
    pub(crate) include: Vec<String>,

    /// Neither mirror nor remove what matches, or anything in a directory that matches
    ///
    /// A GLOB that matched nothing is reported.
    #[arg(long, value_name = "GLOB", help_heading = "Selection")]
    pub(crate) exclude: Vec<String>,

    /// Ignore the case of letters in patterns
    #[arg(long, help_heading = "Selection")]
    pub(crate) ignore_case: bool,

    /// Copy at most RATE bytes per second: 500k, 20MiB
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub(crate) bwlimit: Option<NonZeroU64>,

    /// Connect to the other host with COMMAND
    ///
    /// COMMAND is run like ssh, with the host and the command to run there as arguments: 'ssh -p 2222'.
    #[arg(long, value_name = "COMMAND", default_value = "ssh", help_heading = "Other hosts")]
    pub(crate) rsh: String,

    /// The name or path of lop on the other host
    #[arg(long, value_name = "PATH", default_value = "lop", help_heading = "Other hosts")]
    pub(crate) remote_lop: OsString,

    /// The kind of storage of SRC, instead of measuring it: auto, hdd, ssd or cached
    #[arg(long, value_name = "KIND", default_value = "auto", hide_default_value = true)]
    #[arg(hide_possible_values = true)]
    pub(crate) io: Io,

    /// Work with N threads [default: one per processor, more where they wait]
    #[arg(long, value_name = "N", value_parser = at_least_one::<NonZeroUsize>)]
    pub(crate) threads: Option<NonZeroUsize>,

    /// Print statistics of the run on standard error, as JSON
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
