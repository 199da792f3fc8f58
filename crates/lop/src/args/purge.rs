//! The arguments of `lop purge`.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::StorageArgs;
use crate::quantity::{at_least_one, parse_age};

/// Remove directory trees for good, fast
///
/// Removes each PATH with everything in it. lop keeps no copy in quarantine and cannot undo the removal. Use --dry-run
/// to see what would be removed and how much space that would free.
///
/// lop follows no links and enters no mounts, not even bind mounts of the same file system. Before it removes
/// anything, lop refuses the root directory, the working directory, the catalog, all directories that contain any of
/// these, mount points, and links to any of them, however the path is spelled. Entries that cannot be removed are
/// reported, and the run continues.
///
/// Several directories are emptied in parallel, each in the order of its inodes. On btrfs, a subvolume is removed as a
/// whole if that is permitted.
///
/// With --instant, the PATHs are moved out of the way within a moment, and a background process removes them. It
/// continues when the terminal is closed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that is given or not")]
pub(crate) struct PurgeArgs {
    /// Directories and files to remove
    #[arg(value_name = "PATH", conflicts_with = "files_from")]
    #[arg(required_unless_present_any = ["resume", "background", "files_from"])]
    pub(crate) paths: Vec<PathBuf>,

    /// Show how much would be removed and freed, but remove nothing
    ///
    /// With -v or --json, every entry that would be removed is listed, each directory after its contents.
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,

    /// Do not ask before removing many entries
    ///
    /// By default, lop asks on a terminal if it is about to remove more than 1,000 entries, or if a pattern
    /// matched nothing.
    #[arg(short, long)]
    pub(crate) yes: bool,

    /// Move the PATHs out of the way, return, and remove them in the background
    ///
    /// The PATHs are moved into '.lop-quarantine-UID', a directory above them on the same file system. 'lop history'
    /// shows the progress and where they are.
    #[arg(long, conflicts_with_all = NOT_WITH_INSTANT)]
    pub(crate) instant: bool,

    /// Remove trees that were moved out of the way if no process is removing them
    ///
    /// This is needed if the machine was restarted during a removal, for example, or if something could not be
    /// removed.
    #[arg(long, conflicts_with_all = NOT_WITH_INSTANT)]
    #[arg(conflicts_with_all = ["paths", "instant"])]
    pub(crate) resume: bool,

    /// Run as the background process that removes what run RUN moved out of the way
    #[arg(long, value_name = "RUN", hide = true, conflicts_with_all = ["paths", "resume"])]
    pub(crate) background: Option<u64>,

    /// Remove the paths listed in FILE; - is standard input
    ///
    /// FILE contains one path per line.
    #[arg(long, value_name = "FILE", help_heading = "Selection", conflicts_with = "resume")]
    pub(crate) files_from: Option<PathBuf>,

    /// Paths in the list end with NUL instead of a newline
    #[arg(short = '0', long, requires = "files_from", help_heading = "Selection")]
    pub(crate) null: bool,

    /// Empty the PATHs but keep the directories themselves
    #[arg(long)]
    pub(crate) keep_root: bool,

    /// Remove only entries that match, and everything in directories that match
    ///
    /// A GLOB without a slash matches names at any depth. A GLOB with a slash matches paths, either relative to PATH
    /// ('/keep' is PATH/keep) or as the shell completes them (PATH/keep, absolute or relative). A GLOB that ends in a
    /// slash matches only directories. lop refuses an --include that can be read in both ways.
    #[arg(long, value_name = "GLOB", help_heading = "Selection")]
    pub(crate) include: Vec<String>,

    /// Keep entries that match, and everything in directories that match
    ///
    /// If a GLOB can be read in two ways, lop keeps what matches either of them. A GLOB that matched nothing is
    /// reported.
    #[arg(long, value_name = "GLOB", help_heading = "Selection")]
    pub(crate) exclude: Vec<String>,

    /// Ignore case in patterns
    #[arg(long, help_heading = "Selection")]
    pub(crate) ignore_case: bool,

    /// Remove only entries last modified at least this long ago: 12h, 30d, 2w, 6mo, 1y
    ///
    /// A directory is removed too if it is that old and nothing in it is kept.
    #[arg(long, value_name = "AGE", value_parser = parse_age, help_heading = "Selection")]
    pub(crate) older_than: Option<Duration>,

    /// Also empty file systems that are mounted below the PATHs
    #[arg(long, help_heading = "Selection")]
    pub(crate) cross_mounts: bool,

    /// Remove at most N entries per second
    #[arg(long, value_name = "N", value_parser = at_least_one::<NonZeroU64>)]
    pub(crate) rate: Option<NonZeroU64>,

    /// Give all other processes priority on the disk (idle I/O class)
    #[arg(long)]
    pub(crate) idle: bool,

    #[command(flatten)]
    pub(crate) storage: StorageArgs,

    /// Print statistics as JSON to standard error
    #[arg(long)]
    pub(crate) stats: bool,
}

/// Options that `--instant` excludes. These options select parts of a PATH or change nothing, but `--instant` moves
/// whole PATHs.
const NOT_WITH_INSTANT: [&str; 6] =
    ["dry_run", "keep_root", "include", "exclude", "older_than", "cross_mounts"];

const EXAMPLES: &str = "\
Examples:
  lop purge --dry-run /scratch/old      Show what would be removed and freed
  lop purge /scratch/old
  lop purge --instant --idle /srv/snapshots
  lop purge --older-than 90d --keep-root /scratch
  lop purge --include node_modules/ ~/src
  lop purge --exclude '*.keep' --rate 2000 --idle /srv/cache
  find . -name '*.orig' -print0 | lop purge --files-from - -0";
