//! Chooses the scans to compare: for each root, the last recorded scan and an earlier one.

use catalog::{Catalog, Error, History, SizedScan};

use crate::record::{Record, decode};
use crate::space::{DirId, Space, VolumeTop};

/// A root whose last recorded scan was compared with an earlier one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// The directory of the root.
    pub dir: DirId,
    /// Its absolute path.
    pub root: Vec<u8>,
    /// End of the earlier scan, in milliseconds since the epoch.
    pub since_ms: i64,
    /// End of the later scan.
    pub until_ms: i64,
}

/// The comparisons of the scans of all roots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparisons {
    /// The roots whose scans were compared.
    pub compared: Vec<Compared>,
    /// The directories of the roots in which files may have changed since the last scan. Their
    /// growth is unknown, because the growth between two scans would contradict the present sizes.
    pub outdated: Vec<DirId>,
}

impl Space {
    /// Compares the last recorded scan of each root with an earlier one: the newest that ended at
    /// `since_ms` or before, or the one before the last if `since_ms` is `None`. Sets
    /// [`crate::Totals::grown`], and replaces earlier comparisons.
    ///
    /// Leaves out roots without such scans, records that are damaged, and roots whose last scan ended
    /// before `changed_ms`, the time when lop last changed files.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read.
    pub fn compare_scans(
        &mut self,
        catalog: &Catalog,
        since_ms: Option<i64>,
        changed_ms: Option<i64>,
    ) -> Result<Comparisons, Error> {
        self.forget_comparisons();
        let mut all = Comparisons::default();
        // A root comes before the roots below it.
        for History { root, last_ms, scans } in catalog.histories()? {
            let mut scans = scans.iter();
            let later = scans.next();
            let earlier = scans.find(|scan| since_ms.is_none_or(|since| scan.finished_ms <= since));
            let ends = later.zip(earlier);
            let (Some((later, earlier)), Some(dir)) = (ends, self.find(&root)) else { continue };
            if changed_ms.is_some_and(|changed| last_ms <= changed) {
                all.outdated.push(dir);
                continue;
            }
            let records = read(catalog, *earlier, &root)?.zip(read(catalog, *later, &root)?);
            let Some((before, after)) = records else { continue };
            if self.compare(&root, &before, &after) {
                all.compared.push(Compared {
                    since_ms: earlier.finished_ms,
                    until_ms: later.finished_ms,
                    dir,
                    root,
                });
            }
        }
        Ok(all)
    }

    /// Returns each file system with the lowest directory that contains all its remembered files.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn volumes(&self, catalog: &Catalog) -> Result<Vec<(fsops::Volume, DirId)>, Error> {
        let known = catalog.volumes()?;
        let identity = |top: &VolumeTop| {
            let volume = known.iter().find(|(id, _)| *id == top.volume)?.1;
            Some((volume, DirId(top.dir)))
        };
        Ok(self.volumes.iter().filter_map(identity).collect())
    }
}

fn read(catalog: &Catalog, scan: SizedScan, root: &[u8]) -> Result<Option<Record>, Error> {
    Ok(catalog.scan_size_data(scan.scan, root)?.and_then(|data| decode(&data).ok()))
}
