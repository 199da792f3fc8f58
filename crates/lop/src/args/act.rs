//! The arguments of the commands that change files, and of those that undo changes.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::rules::Rules;
use crate::quantity::{parse_age, parse_size};

/// The action for each redundant file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// Delete it
    Delete,
    /// Replace it by a hard link to the kept file
    Hardlink,
    /// Let it share the disk space of the kept file; it remains a separate file
    Reflink,
    /// Replace it by a relative symbolic link to the kept file
    Symlink,
    /// Move it aside, on the same file system, until it is purged or restored
    Quarantine,
    /// Print a shell script that compares the files again and then acts
    Script,
}

/// Act on duplicates
///
/// Shows what would be done with the groups of the catalog: which file of each group is kept and why, and what happens
/// to the others. Without --apply nothing is changed.
///
/// With --apply each file is compared byte by byte with the kept file right before it is acted on. A file that has
/// changed, differs or is being written to is left alone and reported. A journal records everything first: 'lop undo'
/// restores the files, and if a run is killed, the next run finishes what it had begun.
///
/// With PATHs only files below them are acted on; copies elsewhere are kept.
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
    /// Deleting, quarantining or replacing files by symbolic links requires a PATH or --all. Without either, lop shows
    /// the plan for the whole catalog, but only makes hard links and reflinks.
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// Act on everything in the catalog
    #[arg(long, conflicts_with_all = ["paths", "report", "files_from", "plan"])]
    pub(crate) all: bool,

    /// The action on each redundant file
    #[arg(long, value_name = "KIND", required_unless_present = "plan", conflicts_with = "plan")]
    pub(crate) by: Option<By>,

    /// Carry out the plan
    #[arg(long)]
    pub(crate) apply: bool,

    /// Do not ask before deleting many files
    ///
    /// Without this option, on a terminal, lop asks before it deletes more than 1,000 files.
    #[arg(short, long)]
    pub(crate) yes: bool,

    /// Go through the groups on the terminal and choose which files to keep
    ///
    /// Each answer is one line: 1, or 1,3, or 2-4; '?' shows the help. Nothing is changed before all groups are done
    /// and the choices are confirmed. Without --apply the choices can be saved as a plan.
    #[arg(short, long, conflicts_with = "plan")]
    pub(crate) interactive: bool,

    /// Which file of a group to keep
    ///
    /// local (on a file system of this machine, not on a network or FUSE mount), tidy (looks least like a copy: no
    /// "(1)" or "copy" in its name, not in Downloads, a backup or the trash), newest, oldest, shortest-path,
    /// longest-path, shallowest, deepest, first-root (below the PATH that was named first), device:DIR (on the device
    /// of DIR), path:GLOB.
    ///
    /// path:photos matches a file named photos, and files in a directory with that name. A GLOB with a slash is matched
    /// against the path from a PATH, from the root or from the working directory.
    ///
    /// If the option is given several times, the first rule that distinguishes the files decides. If none does, these
    /// do: local, tidy, oldest, shortest-path, and finally the first path in alphabetical order.
    #[arg(long, value_name = "RULE", help_heading = "Selection", conflicts_with = "plan")]
    #[arg(value_parser = Rules, hide_possible_values = true)]
    pub(crate) keep: Vec<String>,

    /// Never touch files below DIR; they are kept in preference to all others
    #[arg(long, value_name = "DIR", help_heading = "Selection", conflicts_with = "plan")]
    pub(crate) protect: Vec<PathBuf>,

    /// Skip smaller files
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Selection")]
    #[arg(conflicts_with = "plan")]
    pub(crate) min_size: Option<u64>,

    /// Act on files that programs keep for themselves too: .git, snapshots, trash, @eaDir
    ///
    /// Without this option, files in repositories (.git, .hg, .svn, .bzr, .jj) and in the folders that 'lop scan' skips
    /// are neither kept nor acted on, unless the folder is given as PATH.
    #[arg(long, help_heading = "Selection", conflicts_with = "plan")]
    pub(crate) system_dirs: bool,

    /// Take the groups from a JSON report instead of the catalog
    ///
    /// The report comes from 'lop report --format json' or 'lop scan --format json'. Only its paths and sizes are used;
    /// the files are compared again.
    #[arg(long, value_name = "FILE", help_heading = "Selection", conflicts_with = "plan")]
    pub(crate) report: Option<PathBuf>,

    /// Take the files named in FILE instead of the catalog; - is standard input
    ///
    /// FILE has one path per line. The files are compared first to find the groups.
    #[arg(long, value_name = "FILE", help_heading = "Selection")]
    #[arg(conflicts_with_all = ["plan", "report"])]
    pub(crate) files_from: Option<PathBuf>,

    /// Paths in the list end with NUL instead of a newline
    #[arg(short = '0', long, requires = "files_from", help_heading = "Selection")]
    pub(crate) null: bool,

    /// Treat files below DIR, on a network or FUSE file system, as separate files
    ///
    /// Such a file system can show files of this machine under a second path (sshfs, NFS, mergerfs and its branches),
    /// so a file can look like a copy of itself. Without this option, a kept file there counts as a copy only for files
    /// on the same file system.
    #[arg(long, value_name = "DIR", help_heading = "Selection")]
    pub(crate) distinct: Vec<PathBuf>,

    /// Write the plan to FILE, one JSON object per line
    ///
    /// You can remove lines from the file. The plan is checked again completely when it is applied.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["plan", "apply"])]
    pub(crate) save_plan: Option<PathBuf>,

    /// Read the plan from FILE
    #[arg(long, value_name = "FILE", conflicts_with = "paths")]
    pub(crate) plan: Option<PathBuf>,

    /// Restore the times of directories after names in them have changed
    #[arg(long)]
    pub(crate) preserve_dir_times: bool,
}

