//! Programs of the system that do what only they can: make file systems, mount them, tell the date.

use std::path::Path;
use std::process::Command;

use crate::Failure;

/// Runs a tool on paths and returns what it printed; its complaint is the error.
pub(crate) fn tool(command: &[&str], paths: &[&Path]) -> Result<String, Failure> {
    let (name, args) = command.split_first().expect("a tool to run");
    let path = format!("{}:/sbin:/usr/sbin", std::env::var("PATH").unwrap_or_default());
    let output = Command::new(name).env("PATH", path).args(args).args(paths).output();
    let output = output.map_err(|e| Failure::new(format!("{name}: {e}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(Failure::new(format!("{name}: {}", complaint.trim())))
}
