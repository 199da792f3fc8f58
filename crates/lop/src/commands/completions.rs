//! `lop completions`: prints the completion script for a shell.

use std::io::Write;

use crate::args::CompletionsArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::stdout;
use crate::pages;

/// Runs the command.
pub(super) fn run(args: &CompletionsArgs) -> Result<Exit, CommandError> {
    stdout::print(|out| out.write_all(&pages::completions(args.shell)))?;
    Ok(Exit::Done)
}
