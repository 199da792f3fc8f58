//! `lop` finds duplicate files and remembers them in a catalog.
//!
//! The binary is glue: it resolves what was typed ([`args`], [`settings`]), runs one of the
//! [`commands`] on the libraries, and turns the outcome into output and an exit code ([`exit`]).
//! It holds no algorithm.

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
mod quantity;
mod questions;
mod settings;

use std::ffi::OsStr;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use crate::args::{Cli, When};
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
    let (asked, usual) = (cli.command.memory(), cli.command.usual_memory());
    let run = || {
        monitor::memory::bound(asked, usual).and_then(|()| commands::run(cli.command, &settings))
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

/// Prints help, version or what is wrong with the arguments.
fn refuse(error: &clap::Error) -> Exit {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // Nobody is left to hear that this cannot be written.
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