/// Replace hard links by independent copies
///
/// Finds files below the PATHs that have several names, and gives each of these names except one a copy of its own,
/// with the same content, owner, permissions, times and attributes. If the file also has names elsewhere, all names
/// below the PATHs get copies. Copies share disk space where the file system can do that.
///
/// Without --apply, lop only shows what would be done. 'lop undo' makes them hard links again, as long as they are
/// equal and all names of the file were below the PATHs.
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

    /// Restore the times of directories after names in them have changed
    #[arg(long)]
    pub(crate) preserve_dir_times: bool,
}

/// Restore what a run changed
///
/// Files in quarantine get their names back. A file that was deleted or replaced by a link is copied from the kept
/// file, with its former owner, permissions, times and attributes; names that were hard links of one file become hard
/// links again. A kept file that has changed since is not copied, and a file that has appeared since is not
/// overwritten: such files are reported.
///
/// The command can be repeated; it skips files that are already restored.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop undo                      Undo the last run
  lop undo --dry-run            Show what would be restored, and how
  lop undo 12                   Undo run 12 of 'lop history'
  lop undo 12 ~/Pictures/2019   Restore only files there")]
pub(crate) struct UndoArgs {
    /// Number of the run [default: the last one that is not undone]
    #[arg(value_name = "RUN", value_parser = parse_run)]
    pub(crate) run: Option<u64>,

    /// Restore only files at or below these paths
    #[arg(value_name = "PATH", requires = "run")]
    pub(crate) paths: Vec<PathBuf>,

    /// Show how each file would be restored, without changing anything
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
}

/// List the runs that changed files, or what one run did with each file
///
/// The newest run comes last. If a run was interrupted, the next run finishes what it had begun. For trees that 'lop
/// purge --instant' moved out of the way, the list shows how many entries are gone, which process removes them, and
/// where the rest is.
///
/// With RUN each file of that run is listed with its result. Times are in the local time zone.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop history                   Show what was done and undone
  lop history 12                Show which files run 12 acted on")]
pub(crate) struct HistoryArgs {
    /// Number of a run
    #[arg(value_name = "RUN", value_parser = parse_run)]
    pub(crate) run: Option<u64>,
}

/// Parses the number of a run.
fn parse_run(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "not the number of a run; 'lop history' lists them".into())
}

/// List, restore or remove files in quarantine
///
/// 'lop dedupe --by quarantine' moves files into a directory .lop-quarantine-UID on their own file system. 'lop undo'
/// restores them.
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

/// The commands for files in quarantine.
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
    /// The run that moved them does not matter. A name that is in use again is not overwritten: such files stay in
    /// quarantine and are reported.
    #[command(after_help = "\
Examples:
  lop quarantine restore                     Restore all
  lop quarantine restore ~/Pictures          Restore files that were there
  lop quarantine restore --dir /mnt/usb      Restore what is in quarantine on a disk")]
    Restore(QuarantineRestoreArgs),
    /// Remove files from quarantine for good
    ///
    /// A file is removed only if the file that was kept for it still exists and is equal to it byte by byte. Other
    /// files stay and are reported.
    #[command(after_help = "\
Examples:
  lop quarantine purge --older-than 30d")]
    Purge(QuarantinePurgeArgs),
}

/// Which files in quarantine to restore.
#[derive(Debug, Args)]
pub(crate) struct QuarantineRestoreArgs {
    /// Restore only files that were at or below these paths
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) at: QuarantineDirArgs,
}

/// Where to look for files in quarantine.
#[derive(Debug, Args)]
pub(crate) struct QuarantineDirArgs {
    /// Use the quarantines in DIR, or DIR itself, instead of the journals of the catalog
    ///
    /// A quarantine records where its files were, so neither the catalog nor its journals are needed. If the disk is
    /// now mounted elsewhere, paths are relative to the directory that contains the quarantine.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

/// Which files to remove from quarantine.
#[derive(Debug, Args)]
pub(crate) struct QuarantinePurgeArgs {
    /// Remove files that were moved there at least this long ago: 12h, 30d, 2w, 6mo, 1y
    #[arg(long, value_name = "AGE", value_parser = parse_age)]
    pub(crate) older_than: Duration,

    #[command(flatten)]
    pub(crate) at: QuarantineDirArgs,
}
