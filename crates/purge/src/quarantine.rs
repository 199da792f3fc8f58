//! Detects the quarantine of `lop dedupe`, which a removal must not touch.

use fsops::{Dir, DirBuffer};
use walk::QUARANTINE_PREFIX;

/// Returns whether a directory contains quarantined files, or cannot be listed. `lop dedupe`
/// creates its quarantine in the top directory of a subvolume if possible.
pub(crate) fn holds_store(top: &Dir) -> bool {
    let mut found = false;
    let listed = top.open_below_same_mount(b".").and_then(|top| {
        top.for_each(&mut DirBuffer::default(), |item| {
            found |= item.name.to_bytes().starts_with(QUARANTINE_PREFIX.as_bytes());
        })
    });
    found || listed.is_err()
}
