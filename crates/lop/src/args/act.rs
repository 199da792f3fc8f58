//! The arguments of the commands that change files, and take changes back.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::rules::Rules;
use crate::quantity::{parse_age, parse_size};

/// What is done with each redundant file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// Remove it
    Delete,
    /// Make its name one of the kept file
    Hardlink,
    /// Let it share the disk space of the kept file; it stays a file of its own
    Reflink,
    /// Put a relative symbolic link to the kept file in its place
    Symlink,
    /// Move it aside, on the same file system, until it is purged or brought back
    Quarantine,
    /// Print a shell script that compares once more and then does what it is told
    Script,
}

/// Act on duplicates
///
/// Shows what would be done with the groups of the catalog: which file of each group stays and
/// why, and what is done with the others. Nothing changes without --apply.
///
/// With --apply each file is compared once more, byte by byte, with the one that stays, right
/// before it is acted on; what has changed, differs or is being written to is left alone and
/// reported. Everything is noted in a journal first: 'lop undo' brings it back, and a run that was
/// killed is brought to an end by the next one.
///
/// With PATHs only files below them are acted on; copies elsewhere stay.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop dedupe --by hardlink                       Show what would be linked
  lop dedupe --by hardlink --apply               Link it
  lop dedupe --by quarantine --keep oldest --protect ~/Pictures --apply ~
  lop dedupe --by delete --apply ~/old-laptop    What is there and elsewhere too
  lop dedupe --by quarantine --apply --all       All that the catalog knows
  lop dedupe --by delete --save-plan plan.jsonl  Look at it, remove lines, then
  lop dedupe --plan plan.jsonl --apply
  lop dedupe --by script > act.sh; sh act.sh hardlink")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that is given or not")]
pub(crate) struct DedupeArgs {
    /// Act only on files below these
    ///
    /// To delete, quarantine or replace files by symbolic links takes a PATH, or --all. Without either
    /// the plan for all that the catalog knows is shown, and hard links and reflinks are made of it.
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// Act on all that the catalog knows
    #[arg(long, conflicts_with_all = ["paths", "report", "files_from", "plan"])]
    pub(crate) all: bool,

    /// What to do with each redundant file
    #[arg(long, value_name = "KIND", required_unless_present = "plan", conflicts_with = "plan")]
    pub(crate) by: Option<By>,

    /// Do it
    #[arg(long)]
    pub(crate) apply: bool,

    /// Do not ask, however much is deleted
    ///
    /// On a terminal lop asks before it deletes more than 1,000 files.
    #[arg(short, long)]
    pub(crate) yes: bool,

    /// Go through the groups on the terminal and choose which files stay
    ///
    /// With a line each: 1, or 1,3, or 2-4; '?' tells more. Nothing is done before all is chosen and was
    /// looked at once more. Without --apply the choices can be saved as a plan.
    #[arg(short, long, conflicts_with = "plan")]
    pub(crate) interactive: bool,

    /// Which file of a group stays
    ///
    /// local (on a file system of this machine, not behind a network or FUSE mount), tidy (looks least like a
    /// copy: no "(1)" or "copy" in its name, not in Downloads, a backup or the trash), newest, oldest, shortest-path, longest-path, shallowest, deepest, first-root (below the
    /// PATH that was named first), device:DIR (on the device of DIR), path:GLOB.
    ///
    /// path:photos is a file called so, or in a directory called so; with a slash GLOB is matched against
    /// the path, counted from a PATH, the root or the working directory.
    ///
    /// Given several times, the first rule that tells the files apart decides; where none does, these do:
    /// local, tidy, oldest, shortest-path, and then the first path in alphabetical order.
    #[arg(long, value_name = "RULE", help_heading = "Selection", conflicts_with = "plan")]
    #[arg(value_parser = Rules, hide_possible_values = true)]
    pub(crate) keep: Vec<String>,

    /// Never touch what is below DIR; its files are kept before all others
    #[arg(long, value_name = "DIR", help_heading = "Selection", conflicts_with = "plan")]
    pub(crate) protect: Vec<PathBuf>,

    /// Leave out smaller files
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Selection")]
    #[arg(conflicts_with = "plan")]
    pub(crate) min_size: Option<u64>,

    /// Act on what programs keep for themselves too: .git, snapshots, trash, @eaDir
    ///
    /// Without this, the files in repositories (.git, .hg, .svn, .bzr, .jj) and in the folders that
    /// 'lop scan' leaves out are neither kept nor acted on, unless the folder is given as PATH.
    #[arg(long, help_heading = "Selection", conflicts_with = "plan")]
    pub(crate) system_dirs: bool,

    /// Take the groups from a report in JSON instead of the catalog
    ///
    /// As 'lop report --format json' prints it, or 'lop scan'. Only its paths count: the files are
    /// compared again.
    #[arg(long, value_name = "FILE", help_heading = "Selection", conflicts_with = "plan")]
    pub(crate) report: Option<PathBuf>,

    /// Take the files named in FILE, or on standard input for -, instead of the catalog
    ///
    /// One path a line. They are compared first to find the groups.
    #[arg(long, value_name = "FILE", help_heading = "Selection")]
    #[arg(conflicts_with_all = ["plan", "report"])]
    pub(crate) files_from: Option<PathBuf>,

    /// Paths in the list end with NUL, not with a newline
    #[arg(short = '0', long, requires = "files_from", help_heading = "Selection")]
    pub(crate) null: bool,

    /// What is below DIR, on a network or FUSE file system, is no other view of files that go
    ///
    /// A file that is mounted by another path as well (sshfs, NFS, mergerfs and its branches) may
    /// seem to be a copy of itself. So a kept file on such a file system counts as another one
    /// only for files on the same file system, or if this says so.
    #[arg(long, value_name = "DIR", help_heading = "Selection")]
    pub(crate) distinct: Vec<PathBuf>,

