//! The arguments of the commands that query the catalog.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Format;
use crate::quantity::{parse_limit, parse_size};

/// The order of groups in a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sort {
    /// Most reclaimable bytes first
    Reclaimable,
    /// Largest files first
    Size,
    /// Most files first
    Count,
    /// By the path of the first file
    Path,
}

/// Format, order and length of a list of files.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Print in this format [default: text]
    ///
    /// The formats text and fdupes print one path per line, and nul ends each path with a NUL byte.
    #[arg(long, value_name = "FORMAT", hide_possible_values = true)]
    #[arg(help = "Print as text, fdupes, json, csv or nul [default: text]")]
    pub(crate) format: Option<Format>,

    /// Order of the files
    #[arg(long, value_name = "ORDER", default_value = "path")]
    pub(crate) sort: ListSort,

    /// Print at most N files; 0 prints all, which is the default
    #[arg(long, value_name = "N", value_parser = parse_limit)]
    pub(crate) limit: Option<usize>,
}

/// Directories whose files cannot be aliases of other files.
#[derive(Debug, Args)]
pub(crate) struct DistinctArgs {
    /// Treat files below DIR, on a network, FUSE or overlay file system, as separate files
    ///
    /// Such a file system can show files of this machine under a second path (sshfs, NFS, mergerfs and its branches).
    /// By default, lop counts a file there as a copy only if its times differ from those of every file that it could
    /// be an alias of.
    #[arg(id = "distinct", long, value_name = "DIR")]
    pub(crate) dirs: Vec<PathBuf>,
}

/// The order of files in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListSort {
    /// By path
    Path,
    /// Largest first
    Size,
}

/// Show the groups of duplicates
///
/// The groups come from the catalog. A file whose metadata has changed since the scan is marked and does not count as
/// a duplicate.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop report                           Show the 20 groups that waste most
  lop report --limit 0 ~/Pictures      Show all groups with a file in there
  lop report --sort size --min-size 100M
  lop report --format json > duplicates.json
  lop report --dirs                    Show whole directories that are copies")]
pub(crate) struct ReportArgs {
    /// Show only groups with a file below these paths; with --dirs, only directories there
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// Show equal, contained and overlapping directories instead of groups
    ///
    /// Two directories are equal if they have the same relative paths with the same contents. A directory is contained
    /// in another one if each of its files has an identical file there, whatever its name. Two directories overlap if
    /// at least half of the bytes of one of them are also in the other. A directory is never compared with one of its
    /// parents. lop shows only the largest directories, and nothing below a directory that is equal to another one or
    /// contained in it. You can delete all directories of each equal set except the first, together with all contained
    /// directories, without losing any content.
    ///
    /// Empty files, empty directories, links and special files are ignored. Any other file that is new, has changed or
    /// was not scanned prevents its directory from being equal to or contained in another one. lop shows the number of
    /// these files. Bytes are reclaimable if no other remembered name refers to them.
    ///
    /// To find a directory that contains another one, lop tries up to 16 directories that have its rarest content. To
    /// find overlaps, lop compares the directories of all files with the same content if there are at most 6 such
    /// files, and otherwise only the directories of neighbours in path order.
    ///
    /// --min-size skips directories that share less than SIZE, and --sort count sorts by the number of shared files.
    /// The formats fdupes and nul print only sets of equal directories.
    #[arg(long)]
    pub(crate) dirs: bool,

    /// Print in this format [default: text]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,

    /// Print at most N groups; 0 prints all [default: 20 as text, otherwise all]
    #[arg(long, value_name = "N", value_parser = parse_limit)]
    pub(crate) limit: Option<usize>,

    /// Order of the groups
    #[arg(long, value_name = "ORDER", default_value = "reclaimable")]
    pub(crate) sort: Sort,

    /// Skip groups of files smaller than SIZE, such as 4096, 10k, 1.5GiB
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) min_size: Option<u64>,

    #[command(flatten)]
    pub(crate) distinct: DistinctArgs,
}

/// Show the duplicates of a file
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop file holiday.jpg                 Where else is this picture?
  lop file --json *.iso")]
pub(crate) struct FileArgs {
    /// Files to look up
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) distinct: DistinctArgs,
}

