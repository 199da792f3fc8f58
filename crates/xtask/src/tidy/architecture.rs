//! Checks that ARCHITECTURE.md is short, names every crate, and names only files and crates that
//! exist.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const PAGE: &str = "ARCHITECTURE.md";

/// Maximum number of lines, so that the page can be read at one sitting. Measurements and details
/// belong in `docs/design/`.
const MAX_LINES: usize = 150;

pub(super) fn check(root: &Path, files: &[PathBuf]) -> io::Result<Vec<String>> {
    let page = match fs::read_to_string(root.join(PAGE)) {
        Ok(page) => page,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            return Ok(vec![format!("{PAGE} is missing")]);
        }
        Err(e) => return Err(e),
    };
    let exists = |name: &str| {
        root.join(name).exists() || files.iter().any(|file| file.ends_with(Path::new(name)))
    };
    let gone = paths_in(&page).filter(|name| !exists(name));
    let mut complaints: Vec<String> =
        gone.map(|name| format!("{PAGE} names {name}, which does not exist")).collect();
    let lines = page.lines().count();
    if lines > MAX_LINES {
        complaints.push(format!("{PAGE}: {lines} lines, {MAX_LINES} are the limit"));
    }
    for entry in fs::read_dir(root.join("crates"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !page.contains(&format!("`{name}`")) && !page.contains(&format!("`crates/{name}`")) {
            complaints.push(format!("{PAGE} does not name crates/{name}"));
        }
    }
    Ok(complaints)
}

/// Returns the code spans that look like paths of this repository. Such a path is below `crates/`
/// or `docs/`, or is a file name that ends in `.rs` or `.md`.
fn paths_in(page: &str) -> impl Iterator<Item = &str> {
    let code = page.split('`').skip(1).step_by(2);
    code.map(|name| name.trim_end_matches('/')).filter(|name| {
        let plain = !name.contains(char::is_whitespace) && !name.contains(['*', '<', '$']);
        let place = name.starts_with("crates/") || name.starts_with("docs/");
        let ending = Path::new(name).extension().is_some_and(|e| e == "rs" || e == "md");
        plain && (place || ending)
    })
}

#[cfg(test)]
mod tests {
    use super::paths_in;

    #[test]
    fn only_paths_of_the_repository_are_checked() {
        let page = "`crates/walk/` has `tree.rs`, `Tree`, `a b.rs`, `docs/x.md`, `docs/*.md`.";
        let found: Vec<&str> = paths_in(page).collect();
        assert_eq!(found, ["crates/walk", "tree.rs", "docs/x.md"]);
    }
}
