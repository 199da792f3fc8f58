//! The arguments of the commands that change files, and of the commands that list or undo these changes.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::rules::Rules;
use crate::quantity::{parse_age, parse_size};

/// The action for each redundant file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// Delete the file
    Delete,
    /// Replace the file with a hard link to the kept file
    Hardlink,
    /// Share the disk space of the kept file; the file remains a separate file
    Reflink,
    /// Replace the file with a relative symbolic link to the kept file
    Symlink,
    /// Move the file aside on the same file system, until it is purged or restored
    Quarantine,
    /// Print a shell script that compares the files again before it acts
    Script,
}

/// Act on duplicates
///
/// Shows a plan for the groups in the catalog: which file of each group is kept and why, and what happens to the
/// others. lop changes files only with --apply.
///
/// With --apply, lop compares each file byte by byte with the kept file immediately before it acts on it. A file that
/// has changed, differs or is being written to is left alone and reported. Each step is recorded in a journal before
/// it is made, so that 'lop undo' can restore the files. If a run is killed, the next command that changes files
/// reverts the change that the run had begun but not finished.
///
/// If PATHs are given, lop acts only on files below them. Copies elsewhere are kept.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop dedupe --by hardlink                       Show what would be linked
  lop dedupe --by hardlink --apply               Link it
  lop dedupe --by quarantine --keep oldest --protect ~/Pictures --apply ~
  lop dedupe --by delete --apply ~/old-laptop    Delete what has copies elsewhere
  lop dedupe --by quarantine --apply --all       Act on the whole catalog
  lop dedupe --by delete --save-plan plan.jsonl  Review it, remove lines, then
  lop dedupe --plan plan.jsonl --apply
  lop dedupe --by script > act.sh; sh act.sh hardlink")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that is given or not")]
pub(crate) struct DedupeArgs {
    /// Act only on files below these paths
    ///
    /// The actions delete, quarantine and symlink require a PATH or --all. If neither is given, lop shows the plan for
    /// the whole catalog, but applies it only for hard links and reflinks.
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// Act on all groups in the catalog
    #[arg(long, conflicts_with_all = ["paths", "report", "files_from", "plan"])]
    pub(crate) all: bool,

    /// Act on the groups that were decided in 'lop serve' or 'lop look'
    ///
    /// The decisions choose the files that stay. lop skips a group that is undecided, a group that is left alone, and a
    /// group whose decision cannot be followed any more. With this option, --apply needs neither PATHs nor --all.
    #[arg(long, conflicts_with_all = ["keep", "interactive", "report", "files_from", "plan"])]
    pub(crate) decided: bool,

    /// The action for each redundant file
    #[arg(long, value_name = "KIND", required_unless_present = "plan", conflicts_with = "plan")]
    pub(crate) by: Option<By>,

    /// Carry out the plan
    #[arg(long)]
    pub(crate) apply: bool,

    /// Do not ask before deleting many files
    ///
    /// By default, lop asks on a terminal before it deletes more than 1,000 files.
    #[arg(short, long)]
    pub(crate) yes: bool,

    /// Choose interactively which files of each group to keep
    ///
    /// lop shows one group after another. Each answer is one line, such as 1 or 1,3 or 2-4; '?' shows the help.
    /// lop changes files only after you have gone through all groups and confirmed the choices. Without --apply, you
    /// can save the choices as a plan.
    #[arg(short, long, conflicts_with = "plan")]
    pub(crate) interactive: bool,

    /// Keep the file of each group that this rule selects
    ///
    /// The rules are: local (on a file system of this machine, not on a network or FUSE mount), tidy (looks least like
    /// a copy: no "(1)" or "copy" in its name, not in Downloads, a backup or the trash), newest, oldest,
    /// shortest-path, longest-path, shallowest, deepest, first-root (below the PATH that was given first), device:DIR
    /// (on the device of DIR), and path:GLOB.
    ///
    /// path:photos matches a file named photos, and all files in a directory named photos. A GLOB with a slash is
    /// matched against the path relative to a PATH, the root or the working directory.
    ///
    /// If the option is given several times, the first rule that distinguishes the files decides. If none of them
    /// does, lop applies the rules local, tidy, oldest and shortest-path. If the files still tie, it keeps the first
    /// path in alphabetical order.
    #[arg(long, value_name = "RULE", help_heading = "Selection", conflicts_with = "plan")]
    #[arg(value_parser = Rules, hide_possible_values = true)]
    pub(crate) keep: Vec<String>,

