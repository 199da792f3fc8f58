//! The arguments of `lop space`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::quantity::{parse_age, parse_limit};

/// The order of directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SpaceOrder {
    /// Most disk space first
    Size,
    /// Most reclaimable space first
    Reclaimable,
    /// Largest growth first
    Grown,
    /// Most files first
    Files,
}

/// Show the disk space of directories, what of it is reclaimable, and how they have grown
///
/// The answer comes from the catalog, so it takes a moment even for millions of files, and it also covers disks that
/// are not mounted. Each line shows a directory with everything below it. Without DIR, lop shows the whole catalog.
///
/// "Reclaimable" is the space that removing copies in this directory would free while one copy of each content stays:
/// outside the directory if there is a copy, otherwise inside. The numbers of two directories therefore do not add up
/// if they contain copies of each other. "Grown" is the difference between the last scan and an earlier one, and
/// appears once there are two. A file with hard links counts in the lowest directory that contains all of its names.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop space                            Which directories are the largest?
  lop space --by reclaimable ~         Where would cleaning up free most?
  lop space --by grown --since 30d /srv
  lop space --depth 1 --limit 0 ~      Show all directories directly in ~")]
pub(crate) struct SpaceArgs {
    /// Directories to show [default: the whole catalog]
    #[arg(value_name = "DIR")]
    pub(crate) dirs: Vec<PathBuf>,

    /// Order of the directories
    #[arg(long, value_name = "ORDER", default_value = "size")]
    pub(crate) by: SpaceOrder,

    /// Show at most N levels of directories below DIR
    #[arg(long, value_name = "N", default_value = "3")]
    pub(crate) depth: usize,

    /// Print at most N directories; 0 prints all [default: 15 as text, otherwise all]
    ///
    /// lop shows the directories that come first in the order, whatever their level. A line after the subdirectories of
    /// a directory counts those that are not shown.
    #[arg(long, value_name = "N", value_parser = parse_limit)]
    #[arg(help = "Print at most N directories; 0 prints all [default: 15 as text, otherwise all]")]
    pub(crate) limit: Option<usize>,

    /// Show the growth since a scan that is at least AGE old, such as 12h, 30d, 1y
    ///
    /// lop takes the newest such scan whose result is still recorded. By default, it compares the last two scans that
    /// differ.
    #[arg(long, value_name = "AGE", value_parser = parse_age)]
    pub(crate) since: Option<Duration>,
}
