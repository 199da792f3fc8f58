//! All workers examine the files of a large directory.

use std::collections::HashSet;
use std::ffi::CStr;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, ThreadId};
use std::time::Duration;

use device::Io;
use fsops::{Dir, Stat};
use runtime::Progress;
use testkit::TreeBuilder;
use walk::{Note, Options, Visitor, walk};

use crate::found::{actual, disks, expected, filter, ids, in_memory, options, workers};

/// Number of files. The worker that lists the directory examines some of them before it shares them.
const FILES: usize = 3000;

/// Sleeps briefly for each file and records the calling threads.
#[derive(Default)]
struct Slow(Mutex<HashSet<ThreadId>>);

impl Visitor for Slow {
    fn file(&self, _: &Dir, _: &CStr, stat: &Stat) -> Note {
        self.0.lock().expect("no panic").insert(thread::current().id());
        thread::sleep(Duration::from_micros(100));
        [stat.size + 1, stat.inode]
    }
}

#[test]
fn all_workers_examine_the_files_of_a_large_directory() {
    let size = |n: usize| n % 7;
    let tree = in_memory();
    (0..FILES)
        .fold(TreeBuilder::new(), |all, n| all.file(format!("{n:04}"), vec![b'x'; size(n)]))
        .make(&tree);
    for threads in [1, 2, 8] {
        let filter = filter(|filter| filter.empty = false);
        let (threads, disks) = (workers(threads), disks(Io::Cached));
        let options = Options { filter, threads, disks, ..options() };
        let (visitor, progress) = (Slow::default(), Progress::default());
        let roots = [tree.path().to_path_buf()];
        let walked = walk(&roots, &options, Some(&visitor), &progress).expect("not stopped");
        let mut files = expected(tree.path());
        files.retain(|_, (size, _)| *size > 0);
        assert_eq!(actual(&walked), files);
        assert_eq!(walked.skipped.empty, (0..FILES).filter(|&n| size(n) == 0).count() as u64);
        assert_eq!(progress.entries.load(Relaxed), FILES as u64);
        assert_eq!(
            progress.bytes_seen.load(Relaxed),
            files.values().map(|(size, _)| size).sum::<u64>()
        );
        for id in ids(&walked) {
            let file = walked.file(id);
            assert_eq!(walked.notes[id.0 as usize], [file.size + 1, file.inode]);
        }
        let workers = visitor.0.into_inner().expect("no panic").len();
        assert_eq!(workers > 1, threads.first > 1, "{workers} of {threads:?} examined files");
    }
}
