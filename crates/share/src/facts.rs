//! Knowledge of the catalog about the shared files: digests and the sizes of folders.
//!
//! All functions here read the catalog and may wait for a disk. A server needs no catalog, and a catalog that cannot
//! be read is the same as none.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use catalog::{Catalog, FileState};
use fsops::Stat;
use runtime::Mutex;

use crate::listing::FolderSize;

/// Time for which an open catalog is used. After it, another file may be at its path.
const OPEN_TIME: Duration = Duration::from_secs(10);

/// Time for which the sizes of folders are kept. To add them up takes about a second for a million files.
const SIZES_TIME: Duration = Duration::from_secs(60);

/// Maximum number of directories whose folder sizes are kept.
const MAX_SIZES: usize = 256;

/// The sizes of the folders in a directory, by their names.
pub(crate) type Sizes = Arc<HashMap<Vec<u8>, FolderSize>>;

/// The catalog, as far as it is about the shared files.
#[derive(Debug)]
pub(crate) struct Facts {
    path: Option<PathBuf>,
    /// The absolute paths of the shared directories.
    roots: Vec<Vec<u8>>,
    /// True if the catalog contains files below a shared directory.
    is_useful: AtomicBool,
    checked: Mutex<Option<Instant>>,
    /// Open catalogs that no thread uses at the moment.
    idle: Mutex<Vec<(Instant, Catalog)>>,
    sizes: Mutex<HashMap<Vec<u8>, (Instant, Sizes)>>,
}

impl Facts {
    /// Looks whether the catalog contains files below the directories at these absolute paths.
    pub(crate) fn new(path: Option<PathBuf>, roots: Vec<Vec<u8>>) -> Facts {
        let facts = Facts {
            path,
            roots,
            is_useful: AtomicBool::new(false),
            checked: Mutex::default(),
            idle: Mutex::default(),
            sizes: Mutex::default(),
        };
        facts.check();
        facts
    }

    /// Returns whether the catalog may know something about a shared file. This does not wait.
    pub(crate) fn are_useful(&self) -> bool {
        self.is_useful.load(Ordering::Relaxed)
    }

    /// Returns the digest of the content of a file, if the catalog knows it for this very version.
    pub(crate) fn digest(&self, path: &[u8], stat: &Stat) -> Option<String> {
        self.check();
        if !self.are_useful() {
            return None;
        }
        let (dir, name) = walk::split_path(path);
        let entry = self.ask(|catalog| catalog.file(dir, name).ok())??;
        let is_current = entry.state == FileState::Known && entry.is_unchanged(stat);
        entry.digest.filter(|_| is_current).map(|digest| digest.to_string())
    }

    /// Returns the sizes of the folders in the directory at an absolute path. Folders that were not scanned
    /// are missing.
    pub(crate) fn folder_sizes(&self, dir: &[u8]) -> Sizes {
        self.check();
        if !self.are_useful() {
            return Sizes::default();
        }
        let now = Instant::now();
        let is_current = |added: &Instant| now.saturating_duration_since(*added) < SIZES_TIME;
        if let Some((_, sizes)) = self.sizes.lock().get(dir).filter(|(added, _)| is_current(added))
        {
            return Arc::clone(sizes);
        }
        let totals = self.ask(|catalog| catalog.totals_in(dir).ok()).unwrap_or_default();
        let sizes = totals
            .into_iter()
            .map(|folder| (folder.name, FolderSize { bytes: folder.bytes, files: folder.files }));
        let sizes = Sizes::new(sizes.collect());
        let mut kept = self.sizes.lock();
        if kept.len() >= MAX_SIZES {
            kept.retain(|_, (added, _)| is_current(added));
        }
        if kept.len() < MAX_SIZES {
            kept.insert(dir.to_vec(), (now, Arc::clone(&sizes)));
        }
        sizes
    }

    /// Looks from time to time whether the catalog has become useful, as a scan may have made it.
    fn check(&self) {
        let now = Instant::now();
        let is_recent = |last: Instant| now.saturating_duration_since(last) < OPEN_TIME;
        let mut checked = self.checked.lock();
        if checked.is_some_and(is_recent) {
            return;
        }
        *checked = Some(now);
        drop(checked);
        let knows = |catalog: &Catalog| {
            Some(self.roots.iter().any(|root| catalog.remembers(root).unwrap_or(false)))
        };
        self.is_useful.store(self.ask(knows).unwrap_or(false), Ordering::Relaxed);
    }

    /// Asks the catalog. A catalog that does not answer is not used again.
    fn ask<T>(&self, question: impl FnOnce(&Catalog) -> Option<T>) -> Option<T> {
        let now = Instant::now();
        let mut idle = self.idle.lock();
        idle.retain(|(opened, _)| now.saturating_duration_since(*opened) < OPEN_TIME);
        let open = idle.pop();
        drop(idle);
        let (opened, catalog) = match open {
            Some(open) => open,
            None => (now, Catalog::open(self.path.as_deref()?).ok()?),
        };
        let answer = question(&catalog)?;
        self.idle.lock().push((opened, catalog));
        Some(answer)
    }
}