    /// Never change files below DIR, and keep them in preference to all others
    #[arg(long, value_name = "DIR", help_heading = "Selection", conflicts_with = "plan")]
    pub(crate) protect: Vec<PathBuf>,

    /// Skip files smaller than SIZE
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Selection")]
    #[arg(conflicts_with = "plan")]
    pub(crate) min_size: Option<u64>,

    /// Also act on files in repositories and system directories
    ///
    /// By default, lop neither keeps nor acts on files in repositories (.git, .hg, .svn, .bzr, .jj) and in the system
    /// directories that 'lop scan' skips, such as snapshots, the trash and @eaDir. A directory that is given as PATH
    /// is always included.
    #[arg(long, help_heading = "Selection", conflicts_with = "plan")]
    pub(crate) system_dirs: bool,

    /// Read the groups from a JSON report instead of the catalog
    ///
    /// Create the report with 'lop report --format json' or 'lop scan --format json'. lop uses only its paths and
    /// sizes, and compares the files again.
    #[arg(long, value_name = "FILE", help_heading = "Selection", conflicts_with = "plan")]
    pub(crate) report: Option<PathBuf>,

    /// Read the files from a list in FILE instead of the catalog; - is standard input
    ///
    /// FILE contains one path per line. lop compares the files to find the groups before it makes the plan.
    #[arg(long, value_name = "FILE", help_heading = "Selection")]
    #[arg(conflicts_with_all = ["plan", "report"])]
    pub(crate) files_from: Option<PathBuf>,

    /// Paths in the list end with NUL instead of a newline
    #[arg(short = '0', long, requires = "files_from", help_heading = "Selection")]
    pub(crate) null: bool,

    /// Treat files below DIR, on a network or FUSE file system, as separate files
    ///
    /// A network or FUSE file system can show files of this machine under a second path (sshfs, NFS, mergerfs and its
    /// branches), so that a file looks like a copy of itself. By default, a kept file on such a file system counts as
    /// a copy only of files on the same file system.
    #[arg(long, value_name = "DIR", help_heading = "Selection")]
    pub(crate) distinct: Vec<PathBuf>,

    /// Write the plan to FILE, one JSON object per line
    ///
    /// You can remove lines from FILE before you apply it with --plan. lop checks the whole plan again when it applies
    /// it.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["plan", "apply"])]
    pub(crate) save_plan: Option<PathBuf>,

    /// Read the plan from FILE
    #[arg(long, value_name = "FILE", conflicts_with = "paths")]
    pub(crate) plan: Option<PathBuf>,

    /// Restore the times of directories in which names have changed
    #[arg(long)]
    pub(crate) preserve_dir_times: bool,
}

/// Replace hard links with independent copies
///
/// Finds files with several names below the PATHs. Each of these names except one gets an independent copy with the
/// same content, owner, permissions, times and attributes. If the file also has names elsewhere, all of its names
/// below the PATHs get copies. Copies share disk space if the file system supports it.
///
/// Without --apply, lop only shows what it would do. 'lop undo' turns the copies back into hard links if they are
/// still identical and all names of the file were below the PATHs.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop separate ~/project                 Show which names are hard links
  lop separate --apply ~/project         Replace them by independent copies")]
pub(crate) struct SeparateArgs {
    /// Directories to search
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,

    /// Carry out the plan
    #[arg(long)]
    pub(crate) apply: bool,

    /// Restore the times of directories in which names have changed
    #[arg(long)]
    pub(crate) preserve_dir_times: bool,
}

/// Restore what a run changed
///
/// Files in quarantine move back to their original names. A file that was deleted or replaced by a link is copied from
/// the kept file, with its original owner, permissions, times and attributes. Names that were hard links to one file
/// become hard links again. lop does not copy a kept file that has changed in the meantime, and does not overwrite a
/// file that has appeared. It reports these files.
///
/// You can repeat the command. It skips files that are already restored.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop undo                      Undo the last run
  lop undo --dry-run            Show what would be restored, and how
  lop undo 12                   Undo run 12 of 'lop history'
  lop undo 12 ~/Pictures/2019   Restore only files there")]
