//! Installs the programs that make packages, at pinned versions.
//!
//! They are installed below `target` when they are first needed, which requires network access.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{programs, python};

/// The version of `cargo-deb`.
const CARGO_DEB: &str = "3.8.0";

/// The installed programs.
pub(super) struct Tools {
    /// A Python interpreter with the packages `maturin` and `wheel`.
    pub(super) python: PathBuf,
    /// The program `cargo-deb`.
    pub(super) cargo_deb: PathBuf,
}

impl Tools {
    /// Installs the programs that are missing.
    pub(super) fn install(root: &Path) -> io::Result<Tools> {
        let target = root.canonicalize()?.join("target");
        let python = python::WHEELS
            .install(&target)
            .ok_or_else(|| io::Error::other("maturin cannot be installed"))?;
        Ok(Tools { python, cargo_deb: cargo_deb(&target.join("tools"))? })
    }
}

/// Returns the path of `cargo-deb`. Compiles it first if it is missing or has another version.
fn cargo_deb(folder: &Path) -> io::Result<PathBuf> {
    let program = folder.join("bin/cargo-deb");
    let printed = Command::new(&program).arg("--version").stderr(Stdio::null()).output();
    let wanted = format!("cargo-deb {CARGO_DEB}\n");
    if printed.is_ok_and(|output| output.stdout == wanted.as_bytes()) {
        return Ok(program);
    }
    let mut cargo = programs::cargo();
    // An optimised build would take more time than it saves.
    cargo.args([
        "install",
        "--quiet",
        "--locked",
        "--force",
        "--debug",
        "cargo-deb",
        "--version",
        CARGO_DEB,
        "--root",
    ]);
    if !cargo.arg(folder).status()?.success() {
        return Err(io::Error::other(format!("cargo cannot install cargo-deb {CARGO_DEB}")));
    }
    Ok(program)
}
