//! The arguments of `lop scan`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use super::{Format, Io};
use crate::quantity::{at_least_one, parse_size};

/// Find duplicates and remember them
///
/// Finds regular files below each PATH, compares those of equal size and commits the result to the catalog. Files that
/// are in the catalog and have not changed are not read again. Scanning a directory again replaces what the catalog
/// knows about it and about nothing else. Files that an option skips stay in the catalog, and so do files on a disk
/// that is not mounted.
///
/// Links are not followed unless they are given as PATH. Hard links to a file count as one file, and a directory
/// reached by two paths counts as one directory.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that is given or not")]
pub(crate) struct ScanArgs {
    /// Directories or files to scan [default: .]
    #[arg(value_name = "PATH", conflicts_with = "files_from")]
    pub(crate) paths: Vec<PathBuf>,

    /// Do not use the catalog, and print the groups
    #[arg(long)]
    pub(crate) no_catalog: bool,

    /// Print the groups in this format, also with a catalog
    ///
    /// Without a catalog, the default is text, or JSON with --json.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,

    /// Skip smaller files
    ///
    /// A size is in bytes, or has one of the units k, M, G, T, P (alone or with B or iB), which are powers of 1024:
    /// 4096, 10k, 1.5GiB.
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Selection")]
    pub(crate) min_size: Option<u64>,

    /// Skip larger files
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Selection")]
    pub(crate) max_size: Option<u64>,

    /// Scan only files that match one of these patterns
    ///
    /// A GLOB without a slash matches names at any depth. One with a slash matches paths: from PATH ('/photos' is
    /// PATH/photos), or as the shell completes them. '*' and '?' match no slash, '**' does. The option can be given
    /// several times.
    #[arg(long, value_name = "GLOB", help_heading = "Selection")]
    pub(crate) include: Vec<String>,

    /// Skip files and directories that match this pattern
    ///
    /// Patterns are those of --include; a GLOB that ends in a slash matches directories only. An excluded directory is
    /// not entered. The option can be given several times.
    #[arg(long, value_name = "GLOB", help_heading = "Selection")]
    pub(crate) exclude: Vec<String>,

    /// Ignore the case of letters in patterns
    #[arg(long, help_heading = "Selection")]
    pub(crate) ignore_case: bool,

    /// Stay on the file system of each PATH
    #[arg(short = 'x', long, help_heading = "Selection")]
    pub(crate) one_file_system: bool,

    /// Skip names that start with a dot
    #[arg(long, help_heading = "Selection")]
    pub(crate) no_hidden: bool,

    /// Enter system folders too: snapshots, trash, @eaDir
    ///
    /// Without this option, .snapshot, .snapshots, .zfs, .Trash-1000, $RECYCLE.BIN, System Volume Information,
    /// lost+found and the like are skipped unless they are given as PATH: they show the same files again, hold deleted
    /// files, or belong to a system.
    #[arg(long, help_heading = "Selection")]
    pub(crate) system_dirs: bool,

    /// Scan empty files too, which are all equal
    #[arg(long, help_heading = "Selection")]
    pub(crate) empty: bool,

    /// Count hard links to one file as duplicates of each other
    #[arg(long, help_heading = "Selection")]
    pub(crate) hardlinks: bool,

    /// Scan the files named in FILE; - is standard input
    ///
    /// FILE has one path per line. Directories in the list are counted but not entered.
    #[arg(long, value_name = "FILE", help_heading = "Selection")]
    pub(crate) files_from: Option<PathBuf>,

    /// Paths in the list end with NUL instead of a newline
    #[arg(short = '0', long, requires = "files_from", conflicts_with = "paths")]
    #[arg(help_heading = "Selection")]
    pub(crate) null: bool,

    /// Read all files again, even if they are in the catalog and unchanged
    ///
    /// Files whose content has changed although their size and times have not are reported.
    #[arg(long, conflicts_with = "no_catalog")]
    pub(crate) reread: bool,

    /// Give every file a digest, even if no other file has its size or first block
    ///
    /// 'lop validate' can then find damage in all files. Files that already have a digest are not read again for this.
    /// Files with more than 1 TiB of holes get none.
    #[arg(long, conflicts_with = "no_catalog")]
    pub(crate) hash_all: bool,

    /// Save the results so far every MS milliseconds
    #[arg(long, value_name = "MS", hide = true)]
    pub(crate) save_every: Option<u64>,

    /// The kind of storage, instead of measuring it: auto, hdd, ssd or cached
    ///
    /// hdd reads in the order of positions on the disk, ssd reads many files at once, cached does neither. Without this
    /// option, lop measures the first few reads to find out whether files are cached and whether a device is bound by
    /// seeks; -v shows the result.
    #[arg(long, value_name = "KIND", default_value = "auto", hide_default_value = true)]
    #[arg(hide_possible_values = true)]
    pub(crate) io: Io,

    /// Work with N threads on each device [default: one per processor, more where they wait]
    #[arg(long, value_name = "N", value_parser = at_least_one::<NonZeroUsize>)]
    pub(crate) threads: Option<NonZeroUsize>,

    /// Use at most SIZE of memory [default: a quarter of the available memory]
    ///
    /// The minimum is 256M. What does not fit is kept in files without a name below TMPDIR, or /var/tmp. If lop has
    /// nevertheless used more for a moment, it says so at the end.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) memory: Option<u64>,

    /// Print statistics of the run on standard error, as JSON
    ///
    /// The statistics include entries, files and bytes read, seconds per stage, and peak memory. 'lop man formats'
    /// describes each of them.
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
