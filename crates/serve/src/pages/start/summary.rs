//! The summary of the catalog. Counting reads every row, so it is kept until the catalog changes.

use std::sync::{Arc, Mutex, PoisonError};

use catalog::{Catalog, GroupTotals, Overview};

use crate::app::App;
use crate::error::PageError;

/// What the catalog contains.
#[derive(Debug)]
pub(crate) struct Summary {
    pub(super) overview: Overview,
    pub(super) groups: GroupTotals,
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

impl App {
    /// Returns the summary of the catalog. The first call after a change reads the whole catalog.
    ///
    /// # Errors
    ///
    /// Fails if the catalog does not exist or cannot be read.
    pub(crate) fn summary(&self) -> Result<Arc<Summary>, PageError> {
        let now = self.catalog_version()?;
        // The lock is held while the catalog is read, so that several tabs do not all read it.
        let mut last = self.summaries.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, summary)) = last.as_ref().filter(|(of, _)| now == *of) {
            return Ok(Arc::clone(summary));
        }
        let summary = self.with_catalog(|catalog| Ok(Summary::read(catalog)?))?;
        let summary = Arc::new(summary);
        *last = Some((now, Arc::clone(&summary)));
        Ok(summary)
    }

    /// Returns the number of decisions, and a number that changes when one is made or withdrawn.
    ///
    /// # Errors
    ///
    /// Fails if the catalog does not exist or cannot be read.
    pub(crate) fn decisions_now(&self) -> Result<(u64, u64), PageError> {
        let decisions = self.with_catalog(|catalog| Ok(catalog.decisions()?))?;
        let numbers = decisions.iter().flat_map(|decision| [decision.id, decision.made_ms]);
        let state = numbers.fold(0xcbf2_9ce4_8422_2325, |hash: u64, number| {
            (hash ^ number.cast_unsigned()).wrapping_mul(0x0100_0000_01b3)
        });
        Ok((decisions.len() as u64, state))
    }
}

impl Summary {
    fn read(catalog: &Catalog) -> Result<Summary, catalog::Error> {
        Ok(Summary { overview: catalog.overview()?, groups: catalog.group_totals()? })
    }
}
