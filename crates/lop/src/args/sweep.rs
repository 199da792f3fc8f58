//! The arguments of `lop sweep`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::StorageArgs;
use crate::quantity::parse_age;

/// Find junk by rules, and move it to quarantine or remove it
///
/// Shows what each rule takes from each TARGET, which is a mounted disk or any other directory. lop changes nothing
/// without --apply or --delete. With --apply, lop moves the entries into a quarantine on their own file system, and
/// 'lop undo' moves them back. With --delete, lop removes the entries for good.
///
/// A rule names the role of a directory, such as the home directories of all users, and lop finds each directory that
/// has this role on the TARGET: in every generation and language of Windows, in Windows.old, and on Linux and macOS.
/// lop follows no links and enters no mounts below the TARGET.
///
/// lop refuses a rule that could take too much: one that is not specific enough, that reaches documents, pictures,
/// passwords or parts of the system, or that takes more than a fifth of the TARGET. A refused rule takes nothing,
/// and the other rules still apply.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that is given or not")]
pub(crate) struct SweepArgs {
    /// Disks or directories to sweep [default: .]
    #[arg(value_name = "TARGET")]
    pub(crate) targets: Vec<PathBuf>,

    /// Use these rules: the name of a shipped set, or a file
    ///
    /// The extension of a file determines its format: .toml (rules of lop), .ini (winapp2.ini), .xml (CleanerML of
    /// BleachBit) or .conf (tmpfiles.d of systemd). Separate several sets and files by commas, or give the option
    /// several times. Without the option, lop lists the shipped sets.
    #[arg(long, value_name = "RULES", help_heading = "Selection")]
    pub(crate) rules: Vec<OsString>,

    /// Use only rules that have one of these tags
    #[arg(long, value_name = "TAG", value_delimiter = ',', help_heading = "Selection")]
    pub(crate) only: Vec<String>,

    /// Leave out the rules with these IDs
    #[arg(long, value_name = "ID", value_delimiter = ',', help_heading = "Selection")]
    pub(crate) skip: Vec<String>,

    /// Use the rules with these IDs even if they are off or refused
    ///
    /// Turns on rules of shipped sets that are off because their risk is 'privacy' or 'review'. Also lifts the guards
    /// against rules that reach protected entries or take a large part of the TARGET, but no other guards.
    #[arg(long, value_name = "ID", value_delimiter = ',', help_heading = "Selection")]
    pub(crate) allow: Vec<String>,

    /// Take only entries that are at least this old: 12h, 30d, 2w, 6mo, 1y
    ///
    /// Applies in addition to the ages that the rules require. The age of an entry is the time since its last
    /// modification or status change, whichever is later. The age of a directory is that of its newest entry.
    #[arg(long, value_name = "AGE", value_parser = parse_age, help_heading = "Selection")]
    pub(crate) older: Option<Duration>,

    /// Refuse to do anything if a rule was refused or dropped
    ///
    /// The exit code is then 4. By default, lop reports such rules and applies the others.
    #[arg(long, help_heading = "Selection")]
    pub(crate) strict: bool,

    /// List every match, one path per line; with ID, only those of one rule
    ///
    /// A directory that is taken with everything below it is one match. A value that is not the ID of a rule is a
    /// TARGET.
    #[arg(long, value_name = "ID", num_args = 0..=1)]
    #[arg(conflicts_with_all = ["apply", "delete", "plan", "explain"])]
    #[expect(clippy::option_option, reason = "the form of clap for an optional value")]
    pub(crate) list: Option<Option<OsString>>,

    /// Paths in the list end with NUL instead of a newline
    #[arg(short = '0', long, requires = "list")]
    pub(crate) null: bool,

    /// Show which rules match PATH and why, or why no rule takes it
    #[arg(long, value_name = "PATH", conflicts_with_all = ["apply", "delete", "plan"])]
    pub(crate) explain: Option<PathBuf>,

    /// Write the matches to FILE; with --apply or --delete, take exactly the matches in FILE
    ///
    /// FILE has one JSON object per line. You can remove lines from it. When lop carries out a plan, it examines each
    /// entry again, and leaves an entry alone if it has changed. With --apply or --delete, a plan needs no --rules, and
    /// a TARGET only if the disk is mounted elsewhere now.
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,

    /// Move the matches to quarantine; 'lop undo' moves them back
    #[arg(long, conflicts_with = "delete")]
    pub(crate) apply: bool,

    /// Remove the matches for good
    #[arg(long)]
    pub(crate) delete: bool,

    /// Do not ask before moving or removing the matches
    ///
    /// By default, lop asks on a terminal. With --quiet, lop asks only before --delete.
    #[arg(short, long)]
    pub(crate) yes: bool,

    #[command(flatten)]
    pub(crate) storage: StorageArgs,

    /// Print statistics as JSON to standard error
    #[arg(long)]
    pub(crate) stats: bool,
}

const EXAMPLES: &str = "\
Examples:
  lop sweep --rules windows-temp,thumbnails /mnt/c   Show what each rule takes
  lop sweep --rules thumbnails /mnt/c --list windows.thumbs-db
  lop sweep --rules winapp2.ini --explain /mnt/c/Users/a/x.log /mnt/c
  lop sweep --rules build-dirs --older 30d --apply ~/src
  lop undo                                           Move everything back
  lop sweep --rules my.toml --plan plan.jsonl        Review it, then
  lop sweep --plan plan.jsonl --apply";
