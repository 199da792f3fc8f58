//! A scan whose tables exceed the memory bound finds the same groups.
//!
//! The test runs in a separate process, because a process has only one allocator and one memory
//! bound.

#![expect(clippy::disallowed_methods, reason = "tests create the trees that they scan")]

use std::path::Path;
use std::sync::Arc;

use content::Fingerprints;
use device::Threads;
use dupes::{ContentKeys, InlineReader};
use runtime::{Progress, memory};
use testkit::{Rules, TempTree, assert_groups, naive_truth};
use walk::Filter;

#[global_allocator]
static ALLOCATOR: memory::Allocator = memory::Allocator;

/// Number of files; each takes some 100 bytes of memory.
const FILES: usize = 60_000;

#[test]
fn a_scan_beyond_its_memory_bound_finds_the_same_groups() {
    let folder = tempfile::tempdir().expect("a folder");
    memory::bound(8 << 20, folder.path());
    let tree = TempTree::new_in(Path::new("/dev/shm"));
    for n in 0..FILES {
        let dir = tree.path().join(format!("{}", n / 500));
        if n % 500 == 0 {
            std::fs::create_dir(&dir).expect("a directory");
        }
        // A third of the files are empty. The other files have 7 different sizes, and each distinct
        // content occurs in two or three of them.
        let content =
            if n % 3 == 0 { String::new() } else { format!("{:<1$}", n / 4, 9 + n / 4 % 7) };
        std::fs::write(dir.join(format!("a file with number {n:05}")), content).expect("a file");
    }
    let threads = Threads { first: 2, grows: true };
    let mut filter = Filter::default();
    filter.empty = true;
    let options = walk::Options {
        filter,
        one_file_system: false,
        threads,
        disks: Arc::default(),
        open_dirs: 16,
        root_timeout: std::time::Duration::from_secs(60),
        changes: None,
        own: walk::OwnFiles::default(),
    };
    let compare = dupes::Options {
        threads,
        disks: Arc::clone(&options.disks),
        open_dirs: 16,
        open_files: 32,
        digests: true,
        hardlinks: false,
    };
    let progress = Progress::default();
    let mut keys = Some(ContentKeys::new(compare.digests));
    let reader = InlineReader::new(keys.as_ref(), &progress);
    let roots = [tree.path().to_path_buf()];
    let mut found = walk::walk(&roots, &options, Some(&reader), &progress).expect("not stopped");
    let fingerprints = Fingerprints::new(found.files().len());
    InlineReader::collect(&mut found, &fingerprints, &mut keys);
    let groups =
        dupes::find(&found, &fingerprints, keys, &compare, &progress).expect("not stopped").groups;
    assert!(memory::spilled().most > 0, "nothing was spilled");
    let paths = |files: &[walk::FileId]| files.iter().map(|&file| found.path(file)).collect();
    let truth = naive_truth(&[&tree], Rules { empty: true, ..Rules::default() });
    assert_groups(&truth.groups, &groups.iter().map(|group| paths(group.files)).collect());
}
