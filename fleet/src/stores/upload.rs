//! Copies an export from a folder to an object store.
//!
//! The upload writes the manifest last, so an export is complete if and only if its manifest is in the store. It
//! compares each file with the manifest while it reads the file, before the object appears in the store.

use std::error::Error as StdError;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use export::{FileCheck, LARGEST_MANIFEST, MANIFEST_NAME, Stored, StoredManifest, TableFile};

use super::{Large, MOST_PARTS, PART_SIZE, Store};

/// The amount of data that an upload has sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Uploaded {
    /// Number of files, including the manifest.
    pub(crate) files: u64,
    /// Size of these files.
    pub(crate) bytes: u64,
}

impl Uploaded {
    fn add(&mut self, bytes: u64) {
        self.files += 1;
        self.bytes += bytes;
    }
}

/// Copies an export to `store`, unless the store already has it.
///
/// # Errors
///
/// Fails if a file differs from the manifest or cannot be read, if the store has a different export with this name, or
/// if a request fails. The upload has then not written the manifest, but may have written some of the files.
pub(crate) fn upload(store: &Store, export: &Stored) -> Result<Uploaded, Box<dyn StdError>> {
    let path = export.path.join(MANIFEST_NAME);
    let cannot = |e: &dyn StdError| format!("cannot read {}: {e}", path.display());
    let bytes = fs::read(&path).map_err(|e| cannot(&e))?;
    let manifest = StoredManifest::parse(bytes).map_err(|e| format!("{}: {e}", path.display()))?;
    let folder = [manifest.host(), manifest.export_id()];
    let place = [folder[0], folder[1], MANIFEST_NAME];
    match store.read(&place, LARGEST_MANIFEST)? {
        Some(found) if found == manifest.bytes() => return Ok(Uploaded::default()),
        Some(_) => {
            let (url, path) = (store.url(&folder), export.path.display());
            return Err(format!("{url} exists and differs from {path}; remove one of them").into());
        }
        None => {}
    }
    let mut uploaded = Uploaded::default();
    for file in manifest.files() {
        send(store, &[folder[0], folder[1], &file.file], &export.path.join(&file.file), file)?;
        uploaded.add(file.bytes);
    }
    store.write(&place, manifest.bytes().to_vec())?;
    uploaded.add(manifest.bytes().len() as u64);
    Ok(uploaded)
}

/// Copies a file.
fn send(
    store: &Store,
    names: &[&str],
    path: &Path,
    file: &TableFile,
) -> Result<(), Box<dyn StdError>> {
    let mut source = Source::open(path, file)?;
    let part_size = PART_SIZE.max(file.bytes.div_ceil(MOST_PARTS));
    if file.bytes <= part_size {
        let bytes = source.read(part_size)?;
        source.finish()?;
        return Ok(store.write(names, bytes)?);
    }
    let mut large = store.begin(names, usize::try_from(part_size)?)?;
    match send_parts(&mut large, source, part_size) {
        Ok(()) => Ok(large.finish()?),
        Err(error) => {
            large.abort();
            Err(error)
        }
    }
}

fn send_parts(
    large: &mut Large<'_>,
    mut source: Source<'_>,
    part_size: u64,
) -> Result<(), Box<dyn StdError>> {
    loop {
        let part = source.read(part_size)?;
        if part.is_empty() {
            return source.finish();
        }
        large.send(part)?;
    }
}

/// A file that is compared with the manifest while it is read.
struct Source<'a> {
    path: &'a Path,
    file: File,
    check: FileCheck<'a>,
}

impl<'a> Source<'a> {
    fn open(path: &'a Path, of: &'a TableFile) -> Result<Source<'a>, Box<dyn StdError>> {
        let file = File::open(path).map_err(|e| format!("cannot open {}: {e}", path.display()))?;
        Ok(Source { path, file, check: FileCheck::new(of) })
    }

    /// Returns the next `most` bytes, or fewer at the end of the file.
    fn read(&mut self, most: u64) -> Result<Vec<u8>, Box<dyn StdError>> {
        let mut bytes = Vec::new();
        let read = (&self.file).take(most).read_to_end(&mut bytes);
        read.map_err(|e| format!("cannot read {}: {e}", self.path.display()))?;
        self.check.add(&bytes).map_err(|reason| format!("{}: {reason}", self.path.display()))?;
        Ok(bytes)
    }

    /// Compares the size and the digest at the end of the file.
    fn finish(mut self) -> Result<(), Box<dyn StdError>> {
        // A file that has grown is larger than in the manifest.
        self.read(1)?;
        let Source { path, check, .. } = self;
        Ok(check.finish().map_err(|reason| format!("{}: {reason}", path.display()))?)
    }
}
