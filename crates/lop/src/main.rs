//! `lop` finds duplicate files and remembers them in a catalog. It also mirrors and removes directory trees.
//!
//! The binary only connects the libraries. It resolves the arguments, runs one command, and turns the outcome into
//! output and an exit code. Algorithms do not belong here, because a library can be tested without starting a process.
//!
//! | module | purpose |
//! |---|---|
//! | [`args`] | Defines the arguments, from which the help, man pages and completions are generated. |
//! | [`settings`] | Resolves the arguments and the environment, once per run. |
//! | [`commands`] | Runs the commands, one file each. |
//! | [`questions`] | Queries the catalog and checks the state of the files now. |
//! | [`acting`] | Turns groups of identical files into plans, and carries plans out. |
//! | [`protected`] | Finds out whether a path is in a protected folder, or contains one. |
//! | [`paths`] | Makes typed paths absolute and compares paths. |
//! | [`prompt`] | Asks the user. |
//! | [`monitor`] | Shows progress and handles signals while the libraries work. |
//! | [`output`] | Prints results, problems and summaries. |
//! | [`quantity`] | Parses and formats sizes, counts, durations and times. |
//! | [`spelling`] | Finds the word that the user probably meant. |
//! | [`pages`] | Generates man pages, completions and the command reference. |
//! | [`error`], [`exit`] | Define the error type of the commands and the exit codes. |

mod acting;
mod args;
mod commands;
mod error;
mod exit;
mod monitor;
mod output;
mod pages;
mod paths;
mod prompt;
mod protected;
mod quantity;
mod questions;
mod settings;
mod spelling;

use std::ffi::OsStr;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use crate::args::{Cli, Command, When};
use crate::exit::Exit;
use crate::output::stream::Stream;
use crate::settings::Settings;

#[global_allocator]
static ALLOCATOR: runtime::memory::Allocator = runtime::memory::Allocator;

fn main() -> ExitCode {
    let exit = match Cli::try_parse() {
        Ok(cli) => run(cli),
        Err(mut e) => {
            let command = std::env::args_os().nth(1);
            args::tips::improve(&mut e, command.as_deref().and_then(OsStr::to_str));
            refuse(&e)
        }
    };
    ExitCode::from(exit.code())
}

fn run(cli: Cli) -> Exit {
    let settings = Settings::new(cli.global);
    let requested = cli.command.as_ref().and_then(Command::memory);
    let usual = cli.command.as_ref().and_then(Command::usual_memory);
    let run = || {
        let is_configured = cli.command.as_ref().is_none_or(Command::is_configured);
        let settings = settings.clone();
        let settings = if is_configured { settings.configured()? } else { settings };
        monitor::memory::bound(requested, usual)?;
        commands::run(cli.command, &settings)
    };
    let exit = run().unwrap_or_else(|error| {
        settings.report_last(&error);
        error.exit
    });
    if exit == Exit::Interrupted {
        monitor::interrupt::end_as_caught();
    }
    exit
}

/// Prints the help text, the version, or an error about the arguments.
fn refuse(error: &clap::Error) -> Exit {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // If this write fails, there is nowhere else to report the failure.
            let _unheard = error.print();
            Exit::Done
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _unheard = error.print();
            Exit::Usage
        }
        _ => {
            let message = output::usage::print(&error.to_string(), Stream::stderr(When::Auto));
            if std::env::args_os().any(|arg| arg == "--json") {
                settings::print_usage_record(&message);
            }
            Exit::Usage
        }
    }
}
