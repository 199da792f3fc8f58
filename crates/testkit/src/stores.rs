//! Quarantines of test runs. A quarantine is outside of the test's folder, in the topmost directory
//! that belongs to the user who runs the test.

use std::path::{Path, PathBuf};

use crate::remove_tree;

/// Returns the existing quarantine directories that are named by the journals in a folder.
pub fn stores(runs: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(runs).into_iter().flatten().flatten() {
        // A test may have put other entries there.
        if !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let text = std::fs::read(entry.path()).unwrap_or_default();
        for line in String::from_utf8_lossy(&text).lines() {
            let record: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
            if record["record"] == "store" {
                found.extend(record["path"].as_str().map(PathBuf::from));
            }
        }
    }
    found.retain(|path| path.exists());
    found
}

/// Removes the quarantines of a finished test. Errors are ignored.
pub fn remove_stores(runs: &Path) {
    for store in stores(runs) {
        drop(remove_tree(&store));
        // The parent may contain other entries.
        drop(store.parent().map(std::fs::remove_dir));
    }
}
