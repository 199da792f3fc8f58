//! The man pages of section 1: `lop.1` and one page for each command.

use std::io;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, italic, roman};

use super::{TOPICS, begin};
use crate::exit::MEANINGS;

/// Files that the commands use.
const FILES: [(&str, &str); 6] = [
    (
        "$XDG_CONFIG_HOME/lop/config.toml",
        "The configuration of the user; ~/.config/lop/config.toml if XDG_CONFIG_HOME is not set. See lop-config(1).",
    ),
    ("/etc/lop/config.toml", "The configuration of the system."),
    (
        "$XDG_STATE_HOME/lop/catalog.db",
        "The catalog, unless --catalog, LOP_CATALOG or a configuration names another one; ~/.local/state/lop/catalog.db if XDG_STATE_HOME is not set.",
    ),
    (
        "catalog.db.runs/",
        "The journals of runs that changed files, beside the catalog. 'lop undo' needs them.",
    ),
    (
        ".lop-quarantine-UID/",
        "Files in quarantine and temporary files, on each file system where files were acted on.",
    ),
    (
        "$TMPDIR, /var/tmp",
        "Data that does not fit in memory, in unnamed files; exports that are being uploaded.",
    ),
];

/// Environment variables that the commands read.
const ENVIRONMENT: [(&str, &str); 7] = [
    (
        "LOP_CONFIG",
        "The only configuration file to read. If it is empty, lop reads no configuration.",
    ),
    ("XDG_CONFIG_HOME", "The directory that contains lop/config.toml; a relative path is ignored."),
    ("LOP_CATALOG", "The catalog, unless --catalog is given."),
    ("XDG_STATE_HOME", "The directory that contains lop/catalog.db; a relative path is ignored."),
    (
        "HOME",
        "The directory above .local/state and .config, which lop uses without XDG_STATE_HOME and XDG_CONFIG_HOME.",
    ),
    (
        "TMPDIR",
        "The directory for data that does not fit in memory, and for exports that are being uploaded; /var/tmp if not set.",
    ),
    ("NO_COLOR", "Disables colours if set and not empty, unless --color always is given."),
];

/// Groups of commands whose pages refer to each other.
const RELATED: [&[&str]; 3] = [
    &[
        "scan", "report", "file", "ls", "dups", "uniques", "contains", "validate", "refresh",
        "forget", "dedupe",
    ],
    &["dedupe", "undo", "history", "quarantine", "separate"],
    &["mirror", "purge"],
];

/// Returns the page of a command.
pub(super) fn page(command: &Command, name: &str) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut roff = begin(name, "1", &about);
    synopsis(command, &mut roff);
    let examples = command.get_after_help().map(ToString::to_string);
    // clap would append the examples to one of its own sections. The page has a separate section for the examples.
    let man = Man::new(command.clone().display_name(name.to_string()).after_help(""));
    let mut body = Vec::new();
    render(&man, command, &mut body).expect("a vector takes everything");
    let mut rest = Roff::new();
    rest.control("SH", ["EXIT STATUS"]);
    list(MEANINGS.map(|(code, meaning)| (code.to_string(), meaning)), &mut rest);
    rest.control("SH", ["ENVIRONMENT"]);
    list(ENVIRONMENT, &mut rest);
    rest.control("SH", ["FILES"]);
    list(FILES, &mut rest);
    if let Some(examples) = examples {
        example_section(&examples, &mut rest);
    }
    see_also(name, &mut rest);
    [roff.render(), String::from_utf8_lossy(&body).into_owned(), rest.render()].concat()
}

fn render(man: &Man, command: &Command, out: &mut Vec<u8>) -> io::Result<()> {
    man.render_description_section(out)?;
    if command.has_subcommands() {
        man.render_subcommands_section(out)?;
    }
    man.render_options_section(out)
}

/// Formats the usage in the style of man pages, with literal text in bold and placeholders in italics.
fn synopsis(command: &Command, roff: &mut Roff) {
    let usage = command.clone().render_usage().to_string();
    roff.control("SH", ["SYNOPSIS"]);
    for line in usage.trim_start_matches("Usage:").lines() {
        let words = line.split_whitespace().enumerate();
        let inlines = words.flat_map(|(at, word)| {
            let before = if at == 0 { "" } else { " " };
            [vec![roman(before)], word_of(word)].concat()
        });
        roff.text(inlines.collect::<Vec<_>>());
    }
}

fn word_of(word: &str) -> Vec<Inline> {
    if word == "[OPTIONS]" {
        return vec![roman("["), italic("OPTION"), roman("]...")];
    }
    let placeholder = word.trim_matches(['[', ']', '<', '>', '.']);
    if word.starts_with(['[', '<']) {
        let (open, close) = if word.starts_with('[') { ("[", "]") } else { ("", "") };
        let dots = if word.ends_with("...") { "..." } else { "" };
        return vec![roman(open), italic(placeholder), roman(format!("{close}{dots}"))];
    }
    vec![bold(word)]
}

/// Formats the examples exactly as typed.
fn example_section(text: &str, roff: &mut Roff) {
    roff.control("SH", ["EXAMPLES"]).control("nf", []);
    for line in text.lines().filter_map(|line| line.strip_prefix("  ")) {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
}

fn list<const N: usize>(entries: [(impl Into<String>, &str); N], roff: &mut Roff) {
    for (term, text) in entries {
        roff.control("TP", []).text([bold(term)]).text([roman(text)]);
    }
}

fn see_also(name: &str, roff: &mut Roff) {
    let command = name.strip_prefix("lop-").unwrap_or_default();
    let others = RELATED.iter().filter(|group| group.contains(&command)).copied().flatten();
    let mut pages: Vec<String> = others.map(|other| format!("lop-{other}(1)")).collect();
    if !command.is_empty() {
        pages.push("lop(1)".into());
    }
    pages.extend(TOPICS.map(|(topic, ..)| format!("lop-{topic}(7)")));
    pages.retain(|page| *page != format!("{name}(1)"));
    pages.sort_unstable_by_key(|page| (page.ends_with("(7)"), page.clone()));
    pages.dedup();
    let last = pages.len() - 1;
    roff.control("SH", ["SEE ALSO"]);
    let inlines = pages.iter().enumerate().flat_map(|(at, page)| {
        let (page, section) = page.split_at(page.len() - 3);
        [bold(page), roman(section), roman(if at < last { ", " } else { "" })]
    });
    roff.text(inlines.collect::<Vec<_>>());
}
