//! The definition of the command line. The help texts, man pages, completions and command reference are generated from
//! it.
//!
//! The doc comments here are the help texts. [`crate::settings`] resolves the parsed values for a run.

#![expect(clippy::doc_markdown, reason = "the comments are printed as they are")]

mod act;
mod ask;
mod fleet;
mod keep;
mod look;
mod manual;
mod mirror;
mod purge;
mod rates;
mod rules;
mod scan;
mod serve;
mod share;
mod space;
mod storage;
mod sweep;
pub(crate) mod tips;
mod watch;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use act::{
    By, DedupeArgs, HistoryArgs, QuarantineArgs, QuarantineCommand, QuarantineDirArgs,
    QuarantinePurgeArgs, QuarantineRestoreArgs, SeparateArgs, UndoArgs,
};
pub(crate) use ask::{
    ContainsArgs, DupsArgs, FileArgs, ListArgs, ListSort, LsArgs, ReportArgs, Sort, UniquesArgs,
};
pub(crate) use fleet::{ExportArgs, ExportNames, ImportArgs, SurveyArgs};
pub(crate) use keep::{ForgetArgs, ValidateArgs};
pub(crate) use look::LookArgs;
pub(crate) use manual::{CompletionsArgs, ManArgs};
pub(crate) use mirror::MirrorArgs;
pub(crate) use purge::PurgeArgs;
pub(crate) use rates::RateArgs;
pub(crate) use scan::{ScanArgs, ShardArg};
pub(crate) use serve::ServeArgs;
pub(crate) use share::ShareArgs;
pub(crate) use space::{SpaceArgs, SpaceOrder};
pub(crate) use storage::StorageArgs;
pub(crate) use sweep::SweepArgs;
pub(crate) use watch::{ScanEvery, WatchArgs};

/// Finds duplicate files and remembers them in a catalog
///
/// Scan once, then query the catalog as often as you like. It stores every scanned file, its duplicates and its
/// digest, and the next scan reads only what has changed. lop can also act on duplicates, mirror directory trees and
/// remove them.
#[derive(Debug, Parser)]
#[command(name = "lop", version, max_term_width = 80, after_help = EXAMPLES)]
#[command(infer_subcommands = false, subcommand_required = false)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

const EXAMPLES: &str = "\
Examples:
  lop scan ~                    Find duplicates in the home folder
  lop report                    Show the groups that waste most
  lop uniques ~/old-laptop      Is everything in there also elsewhere?
  lop scan --no-catalog --format json . > groups.json

See 'lop help COMMAND' for the options of a command.";

/// Options that every command accepts.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]
    ///
    /// If LOP_CATALOG is not set, the default is the catalog of the configuration ('lop help config'), and without one,
    /// $XDG_STATE_HOME/lop/catalog.db. If XDG_STATE_HOME is not set either,
    /// it is ~/.local/state/lop/catalog.db. A scan creates the catalog if it does not exist.
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) catalog: Option<PathBuf>,

    /// Suppress the summary and the progress line
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Print more than the first 20 problems, and what lop measured of each disk
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,

    /// When to show progress: auto (on a terminal), always, never, or json (always, as lines of JSON)
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    pub(crate) progress: Show,

    /// When to use colours: auto (on a terminal), always or never
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    pub(crate) color: When,

    /// Print results and errors as JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// When to use a terminal feature, such as colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Whether and how to show progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Show {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
    /// As JSON on standard error
    Json,
}

/// The kind of storage, which decides how files are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Io {
    /// Measure while reading
    #[default]
    Auto,
    /// Hard disk: read in order of position on the disk
    Hdd,
    /// SSD: read many files at once
    Ssd,
    /// Files are already in the page cache
    Cached,
}

/// The output format for groups of duplicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A heading and the paths of each group, for people
    Text,
    /// One path per line, with a blank line between groups
    Fdupes,
    /// One JSON document with the groups and a summary
    Json,
    /// One row per file: group, size, digest, path
    Csv,
    /// A NUL after each path, and another one after each group
    Nul,
}

