//! Counts the copies of individual files, based on the catalog.

use std::collections::{HashMap, HashSet};

use catalog::{Catalog, Entry};
use dupes::State;

use crate::error::CommandError;
use crate::questions::aliases::Distinct;
use crate::questions::inspect::Inspector;
use crate::questions::knowledge::Knowledge;

/// Sizes of pending files. A pending file may be a copy of any other file of the same size.
pub(crate) struct PendingSizes {
    /// For each size that was looked up, whether a pending file has this size. `None` if the catalog has no pending
    /// files.
    sizes: Option<HashMap<u64, bool>>,
}

impl PendingSizes {
    pub(crate) fn new(catalog: &Catalog) -> Result<PendingSizes, CommandError> {
        Ok(PendingSizes { sizes: (catalog.unreliable_counts()?.pending > 0).then(HashMap::new) })
    }

    /// Returns whether there is a pending file of this size.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read.
    pub(crate) fn has(
        &mut self,
        size: u64,
        catalog: &Catalog,
        inspector: &mut Inspector,
    ) -> Result<bool, CommandError> {
        let Some(sizes) = &mut self.sizes else { return Ok(false) };
        if let Some(&waits) = sizes.get(&size) {
            return Ok(waits);
        }
        let pending = catalog.pending(size)?;
        let waits = pending.iter().any(|file| inspector.state(file) == State::Pending);
        sizes.insert(size, waits);
        Ok(waits)
    }
}

/// The number of copies of a file.
#[derive(Clone, Copy, Default)]
pub(crate) struct CopyCount {
    /// Number of other inodes that exist, are unchanged and have the same content.
    pub(crate) duplicates: u64,
    /// Reason why there may be more copies.
    pub(crate) doubt: Option<Knowledge>,
}

/// Counts the copies of files. The number of files with the same content is cached.
#[derive(Default)]
pub(crate) struct CopyCounts {
    pub(crate) inspector: Inspector,
    distinct: Distinct,
    /// For each content number, the number of files and the reason why there may be more.
    files: HashMap<i64, (u64, Option<Knowledge>)>,
}

impl CopyCounts {
    /// Returns an empty counter. Files below `distinct` are never aliases.
    pub(crate) fn new(distinct: Distinct) -> CopyCounts {
        CopyCounts { distinct, ..CopyCounts::default() }
    }

    /// Returns the number of copies of a file.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read.
    pub(crate) fn of(
        &mut self,
        catalog: &Catalog,
        file: &Entry,
    ) -> Result<CopyCount, CommandError> {
        let Some(content) = file.content.filter(|_| file.copies > 1) else {
            return Ok(CopyCount::default());
        };
        if !self.files.contains_key(&content) {
            let (mut same, mut changed) = (Vec::new(), false);
            let entries = catalog.files_with(content)?;
            for entry in &entries {
                let state = self.inspector.state(entry);
                same.extend((state == State::Same).then_some(entry));
                changed |= matches!(state, State::Changed | State::Unknown);
            }
            let are_views = self.inspector.aliases_among(&same, &self.distinct);
            let counted = same.iter().zip(&are_views).filter(|(_, is_view)| !**is_view);
            let inodes: HashSet<_> = counted.map(|(e, _)| (e.volume, e.inode)).collect();
            let doubt = match (changed, are_views.contains(&true)) {
                (true, _) => Some(Knowledge::CopiesChanged),
                (false, true) => Some(Knowledge::CopiesAreAliases),
                (false, false) => None,
            };
            self.files.insert(content, (inodes.len() as u64, doubt));
        }
        // The count includes the file itself or, if the file is an alias, the aliased file.
        let (files, doubt) = self.files[&content];
        Ok(CopyCount { duplicates: files.saturating_sub(1), doubt })
    }
}
