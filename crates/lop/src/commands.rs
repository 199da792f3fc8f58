//! The commands, one file each. They put the libraries together and print; no algorithms here.

mod contains;
mod dups;
mod file;
mod generate;
mod ls;
mod refresh;
mod report;
mod scan;
mod uniques;
mod validate;

use crate::args::Command;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::settings::Settings;

/// Runs a command.
pub(crate) fn run(command: Command, settings: &Settings) -> Result<Exit, CommandError> {
    match command {
        Command::Scan(args) => scan::run(args, settings),
        Command::Generate => generate::run(),
        Command::Report(args) => report::run(&args, settings),
        Command::File(args) => file::run(&args, settings),
        Command::Ls(args) => ls::run(&args, settings),
        Command::Dups(args) => dups::run(&args, settings),
        Command::Uniques(args) => uniques::run(&args, settings),
        Command::Contains(args) => contains::run(&args, settings),
        Command::Validate => validate::run(settings),
        Command::Refresh => refresh::run(settings),
    }
}
