//! Generated files below `docs/`: written, or compared with the existing files.
//!
//! The man pages, the completions and the reference come from the arguments of `lop`. The benchmark
//! pages come from the records of races ([`crate::instrument::pages`]). The programs print the
//! files as JSON, and only this module writes them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::programs;

/// A set of generated files.
pub(crate) struct Generated {
    /// The contents of the files, keyed by path below `docs/`.
    pub(crate) files: BTreeMap<String, String>,
    /// Folders below `docs/` that contain only files of this set.
    pub(crate) folders: &'static [&'static str],
    /// The command that writes the files.
    pub(crate) command: &'static str,
}

impl Generated {
    /// Writes all files, and removes files in the folders that are not part of the set.
    #[expect(
        clippy::disallowed_methods,
        reason = "writes to the source tree, not to a user's files"
    )]
    pub(crate) fn write(&self, docs: &Path) -> io::Result<()> {
        for (name, text) in &self.files {
            let path = docs.join(name);
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(path, text)?;
        }
        for name in self.left_over(docs)? {
            fs::remove_file(docs.join(name))?;
        }
        Ok(())
    }

    /// Returns a complaint about each file that is stale, missing or not part of the set.
    pub(crate) fn check(&self, docs: &Path) -> io::Result<Vec<String>> {
        let mut complaints = Vec::new();
        for (name, text) in &self.files {
            let fault = match fs::read_to_string(docs.join(name)) {
                Ok(found) if found == *text => continue,
                Ok(_) => "stale",
                Err(e) if e.kind() == io::ErrorKind::NotFound => "missing",
                Err(e) => return Err(e),
            };
            complaints.push(format!("docs/{name} is {fault}: run {}", self.command));
        }
        for name in self.left_over(docs)? {
            complaints.push(format!("docs/{name} is left over: run {}", self.command));
        }
        Ok(complaints)
    }

    /// Returns the files in the folders that do not belong to this set.
    fn left_over(&self, docs: &Path) -> io::Result<Vec<String>> {
        let mut left_over = Vec::new();
        for folder in self.folders {
            let Ok(entries) = fs::read_dir(docs.join(folder)) else { continue };
            for entry in entries {
                let name = format!("{folder}/{}", entry?.file_name().to_string_lossy());
                if !self.files.contains_key(&name) {
                    left_over.push(name);
                }
            }
        }
        left_over.sort();
        Ok(left_over)
    }
}

/// Returns the files that `lop` generates from its own arguments.
pub(crate) fn of_arguments(root: &Path) -> io::Result<Generated> {
    let lop = programs::of_tests(root, "lop")?;
    let run = Command::new(lop).arg("generate").stderr(Stdio::inherit()).output()?;
    if !run.status.success() {
        return Err(io::Error::other(format!("lop generate: {}", run.status)));
    }
    Ok(Generated {
        files: serde_json::from_slice(&run.stdout)?,
        folders: &["man", "completions"],
        command: "cargo xtask generate",
    })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests spoil files in a folder of their own")]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// A `docs` folder that is removed on drop.
    struct Docs(PathBuf);

    impl Docs {
        fn new(name: &str) -> Self {
            let docs = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
            fs::create_dir_all(&docs).expect("a temporary folder");
            Self(docs)
        }
    }

    impl Drop for Docs {
        fn drop(&mut self) {
            drop(fs::remove_dir_all(&self.0));
        }
    }

    fn generated() -> Generated {
        let files =
            [("page.md", "# Page\n"), ("charts/a.svg", "<svg/>"), ("charts/b.svg", "<svg/>")];
        let files = files.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
        Generated { files, folders: &["charts"], command: "cargo xtask page" }
    }

    #[test]
    fn written_files_are_fresh() {
        let docs = Docs::new("fresh");
        generated().write(&docs.0).expect("written");
        assert_eq!(generated().check(&docs.0).expect("checked"), [""; 0]);
    }

    #[test]
    fn stale_missing_and_left_over_files_are_found_and_fixed() {
        let docs = Docs::new("stale");
        generated().write(&docs.0).expect("written");
        fs::write(docs.0.join("page.md"), "# Other\n").expect("changed");
        fs::remove_file(docs.0.join("charts/a.svg")).expect("removed");
        fs::write(docs.0.join("charts/old.svg"), "<svg/>").expect("added");
        fs::write(docs.0.join("other.md"), "not ours").expect("added");
        let expected = [
            "docs/charts/a.svg is missing: run cargo xtask page",
            "docs/page.md is stale: run cargo xtask page",
            "docs/charts/old.svg is left over: run cargo xtask page",
        ];
        assert_eq!(generated().check(&docs.0).expect("checked"), expected);
        generated().write(&docs.0).expect("written");
        assert_eq!(generated().check(&docs.0).expect("checked"), [""; 0]);
        assert!(docs.0.join("other.md").exists(), "files outside of the folders are not touched");
    }
}
