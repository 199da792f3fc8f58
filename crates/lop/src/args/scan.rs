//! The arguments of `lop scan`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use super::{Format, Io};
use crate::quantity::{at_least_one, parse_size};

/// Find duplicates and remember them
///
/// Looks for regular files below each PATH, compares those of one size and commits the result to
/// the catalog. Files that the catalog knows and that have not changed are not read again.
/// Scanning a directory again replaces what the catalog knew of it and of nothing else. What an
/// option leaves out stays remembered, and so does what is on a disk that is not mounted.
///
/// Links are not followed, unless given as PATH. Hard links to one file are that one file, and a
/// directory reached by two paths is one directory.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that is given or not")]
pub(crate) struct ScanArgs {
    /// Directories or files to scan [default: .]
    #[arg(value_name = "PATH", conflicts_with = "files_from")]
    pub(crate) paths: Vec<PathBuf>,

    /// Remember nothing and print the groups
    #[arg(long)]
    pub(crate) no_catalog: bool,

    /// Print the groups in this format; also with a catalog
    ///
    /// Without a catalog they are printed as text if no format is given, or as JSON with --json.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,

    /// Leave out smaller files
    ///
    /// Sizes are bytes, or have one of the units k, M, G, T, P (alone or with B or iB), which are
    /// powers of 1024: 4096, 10k, 1.5GiB.
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Selection")]
    pub(crate) min_size: Option<u64>,

    /// Leave out larger files
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Selection")]
    pub(crate) max_size: Option<u64>,

    /// Take only files that match one of these patterns
    ///
    /// A GLOB without a slash matches names at any depth. One with a slash matches paths: counted from
    /// PATH ('/photos' is PATH/photos), or as the shell completes them. '*' and '?' match no slash, '**'
    /// does. May be given several times.
    #[arg(long, value_name = "GLOB", help_heading = "Selection")]
    pub(crate) include: Vec<String>,

    /// Leave out files and directories that match this pattern
    ///
    /// As for --include; a GLOB that ends in a slash matches directories only. An excluded directory is
    /// not entered. May be given several times.
    #[arg(long, value_name = "GLOB", help_heading = "Selection")]
    pub(crate) exclude: Vec<String>,

    /// Let patterns match capitals and small letters alike
    #[arg(long, help_heading = "Selection")]
    pub(crate) ignore_case: bool,

    /// Stay on the file system of each PATH
    #[arg(short = 'x', long, help_heading = "Selection")]
    pub(crate) one_file_system: bool,

    /// Leave out names that start with a dot
    #[arg(long, help_heading = "Selection")]
    pub(crate) no_hidden: bool,

    /// Enter folders that belong to systems too: snapshots, trash, @eaDir
    ///
    /// Without this, .snapshot, .snapshots, .zfs, .Trash-1000, $RECYCLE.BIN, System Volume Information,
    /// lost+found and their like are left out, unless given as PATH: what is in there is a view of
    /// the same files, was thrown away, or is kept by a system for itself.
    #[arg(long, help_heading = "Selection")]
    pub(crate) system_dirs: bool,

    /// Take empty files too, which all equal each other
    #[arg(long, help_heading = "Selection")]
    pub(crate) empty: bool,

    /// Count the names of one file as duplicates of each other
    #[arg(long, help_heading = "Selection")]
    pub(crate) hardlinks: bool,

    /// Take the files named in FILE, or on standard input for -
    ///
    /// One path a line. Directories in the list are not entered, but counted.
    #[arg(long, value_name = "FILE", help_heading = "Selection")]
    pub(crate) files_from: Option<PathBuf>,

    /// Paths in the list end with NUL, not with a newline
    #[arg(short = '0', long, requires = "files_from", conflicts_with = "paths")]
    #[arg(help_heading = "Selection")]
    pub(crate) null: bool,

    /// Read all files again, whatever is remembered of them
    ///
    /// Files whose content has changed although their size and times are the same are named.
    #[arg(long, conflicts_with = "no_catalog")]
    pub(crate) reread: bool,

    /// Give every file a digest, also where no other has its size or beginning
    ///
    /// 'lop validate' then finds damage in all of them. Files that have one are not read again for
    /// it. Those with over 1 TiB of holes get none.
    #[arg(long, conflicts_with = "no_catalog")]
    pub(crate) hash_all: bool,

    /// Save what was found out every so many milliseconds
    #[arg(long, value_name = "MS", hide = true)]
    pub(crate) save_every: Option<u64>,

    /// What the storage is like, if lop is not to find out: auto, hdd, ssd or cached
    ///
    /// hdd reads in the order in which things lie on the disk, ssd reads many at once, cached does
    /// neither. lop finds out by itself whether anything is cached and whether a device has an arm,
    /// from the first few reads; -v says what it concluded.
    #[arg(long, value_name = "KIND", default_value = "auto", hide_default_value = true)]
    #[arg(hide_possible_values = true)]
    pub(crate) io: Io,

    /// Work with N threads on each device [default: one per processor, more where they wait]
    #[arg(long, value_name = "N", value_parser = at_least_one::<NonZeroUsize>)]
    pub(crate) threads: Option<NonZeroUsize>,

    /// Take at most SIZE of memory [default: a quarter of what there is]
    ///
    /// At least 256M. What does not fit is kept in files without a name below TMPDIR, or /var/tmp. If
    /// more was taken for a moment all the same, that is said at the end.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) memory: Option<u64>,

    /// Print figures of the run on standard error, as JSON
    ///
    /// Entries, files read, bytes read, seconds per stage, peak memory. 'lop man formats' says what each figure
    /// is.
    #[arg(long)]
    pub(crate) stats: bool,
}

const EXAMPLES: &str = "\
Examples:
  lop scan ~                           Scan the home folder
  lop scan --min-size 1M ~/Pictures /mnt/backup
  lop scan --exclude .git/ --exclude '*.o' ~/src
  lop scan --no-catalog --format fdupes .
  find . -name '*.jpg' -print0 | lop scan --files-from - -0";
