//! The arguments of `lop scan`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use walk::Shard;

use super::{Format, Io};
use crate::quantity::{at_least_one, parse_size};

/// Find duplicates and remember them
///
/// Finds regular files below each PATH, compares files of equal size, and commits the result to the catalog. Files
/// that are in the catalog and have not changed are not read again. If you scan a directory again, the result replaces
/// what the catalog has for that directory, and nothing else. Files that an option skips stay in the catalog, as do
/// files on a disk that is not mounted.
///
/// Links are followed only if they are given as PATH. Hard links to a file count as one file, and a directory that is
/// reached by two paths counts as one directory.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that is given or not")]
pub(crate) struct ScanArgs {
    /// Directories or files to scan [default: .]
    #[arg(value_name = "PATH", conflicts_with = "files_from")]
    pub(crate) paths: Vec<PathBuf>,

    /// Print the groups instead of using the catalog
    #[arg(long)]
    pub(crate) no_catalog: bool,

    /// Print the groups in this format, even with a catalog
    ///
    /// With --no-catalog, the default is text, or json if --json is given.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,

    /// Skip files smaller than SIZE
    ///
    /// SIZE is a number of bytes, or a number with one of the units k, M, G, T, P (alone or followed by B or iB),
    /// which are powers of 1024. Examples: 4096, 10k, 1.5GiB.
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Selection")]
    pub(crate) min_size: Option<u64>,

    /// Skip files larger than SIZE
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Selection")]
    pub(crate) max_size: Option<u64>,

    /// Scan only files that match
    ///
    /// A GLOB without a slash matches names at any depth. A GLOB with a slash matches paths, either relative to PATH
    /// ('/photos' is PATH/photos) or as the shell completes them. '*' and '?' do not match slashes, but '**' does. The
    /// option can be given several times.
    #[arg(long, value_name = "GLOB", help_heading = "Selection")]
    pub(crate) include: Vec<String>,

    /// Skip files and directories that match
    ///
    /// Patterns have the same form as those of --include. A GLOB that ends in a slash matches only directories. lop
    /// does not enter an excluded directory. The option can be given several times.
    #[arg(long, value_name = "GLOB", help_heading = "Selection")]
    pub(crate) exclude: Vec<String>,

    /// Ignore case in patterns
    #[arg(long, help_heading = "Selection")]
    pub(crate) ignore_case: bool,

    /// Stay on the file system of each PATH
    #[arg(short = 'x', long, help_heading = "Selection")]
    pub(crate) one_file_system: bool,

    /// Skip files and directories whose names start with a dot
    #[arg(long, help_heading = "Selection")]
    pub(crate) no_hidden: bool,

    /// Enter system directories too, such as snapshots, trash and @eaDir
    ///
    /// By default, lop skips .snapshot, .snapshots, .zfs, .Trash-1000, $RECYCLE.BIN, System Volume Information,
    /// lost+found and similar directories, unless they are given as PATH. They show the same files again, hold deleted
    /// files, or belong to the system.
    #[arg(long, help_heading = "Selection")]
    pub(crate) system_dirs: bool,

    /// Also scan empty files, which are all identical
    #[arg(long, help_heading = "Selection")]
    pub(crate) empty: bool,

    /// Count hard links to one file as duplicates of each other
    #[arg(long, help_heading = "Selection")]
    pub(crate) hardlinks: bool,

    /// Scan the files listed in FILE; - is standard input
    ///
    /// FILE contains one path per line. Directories in the list are counted but not entered.
    #[arg(long, value_name = "FILE", help_heading = "Selection")]
    pub(crate) files_from: Option<PathBuf>,

    /// Paths in the list end with NUL instead of a newline
    #[arg(short = '0', long, requires = "files_from", conflicts_with = "paths")]
    #[arg(help_heading = "Selection")]
    pub(crate) null: bool,

    /// Scan only a part of each PATH: K/N is part K of N
    ///
    /// Several hosts can scan one large file system at the same time: each scans another part, into a catalog of its
    /// own. The directories three levels below a PATH are divided as a whole. K begins with 1.
    #[arg(long, value_name = "PART", value_parser = parse_shard, help_heading = "Selection")]
    #[arg(conflicts_with = "files_from")]
    pub(crate) shard: Option<ShardArg>,

    /// Examine all files, even if 'lop watch' has noted which ones changed
    ///
    /// This finds changes that 'lop watch' cannot notice, and records the sizes of all directories, which 'lop space'
    /// compares. Files whose size and times have not changed are not read again.
    #[arg(long, conflicts_with = "no_catalog")]
    pub(crate) full: bool,

    /// Read all files again, even if the catalog has them and they have not changed
    ///
    /// lop reports files whose content has changed although their size and times have not.
    #[arg(long, conflicts_with = "no_catalog")]
    pub(crate) reread: bool,

    /// Do not rely on keyed hashes to compare files of up to 64 KiB
    ///
    /// By default, lop decides by hashes with a random key whether files of up to 64 KiB are equal. With this option,
    /// it compares them byte by byte or by BLAKE3, like larger files. Files that have not changed since an earlier
    /// scan are not compared again; add --reread for that. Before 'lop dedupe' replaces a file, it always compares the
    /// bytes.
    #[arg(long)]
    pub(crate) paranoid: bool,

    /// Compute a digest of every file, even if no other file has its size or first block
    ///
    /// This lets 'lop validate' detect damage in all files. Files that already have a digest are not read again for
    /// this. Files with more than 1 TiB of holes get no digest.
    #[arg(long, conflicts_with = "no_catalog")]
    pub(crate) hash_all: bool,

    /// Save the results so far every MS milliseconds
    #[arg(long, value_name = "MS", hide = true)]
    pub(crate) save_every: Option<u64>,

    /// Kind of storage: auto (measure it), hdd, ssd or cached
    ///
    /// hdd reads in order of position on the disk, ssd reads many files at once, and cached does neither. With auto,
    /// lop measures the first few reads to find out whether the files are cached and whether the disk is bound by
    /// seeks. -v shows the result.
    #[arg(long, value_name = "KIND", default_value = "auto", hide_default_value = true)]
    #[arg(hide_possible_values = true)]
    pub(crate) io: Io,

    /// Use N threads per disk [default: one per processor, more while they wait for storage]
    #[arg(long, value_name = "N", value_parser = at_least_one::<NonZeroUsize>)]
    pub(crate) threads: Option<NonZeroUsize>,

    /// Use at most SIZE of memory [default: a quarter of the available memory]
    ///
    /// The minimum is 256M. Data that exceeds the limit is kept in unnamed files in TMPDIR, or in /var/tmp if TMPDIR
    /// is not set. If lop exceeded the limit for a moment, it says so at the end.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) memory: Option<u64>,

    /// Print statistics as JSON to standard error
    ///
    /// The statistics include the entries, files and bytes read, the seconds per stage, and the peak memory. 'lop man
    /// formats' describes all of them.
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

/// A shard, and how it was typed.
#[derive(Clone, Debug)]
pub(crate) struct ShardArg(pub(crate) Shard, pub(crate) String);

fn parse_shard(text: &str) -> Result<ShardArg, String> {
    let parts = text
        .split_once('/')
        .and_then(|(number, of)| Some((number.parse::<u32>().ok()?, of.parse::<u32>().ok()?)));
    let (number, of) = parts.ok_or("not of the form K/N, such as 1/16")?;
    let shard =
        Shard::new(number, of).ok_or_else(|| format!("there is no part {number} of {of}"))?;
    Ok(ShardArg(shard, text.to_owned()))
}
