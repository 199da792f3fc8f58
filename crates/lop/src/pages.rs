//! Generates man pages, completions and the command reference from the argument definitions and the documents.
//!
//! `lop man` and `lop completions` print them for users who have only the binary. `lop generate` prints all of them
//! for the source tree. All three use the same functions, so their output cannot differ.

mod man;
mod markdown;
mod reference;

use std::collections::BTreeMap;

use clap::{Arg, Command, CommandFactory, ValueHint};
use clap_complete::Shell;
use clap_mangen::roff::Roff;

use crate::args::Cli;

/// The date on the man pages. `cargo xtask release` updates it.
const RELEASED: &str = "2026-11-25";

/// Documents in `docs/` that are also man pages of section 7, with a one-line description of each.
const TOPICS: [(&str, &str, &str); 4] = [
    (
        "acting",
        "how lop acts on duplicates, and how to undo it",
        include_str!("../../../docs/acting.md"),
    ),
    (
        "catalog",
        "what the catalog contains, and its SQL views",
        include_str!("../../../docs/catalog.md"),
    ),
    ("exit-codes", "exit codes of lop", include_str!("../../../docs/exit-codes.md")),
    ("formats", "what lop prints, for programs", include_str!("../../../docs/formats.md")),
];

/// Returns the man pages by file name, such as `lop-scan.1`.
pub(crate) fn manual() -> BTreeMap<String, String> {
    let mut command = Cli::command();
    command.build();
    let mut pages = BTreeMap::new();
    for (words, sub) in all_documented(&command) {
        let name = words.join("-");
        pages.insert(format!("{name}.1"), man::page(sub, &name));
    }
    for (topic, about, text) in TOPICS {
        pages.insert(format!("lop-{topic}.7"), markdown::page(topic, about, text));
    }
    pages
}

/// Returns the command reference as Markdown.
pub(crate) fn reference() -> String {
    let mut command = Cli::command();
    command.build();
    reference::page(&command)
}

/// Returns the completion script for a shell.
pub(crate) fn completions(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut hinted(Cli::command()), "lop", &mut script);
    script
}

/// Returns the command with its values marked as paths, files or directories according to their names, so that shells
/// complete only paths, files or directories.
fn hinted(command: Command) -> Command {
    let hint = |arg: Arg| match arg.get_value_names().and_then(<[_]>::first).map(|name| &**name) {
        Some("DIR" | "SRC" | "DST" | "A" | "B") => arg.value_hint(ValueHint::DirPath),
        Some("FILE") => arg.value_hint(ValueHint::FilePath),
        _ => arg,
    };
    command.mut_args(hint).mut_subcommands(hinted)
}

/// Begins a page with the header, the footer, and the line that `apropos` shows.
fn begin(name: &str, section: &str, about: &str) -> Roff {
    let version = concat!("lop ", env!("CARGO_PKG_VERSION"));
    let manual = if section == "7" { "Miscellaneous" } else { "User Commands" };
    let title = name.to_uppercase();
    let mut roff = Roff::new();
    roff.control("TH", [&*title, section, RELEASED, version, manual]);
    roff.control("SH", ["NAME"]);
    roff.text([clap_mangen::roff::roman(format!("{name} - {about}"))]);
    roff
}

/// Returns the documented subcommands of a command. Hidden subcommands and clap's `help` are not documented.
fn documented(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
}

/// Returns all documented commands, each with its full name, such as `["lop", "scan"]`.
fn all_documented(command: &Command) -> Vec<(Vec<String>, &Command)> {
    let mut all = vec![(vec![command.get_name().to_string()], command)];
    let mut at = 0;
    while at < all.len() {
        let (name, command) = all[at].clone();
        let below = documented(command)
            .map(|sub| (name.iter().cloned().chain([sub.get_name().to_string()]).collect(), sub));
        let below: Vec<_> = below.collect();
        // Inserts each subcommand directly after its parent.
        let behind = if at == 0 { all.len() } else { at + 1 };
        all.splice(behind..behind, below);
        at += 1;
    }
    all
}
