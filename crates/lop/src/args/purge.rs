//! The arguments of `lop purge`.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::Io;
use crate::quantity::{at_least_one, parse_age};

/// Remove directory trees for good, fast
///
/// Removes each PATH with everything in it. Nothing goes to quarantine and nothing can be undone: --dry-run shows what
/// would be removed and how much space that would free.
///
/// No link is followed, and no mount is entered, not even a bind mount of the same file system. lop refuses, before
/// anything is removed and however the path is spelt, to remove the root directory, the working directory, the catalog,
/// any directory that contains these, mount points, and links to any of them. What cannot be removed is reported, and
/// the run continues.
///
/// Several directories are emptied at the same time, each in the order of its inodes. A subvolume of btrfs is removed
/// as a whole where that is allowed.
///
/// With --instant the PATHs are moved out of the way, which takes a moment, and a background process removes them; it
/// continues when the terminal is closed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that is given or not")]
pub(crate) struct PurgeArgs {
    /// Directories and files to remove
    #[arg(value_name = "PATH", conflicts_with = "files_from")]
    #[arg(required_unless_present_any = ["resume", "background", "files_from"])]
    pub(crate) paths: Vec<PathBuf>,

    /// Remove nothing; show how much would be removed and freed
    ///
    /// With -v or --json, every entry that would be removed is listed, each directory after its contents.
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,

    /// Do not ask before removing many entries
    ///
    /// Without this option, on a terminal, lop asks before it removes more than 1,000 entries, and if a pattern matched
    /// nothing.
    #[arg(short, long)]
    pub(crate) yes: bool,

    /// Move the PATHs out of the way and return; remove them in the background
    ///
    /// They are moved into '.lop-quarantine-UID', a directory of lop above them on the same file system. 'lop history'
    /// shows the progress, and where they are.
    #[arg(long, conflicts_with_all = NOT_WITH_INSTANT)]
    pub(crate) instant: bool,

    /// Remove the rest of PATHs that were moved out of the way, if no process does
    ///
    /// Needed after a restart of the machine, for example, or when something could not be removed.
    #[arg(long, conflicts_with_all = NOT_WITH_INSTANT)]
    #[arg(conflicts_with_all = ["paths", "instant"])]
    pub(crate) resume: bool,

    /// Run as the background process that removes what run RUN moved out of the way
    #[arg(long, value_name = "RUN", hide = true, conflicts_with_all = ["paths", "resume"])]
    pub(crate) background: Option<u64>,

    /// Remove what is named in FILE; - is standard input
    ///
    /// FILE has one path per line.
    #[arg(long, value_name = "FILE", help_heading = "Selection", conflicts_with = "resume")]
    pub(crate) files_from: Option<PathBuf>,

    /// Paths in the list end with NUL instead of a newline
    #[arg(short = '0', long, requires = "files_from", help_heading = "Selection")]
    pub(crate) null: bool,

    /// Empty the PATHs but keep them
    #[arg(long)]
    pub(crate) keep_root: bool,

    /// Remove only what matches, and everything in directories that match
    ///
    /// A GLOB without a slash matches names at any depth. One with a slash matches paths: from PATH ('/keep' is
    /// PATH/keep), or as the shell completes them (PATH/keep, absolute or relative). One that ends in a slash matches
    /// directories only. An --include that can be read in both ways is refused.
    #[arg(long, value_name = "GLOB", help_heading = "Selection")]
    pub(crate) include: Vec<String>,

    /// Keep what matches, and everything in directories that match
    ///
    /// A GLOB that can be read in two ways keeps both. One that matched nothing is reported.
    #[arg(long, value_name = "GLOB", help_heading = "Selection")]
    pub(crate) exclude: Vec<String>,

    /// Ignore the case of letters in patterns
    #[arg(long, help_heading = "Selection")]
    pub(crate) ignore_case: bool,

    /// Remove only what was last modified at least this long ago: 12h, 30d, 2w, 6mo, 1y
    ///
    /// This includes directories, if nothing in them is kept.
    #[arg(long, value_name = "AGE", value_parser = parse_age, help_heading = "Selection")]
    pub(crate) older_than: Option<Duration>,

    /// Empty file systems that are mounted below the PATHs too
    #[arg(long, help_heading = "Selection")]
    pub(crate) cross_mounts: bool,

    /// Remove at most N entries per second
    #[arg(long, value_name = "N", value_parser = at_least_one::<NonZeroU64>)]
    pub(crate) rate: Option<NonZeroU64>,

    /// Let all other processes use the disk first (idle I/O class)
    #[arg(long)]
    pub(crate) idle: bool,

    /// The kind of storage, instead of measuring it: auto, hdd, ssd or cached
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

/// These options select parts of a PATH or change nothing, but --instant moves whole PATHs.
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
