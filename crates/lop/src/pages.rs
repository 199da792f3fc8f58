//! What is made from the definitions of the arguments, and from the documents: man pages, completions, the
//! command reference.
//!
//! `lop man` and `lop completions` print them for whoever has the binary alone, `lop generate` prints all of them for
//! the source tree, so that both are the same.

mod man;
mod markdown;
mod reference;

use std::collections::BTreeMap;

use clap::{Arg, Command, CommandFactory, ValueHint};
use clap_complete::Shell;
use clap_mangen::roff::Roff;

use crate::args::Cli;

/// When what the pages tell last changed; to be set with each release.
const RELEASED: &str = "2026-11-25";

/// Documents that are man pages too, of section 7, each with what it is about.
const TOPICS: [(&str, &str, &str); 4] = [
    (
        "acting",
        "how lop acts on duplicates, and takes that back",
        include_str!("../../../docs/acting.md"),
    ),
    ("catalog", "what lop remembers, and views for SQL", include_str!("../../../docs/catalog.md")),
    ("exit-codes", "exit codes of lop", include_str!("../../../docs/exit-codes.md")),
    ("formats", "what lop prints, for programs", include_str!("../../../docs/formats.md")),
];

/// Man pages by the name of the file: `lop-scan.1`.
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

/// Returns the command reference, a page of Markdown.
pub(crate) fn reference() -> String {
    let mut command = Cli::command();
    command.build();
    reference::page(&command)
}

/// Returns the completions for a shell.
pub(crate) fn completions(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut hinted(Cli::command()), "lop", &mut script);
    script
}

/// Returns a command with what its values name told by how they are called, so that shells complete that alone.
fn hinted(command: Command) -> Command {
    let hint = |arg: Arg| match arg.get_value_names().and_then(<[_]>::first).map(|name| &**name) {
        Some("DIR" | "SRC" | "DST" | "A" | "B") => arg.value_hint(ValueHint::DirPath),
        Some("FILE") => arg.value_hint(ValueHint::FilePath),
        _ => arg,
    };
    command.mut_args(hint).mut_subcommands(hinted)
}

/// Begins a page: header and footer, and the line that `apropos` shows.
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
