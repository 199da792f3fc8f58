//! The place of an inventory: a folder, or an object store.

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use fsops::io_text;
use runtime::unnamed_file;

use crate::stores::{Store, is_url};

/// Largest manifest that is read, in bytes. A manifest has about 200 bytes for each data file.
const LARGEST_MANIFEST: usize = 64 << 20;

/// The place of an inventory.
#[derive(Debug)]
pub(super) enum Source {
    /// The folder of the manifest, or one above it, is a copy of the destination bucket or of a folder of it.
    Folder { manifest: PathBuf },
    /// The destination bucket.
    Store(Store),
}

impl Source {
    /// Opens the place of a manifest. Returns it with the manifest.
    ///
    /// # Errors
    ///
    /// Fails if the manifest cannot be read.
    pub(super) fn open(manifest: &Path) -> Result<(Source, Vec<u8>), Box<dyn Error>> {
        if let Some(url) = manifest.to_str().filter(|text| is_url(text)) {
            let rest = url.split_once("://").map_or("", |(_, rest)| rest);
            let key = rest.split_once('/').map_or("", |(_, key)| key);
            let store = Store::open(url.strip_suffix(key).unwrap_or(url))?;
            let text = store.read(&names(key)?, LARGEST_MANIFEST)?;
            let text = text.ok_or_else(|| format!("{url}: there is no such object"))?;
            return Ok((Source::Store(store), text));
        }
        let text = read_manifest(manifest)
            .map_err(|e| format!("cannot read {}: {}", manifest.display(), io_text(&e)))?;
        Ok((Source::Folder { manifest: manifest.into() }, text))
    }

    /// Opens the data file with a key in the destination bucket, for reading from its beginning. Returns it with its
    /// name for people. A data file in a store is copied to an unnamed file first.
    ///
    /// # Errors
    ///
    /// Fails if the data file is missing or cannot be read.
    pub(super) fn data_file(&self, key: &str) -> Result<(File, String), Box<dyn Error>> {
        match self {
            Source::Folder { manifest } => {
                let path = find(manifest, key)?;
                let shown = path.display().to_string();
                let file = File::open(&path)
                    .map_err(|e| format!("cannot open {shown}: {}", io_text(&e)))?;
                Ok((file, shown))
            }
            Source::Store(store) => {
                let names = names(key)?;
                let folder = env::var_os("TMPDIR").filter(|folder| !folder.is_empty());
                let folder = PathBuf::from(folder.unwrap_or_else(|| OsString::from("/var/tmp")));
                let cannot = |e: io::Error| {
                    format!(
                        "cannot write a temporary file in {}: {}",
                        folder.display(),
                        io_text(&e)
                    )
                };
                let mut file = unnamed_file(&folder).map_err(cannot)?;
                store.download(&names, |part| {
                    io::Write::write_all(&mut file, part).map_err(cannot)
                })?;
                file.rewind().map_err(cannot)?;
                Ok((file, store.url(&names)))
            }
        }
    }
}

/// Returns the parts of a key, if they can be names of folders and files.
fn names(key: &str) -> Result<Vec<&str>, String> {
    let names: Vec<&str> = key.split('/').collect();
    if names.iter().any(|name| matches!(*name, "" | "." | "..")) {
        return Err(format!("{key:?} is not the name of a file"));
    }
    Ok(names)
}

fn find(manifest: &Path, key: &str) -> Result<PathBuf, Box<dyn Error>> {
    let names = names(key)?;
    let place = manifest.canonicalize()?;
    for above in place.ancestors().skip(1) {
        let paths = (0..names.len()).map(|start| above.join(names[start..].join("/")));
        if let Some(path) = { paths }.find(|path| path.is_file()) {
            return Ok(path);
        }
    }
    Err(format!("{}: the data file {key} is missing", manifest.display()).into())
}

fn read_manifest(path: &Path) -> io::Result<Vec<u8>> {
    // Opening a FIFO would wait for a writer.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a regular file; name the manifest.json of an inventory"));
    }
    let mut text = Vec::new();
    File::open(path)?.take(LARGEST_MANIFEST as u64).read_to_end(&mut text)?;
    Ok(text)
}
