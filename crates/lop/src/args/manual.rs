//! The arguments of the commands that print man pages and completions.

use clap::Args;
use clap_complete::Shell;

/// Show a man page
///
/// On a terminal, lop opens the page with `man`. Otherwise it prints the page in the form in which it is installed.
/// There is a page for each command, and for the topics acting, catalog, exit-codes and formats.
///
/// To install all pages into existing directories, run: for page in $(lop man --list); do lop man $page >
/// ~/.local/share/man/man${page##*.}/$page; done
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop man dedupe
  lop man quarantine purge
  lop man formats               What the keys in JSON mean")]
pub(crate) struct ManArgs {
    /// Command or topic [default: lop itself]
    #[arg(value_name = "PAGE")]
    pub(crate) page: Vec<String>,

    /// List the names of all pages
    #[arg(long, conflicts_with = "page")]
    pub(crate) list: bool,
}

/// Print the completion script for a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop completions bash > ~/.local/share/bash-completion/completions/lop
  lop completions zsh > ~/.zfunc/_lop
  lop completions fish > ~/.config/fish/completions/lop.fish")]
pub(crate) struct CompletionsArgs {
    /// Shell to print the script for
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}
