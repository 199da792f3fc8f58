//! `lop-fleet` answers questions over the exports of many hosts, which `lop export` writes.
//!
//! | module | purpose |
//! |---|---|
//! | [`args`] | Defines the arguments; the doc comments are the help texts. |
//! | [`commands`] | Runs the commands, one file each. |
//! | [`engines`] | Runs SQL queries. |
//! | [`exports`] | Finds the exports that a command compares. |
//! | [`inventory`] | Reads S3 Inventories. |
//! | [`formats`] | Prints the rows of queries. |
//! | [`output`] | Prints results, problems and errors. |
//! | [`stores`] | Reads and writes exports in object stores. |
//! | [`table`] | Lays out tables of text. |

mod args;
mod commands;
mod engines;
mod exports;
mod formats;
mod inventory;
mod output;
mod stores;
mod table;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::output::Output;

fn main() -> ExitCode {
    let cli = Cli::parse();
    // All exports and lists are open at the same time.
    runtime::raise_descriptor_limit();
    let output = Output::new(cli.json);
    let ended = match &cli.command {
        Command::Where(args) => commands::locate::run(args, output),
        Command::Uniques(args) => commands::contained::uniques(args, output),
        Command::Contains(args) => commands::contained::contains(args, output),
        Command::Check(args) => commands::check::run(args, output),
        Command::Answer(args) => commands::answer::run(args, output),
        Command::Collect(args) => commands::collect::run(args, output),
        Command::Inventory(args) => commands::inventory::run(args, output),
        Command::Upload(args) => commands::upload::run(args, output),
        Command::Plan(args) => commands::plan::run(args, output),
        Command::Growth(args) => commands::growth::run(args, output),
        Command::Sql(args) => commands::sql::run(args, output),
        Command::Report(args) => commands::report::run(args, output),
    };
    let exit = ended.unwrap_or_else(|error| {
        output::complain(&*error);
        Exit::Failed
    });
    ExitCode::from(exit as u8)
}

/// The result of a run, with the exit codes of lop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    Done = 0,
    Failed = 1,
    /// Some exports could not be used, or some files have no digest and could not be compared.
    Partial = 3,
    /// The answer is no.
    No = 6,
}

impl Exit {
    /// Returns the result of work on `all` hosts, of which `failed` failed. `has_problems` is true if something else is
    /// missing.
    fn of_hosts(all: usize, failed: usize, has_problems: bool) -> Exit {
        match failed {
            _ if failed == all => Exit::Failed,
            0 if !has_problems => Exit::Done,
            _ => Exit::Partial,
        }
    }
}