    /// Write the plan to FILE, one JSON object a line
    ///
    /// Lines may be removed from it. It is checked again in full when it is applied.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["plan", "apply"])]
    pub(crate) save_plan: Option<PathBuf>,

    /// Take the plan from FILE
    #[arg(long, value_name = "FILE", conflicts_with = "paths")]
    pub(crate) plan: Option<PathBuf>,

    /// Give directories back the times they had before names in them changed
    #[arg(long)]
    pub(crate) preserve_dir_times: bool,
}

/// Make hard links files of their own
///
/// Looks for files below the PATHs that have several names, and gives each of those names but one a
/// copy of its own: same content, owner, permissions, times and attributes. If the file has names
/// elsewhere too, all names below the PATHs get copies. Copies share disk space where the file
/// system can.
///
/// Shows what would be done; nothing changes without --apply. 'lop undo' makes them hard links
/// again, as long as they are equal and all names of the file were below the PATHs.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop separate ~/project                 Show which names are hard links
  lop separate --apply ~/project         Make them files of their own")]
pub(crate) struct SeparateArgs {
    /// Directories to look through
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,

    /// Do it
    #[arg(long)]
    pub(crate) apply: bool,

    /// Give directories back the times they had before names in them changed
    #[arg(long)]
    pub(crate) preserve_dir_times: bool,
}

/// Restore what a run changed
///
/// Files in quarantine get their names back. Where a link took a file's place, or the file was
/// deleted, a copy of the kept file takes it, with the former owner, permissions, times and
/// attributes; names that were hard links of one file are so again. What has changed since is not
/// copied, and nothing that has appeared since is overwritten: such files are reported.
///
/// It can be repeated: files that are back already are left alone.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop undo                      Undo the last run
  lop undo --dry-run            Show what that would restore, and how
  lop undo 12                   Undo run 12 of 'lop history'
  lop undo 12 ~/Pictures/2019   Restore only what is there")]
pub(crate) struct UndoArgs {
    /// Number of the run [default: the last one that is not undone]
    #[arg(value_name = "RUN", value_parser = parse_run)]
    pub(crate) run: Option<u64>,

    /// Restore only files at or below these
    #[arg(value_name = "PATH", requires = "run")]
    pub(crate) paths: Vec<PathBuf>,

    /// Show how each file would be restored, and change nothing
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
}

/// List the runs that changed files, or what a run did with each file
///
/// The newest run is the last. A run that was cut off is brought to its end by the next one. Of trees
/// that 'lop purge --instant' moved out of the way it is said how many entries are gone, which
/// process is at it, and where the rest is.
///
/// With RUN each file of that run is listed, with what became of it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop history                   What was done, and what was undone
  lop history 12                Which files run 12 acted on")]
pub(crate) struct HistoryArgs {
    /// Number of a run
    #[arg(value_name = "RUN", value_parser = parse_run)]
    pub(crate) run: Option<u64>,
}

/// Reads the number of a run.
fn parse_run(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "not the number of a run; 'lop history' lists them".into())
}

/// Look after files in quarantine
///
/// 'lop dedupe --by quarantine' moves files into a directory .lop-quarantine-UID on their own file
/// system, from where 'lop undo' brings them back.
#[derive(Debug, Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  lop quarantine list                      What is in quarantine
  lop quarantine restore ~/Pictures        Give files that were there their names back
  lop quarantine purge --older-than 30d    Remove what is there for a month
  lop quarantine list --dir /mnt/usb       Without the catalog, from the disk itself")]
pub(crate) struct QuarantineArgs {
    #[command(subcommand)]
    pub(crate) command: QuarantineCommand,
}

/// What is done with files in quarantine.
#[derive(Debug, Subcommand)]
pub(crate) enum QuarantineCommand {
    /// List the files in quarantine
    #[command(after_help = "\
Examples:
  lop quarantine list
  lop quarantine list --dir /mnt/usb")]
    List(QuarantineListArgs),
    /// Give files in quarantine their names back
    ///
    /// Whichever run moved them there. Nothing that has taken a name since is overwritten: such files
    /// stay in quarantine and are reported.
    #[command(after_help = "\
Examples:
  lop quarantine restore                     Restore all
  lop quarantine restore ~/Pictures          Restore what was there
  lop quarantine restore --dir /mnt/usb      Restore what is in quarantine on a disk")]
    Restore(QuarantineRestoreArgs),
    /// Remove files from quarantine for good
    ///
    /// A file is removed only if the file that was kept for it is still there and equal to it, byte
    /// by byte. Others stay and are reported.
    #[command(after_help = "\
Examples:
  lop quarantine purge --older-than 30d")]
    Purge(QuarantinePurgeArgs),
}

/// Which files in quarantine are listed.
#[derive(Debug, Args)]
pub(crate) struct QuarantineListArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Which files in quarantine get their names back.
#[derive(Debug, Args)]
pub(crate) struct QuarantineRestoreArgs {
    /// Restore only what was at or below these
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Where files in quarantine are looked for.
#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// Look into the stores in DIR, or the one that it is, instead of the catalog's journals
    ///
    /// A store tells by itself where its files were, so neither a catalog nor its journals are needed.
    /// If the disk is mounted elsewhere now, paths are those below the directory that the store is in.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

/// Which files are removed from quarantine.
#[derive(Debug, Args)]
pub(crate) struct QuarantinePurgeArgs {
    /// Remove what was moved there at least this long ago: 12h, 30d, 2w, 6mo, 1y
    #[arg(long, value_name = "AGE", value_parser = parse_age)]
    pub(crate) older_than: Duration,

    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
