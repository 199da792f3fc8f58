//! Files that the program generates from its own arguments: written, or compared with what is
//! there.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// Folders in which every file is generated.
const WHOLE: [&str; 2] = ["man", "completions"];

/// Writes all generated files, and returns a complaint about each that is no longer generated.
#[expect(clippy::disallowed_methods, reason = "writes to the source tree, not to a user's files")]
pub(crate) fn write(root: &Path) -> io::Result<Vec<String>> {
    let docs = root.join("docs");
    let files = generate()?;
    for (name, text) in &files {
        let path = docs.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, text)?;
    }
    surplus(&docs, &files)
}

/// Returns a complaint about every file that is not what would be generated.
pub(crate) fn check(root: &Path) -> io::Result<Vec<String>> {
    let docs = root.join("docs");
    let files = generate()?;
    let stale = files
        .iter()
        .filter(|(name, text)| fs::read_to_string(docs.join(name)).ok().as_ref() != Some(text));
    let mut complaints: Vec<String> =
        stale.map(|(name, _)| format!("docs/{name} is stale: run cargo xtask generate")).collect();
    complaints.extend(surplus(&docs, &files)?);
    Ok(complaints)
}

/// Returns the files by their path below `docs/`.
fn generate() -> io::Result<BTreeMap<String, String>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let run = Command::new(cargo)
        .args(["run", "--quiet", "--package", "lop", "--", "generate"])
        .stderr(Stdio::inherit())
        .output()?;
    if !run.status.success() {
        return Err(io::Error::other(format!("lop generate: {}", run.status)));
    }
    Ok(serde_json::from_slice(&run.stdout)?)
}

/// Returns a complaint about whatever is in the generated folders without being generated.
fn surplus(docs: &Path, files: &BTreeMap<String, String>) -> io::Result<Vec<String>> {
    let mut surplus = Vec::new();
    for folder in WHOLE {
        let Ok(entries) = fs::read_dir(docs.join(folder)) else { continue };
        for entry in entries {
            let name = format!("{folder}/{}", entry?.file_name().to_string_lossy());
            if !files.contains_key(&name) {
                surplus.push(format!("docs/{name} is not generated any more: delete it"));
            }
        }
    }
    Ok(surplus)
}
