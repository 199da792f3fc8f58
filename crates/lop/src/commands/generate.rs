//! `lop generate`: prints all generated files as one JSON object that maps file names to contents.
//!
//! The command is hidden and writes no files. `cargo xtask generate` writes the output to files below `docs/`, and
//! `cargo xtask check` checks that these files are up to date.

use std::collections::BTreeMap;
use std::io::Write;

use clap_complete::Shell;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::formats::to_json;
use crate::output::stdout;
use crate::pages;

/// Runs the command.
pub(super) fn run() -> Result<Exit, CommandError> {
    // The keys are paths below `docs/`.
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for (shell, name) in
        [(Shell::Bash, "lop.bash"), (Shell::Zsh, "_lop"), (Shell::Fish, "lop.fish")]
    {
        let script = String::from_utf8_lossy(&pages::completions(shell)).into_owned();
        files.insert(format!("completions/{name}"), script);
    }
    // The pages of section 7 are copies of the documents in `docs/`, so they are not generated.
    let commands = pages::manual().into_iter().filter(|(name, _)| name.ends_with(".1"));
    files.extend(commands.map(|(name, page)| (format!("man/{name}"), page)));
    files.insert("reference.md".into(), pages::reference());
    stdout::print(|out| out.write_all(to_json(&files).as_bytes()))?;
    Ok(Exit::Done)
}
