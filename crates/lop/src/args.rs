//! The command line: the one definition that the help, man pages, completions and the command reference are generated
//! from.
//!
//! The doc comments here are the help texts. [`crate::settings`] works out what the values mean for a run.

#![expect(clippy::doc_markdown, reason = "the comments are printed as they are")]

mod act;
mod ask;
mod keep;
mod manual;
mod mirror;
mod purge;
mod rules;
mod scan;
pub(crate) mod tips;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use act::{
    By, DedupeArgs, HistoryArgs, QuarantineArgs, QuarantineCommand, QuarantineDirArgs,
    QuarantinePurgeArgs, QuarantineRestoreArgs, SeparateArgs, UndoArgs,
};
pub(crate) use ask::{
    ContainsArgs, DupsArgs, FileArgs, ListArgs, ListSort, LsArgs, ReportArgs, Sort, UniquesArgs,
};
pub(crate) use keep::{ForgetArgs, ValidateArgs};
pub(crate) use manual::{CompletionsArgs, ManArgs};
pub(crate) use mirror::MirrorArgs;
pub(crate) use purge::PurgeArgs;
pub(crate) use scan::ScanArgs;

/// Finds duplicate files and remembers them in a catalog
///
/// Scan once, then ask. The catalog knows every scanned file, its duplicates and its digest, and the next scan reads
/// only what has changed. lop also acts on duplicates, mirrors directory trees and removes them.
#[derive(Debug, Parser)]
#[command(name = "lop", version, max_term_width = 80, after_help = EXAMPLES)]
#[command(infer_subcommands = false, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  lop scan ~                    Find duplicates in the home folder
  lop report                    Show the groups that waste most
  lop uniques ~/old-laptop      Is everything in there also elsewhere?
  lop scan --no-catalog --format json . > groups.json

See 'lop help COMMAND' for the options of a command.";

/// Options of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// Use this catalog [default: $LOP_CATALOG, or ~/.local/state/lop/catalog.db]
    ///
    /// Without $LOP_CATALOG the catalog is $XDG_STATE_HOME/lop/catalog.db, and without that variable
    /// ~/.local/state/lop/catalog.db. A scan creates the catalog if it does not exist.
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) catalog: Option<PathBuf>,

    /// Print no summary and no progress
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Print more than the first 20 problems, and what was measured of the devices
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,

    /// Show progress: auto (on a terminal), always or never
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    pub(crate) progress: When,

    /// Use colours: auto (on a terminal), always or never
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    pub(crate) color: When,

    /// Print results and errors as JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// When to use a feature of terminals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The kind of storage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Io {
    /// Measured while reading
    #[default]
    Auto,
    /// A hard disk: read in the order of positions
    Hdd,
    /// An SSD: many reads at once
    Ssd,
    /// Everything is in the page cache
    Cached,
}

/// The format in which groups of duplicates are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A heading for each group, for people
    Text,
    /// One path per line, a blank line between groups
    Fdupes,
    /// One JSON document with the groups and a summary
    Json,
    /// One row per file: group, size, digest, path
    Csv,
    /// A NUL after each path, and one more after each group
    Nul,
}

impl Format {
    /// Returns whether the format includes the digests of groups.
    pub(crate) fn shows_digests(self) -> bool {
        match self {
            Format::Text | Format::Json | Format::Csv => true,
            Format::Fdupes | Format::Nul => false,
        }
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Scan(ScanArgs),
    Report(ReportArgs),
    File(FileArgs),
    Ls(LsArgs),
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
    /// Show what the catalog knows: paths, disks, runs
    ///
    /// Shows what was scanned and when, on which disks the files are and whether these are mounted, how large the
    /// catalog is, which runs can be undone, and what is in quarantine. Examines none of the remembered files.
    #[command(after_help = "\
Examples:
  lop status                    What does the catalog know?
  lop status --json             The same for a script")]
    Status,
    Validate(ValidateArgs),
    /// Forget files that no longer exist
    ///
    /// Examines the metadata of every remembered file, without reading contents. Files that have changed stay in the
    /// catalog, marked wherever they are shown, until the next scan. Files on a disk that is not mounted stay too.
    #[command(after_help = "\
Examples:
  lop refresh                   Bring the catalog up to date after a clean-up")]
    Refresh,
    Forget(ForgetArgs),
    Man(ManArgs),
    Completions(CompletionsArgs),
    /// Run the side of a mirror that another host starts
    #[command(hide = true)]
    MirrorServer,
    /// Print the generated man pages, completions and reference as one JSON object
    #[command(hide = true)]
    Generate,
}

impl Command {
    /// Returns the memory that the command needs, in bytes, if that does not depend on the amount of data.
    pub(crate) fn usual_memory(&self) -> Option<u64> {
        match self {
            // Only a stack of directories is kept; for a chain of a million directories it takes this much.
            Command::Purge(_) => Some(64 << 20),
            // Hard links wait here for their file. The table of inodes is not counted: it consists of small
            // allocations.
            Command::Mirror(_) | Command::MirrorServer => Some(24 << 20),
            _ => None,
        }
    }

    /// Returns the memory limit that the user gave, in bytes.
    pub(crate) fn memory(&self) -> Option<u64> {
        match self {
            Command::Scan(args) => args.memory,
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
