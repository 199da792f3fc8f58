//! The summary of the catalog, cached until the catalog changes, because computing it reads every row.

use std::sync::{Arc, Mutex, PoisonError};

use catalog::{Catalog, GroupTotals, Overview};

use crate::error::PageError;

/// The contents of the catalog in numbers.
#[derive(Debug)]
pub(crate) struct Summary {
    pub(crate) overview: Overview,
    pub(crate) groups: GroupTotals,
}

/// The last summary, with the version of the catalog that it describes.
#[derive(Debug, Default)]
pub(crate) struct Summaries(Mutex<Option<(u64, Arc<Summary>)>>);

impl Summary {
    /// Returns the paths that were scanned.
    pub(crate) fn root_paths(&self) -> Vec<Vec<u8>> {
        self.overview.roots.iter().map(|root| root.path.clone()).collect()
    }
}

impl Summaries {
    /// Returns the summary of the catalog in a version. Calls `read` if the version has changed.
    ///
    /// # Errors
    ///
    /// Fails if `read` fails.
    pub(crate) fn at(
        &self,
        version: u64,
        read: impl FnOnce() -> Result<Summary, PageError>,
    ) -> Result<Arc<Summary>, PageError> {
        // The lock is held while the catalog is read, so that several tabs do not all read it.
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, summary)) = last.as_ref().filter(|(of, _)| version == *of) {
            return Ok(Arc::clone(summary));
        }
        let summary = Arc::new(read()?);
        *last = Some((version, Arc::clone(&summary)));
        Ok(summary)
    }
}

impl Summary {
    /// Reads the whole catalog.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read.
    pub(crate) fn read(catalog: &Catalog) -> Result<Summary, catalog::Error> {
        Ok(Summary { overview: catalog.overview()?, groups: catalog.group_totals()? })
    }
}
