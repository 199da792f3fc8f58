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
    /// text and fdupes are one path a line, nul is one path per NUL.
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

/// Directories whose files are known to be no second paths to other files.
#[derive(Debug, Args)]
pub(crate) struct DistinctArgs {
    /// Count the files below DIR, on a network, FUSE or overlay file system, as files of their own
    ///
    /// Such a file system can show files of this machine under a second path (sshfs, NFS, mergerfs and its
    /// branches). Without this option, lop counts a file there as a copy only if its times differ from those
    /// of every file that it could be.
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
/// Answers from the catalog. A file whose metadata has changed since the scan is marked and does
/// not count as a duplicate.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop report                           The 20 groups that waste most
  lop report --limit 0 ~/Pictures      All groups that have a file in there
  lop report --sort size --min-size 100M
  lop report --format json > duplicates.json
  lop report --dirs                    Whole directories that are copies")]
pub(crate) struct ReportArgs {
    /// Show only groups with a file below one of these, and with --dirs only directories there
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// Show directories instead: equal ones, contained and overlapping ones
    ///
    /// Equal directories hold the same relative paths with the same contents. A directory is
    /// contained in another if each of its files has an equal one there, whatever its name. Two
    /// overlap if that holds for half of the bytes of one of them. A directory is never compared
    /// with one above it, and only the largest are shown: nothing is said of what is below a
    /// directory that is a copy or contained. All but the first of each set of equal ones, and all
    /// that are contained, could be deleted together, and no content would be lost.
    ///
    /// Empty files, empty directories, links and special files are not looked at. Any other file
    /// that is new, has changed or was left out of the scan keeps its directory from being equal to
    /// or contained in another; how many there are is shown. Bytes are reclaimable as far as no
    /// other remembered name keeps them. To find what contains a directory, 16 places are tried that
    /// have the content of it with the fewest copies; overlaps are found from contents that 6 files
    /// have at most, and beyond that from each file and the next one by path.
    ///
    /// --min-size leaves out what shares less, and --sort count is by the number of files shared.
    /// fdupes and nul print the sets of equal directories only.
    #[arg(long)]
    pub(crate) dirs: bool,

    /// Print in this format [default: text]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,

    /// Print at most N groups; 0 for all [default: 20 as text, else all]
    #[arg(long, value_name = "N", value_parser = parse_limit)]
    pub(crate) limit: Option<usize>,

    /// Order of the groups
    #[arg(long, value_name = "ORDER", default_value = "reclaimable")]
    pub(crate) sort: Sort,

    /// Leave out groups of smaller files; sizes such as 4096, 10k, 1.5GiB
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
    /// Files to ask about
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) distinct: DistinctArgs,
}

/// List a directory: each file with the number of its duplicates, each directory with what is in it
///
/// Each line has the number of duplicates, the size, the share of the listed directory, and the name. Of a
/// directory the first is the number of files below it that have a duplicate, anywhere. Sizes of directories
/// are those of the remembered files below them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop ls ~/Downloads                   Which of these do I have elsewhere?
  lop ls --sort size /srv              What takes most, and how much of it is there twice?
  lop ls -R ~/Pictures")]
pub(crate) struct LsArgs {
    /// Directory to list
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,

    /// List the directories below it too
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
    /// Directory to look at
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,

    #[command(flatten)]
    pub(crate) list: ListArgs,

    #[command(flatten)]
    pub(crate) distinct: DistinctArgs,
}

/// Show the files below a directory that have no copy outside it
///
/// The question to ask before deleting a directory: is everything in here also somewhere else?
/// Every file that is there now is looked at. Those that the catalog does not know as they are now,
/// and those that were found damaged, are listed too, with the reason. The exit code is 0 if each
/// file has a copy outside, 6 if some file has none, 3 if that is not known of some or something
/// could not be examined, and 5 if the catalog has none of them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop uniques ~/old-laptop             What would be lost with this folder?
  lop uniques --verify ~/old-laptop    The same, and read everything before the answer
  lop uniques --anywhere .             Files without any copy at all")]
pub(crate) struct UniquesArgs {
    /// Directory to look at
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,

    #[command(flatten)]
    pub(crate) list: ListArgs,

    /// Let a copy inside DIR count too
    #[arg(long)]
    pub(crate) anywhere: bool,

    /// Read each file and its copy now, and count only copies that are equal byte by byte
    ///
    /// A disk can damage files without changing their size and times, and the catalog does not know. With
    /// --verify, lop reads every file together with a copy. It names a copy that differs or cannot be read,
    /// marks it in the catalog, and tries the next one. It does not read a hard link outside, which is the same file.
    #[arg(long)]
    pub(crate) verify: bool,

    #[command(flatten)]
    pub(crate) distinct: DistinctArgs,
}

/// Tell whether everything in one directory is in another one too
///
/// The question to ask before deleting A in favour of B: has every file in A an equal one in B,
/// whatever its name? Prints the files of A of which that is not known. Both directories are looked
/// at as they are now; contents are those of the catalog, so a file that is new or has changed since
/// the scan is listed, and one of B does not count. What is in A and in B, because one is in the
/// other or by a second path, does not count as being in B. A hard link to a file in B does, though
/// deleting it frees nothing. Empty files are in every directory; links and special files are counted
/// and not compared. The exit code is 0 if everything in A is in B, 6 if not, 3 if that is not known of
/// some file or something could not be examined, and 5 if the catalog has nothing of A or of B.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop contains ~/old-laptop ~          Can the old folder go?
  lop contains --verify card ~/Pictures
  lop contains --format nul card/DCIM ~/Pictures > not-copied")]
pub(crate) struct ContainsArgs {
    /// Directory whose files are looked for
    #[arg(value_name = "A")]
    pub(crate) one: PathBuf,

    /// Directory to find them in
    #[arg(value_name = "B")]
    pub(crate) other: PathBuf,

    #[command(flatten)]
    pub(crate) list: ListArgs,

    /// Read each file and its copy now, and count only copies that are equal byte by byte
    ///
    /// A disk can damage files without changing their size and times, and the catalog does not know. With
    /// --verify, lop reads every file together with a copy. It names a copy that differs or cannot be read,
    /// marks it in the catalog, and tries the next one in B. It does not read a hard link to a file in B, which is the
    /// same file.
    #[arg(long)]
    pub(crate) verify: bool,

    #[command(flatten)]
    pub(crate) distinct: DistinctArgs,
}
