//! The directories of the catalog and their paths.

use std::collections::HashMap;

/// The row of the root directory in the catalog.
pub(crate) const TOP: i64 = 1;

/// Longest path that is exported, in bytes; `PATH_MAX` of Linux. Directories can be nested so deeply
/// that their paths would take more space than everything else.
const LONGEST_PATH: usize = 4096;

/// The paths of directories that may have subdirectories.
#[derive(Debug, Default)]
pub(crate) struct Paths(HashMap<i64, Box<[u8]>>);

impl Paths {
    /// Adds a directory after its parent. Returns its path, or `None` if the path is too long.
    pub(crate) fn add(&mut self, id: i64, parent: i64, name: &[u8]) -> Option<&[u8]> {
        let above: &[u8] = if parent == TOP { b"" } else { self.0.get(&parent)? };
        let path = [above, b"/", name].concat();
        if path.len() > LONGEST_PATH {
            return None;
        }
        Some(self.0.entry(id).or_insert(path.into()))
    }
}
