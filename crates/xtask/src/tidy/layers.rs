//! The layers of the crates. Dependencies point down only.

use std::fs;
use std::io;
use std::path::Path;

/// The layers, from the bottom up. A crate may depend on crates of lower layers.
const LAYERS: [(&str, u8); 23] = [
    ("fsops", 0),
    ("runtime", 0),
    ("wire", 0),
    ("device", 1),
    ("httpd", 1),
    ("watch", 1),
    ("walk", 2),
    ("content", 2),
    ("catalog", 3),
    ("action", 3),
    ("sweep", 3),
    ("dupes", 4),
    ("export", 4),
    ("purge", 4),
    ("review", 4),
    ("space", 4),
    ("fleet", 5),
    ("look", 5),
    ("mirror", 5),
    ("serve", 5),
    ("share", 5),
    ("survey", 5),
    ("lop", 6),
];

/// Crates for development only. These crates may depend on every crate, but other crates may use
/// them only as development dependencies.
const DEVELOPMENT: [&str; 4] = ["bench", "browser", "testkit", "xtask"];

pub(super) fn check(root: &Path) -> io::Result<Vec<String>> {
    let mut complaints = Vec::new();
    for entry in fs::read_dir(root.join("crates"))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let manifest = fs::read_to_string(entry.path().join("Cargo.toml"))?;
        complaints.extend(of_crate(&name, &manifest));
    }
    complaints.sort();
    Ok(complaints)
}

fn of_crate(name: &str, manifest: &str) -> Vec<String> {
    if DEVELOPMENT.contains(&name) {
        return Vec::new();
    }
    let Some(layer) = layer_of(name) else {
        return vec![format!("crates/{name} has no layer in xtask's tidy/layers.rs")];
    };
    let upward = dependencies(manifest).filter(|used| {
        DEVELOPMENT.contains(used) || layer_of(used).is_some_and(|other| other >= layer)
    });
    upward.map(|used| format!("crates/{name} must not depend on {used}")).collect()
}

fn layer_of(name: &str) -> Option<u8> {
    LAYERS.iter().find(|(known, _)| *known == name).map(|&(_, layer)| layer)
}

/// Returns the names in the sections `[dependencies]` and `[build-dependencies]`, including
/// target-specific sections.
fn dependencies(manifest: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    manifest.lines().filter_map(move |line| {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            inside = section.ends_with("dependencies") && !section.ends_with("dev-dependencies");
            return None;
        }
        let end = line.find(['.', ' ', '=']).filter(|&end| inside && end > 0)?;
        Some(&line[..end])
    })
}

#[cfg(test)]
mod tests {
    use super::of_crate;

    #[test]
    fn dependencies_point_down_only() {
        let down = "[dependencies]\nfsops.workspace = true\nserde = \"1\"\n";
        assert_eq!(of_crate("walk", down), [""; 0]);
        let across = "[dependencies]\ncontent = { workspace = true }\n";
        assert_eq!(of_crate("walk", across), ["crates/walk must not depend on content"]);
        let up = "[target.'cfg(unix)'.dependencies]\nlop = { path = \"../lop\" }\n";
        assert_eq!(of_crate("catalog", up), ["crates/catalog must not depend on lop"]);
    }

    #[test]
    fn the_test_kit_is_for_tests() {
        assert_eq!(of_crate("walk", "[dev-dependencies]\ntestkit.workspace = true\n"), [""; 0]);
        assert_eq!(of_crate("walk", "[dependencies]\ntestkit.workspace = true\n").len(), 1);
    }

    #[test]
    fn a_crate_without_a_layer_is_noticed() {
        assert_eq!(of_crate("misc", "").len(), 1);
    }
}
