//! A worker with two small trees, for unit tests.

use std::ffi::CStr;
use std::sync::Arc;

use device::{Disks, Io, Threads};
use fsops::DirBuffer;
use runtime::Progress;
use testkit::{TempTree, TreeBuilder};

use crate::Options;
use crate::engine::batch::Batch;
use crate::engine::dir_state::{DirState, SharedBatch};
use crate::engine::entry::Entry;
use crate::engine::job::Job;
use crate::engine::task::Task;
use crate::engine::worker::Worker;
use crate::model::dir_node::DirNode;
use crate::outcome::Outcome;
use crate::reconcile::local_source::LocalSource;
use crate::roots::Roots;

/// The opened trees `from` and `to`.
pub(crate) struct Fixture {
    pub(crate) tree: TempTree,
    pub(crate) roots: Roots,
    pub(crate) progress: Progress,
}

/// Returns the options of a run without any flags.
pub(crate) fn plain() -> Options {
    Options {
        dry_run: false,
        delete: false,
        max_delete: None,
        allow_empty: false,
        checksum: false,
        verify: false,
        fsync: false,
        one_file_system: false,
        include: walk::Globs::default(),
        exclude: walk::Globs::default(),
        bandwidth: Arc::default(),
        own: walk::OwnFiles::default(),
        content_hints: None,
        threads: Threads { first: 1, grows: false },
        disks: Arc::new(Disks::new(Io::Ssd)),
        open_dirs: 8,
    }
}

impl Fixture {
    /// Creates the trees in a temporary directory. Paths in `tree` start with `from` or `to`.
    pub(crate) fn new(tree: &TreeBuilder) -> Fixture {
        let tree = tree.make_temp();
        let roots = Roots::check(&tree.join("from"), &tree.join("to"), None, false);
        Fixture { roots: roots.expect("may be mirrored"), tree, progress: Progress::default() }
    }

    /// Returns a job without tasks.
    pub(crate) fn job<'a>(&'a self, options: &'a Options) -> Job<'a> {
        let start = Task::MirrorDir { inode: 0, node: DirNode::top() };
        Job::new(&self.roots, options, &self.progress, None, start, 0, true)
    }

    /// Runs `test` with a worker that has opened the top directory, and with a batch of its names.
    pub(crate) fn with_top<T>(
        &self,
        options: &Options,
        test: impl FnOnce(&mut Worker<'_>, &Arc<SharedBatch>) -> T,
    ) -> T {
        let job = self.job(options);
        let mut worker = Worker::new(&job, &LocalSource);
        let top = DirNode::top();
        let dir_state: Arc<DirState> =
            worker.start_dir(&top).expect("can be opened").expect("is a directory");
        let source = &self.roots.source.as_ref().expect("is local").top.dir;
        let mut buffer = DirBuffer::default();
        let (mut batch, more) = Batch::fill(source, &top, options, &mut buffer, |_, _| {});
        assert!(!more.expect("can be listed"), "the trees of unit tests are small");
        dir_state.order_names(&mut batch);
        test(&mut worker, &SharedBatch::new(&dir_state, batch))
    }

    /// Processes all names in the top directory. Returns the worker's outcome.
    pub(crate) fn process_top(&self, options: &Options) -> Outcome {
        self.with_top(options, |worker, shared| {
            for index in 0..shared.batch.len() {
                worker.process(shared, index);
                worker.process_waiters();
            }
            std::mem::take(&mut worker.outcome)
        })
    }
}

/// Returns the entry named `name`.
pub(crate) fn entry<'s>(shared: &'s Arc<SharedBatch>, name: &CStr) -> Entry<'s> {
    let found = (0..shared.batch.len()).find(|&index| shared.batch.get(index).name == name);
    Entry::of(shared, found.expect("the source has the name"))
}
