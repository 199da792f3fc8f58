//! The sizes of all directories, kept in memory while pages need them.
//!
//! The number of a directory is valid only until the catalog changes. Pages identify a directory by this
//! number and a hash of its path ([`key`]), so a page that is older than a scan never shows the wrong
//! directory.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use catalog::Catalog;
use space::{Comparisons, DirId, Space};

use crate::error::PageError;
use crate::hash::fnv1a;

/// The directories of a catalog.
#[derive(Debug)]
pub(crate) struct Sizes {
    pub(crate) space: Space,
    /// The scans that the growth of directories refers to.
    pub(crate) comparisons: Comparisons,
}

/// The sizes of directories, if they are in memory.
#[derive(Debug, Default)]
pub(super) struct Spaces(Mutex<Option<Kept>>);

#[derive(Debug)]
struct Kept {
    version: u64,
    used: Instant,
    sizes: Arc<Sizes>,
}

impl Spaces {
    /// Returns the sizes, and loads them first unless they are in memory and have this version.
    ///
    /// # Errors
    ///
    /// Fails if `load` fails.
    pub(super) fn get(
        &self,
        version: u64,
        load: impl FnOnce() -> Result<Sizes, PageError>,
    ) -> Result<Arc<Sizes>, PageError> {
        // Other requests wait, because a second load would take as long and twice the memory.
        let mut kept = self.lock();
        let sizes = match kept.take() {
            Some(old) if old.version == version => old.sizes,
            _ => Arc::new(load()?),
        };
        *kept = Some(Kept { version, used: Instant::now(), sizes: Arc::clone(&sizes) });
        Ok(sizes)
    }

    /// Frees the sizes if no page has needed them for this time.
    pub(super) fn drop_if_idle(&self, idle: Duration) {
        // While a page loads the sizes, they are in use. Waiting would stop all requests.
        let Ok(mut kept) = self.0.try_lock() else { return };
        if kept.as_ref().is_some_and(|kept| kept.used.elapsed() >= idle) {
            *kept = None;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Kept>> {
        // A panic while loading leaves nothing behind.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sizes {
    /// Loads the sizes, and compares the last two scans. `changed_ms` is the time when lop last
    /// changed files.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read.
    pub(super) fn load(catalog: &Catalog, changed_ms: Option<i64>) -> Result<Sizes, PageError> {
        let mut space = Space::load(catalog)?;
        let comparisons = space.compare_scans(catalog, None, changed_ms)?;
        Ok(Sizes { space, comparisons })
    }
}

/// Returns the text by which pages name a directory.
pub(crate) fn key(space: &Space, dir: DirId) -> String {
    // The hash differs between paths that had the same number.
    format!("{}-{:x}", dir.0, fnv1a(space.path(dir)))
}

/// Returns the directory that a page names. Returns `None` if it is from before a change of the catalog.
pub(crate) fn named(space: &Space, key: &str) -> Option<DirId> {
    let dir = DirId(key.split_once('-')?.0.parse().ok()?);
    (dir.0 < space.len() && self::key(space, dir) == key).then_some(dir)
}
