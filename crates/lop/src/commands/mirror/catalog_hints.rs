//! Hints from the catalog about the source and the destination of a mirror, for `--reuse`.
//!
//! The mirror compares content before it relies on a hint. If the catalog cannot be read, there are no hints and no
//! error is reported.

use runtime::Mutex;
use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use catalog::{Catalog, ContentIndex, DigestedFile};
use content::Digest;
use fsops::Stat;
use mirror::{ContentHint, ContentHints, MIN_REUSED_BYTES};

use crate::error::CommandError;
use crate::settings::Settings;

/// Hints about the trees on this host.
#[derive(Debug, Default)]
struct Remembered {
    source: Option<Mutex<OfSource>>,
    destination: Option<Mutex<ContentIndex>>,
}

/// Hints about the source. The files of the most recently requested directory are cached.
#[derive(Debug)]
struct OfSource {
    index: ContentIndex,
    dir: Option<Vec<u8>>,
    files: HashMap<Vec<u8>, DigestedFile>,
}

/// Returns the hints about the trees on this host. If the catalog cannot be read, the result is empty, but the other
/// host may still provide hints.
pub(super) fn remembered(
    settings: &Settings,
    source: Option<&Path>,
    destination: Option<&Path>,
) -> Arc<dyn ContentHints> {
    Arc::new(read(settings, source, destination).unwrap_or_default())
}

fn read(
    settings: &Settings,
    source: Option<&Path>,
    destination: Option<&Path>,
) -> Result<Remembered, CommandError> {
    let path = settings.catalog()?;
    let index = |top: &Path| {
        let catalog = Catalog::open(&path)?;
        Ok(ContentIndex::new(catalog, top.as_os_str().as_bytes(), MIN_REUSED_BYTES))
    };
    let of = |top: Option<&Path>| top.map(index).transpose();
    let both = of(source).and_then(|source| Ok((source, of(destination)?)));
    let (source, destination) = both.map_err(|e: catalog::Error| CommandError::from(e))?;
    let source =
        source.map(|index| Mutex::new(OfSource { index, dir: None, files: HashMap::new() }));
    Ok(Remembered { source, destination: destination.map(Mutex::new) })
}

impl OfSource {
    fn hint(
        &mut self,
        dir: &[u8],
        name: &[u8],
        stat: &Stat,
    ) -> Result<Option<ContentHint>, catalog::Error> {
        if self.dir.as_deref() != Some(dir) {
            self.dir = Some(dir.to_vec());
            let files = self.index.digested_in(dir)?;
            self.files = files.into_iter().map(|held| (held.name.clone(), held)).collect();
        }
        let Some(held) = self.files.get(name).filter(|held| held.is_unchanged(stat)) else {
            return Ok(None);
        };
        let path = if dir.is_empty() { name.to_vec() } else { [dir, b"/", name].concat() };
        let also = self.index.another_copy(held, &path)?.unwrap_or_default();
        Ok(Some(ContentHint { digest: held.digest.0, also }))
    }
}

/// Catalog errors are ignored, because the mirror can do without hints.
impl ContentHints for Remembered {
    fn of_source(&self, dir: &[u8], name: &[u8], stat: &Stat) -> Option<ContentHint> {
        let mut source = self.source.as_ref()?.lock();
        source.hint(dir, name, stat).ok().flatten()
    }

    fn in_destination(&self, name: &[u8], stat: &Stat, digest: Option<&[u8; 32]>) -> Vec<Vec<u8>> {
        let Some(destination) = &self.destination else { return Vec::new() };
        let index = destination.lock();
        let mut paths = digest
            .and_then(|digest| index.find_by_digest(&Digest(*digest)).ok())
            .unwrap_or_default();
        paths.extend(index.find_by_version(stat.size, stat.mtime_ns(), name).unwrap_or_default());
        paths
    }
}
