//! Scans a tree into a catalog, for tests of pages. The scan engine is in crates that this crate does not
//! depend on.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use catalog::{CopyCount, ScanRecord, TreeMatch, Writer};
use content::{Digest, Fingerprints, head_length, head_of};
use runtime::Progress;
use walk::{FileId, Filter, Tree};

/// Scans a tree as if all its files were old enough to be trusted.
pub(crate) fn scan(root: &Path, catalog: &Path) {
    let options = walk::Options {
        filter: Filter::default(),
        one_file_system: false,
        threads: device::Threads { first: 2, grows: true },
        disks: Arc::default(),
        open_dirs: 8,
        root_timeout: Duration::from_secs(60),
        changes: None,
        own: walk::OwnFiles::default(),
    };
    let roots = [root.to_path_buf()];
    let mut tree = walk::walk(&roots, &options, None, &Progress::default()).expect("not stopped");
    let writer = Writer::open(catalog, |_| ()).expect("opens");
    let matched = if writer.is_new() {
        TreeMatch::empty(&tree)
    } else {
        writer.catalog().match_tree(&mut tree, true).expect("matches")
    };
    let copies = compare(&tree, &matched.fingerprints);
    // All files are old enough to be trusted.
    let started = SystemTime::now() + Duration::from_secs(10);
    let started = started.duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
    let started_ms = i64::try_from(started.as_millis()).expect("a time");
    let record = ScanRecord {
        started_ms,
        finished_ms: started_ms,
        options: String::new(),
        files: 0,
        bytes: 0,
        position: None,
    };
    writer.commit(&tree, matched, copies.into_iter(), &[], &record, &[]).expect("commits");
}

/// Gives identical files the same content number, the simplest possible way.
fn compare(tree: &Tree, fingerprints: &Fingerprints) -> Vec<CopyCount> {
    let files = (0..walk::to_u32(tree.files().len())).map(FileId);
    let mut same: HashMap<Digest, Vec<FileId>> = HashMap::new();
    for id in files {
        let path = PathBuf::from(OsString::from_vec(tree.absolute_path(id)));
        let Ok(bytes) = std::fs::read(path) else {
            fingerprints.drop_file(id.0);
            continue;
        };
        let head = usize::try_from(head_length(bytes.len() as u64)).expect("small");
        fingerprints.set_head(id.0, head_of(&bytes[..head]));
        same.entry(Digest::of(&bytes)).or_default().push(id);
    }
    let groups = same.into_iter().filter(|(_, files)| files.len() > 1);
    groups.map(|(digest, files)| number(tree, fingerprints, digest, &files)).collect()
}

fn number(tree: &Tree, fingerprints: &Fingerprints, digest: Digest, files: &[FileId]) -> CopyCount {
    let known = files.iter().find_map(|id| fingerprints.content(id.0));
    let content = known.unwrap_or_else(|| fingerprints.new_content(Some(digest)));
    fingerprints.set_digest(content, digest);
    let mut keys: Vec<_> = files.iter().map(|id| tree.key(*id)).collect();
    for id in files {
        fingerprints.set_content(id.0, content);
    }
    keys.sort_unstable_by_key(|key| (key.device, key.inode));
    keys.dedup();
    let inodes = walk::to_u32(keys.len());
    let size = tree.file(files[0]).size.next_multiple_of(4096);
    CopyCount { content, inodes, reclaimable: size * u64::from(inodes - 1) }
}
