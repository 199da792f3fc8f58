//! A bounded listing of a directory for the report of a failure. Creating it never fails.

use std::fmt::Write as _;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::groups::shown;

/// Returns at most `most` lines, one per entry below `root`: mode, links, size, and escaped path.
pub(crate) fn listing(root: &Path, most: usize) -> String {
    let mut text = String::new();
    let mut lines = 0;
    let mut unlisted: Vec<PathBuf> = vec![root.to_path_buf()];
    while let Some(dir) = unlisted.pop() {
        let Ok(entries) = fs::read_dir(&dir) else {
            let _ = writeln!(text, "  (cannot list {})", shown(dir.as_os_str().as_bytes()));
            continue;
        };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            if lines == most {
                text.push_str("  (and more)\n");
                return text;
            }
            lines += 1;
            let metadata = fs::symlink_metadata(&path);
            text.push_str(&line(root, &path, metadata.as_ref().ok()));
            if metadata.is_ok_and(|m| m.is_dir()) {
                unlisted.push(path);
            }
        }
    }
    text
}

fn line(root: &Path, path: &Path, metadata: Option<&Metadata>) -> String {
    let relative = path.strip_prefix(root).unwrap_or(path);
    let name = shown(relative.as_os_str().as_bytes());
    let Some(metadata) = metadata else {
        return format!("  ?  {name}\n");
    };
    let target = fs::read_link(path)
        .map_or(String::new(), |target| format!(" -> {}", shown(target.as_os_str().as_bytes())));
    let (mode, links, size) = (metadata.mode(), metadata.nlink(), metadata.size());
    format!("  {mode:06o} {links:3} {size:9}  {name}{target}\n")
}