/// List a directory, with the duplicates of its files and the sizes of its directories
///
/// Each line shows the number of duplicates, the size, the share of the listed directory, and the name. For a
/// directory, the first number counts the files below it that have a duplicate anywhere, and the size is the total of
/// the remembered files below it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop ls ~/Downloads                   Which of these do I have elsewhere?
  lop ls --sort size /srv              What is largest, and how much is there twice?
  lop ls -R ~/Pictures")]
pub(crate) struct LsArgs {
    /// Directory to list
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,

    /// List all directories below DIR too
    #[arg(short = 'R', long)]
    pub(crate) recursive: bool,

    /// Order of the entries in each directory
    #[arg(long, value_name = "ORDER", default_value = "path")]
    pub(crate) sort: ListSort,

    #[command(flatten)]
    pub(crate) distinct: DistinctArgs,
}

/// Show the files below a directory that have a duplicate anywhere
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop dups ~/Downloads                 What in there is a copy?
  lop dups --sort size --limit 20 .")]
pub(crate) struct DupsArgs {
    /// Directory to examine
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,

    #[command(flatten)]
    pub(crate) list: ListArgs,

    #[command(flatten)]
    pub(crate) distinct: DistinctArgs,
}

/// Show the files below a directory that have no copy outside it
///
/// Run this before you delete a directory, to see whether everything in it also exists elsewhere. lop checks every
/// file that is in the directory now. It also lists files that have changed since the scan, are not in the catalog or
/// were found damaged, with the reason. The exit code is 0 if every file has a copy outside the directory, 6 if a file
/// has none, 3 if the answer is unknown for a file or something could not be examined, and 5 if the catalog contains
/// none of the files.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop uniques ~/old-laptop             What would be lost with this folder?
  lop uniques --verify ~/old-laptop    The same, but read and compare everything
  lop uniques --anywhere .             Show files without any copy at all")]
pub(crate) struct UniquesArgs {
    /// Directory to examine
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,

    #[command(flatten)]
    pub(crate) list: ListArgs,

    /// Also count copies inside DIR
    #[arg(long)]
    pub(crate) anywhere: bool,

    /// Read each file and its copy now, and count only copies that are equal byte by byte
    ///
    /// A disk can damage a file without changing its size and times, and the catalog cannot detect that. With
    /// --verify, lop reads every file together with a copy. If the copy differs or cannot be read, lop reports it,
    /// marks it in the catalog, and tries the next copy. A hard link outside DIR is the same file and is not read.
    #[arg(long)]
    pub(crate) verify: bool,

    #[command(flatten)]
    pub(crate) distinct: DistinctArgs,
}

/// Check whether everything in one directory is also in another
///
/// Run this before you delete A because you have B. It checks whether every file in A has an identical file in B,
/// whatever its name, and prints the files of A for which this is not known to be true. lop checks which files are in
/// both directories now, but takes their contents from the catalog. A file in A that is new or has changed since the
/// scan is listed, and such a file in B does not count as a copy. A file that is in both A and B, because one
/// directory contains the other or through a second path, does not count as being in B. A hard link to a file in B
/// does count as a copy, although deleting it frees nothing. Empty files count as being in every directory. Links and
/// special files are counted but not compared. The exit code is 0 if everything in A is in B, 6 if not, 3 if the
/// answer is unknown for a file or something could not be examined, and 5 if the catalog contains nothing of A or of
/// B.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop contains ~/old-laptop ~          Can I delete the old folder?
  lop contains --verify card ~/Pictures
  lop contains --format nul card/DCIM ~/Pictures > not-copied")]
pub(crate) struct ContainsArgs {
    /// Directory whose files are checked
    #[arg(value_name = "A")]
    pub(crate) one: PathBuf,

    /// Directory to search for copies
    #[arg(value_name = "B")]
    pub(crate) other: PathBuf,

    #[command(flatten)]
    pub(crate) list: ListArgs,

    /// Read each file and its copy now, and count only copies that are equal byte by byte
    ///
    /// A disk can damage a file without changing its size and times, and the catalog cannot detect that. With
    /// --verify, lop reads every file together with a copy. If the copy differs or cannot be read, lop reports it,
    /// marks it in the catalog, and tries the next copy in B. A hard link to a file in B is the same file and is not
    /// read.
    #[arg(long)]
    pub(crate) verify: bool,

    #[command(flatten)]
    pub(crate) distinct: DistinctArgs,
}
