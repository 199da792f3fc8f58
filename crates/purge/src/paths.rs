//! Paths of entries, as bytes.

use walk::push_component;

/// Joins two paths.
pub(crate) fn joined(dir: &[u8], name: &[u8]) -> Vec<u8> {
    let mut path = dir.to_vec();
    if !name.is_empty() {
        push_component(&mut path, name);
    }
    path
}
