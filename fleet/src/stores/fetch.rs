//! Copies the newest complete export of a host from an object store to a folder.
//!
//! This module does not trust the store. It checks the names of hosts and files before they become paths, and reads no
//! more bytes than the manifest states. The export appears in the folder only if the digests of all files are those in
//! the manifest.

use std::path::Path;

use export::{
    Copied, LARGEST_MANIFEST, MANIFEST_NAME, Stored, StoredManifest, TableFile, check_host,
    is_export_id,
};

use super::{Kind, PART_SIZE, Store};
use crate::output::text;

/// The newest complete export of a host.
#[derive(Debug)]
pub(crate) struct Fetched {
    pub(crate) export_id: String,
    /// Number of files that the export describes.
    pub(crate) files: u64,
    /// Number of bytes that were copied; 0 if the folder already had the export.
    pub(crate) bytes: u64,
}

/// The reason why an export was not copied.
enum Refused {
    /// The export is incomplete or damaged. The previous one may be usable.
    Unusable(String),
    /// The store or the folder cannot be used.
    Failed(String),
}

impl From<super::Error> for Refused {
    fn from(error: super::Error) -> Refused {
        match error.kind {
            Kind::Missing | Kind::TooLarge => Refused::Unusable(error.to_string()),
            Kind::Failed => Refused::Failed(error.to_string()),
        }
    }
}

impl Store {
    /// Returns the names of the hosts that have exports here.
    ///
    /// # Errors
    ///
    /// Fails if the place cannot be listed.
    pub(crate) fn hosts(&self) -> Result<Vec<String>, super::Error> {
        let mut hosts = self.folders(&[])?;
        hosts.retain(|host| !host.starts_with(['_', '.']));
        Ok(hosts)
    }
}

/// Copies the newest complete export of `host` to `dir`, unless the export is already there. Calls `complain` with the
/// reason for each newer export that cannot be used.
///
/// # Errors
///
/// Returns a message for the user if no export can be used, or if the store or the folder cannot be used.
pub(crate) fn fetch_newest(
    store: &Store,
    host: &str,
    dir: &Path,
    mut complain: impl FnMut(String),
) -> Result<Fetched, String> {
    check_host(host).map_err(|error| error.to_string())?;
    let mut exports = store.folders(&[host]).map_err(|error| error.to_string())?;
    exports.retain(|name| is_export_id(name));
    for export_id in exports.iter().rev() {
        match fetch(store, host, export_id, dir) {
            Ok(fetched) => return Ok(fetched),
            Err(Refused::Unusable(reason)) => complain(reason),
            Err(Refused::Failed(reason)) => return Err(reason),
        }
    }
    Err(format!("{}: no complete export", store.url(&[host])))
}

/// Copies an export, unless it is already there.
fn fetch(store: &Store, host: &str, export_id: &str, dir: &Path) -> Result<Fetched, Refused> {
    let path = dir.join(host).join(export_id);
    if path.symlink_metadata().is_ok() {
        let stored = Stored::open(&path)
            .map_err(|e| Refused::Failed(format!("{}; remove this folder", text(&e))))?;
        let files = stored.rows("inodes");
        return Ok(Fetched { export_id: export_id.to_owned(), files, bytes: 0 });
    }
    let manifest = read_manifest(store, host, export_id)?;
    let mut bytes = manifest.bytes().len() as u64;
    let files = manifest.rows("inodes");
    let failed = |error: export::Error| Refused::Failed(text(&error));
    let copied = Copied::create(dir, manifest).map_err(failed)?;
    for file in copied.manifest().files() {
        copy(store, &[host, export_id, &file.file], file, &copied)?;
        bytes += file.bytes;
    }
    copied.publish().map_err(failed)?;
    Ok(Fetched { export_id: export_id.to_owned(), files, bytes })
}

/// Reads the manifest of an export.
fn read_manifest(store: &Store, host: &str, export_id: &str) -> Result<StoredManifest, Refused> {
    let url = store.url(&[host, export_id]);
    let unusable = |reason: &str| Refused::Unusable(format!("{url}: {reason}"));
    let bytes = store.read(&[host, export_id, MANIFEST_NAME], LARGEST_MANIFEST)?;
    let bytes =
        bytes.ok_or_else(|| unusable(&format!("incomplete: it has no file {MANIFEST_NAME}")))?;
    let manifest = StoredManifest::parse(bytes)
        .map_err(|reason| unusable(&format!("{MANIFEST_NAME}: {reason}")))?;
    if (manifest.host(), manifest.export_id()) != (host, export_id) {
        return Err(unusable("its manifest is that of another export"));
    }
    Ok(manifest)
}

/// Copies a file.
fn copy(store: &Store, names: &[&str], file: &TableFile, to: &Copied) -> Result<(), Refused> {
    let url = || store.url(names);
    let refused = |error: export::Error| match error {
        export::Error::Invalid { reason, .. } => Refused::Unusable(format!("{}: {reason}", url())),
        error => Refused::Failed(text(&error)),
    };
    match store.size(names)? {
        Some(size) if size == file.bytes => {}
        Some(size) => {
            let reason = format!("has {size} bytes, but the manifest has {}", file.bytes);
            return Err(Refused::Unusable(format!("{}: {reason}", url())));
        }
        None => {
            let reason = format!("incomplete: it has no file {}", file.file);
            return Err(Refused::Unusable(format!("{}: {reason}", store.url(&names[..2]))));
        }
    }
    let mut copy = to.file(file).map_err(refused)?;
    let mut at = 0;
    while at < file.bytes {
        let end = file.bytes.min(at + PART_SIZE);
        copy.write(&store.read_range(names, at..end)?).map_err(refused)?;
        at = end;
    }
    copy.finish().map_err(refused)
}
