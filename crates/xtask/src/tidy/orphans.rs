//! Finds forgotten source files. A file without a `mod` declaration is neither compiled nor tested,
//! and neither is a test suite that is missing from the manifest of its crate.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::shown;

/// Files that Cargo finds without a declaration.
const ROOTS: [&str; 3] = ["lib.rs", "main.rs", "build.rs"];

pub(super) fn check(root: &Path, files: &[PathBuf]) -> io::Result<Vec<String>> {
    let mut complaints = Vec::new();
    for path in files.iter().filter(|path| path.extension().is_some_and(|e| e == "rs")) {
        if ROOTS.iter().any(|name| path.ends_with(name)) {
            if let Some((manifest, suite)) = suite(path)
                && !fs::read_to_string(manifest)?.contains(&format!("path = \"{suite}\""))
            {
                complaints.push(format!("{}: its crate names no such test", shown(root, path)));
            }
            continue;
        }
        let (name, parents) = place(path);
        let mut declared = false;
        for parent in parents.iter().filter(|parent| parent.exists()) {
            declared = declared || declares(&fs::read_to_string(parent)?, &name);
        }
        if !declared {
            complaints.push(format!("{}: no module declares it", shown(root, path)));
        }
    }
    Ok(complaints)
}

/// Returns the manifest that must name a test suite, and the path of the suite in that manifest.
/// Returns `None` if the file is not the root of a suite.
fn suite(path: &Path) -> Option<(PathBuf, String)> {
    let name = path.parent()?;
    let tests = name.parent().filter(|tests| tests.ends_with("tests"))?;
    let root = tests.parent()?;
    let below = path.strip_prefix(root).ok()?.to_string_lossy().into_owned();
    path.ends_with("main.rs").then(|| (root.join("Cargo.toml"), below))
}

/// Returns the name of a file's module, and the files that may declare it.
fn place(path: &Path) -> (String, Vec<PathBuf>) {
    let inside = if path.ends_with("mod.rs") { path.parent().unwrap_or(path) } else { path };
    let name = inside.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let folder = inside.parent().unwrap_or(inside);
    let mut parents: Vec<PathBuf> =
        ["mod.rs", "lib.rs", "main.rs"].iter().map(|file| folder.join(file)).collect();
    parents.push(folder.with_extension("rs"));
    (name, parents)
}

fn declares(text: &str, name: &str) -> bool {
    let line = format!("mod {name};");
    text.lines().map(str::trim).any(|found| found == line || found.ends_with(&format!(" {line}")))
}

#[cfg(test)]
mod tests {
    use super::{declares, place, suite};
    use std::path::Path;

    #[test]
    fn a_module_is_declared_with_any_visibility() {
        for line in ["mod x;", "pub mod x;", "    pub(crate) mod x;"] {
            assert!(declares(&format!("//! Text.\n{line}\n"), "x"), "{line}");
        }
        assert!(!declares("mod xy;\n// see x;\n", "x"));
    }

    #[test]
    fn a_suite_is_named_by_the_manifest_of_its_crate() {
        let found = suite(Path::new("crates/x/tests/it/main.rs"));
        assert_eq!(found, Some(("crates/x/Cargo.toml".into(), "tests/it/main.rs".into())));
        assert_eq!(suite(Path::new("crates/x/src/main.rs")), None);
    }

    #[test]
    fn a_parent_module_is_beside_or_above() {
        let (name, parents) = place(Path::new("src/page/words.rs"));
        assert_eq!(name, "words");
        assert!(parents.contains(&"src/page/mod.rs".into()));
        assert!(parents.contains(&"src/page.rs".into()));
        let (name, parents) = place(Path::new("src/page/mod.rs"));
        assert_eq!(name, "page");
        assert!(parents.contains(&"src/lib.rs".into()));
    }
}
