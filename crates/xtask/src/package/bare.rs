//! A bare Debian in a folder, without Rust, compilers or lop. The tests install the packages there.
//!
//! `debootstrap` downloads and installs it once, as root. Each test changes only an overlay on top of it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::output;

/// The release of Debian, and the packages that the tests need besides the minimum: Python for the wheel, and systemd.
const RELEASE: &str = "bookworm";
const INCLUDE: [&str; 2] = ["python3-venv", "systemd"];

/// Returns the folder of the bare system. Its name changes with the contents.
pub(super) fn folder(root: &Path) -> PathBuf {
    root.join("target/bare").join([&[RELEASE], &INCLUDE[..]].concat().join("+"))
}

/// Creates the bare system unless it already exists.
#[expect(clippy::disallowed_methods, reason = "writes to the build folder, not to a user's files")]
pub(super) fn make(root: &Path) -> io::Result<()> {
    let folder = folder(&root.canonicalize()?);
    if folder.exists() {
        return Ok(());
    }
    let mut id = Command::new("id");
    id.arg("-u");
    if output(id)?.trim() != "0" {
        return Err(io::Error::other("only root can install a system"));
    }
    // The folder gets its final name only when the system is complete.
    let begun = folder.with_extension("begun");
    if begun.exists() {
        fs::remove_dir_all(&begun)?;
    }
    fs::create_dir_all(&begun)?;
    let mut debootstrap = Command::new("debootstrap");
    debootstrap.arg("--variant=minbase").arg(format!("--include={}", INCLUDE.join(",")));
    debootstrap.arg(RELEASE).arg(&begun);
    output(debootstrap)?;
    fs::rename(begun, folder)
}
