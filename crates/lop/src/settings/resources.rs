//! The threads, disks and open descriptors that a command may use.
//!
//! Every command takes its workers from [`Resources`], so that `--threads` and `--io` have the same meaning
//! everywhere. The options of each library are filled in from it.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use device::{Disks, Io, Threads};
use walk::{Filter, OwnFiles};

use crate::args::StorageArgs;

/// Descriptors reserved for the standard streams, the catalog with its journals and lock, and the current root.
const RESERVED_DESCRIPTORS: usize = 16;

/// Maximum number of directories that a worker keeps open.
const MAX_OPEN_DIRS: usize = 256;

/// Maximum number of directories that a worker keeps open when it mirrors or removes a tree.
const MAX_OPEN_DIRS_OF_TREE: usize = 64;

/// Maximum number of files that a worker keeps open when it compares files.
const MAX_COMPARED_FILES: usize = 32;

/// Maximum number of files that a worker keeps open when it acts on files.
const MAX_ACTED_FILES: usize = 512;

/// Time that a walk waits for a root that does not answer, after all other roots are done. The disks of a large array
/// start one by one, and each takes 5 to 20 seconds.
const ROOT_TIMEOUT: Duration = Duration::from_secs(120);

/// The threads, disks and descriptors that a command may use.
#[derive(Clone, Debug)]
pub(crate) struct Resources {
    /// Number of threads for each disk, and whether the pool may grow.
    pub(crate) threads: Threads,
    /// The disks that the command has accessed, with the measurements of each.
    pub(crate) disks: Arc<Disks>,
    /// Number of directories that each worker may keep open.
    pub(crate) open_dirs: usize,
    /// Number of descriptors that each worker may use in total. Each worker has a separate descriptor table.
    descriptors: usize,
}

impl Resources {
    /// Returns resources with `threads` threads per disk, or one per processor if that is `None`. Raises the
    /// descriptor limit of the process.
    pub(crate) fn new(threads: Option<NonZeroUsize>, io: Io) -> Resources {
        let grows = threads.is_none();
        let threads = threads.or_else(|| std::thread::available_parallelism().ok());
        let descriptors = usable_descriptors(runtime::raise_descriptor_limit());
        Resources {
            threads: Threads { first: threads.map_or(1, NonZeroUsize::get), grows },
            disks: Arc::new(Disks::new(io)),
            open_dirs: open_dirs(descriptors),
            descriptors,
        }
    }

    /// Returns the resources that the arguments of a command choose.
    pub(crate) fn of(args: &StorageArgs) -> Resources {
        Resources::new(args.threads, args.io.into())
    }

    /// Returns the resources of a command that has no `--threads` and `--io`.
    pub(crate) fn automatic() -> Resources {
        Resources::new(None, Io::Auto)
    }

    /// Returns the options for a walk.
    pub(crate) fn walk(
        &self,
        filter: Filter,
        one_file_system: bool,
        own: OwnFiles,
    ) -> walk::Options {
        walk::Options {
            filter,
            one_file_system,
            threads: self.threads,
            disks: Arc::clone(&self.disks),
            open_dirs: self.open_dirs,
            root_timeout: ROOT_TIMEOUT,
            changes: None,
            own,
        }
    }

    /// Returns the options for comparing files, with digests.
    pub(crate) fn compare(&self) -> dupes::Options {
        dupes::Options {
            threads: self.threads,
            disks: Arc::clone(&self.disks),
            open_dirs: self.open_dirs,
            open_files: open_files(self.descriptors, MAX_COMPARED_FILES),
            digests: true,
            hardlinks: false,
        }
    }

    /// Returns the number of directories that a worker keeps open when it mirrors or removes a tree.
    pub(crate) fn tree_dirs(&self) -> usize {
        self.open_dirs.min(MAX_OPEN_DIRS_OF_TREE)
    }

    /// Returns the number of files that a worker keeps open when it acts on files.
    pub(crate) fn acted_files(&self) -> usize {
        open_files(self.descriptors, MAX_ACTED_FILES)
    }
}

/// Returns the number of descriptors that a limit leaves for files and directories.
fn usable_descriptors(limit: usize) -> usize {
    limit.saturating_sub(RESERVED_DESCRIPTORS)
}

/// Returns the number of directories that a worker may keep open.
fn open_dirs(descriptors: usize) -> usize {
    (descriptors / 4).clamp(1, MAX_OPEN_DIRS)
}

/// Returns the number of files that a worker may keep open. It is at least two, because a comparison needs two.
fn open_files(descriptors: usize, most: usize) -> usize {
    (descriptors / 4).clamp(2, most)
}

#[cfg(test)]
mod tests {
    use super::{
        MAX_ACTED_FILES, MAX_COMPARED_FILES, RESERVED_DESCRIPTORS, open_dirs, open_files,
        usable_descriptors,
    };

    #[test]
    fn descriptors_suffice_for_what_a_worker_may_open() {
        for limit in [32, 64, 256, 1024, 1 << 20] {
            let usable = usable_descriptors(limit);
            for most in [MAX_COMPARED_FILES, MAX_ACTED_FILES] {
                let opened = open_dirs(usable) + open_files(usable, most);
                assert!(RESERVED_DESCRIPTORS + opened <= limit, "{limit}: {opened}");
            }
        }
        let usable = usable_descriptors(4096);
        assert_eq!((open_dirs(usable), open_files(usable, MAX_COMPARED_FILES)), (256, 32));
    }
}
