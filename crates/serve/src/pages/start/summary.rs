//! The summary of the catalog. Counting reads every row, so it is kept until the catalog file changes.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use catalog::{Catalog, GroupTotals, Overview};

use crate::app::App;
use crate::error::PageError;

/// What the catalog contains.
#[derive(Debug)]
pub(crate) struct Summary {
    pub(super) overview: Overview,
    pub(super) groups: GroupTotals,
    pub(super) decisions: u64,
}

/// The last summary, with the identity of the catalog file that it describes.
#[derive(Debug, Default)]
pub(crate) struct Summaries(Mutex<Option<(Stamp, Arc<Summary>)>>);

/// Device, inode, size and modification time of the catalog file.
type Stamp = [u64; 5];

impl Summary {
    /// Returns the number of decisions.
    pub(crate) fn decisions(&self) -> u64 {
        self.decisions
    }

    /// Returns the paths that were scanned.
    pub(crate) fn root_paths(&self) -> Vec<Vec<u8>> {
        self.overview.roots.iter().map(|root| root.path.clone()).collect()
    }
}

impl App {
    /// Returns the summary of the catalog. The first call after a change reads the whole catalog.
    ///
    /// # Errors
    ///
    /// Fails if the catalog does not exist or cannot be read.
    pub(crate) fn summary(&self) -> Result<Arc<Summary>, PageError> {
        let now = stamp(self.catalog_path());
        // The lock is held while the catalog is read, so that several tabs do not all read it.
        let mut last = self.summaries.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, summary)) = last.as_ref().filter(|(of, _)| now == Some(*of)) {
            return Ok(Arc::clone(summary));
        }
        let catalog = self.catalog()?;
        let summary = Arc::new(Summary::read(&catalog)?);
        *last = now.map(|now| (now, Arc::clone(&summary)));
        Ok(summary)
    }

    /// Returns a number that changes when a decision is made or withdrawn.
    ///
    /// # Errors
    ///
    /// Fails if the catalog does not exist or cannot be read.
    pub(crate) fn decisions_now(&self) -> Result<u64, PageError> {
        let decisions = self.catalog()?.decisions()?;
        let numbers = decisions.iter().flat_map(|decision| [decision.id, decision.made_ms]);
        Ok(numbers.fold(0xcbf2_9ce4_8422_2325, |hash: u64, number| {
            (hash ^ number.cast_unsigned()).wrapping_mul(0x0100_0000_01b3)
        }))
    }
}

impl Summary {
    fn read(catalog: &Catalog) -> Result<Summary, catalog::Error> {
        let decisions = catalog.decisions()?.len() as u64;
        Ok(Summary { overview: catalog.overview()?, groups: catalog.group_totals()?, decisions })
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let meta = std::fs::metadata(path).ok()?;
    let mtime = [meta.mtime().cast_unsigned(), meta.mtime_nsec().cast_unsigned()];
    Some([meta.dev(), meta.ino(), meta.size(), mtime[0], mtime[1]])
}
