//! The arguments of `lop look`.

use std::path::PathBuf;

use clap::Args;

/// Look through the catalog on the terminal, decide which duplicates stay, and act on them
///
/// Shows the space of directories, the groups of identical files, related folders, files without a copy, and past
/// runs, each as a list that you move through with the keyboard; '?' shows all keys. Decisions are those of 'lop
/// serve'. No key changes a file, except after a question that names the number of files. A run is one of 'lop dedupe',
/// so 'lop undo' can revert it.
///
/// The interface needs a terminal of at least 60 columns and 10 lines. It draws only what has changed, so it also works
/// over a slow connection.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop look                      Look through the whole catalog
  lop look ~/Pictures           Start in a directory
  lop look --color never        Use no colours")]
pub(crate) struct LookArgs {
    /// Directory to start in [default: the deepest directory that contains all files]
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}
