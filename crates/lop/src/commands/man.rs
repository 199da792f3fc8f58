//! `lop man`: shows a man page, or prints it if standard output is not a terminal.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use crate::args::ManArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::stdout;
use crate::pages;
use crate::settings::Settings;

/// Runs the command.
pub(super) fn run(args: &ManArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let pages = pages::manual();
    if args.list {
        stdout::print(|out| pages.keys().try_for_each(|name| writeln!(out, "{name}")))?;
        return Ok(Exit::Done);
    }
    let page = args.page.join("-");
    let name = page.trim_start_matches("lop-");
    let names = if matches!(name, "" | "lop") {
        ["lop.1".into(), String::new(), String::new()]
    } else {
        // Accepts names such as "scan", "formats" and "lop-scan.1".
        [format!("lop-{name}.1"), format!("lop-{name}.7"), page.clone()]
    };
    let Some(page) = names.iter().find_map(|name| pages.get(name)) else {
        return Err(CommandError::usage(format!("no man page for '{}'", args.page.join(" ")))
            .hint("'lop man --list' lists all pages"));
    };
    if !(settings.stdout.terminal && shown(page).is_ok()) {
        stdout::print(|out| out.write_all(page.as_bytes()))?;
    }
    Ok(Exit::Done)
}

/// Shows the page with `man` and waits until the user closes it.
fn shown(page: &str) -> io::Result<()> {
    let mut man = Command::new("man").args(["-l", "-"]).stdin(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = man.stdin.take() {
        // The user may quit before `man` has read the whole page.
        let _unread = stdin.write_all(page.as_bytes());
    }
    if man.wait()?.success() { Ok(()) } else { Err(io::Error::other("man cannot show it")) }
}
