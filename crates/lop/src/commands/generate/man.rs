//! Man pages: `lop.1` and one for each command.

use std::io;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use super::{Files, all_documented};
use crate::exit::MEANINGS;

/// Adds the pages.
pub(super) fn add(command: &Command, files: &mut Files) -> io::Result<()> {
    for (words, sub) in all_documented(command) {
        let name = words.join("-");
        files.insert(format!("man/{name}.1"), page(sub, &name)?);
    }
    Ok(())
}

fn page(command: &Command, name: &str) -> io::Result<String> {
    let examples = command.get_after_help().map(ToString::to_string);
    let title = name.to_uppercase();
    let man = Man::new(command.clone().display_name(name.to_string()).after_help(""))
        .title(title)
        .section("1")
        .source("lop")
        .manual("User Commands");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    if let Some(examples) = examples {
        example_section(&examples).to_writer(&mut page)?;
    }
    exit_section().to_writer(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

/// Sets the examples as they are typed.
fn example_section(text: &str) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["EXAMPLES"]).control("nf", []);
    for line in text.lines().filter(|line| line.starts_with(' ')) {
        roff.text([roman(line.trim_start())]);
    }
    roff.control("fi", []);
    roff
}

fn exit_section() -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["EXIT STATUS"]);
    for (code, meaning) in MEANINGS {
        roff.control("TP", []).text([bold(code.to_string())]).text([roman(meaning)]);
    }
    roff
}
