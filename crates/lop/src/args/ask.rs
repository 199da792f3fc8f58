//! The arguments of the commands that ask the catalog.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Format;
use crate::quantity::{parse_limit, parse_size};

/// The order of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sort {
    /// Most reclaimable bytes first
    Reclaimable,
    /// Largest files first
    Size,
    /// Most files first
    Count,
    /// By the first path
    Path,
}

/// How a list of files is printed.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Print in this format [default: text]
    ///
    /// text and fdupes print one path per line, nul ends each path with NUL.
    #[arg(long, value_name = "FORMAT", hide_possible_values = true)]
    #[arg(help = "Print as text, fdupes, json, csv or nul [default: text]")]
    pub(crate) format: Option<Format>,

    /// Order of the files
    #[arg(long, value_name = "ORDER", default_value = "path")]
    pub(crate) sort: ListSort,

    /// Print at most N files; 0 for all, which is the default
    #[arg(long, value_name = "N", value_parser = parse_limit)]
    pub(crate) limit: Option<usize>,
}

/// Directories whose files are no second paths to other files.
#[derive(Debug, Args)]
pub(crate) struct DistinctArgs {
    /// Treat files below DIR, on a network, FUSE or overlay file system, as separate files
    ///
    /// Such a file system can show files of this machine under a second path (sshfs, NFS, mergerfs and its branches).
    /// Without this option, lop counts a file there as a copy only if its times differ from those of every file that it
    /// could be.
    #[arg(id = "distinct", long, value_name = "DIR")]
    pub(crate) dirs: Vec<PathBuf>,
}

/// The order of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListSort {
    /// By path
    Path,
    /// Largest first
    Size,
}

/// Show the groups of duplicates
///
/// Answers from the catalog. A file whose metadata has changed since the scan is marked and does not count as a
/// duplicate.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop report                           Show the 20 groups that waste most
  lop report --limit 0 ~/Pictures      Show all groups with a file in there
  lop report --sort size --min-size 100M
  lop report --format json > duplicates.json
  lop report --dirs                    Show whole directories that are copies")]
pub(crate) struct ReportArgs {
    /// Show only groups with a file below one of these paths; with --dirs, only directories there
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// Show equal, contained and overlapping directories instead
    ///
    /// Equal directories have the same relative paths with the same contents. A directory is contained in another one
    /// if each of its files has an equal file there, whatever its name. Two directories overlap if that holds for half
    /// of the bytes of one of them. A directory is never compared with one above it. Only the largest directories are
    /// shown, so nothing is listed below a directory that is equal to or contained in another one. You could delete all
    /// but the first of each set of equal directories together with all contained directories, without losing any
    /// content.
    ///
    /// Empty files, empty directories, links and special files are ignored. Any other file that is new, has changed or
    /// was not scanned prevents its directory from being equal to or contained in another one; lop shows how many there
    /// are. Bytes are reclaimable if no other remembered name keeps them. To find what contains a directory, lop tries
    /// 16 places that have its content with the fewest copies. It finds overlaps from contents that at most 6 files
    /// have, and otherwise from each file and the next one by path.
    ///
    /// --min-size skips directories that share less, and --sort count sorts by the number of shared files. fdupes and
    /// nul print only the sets of equal directories.
    #[arg(long)]
    pub(crate) dirs: bool,

    /// Print in this format [default: text]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,

    /// Print at most N groups; 0 for all [default: 20 as text, otherwise all]
    #[arg(long, value_name = "N", value_parser = parse_limit)]
    pub(crate) limit: Option<usize>,

    /// Order of the groups
    #[arg(long, value_name = "ORDER", default_value = "reclaimable")]
    pub(crate) sort: Sort,

    /// Skip groups of smaller files; sizes such as 4096, 10k, 1.5GiB
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

/// List a directory: its files with their duplicates, its directories with their sizes
///
/// Each line has the number of duplicates, the size, the share of the listed directory, and the name. For a directory,
/// the first number counts the files below it that have a duplicate anywhere, and the size is that of the remembered
/// files below it.
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

    /// List all directories below it too
    #[arg(short = 'R', long)]
    pub(crate) recursive: bool,

    /// Order in each directory
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
/// This is the question to ask before you delete a directory: is everything in here also somewhere else? Every file
/// that is now in the directory is examined. Files that have changed since the scan or are not in the catalog, and
/// files that were found damaged, are listed too, with the reason. The exit code is 0 if every file has a copy outside,
/// 6 if some file has none, 3 if that is unknown for some file or something could not be examined, and 5 if the catalog
/// has none of the files.
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

    /// Count copies inside DIR too
    #[arg(long)]
    pub(crate) anywhere: bool,

    /// Read each file and its copy now, and count only copies that are equal byte by byte
    ///
    /// A disk can damage files without changing their size and times, and the catalog does not know. With --verify, lop
    /// reads every file together with a copy. It reports a copy that differs or cannot be read, marks it in the
    /// catalog, and tries the next one. It does not read a hard link outside, which is the same file.
    #[arg(long)]
    pub(crate) verify: bool,

    #[command(flatten)]
    pub(crate) distinct: DistinctArgs,
}

/// Tell whether everything in one directory is also in another one
///
/// This is the question to ask before you delete A because you have B: does every file in A have an equal file in B,
/// whatever its name? lop prints the files of A for which that is not known. Both directories are examined as they are
/// now, but contents come from the catalog: a file of A that is new or has changed since the scan is listed, and such a
/// file of B does not count. A file that is in both A and B, because one directory contains the other or by a second
/// path, does not count as being in B. A hard link to a file in B does, although deleting it frees nothing. Every
/// directory counts as having all empty files; links and special files are counted but not compared. The exit code is 0
/// if everything in A is in B, 6 if not, 3 if that is unknown for some file or something could not be examined, and 5
/// if the catalog has nothing of A or of B.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop contains ~/old-laptop ~          Can I delete the old folder?
  lop contains --verify card ~/Pictures
  lop contains --format nul card/DCIM ~/Pictures > not-copied")]
pub(crate) struct ContainsArgs {
    /// Directory whose files are looked for
    #[arg(value_name = "A")]
    pub(crate) one: PathBuf,

    /// Directory to search
    #[arg(value_name = "B")]
    pub(crate) other: PathBuf,

    #[command(flatten)]
    pub(crate) list: ListArgs,

    /// Read each file and its copy now, and count only copies that are equal byte by byte
    ///
    /// A disk can damage files without changing their size and times, and the catalog does not know. With --verify, lop
    /// reads every file together with a copy. It reports a copy that differs or cannot be read, marks it in the
    /// catalog, and tries the next one in B. It does not read a hard link to a file in B, which is the same file.
    #[arg(long)]
    pub(crate) verify: bool,

    #[command(flatten)]
    pub(crate) distinct: DistinctArgs,
}
