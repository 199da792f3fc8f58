//! The commands, one per file. They call the libraries and print the results, but contain no algorithms.

mod completions;
mod config;
mod contains;
mod dedupe;
mod dups;
mod export;
mod file;
mod forget;
mod generate;
mod history;
mod import;
mod look;
mod ls;
mod man;
mod mirror;
mod purge;
mod quarantine;
mod refresh;
mod report;
mod scan;
mod separate;
mod serve;
mod serving;
mod share;
mod space;
mod start;
mod status;
mod survey;
mod sweep;
mod undo;
mod uniques;
mod validate;
mod watch;

use crate::args::Command;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::settings::Settings;

/// Runs a command.
///
/// # Errors
///
/// Returns the error that ended the command. A command that changes files reports its changes before it returns the
/// error.
pub(crate) fn run(command: Option<Command>, settings: &Settings) -> Result<Exit, CommandError> {
    let Some(command) = command else { return start::run(settings) };
    match command {
        Command::Scan(args) => scan::run(args, settings),
        Command::Watch(args) => watch::run(&args, settings),
        Command::Status => status::run(settings),
        Command::Forget(args) => forget::run(&args, settings),
        Command::Export(args) => export::run(&args, settings),
        Command::Import(args) => import::run(&args, settings),
        Command::Survey(args) => survey::run(&args, settings),
        Command::Config => config::run(settings),
        Command::Generate => generate::run(),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args, settings),
        Command::Report(args) => report::run(&args, settings),
        Command::File(args) => file::run(&args, settings),
        Command::Look(args) => look::run(&args, settings),
        Command::Ls(args) => ls::run(&args, settings),
        Command::Space(args) => space::run(&args, settings),
        Command::Dups(args) => dups::run(&args, settings),
        Command::Uniques(args) => uniques::run(&args, settings),
        Command::Contains(args) => contains::run(&args, settings),
        Command::Dedupe(args) => dedupe::run(&args, settings),
        Command::History(args) => history::run(&args, settings),
        Command::Quarantine(args) => quarantine::run(&args, settings),
        Command::Mirror(args) => mirror::run(&args, settings),
        Command::MirrorServer => mirror::serve(settings),
        Command::Purge(args) => purge::run(&args, settings),
        Command::Sweep(args) => sweep::run(&args, settings),
        Command::Serve(args) => serve::run(&args, settings),
        Command::Share(args) => share::run(&args, settings),
        Command::Separate(args) => separate::run(&args, settings),
        Command::Undo(args) => undo::run(&args, settings),
        Command::Validate(args) => validate::run(&args, settings),
        Command::Refresh => refresh::run(settings),
    }
}
