//! Records which files have equal content.

use content::{Digest, Fingerprints};
use walk::FileId;

pub(crate) fn known_digest(fingerprints: &Fingerprints, file: FileId) -> Option<Digest> {
    fingerprints.content(file.0).and_then(|content| fingerprints.digest(content))
}

/// Records that files of the same size and head are identical to each other and different from all
/// other files.
pub(crate) fn record_equal(fingerprints: &Fingerprints, files: &[FileId], digest: Option<Digest>) {
    if files.is_empty() {
        return;
    }
    let known = files.iter().find_map(|f| fingerprints.content(f.0));
    let content = known.unwrap_or_else(|| fingerprints.new_content(None));
    if let Some(digest) = digest {
        fingerprints.set_digest(content, digest);
    }
    for file in files.iter().filter(|f| fingerprints.content(f.0).is_none()) {
        fingerprints.set_content(file.0, content);
    }
}
