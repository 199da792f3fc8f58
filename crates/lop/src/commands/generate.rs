//! `lop generate`: prints all generated files as one JSON object, from file name to content.
//!
//! Hidden; `cargo xtask generate` writes what it prints below `docs/`, and `cargo xtask check`
//! compares. Nothing is written here.

mod man;
mod reference;

use std::collections::BTreeMap;
use std::io::Write;

use clap::{Command, CommandFactory};
use clap_complete::Shell;

use crate::args::Cli;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::formats::to_json;
use crate::output;

/// Generated files by their path below `docs/`.
type Files = BTreeMap<String, String>;

/// Runs the command.
pub(super) fn run() -> Result<Exit, CommandError> {
    let mut files = Files::new();
    let mut command = Cli::command();
    completions(&mut command, &mut files);
    command.build();
    man::add(&command, &mut files)
        .map_err(|e| CommandError::failed("cannot make the man pages").because(e))?;
    files.insert("reference.md".into(), reference::page(&command));
    output::print(|out| out.write_all(to_json(&files).as_bytes()))?;
    Ok(Exit::Done)
}

fn completions(command: &mut Command, files: &mut Files) {
    for (shell, name) in
        [(Shell::Bash, "lop.bash"), (Shell::Zsh, "_lop"), (Shell::Fish, "lop.fish")]
    {
        let mut script = Vec::new();
        clap_complete::generate(shell, command, "lop", &mut script);
        let script = String::from_utf8_lossy(&script).into_owned();
        files.insert(format!("completions/{name}"), script);
    }
}

/// Returns the commands right below one that are documented: the shown ones but clap's own `help`.
fn documented(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
}

/// Returns all commands that are documented, each with its name from the top: `["lop", "scan"]`.
fn all_documented(command: &Command) -> Vec<(Vec<String>, &Command)> {
    let mut all = vec![(vec![command.get_name().to_string()], command)];
    let mut at = 0;
    while at < all.len() {
        let (name, command) = all[at].clone();
        let below = documented(command)
            .map(|sub| (name.iter().cloned().chain([sub.get_name().to_string()]).collect(), sub));
        let below: Vec<_> = below.collect();
        // Right behind what they are below of.
        let behind = if at == 0 { all.len() } else { at + 1 };
        all.splice(behind..behind, below);
        at += 1;
    }
    all
}
