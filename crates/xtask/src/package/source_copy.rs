//! Copies the files of the source tree that git tracks to another folder.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use super::output;

/// Copies all tracked files of the source tree `from` to the folder `to`, including uncommitted changes.
#[expect(clippy::disallowed_methods, reason = "writes to a folder of its own")]
pub(super) fn make(from: &Path, to: &Path) -> io::Result<()> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z"]).current_dir(from);
    for name in output(git)?.split_terminator('\0') {
        let target = to.join(name);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::copy(from.join(name), target)?;
    }
    Ok(())
}