impl Format {
    /// Returns true if the format includes the digest of each group.
    pub(crate) fn shows_digests(self) -> bool {
        match self {
            Format::Text | Format::Json | Format::Csv => true,
            Format::Fdupes | Format::Nul => false,
        }
    }
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Scan(ScanArgs),
    Watch(WatchArgs),
    Report(ReportArgs),
    File(FileArgs),
    Ls(LsArgs),
    Space(SpaceArgs),
    Look(LookArgs),
    Dups(DupsArgs),
    Uniques(UniquesArgs),
    Contains(ContainsArgs),
    Dedupe(DedupeArgs),
    Separate(SeparateArgs),
    Undo(UndoArgs),
    History(HistoryArgs),
    Quarantine(QuarantineArgs),
    Mirror(MirrorArgs),
    Purge(PurgeArgs),
    Sweep(SweepArgs),
    Serve(ServeArgs),
    Share(ShareArgs),
    /// Show what the catalog contains: paths, disks, runs
    ///
    /// Shows what was scanned and when, which disks hold the files and whether they are mounted, and the size of the
    /// catalog. Also shows the runs that can be undone and the files in quarantine. This command does not access the
    /// remembered files.
    #[command(after_help = "\
Examples:
  lop status                    What does the catalog know?
  lop status --json             The same for a script")]
    Status,
    Validate(ValidateArgs),
    /// Forget files that no longer exist
    ///
    /// Checks the metadata of every remembered file without reading its content. Files that have changed stay in the
    /// catalog until the next scan, and are marked as changed wherever they are listed. Files on a disk that is not
    /// mounted also stay.
    #[command(after_help = "\
Examples:
  lop refresh                   Bring the catalog up to date after a clean-up")]
    Refresh,
    Forget(ForgetArgs),
    Export(ExportArgs),
    Import(ImportArgs),
    Survey(SurveyArgs),
    /// Show the settings and where each comes from, or the errors in the configuration
    ///
    /// lop reads ~/.config/lop/config.toml and /etc/lop/config.toml if they exist. If XDG_CONFIG_HOME is set, the first
    /// file is $XDG_CONFIG_HOME/lop/config.toml. If LOP_CONFIG is set, lop reads only the file that it names, or none
    /// if it is empty. Each file is in TOML and may have these keys:
    ///
    /// catalog: the catalog, unless --catalog or LOP_CATALOG is given.
    ///
    /// roots: a list of what 'lop scan' scans if no PATH is given.
    ///
    /// exclude: a list of patterns as for 'lop scan --exclude', in addition to those that are given.
    ///
    /// keep: a list of rules as for 'lop dedupe --keep', unless that option is given.
    ///
    /// protect: a list of folders in which no command removes or replaces anything.
    ///
    /// rates: a table with mirror (as --bwlimit), purge (as --rate), serve and share (as --limit-rate-total), unless
    /// that option is given.
    ///
    /// Paths begin with / or ~/. The user's file has precedence, but 'exclude' and 'protect' of both files apply. lop
    /// reads a file only if it belongs to you or root and other users cannot write to it. If a file has an error, no
    /// command that uses the configuration runs.
    #[command(after_help = "\
Examples:
  lop config                    Which settings apply, and why?
  lop config --json             The same for a script")]
    Config,
    Man(ManArgs),
    Completions(CompletionsArgs),
    /// Run the remote end of a mirror; started by lop on the other host
    #[command(hide = true)]
    MirrorServer,
    /// Print the generated man pages, completions and reference as one JSON object
    #[command(hide = true)]
    Generate,
}

impl Command {
    /// Returns whether the configuration applies to the command. It is then read and checked before the command begins.
    pub(crate) fn is_configured(&self) -> bool {
        // `config` reads the configuration itself to show all of its errors, and `mirror-server` to report them to the
        // other host.
        let reads_itself = matches!(self, Command::Config | Command::MirrorServer);
        let prints_texts =
            matches!(self, Command::Man(_) | Command::Completions(_) | Command::Generate);
        !reads_itself && !prints_texts
    }

    /// Returns the memory that the command needs, in bytes, if that does not depend on the amount of data.
    pub(crate) fn usual_memory(&self) -> Option<u64> {
        match self {
            // A purge keeps only a stack of directories in memory. Even for a chain of a million nested directories,
            // this amount is enough.
            // The notes of a watcher have a limit of their own.
            Command::Purge(_) | Command::Watch(_) => Some(64 << 20),
            // Limits the number of hard links that wait for their file to be copied. The inode table is not counted,
            // because it consists of small allocations.
            Command::Mirror(_) | Command::MirrorServer => Some(24 << 20),
            _ => None,
        }
    }

    /// Returns the limit that the user set with `--memory`, in bytes.
    pub(crate) fn memory(&self) -> Option<u64> {
        match self {
            Command::Scan(args) => args.memory,
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
