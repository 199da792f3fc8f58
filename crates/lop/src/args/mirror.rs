//! The arguments of `lop mirror`.

use std::ffi::OsString;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use clap::Args;

use super::Io;
use crate::quantity::{at_least_one, parse_rate};

/// Make one directory tree like another, every hard link included
///
/// Makes DST, which need not be there, have what SRC has: files, directories, symbolic links, FIFOs,
/// sockets and devices, with owner, permissions, times, extended attributes, ACLs and holes, and each file
/// under all of its names. What is in SRC goes into DST, however the two are spelt. What is equal is left
/// alone, so that a run that was cut off is gone on with by the next one.
///
/// A file is equal if size and time of modification are. What differs is copied aside and takes its place in
/// one step: no name has ever half a file. A file of DST that has other names is never written to, only
/// replaced. Nothing is removed without --delete, and then after everything else, and only if all of SRC
/// could be read.
///
/// Where the file system can, copies share the extents of the original.
///
/// SRC or DST can be on another host, as HOST:PATH or USER@HOST:PATH: lop is run there through ssh. A local path
/// with a colon is written ./a:b.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that is given or not")]
pub(crate) struct MirrorArgs {
    /// The directory to mirror
    #[arg(value_name = "SRC")]
    pub(crate) source: OsString,

    /// The directory that is to be like it
    #[arg(value_name = "DST")]
    pub(crate) destination: OsString,

    /// Change nothing; list what would be changed
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,

    /// List each change
    #[arg(short, long)]
    pub(crate) itemize: bool,

    /// Remove what SRC has not
    #[arg(long)]
    pub(crate) delete: bool,

    /// Do not ask, however much --delete would remove
    ///
    /// On a terminal lop asks before it removes more than 1,000 entries, more than SRC has, or more than half of DST. Scripts
    /// are not asked; give them --max-delete.
    #[arg(short, long)]
    pub(crate) yes: bool,

    /// Let --delete empty DST if SRC is empty or has only directories
    ///
    /// Without this option, lop refuses: SRC may be a disk that is not mounted, or has just been formatted.
    #[arg(long, requires = "delete")]
    pub(crate) allow_empty_source: bool,

    /// Remove nothing if that would be more than N entries, what is in directories included
    #[arg(long, value_name = "N", requires = "delete")]
    pub(crate) max_delete: Option<u64>,

    /// Compare contents also where size and time of modification are equal
    #[arg(short, long)]
    pub(crate) checksum: bool,

    /// Read every copy back from the disk and compare it
    #[arg(long)]
    pub(crate) verify: bool,

    /// Wait until each file is on the disk before it gets its name
    #[arg(long)]
    pub(crate) fsync: bool,

    /// Link files to those of DIR that are equal, instead of copying them
    ///
    /// For a backup a day of which each takes no more than what has changed: DIR is the one before. A
    /// relative DIR is one in DST.
    #[arg(long, value_name = "DIR")]
    pub(crate) link_dest: Option<PathBuf>,

    /// Make files of content that DST has already: what was renamed, and what SRC has twice
    ///
    /// Where that is, the catalogs of both hosts tell (`lop scan SRC`, `lop scan DST`). It is compared before it
    /// is used, and cloned where the file system can do that; on one host, else, only files that --delete would
    /// remove are used.
    #[arg(long)]
    pub(crate) reuse: bool,

    /// Do not enter other file systems that are mounted in SRC
    #[arg(short = 'x', long, help_heading = "Selection")]
    pub(crate) one_file_system: bool,

    /// Mirror only files that match
    ///
    /// A GLOB without a slash matches names at any depth. One with a slash matches paths: counted from
    /// SRC and DST ('/keep' is SRC/keep and DST/keep), or as the shell completes them (SRC/keep, DST/keep,
    /// absolute or relative). One that ends in a slash matches directories only.
    #[arg(long, value_name = "GLOB", help_heading = "Selection")]
    pub(crate) include: Vec<String>,

    /// Neither mirror nor remove what matches, and everything in directories that match
    ///
    /// A GLOB that matched nothing is reported.
    #[arg(long, value_name = "GLOB", help_heading = "Selection")]
    pub(crate) exclude: Vec<String>,

    /// Let patterns match capitals and small letters alike
    #[arg(long, help_heading = "Selection")]
    pub(crate) ignore_case: bool,

    /// Copy at most RATE bytes a second: 500k, 20MiB
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub(crate) bwlimit: Option<NonZeroU64>,

    /// Connect to the other host with COMMAND
    ///
    /// It is given the host and what is to be run there, as ssh is: 'ssh -p 2222'.
    #[arg(long, value_name = "COMMAND", default_value = "ssh", help_heading = "Other hosts")]
    pub(crate) rsh: String,

    /// What lop is called on the other host
    #[arg(long, value_name = "PATH", default_value = "lop", help_heading = "Other hosts")]
    pub(crate) remote_lop: OsString,

    /// What the storage of SRC is like, if lop is not to find out: auto, hdd, ssd or cached
    #[arg(long, value_name = "KIND", default_value = "auto", hide_default_value = true)]
    #[arg(hide_possible_values = true)]
    pub(crate) io: Io,

    /// Work with N threads [default: one per processor, more where they wait]
    #[arg(long, value_name = "N", value_parser = at_least_one::<NonZeroUsize>)]
    pub(crate) threads: Option<NonZeroUsize>,

    /// Print figures of the run on standard error, as JSON
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