pub(crate) struct UndoArgs {
    /// Number of the run [default: the last run that was not undone]
    #[arg(value_name = "RUN", value_parser = parse_run)]
    pub(crate) run: Option<u64>,

    /// Restore only files at or below these paths
    #[arg(value_name = "PATH", requires = "run")]
    pub(crate) paths: Vec<PathBuf>,

    /// Show how each file would be restored, but change nothing
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
}

/// List the runs that changed files, or the result of one run for each file
///
/// The newest run comes last. If a run was interrupted, the next command that changes files reverts the change that it
/// had begun but not finished. For trees that 'lop purge --instant' moved out of the way, the list shows how many
/// entries have been removed, which process removes them, and where the remaining entries are.
///
/// With RUN, lop lists each file of that run with its result. Times are in the local time zone.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop history                   Show what was done and undone
  lop history 12                Show which files run 12 acted on")]
pub(crate) struct HistoryArgs {
    /// Number of the run to show
    #[arg(value_name = "RUN", value_parser = parse_run)]
    pub(crate) run: Option<u64>,
}

/// Parses the number of a run.
fn parse_run(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "not the number of a run; 'lop history' lists them".into())
}

/// List, restore or remove files in quarantine
///
/// 'lop dedupe --by quarantine' moves files into the directory .lop-quarantine-UID on their own file system. 'lop
/// undo' and 'lop quarantine restore' move them back.
#[derive(Debug, Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  lop quarantine list                      Show what is in quarantine
  lop quarantine restore ~/Pictures        Restore files that were there
  lop quarantine purge --older-than 30d    Remove files after a month
  lop quarantine list --dir /mnt/usb       Use the disk itself, not the catalog")]
pub(crate) struct QuarantineArgs {
    #[command(subcommand)]
    pub(crate) command: QuarantineCommand,
}

/// The subcommands of `lop quarantine`.
#[derive(Debug, Subcommand)]
pub(crate) enum QuarantineCommand {
    /// List the files in quarantine
    #[command(after_help = "\
Examples:
  lop quarantine list
  lop quarantine list --dir /mnt/usb")]
    List(QuarantineDirArgs),
    /// Restore files from quarantine
    ///
    /// Restores files of all runs. A name that is in use again is not overwritten. Such a file stays in quarantine and
    /// is reported.
    #[command(after_help = "\
Examples:
  lop quarantine restore                     Restore all
  lop quarantine restore ~/Pictures          Restore files that were there
  lop quarantine restore --dir /mnt/usb      Restore what is in quarantine on a disk")]
    Restore(QuarantineRestoreArgs),
    /// Remove files from quarantine for good
    ///
    /// A duplicate is removed only if its kept file still exists and is equal to it byte by byte. Other duplicates stay
    /// in quarantine and are reported. Entries that 'lop sweep' moved have no kept file, and are removed.
    #[command(after_help = "\
Examples:
  lop quarantine purge --older-than 30d")]
    Purge(QuarantinePurgeArgs),
}

/// Selection of the files in quarantine to restore.
#[derive(Debug, Args)]
pub(crate) struct QuarantineRestoreArgs {
    /// Restore only files that were at or below these paths
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) at: QuarantineDirArgs,
}

/// Location of the quarantine.
#[derive(Debug, Args)]
pub(crate) struct QuarantineDirArgs {
    /// Use the quarantines in DIR, or DIR itself, instead of the journals of the catalog
    ///
    /// A quarantine records where its files came from, so this option needs neither the catalog nor its journals. If
    /// the disk is mounted elsewhere now, paths are relative to the directory that contains the quarantine.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

/// Selection of the files in quarantine to remove.
#[derive(Debug, Args)]
pub(crate) struct QuarantinePurgeArgs {
    /// Remove files that have been in quarantine at least this long: 12h, 30d, 2w, 6mo, 1y
    #[arg(long, value_name = "AGE", value_parser = parse_age)]
    pub(crate) older_than: Duration,

    #[command(flatten)]
    pub(crate) at: QuarantineDirArgs,
}
