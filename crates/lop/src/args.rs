//! What can be typed: the one table that help, man pages, completions and the reference come from.
//!
//! Doc comments here are the help texts. What the values mean for a run is worked out in
//! [`crate::settings`].

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
    By, DedupeArgs, HistoryArgs, QuarantineArgs, QuarantineCommand, QuarantinePurgeArgs,
    QuarantineRestoreArgs, SeparateArgs, StoreArgs, UndoArgs,
};
pub(crate) use ask::{
    ContainsArgs, DupsArgs, FileArgs, ListArgs, ListSort, LsArgs, ReportArgs, Sort, UniquesArgs,
};
pub(crate) use keep::{ForgetArgs, ValidateArgs};
pub(crate) use manual::{CompletionsArgs, ManArgs};
pub(crate) use mirror::MirrorArgs;
pub(crate) use purge::PurgeArgs;
pub(crate) use scan::ScanArgs;

/// Finds duplicate files and remembers them in a catalog.
///
/// Scan once, then ask: the catalog knows every file that was scanned, its duplicates and its
/// digest, and the next scan reads only what has changed.
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
    /// ~/.local/state/lop/catalog.db. It is made when it is missing.
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) catalog: Option<PathBuf>,

    /// Print no summary and no progress
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Print every problem, not only the first 20, and what was found out about devices
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

/// When to do something that suits terminals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// What the storage is like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Io {
    /// Found out while reading
    #[default]
    Auto,
    /// A hard disk: read in the order of places
    Hdd,
    /// An SSD: many reads at once
    Ssd,
    /// All in the page cache
    Cached,
}

/// How groups of duplicates are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A heading for each group, for people
    Text,
    /// One path a line, a blank line between groups
    Fdupes,
    /// One JSON document with the groups and a summary
    Json,
    /// One row per file: group, size, digest, path
    Csv,
    /// Each path ended by NUL, each group by one more NUL
    Nul,
}

impl Format {
    /// Returns whether the digests of groups are printed.
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
    /// Show what is remembered: paths, disks, runs
    ///
    /// What was scanned and when, which disks files are on and whether they are mounted, how large the
    /// catalog is, which runs can be undone, and what is in quarantine. Looks at no remembered file.
    #[command(after_help = "\
Examples:
  lop status                    What does the catalog know?
  lop status --json             The same for a script")]
    Status,
    Validate(ValidateArgs),
    /// Forget what is gone
    ///
    /// Looks at the metadata of every remembered file, and reads none. Files that have changed
    /// stay, marked wherever they are shown; scan them again to know them again. Files on a disk
    /// that is not mounted stay too.
    #[command(after_help = "\
Examples:
  lop refresh                   Bring the catalog up to date after a clean-up")]
    Refresh,
    Forget(ForgetArgs),
    Man(ManArgs),
    Completions(CompletionsArgs),
    /// Mirror from or to another host, which starts this
    #[command(hide = true)]
    MirrorServer,
    /// Print the generated man pages, completions and reference as one JSON object
    #[command(hide = true)]
    Generate,
}

impl Command {
    /// Returns how much memory is enough for it, if that is not a matter of how much there is.
    pub(crate) fn usual_memory(&self) -> Option<u64> {
        match self {
            // Of a tree only a stack is kept; that of a chain of a million directories takes this much.
            Command::Purge(_) => Some(64 << 20),
            // Names that others are to be linked to, beside the table of them, which is no large allocation.
            Command::Mirror(_) | Command::MirrorServer => Some(24 << 20),
            _ => None,
        }
    }

    /// Returns how much memory was asked for, if that was said.
    pub(crate) fn memory(&self) -> Option<u64> {
        match self {
            Command::Scan(args) => args.memory,
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
