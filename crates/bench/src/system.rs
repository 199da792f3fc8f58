//! Runs system programs that make file systems, mount them, or report the date.

use std::path::Path;
use std::process::Command;

use crate::Failure;

/// Runs a program on some paths and returns its output. If it fails, its standard error becomes the
/// message.
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
