//! Checks an export while it is copied, and creates the folder of the copy.
//!
//! The caller reads the manifest and the files of the export, for example from an object store, and passes their bytes.
//! This module does not use the network, and it does not trust the bytes: a manifest can name only files of an export,
//! and the folder appears only if every file has the size and the digest that the manifest states.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use fsops::{NewFile, Op};

use crate::error::{At, Error};
use crate::folder::{NewFolder, check_host, is_export_id};
use crate::manifest::{Manifest, TableFile, parse};

/// The manifest of an export, with its bytes.
#[derive(Clone, Debug)]
pub struct StoredManifest {
    bytes: Vec<u8>,
    manifest: Manifest,
}

impl StoredManifest {
    /// Parses the bytes of a manifest. The caller can then safely append the names of the host, the export and its
    /// files to the path of a folder.
    ///
    /// # Errors
    ///
    /// Returns a message if the manifest is invalid or of a later version, or if lop would not have chosen one of these
    /// names.
    pub fn parse(bytes: Vec<u8>) -> Result<StoredManifest, String> {
        let manifest = parse(&bytes)?;
        check_host(&manifest.host).map_err(|error| error.to_string())?;
        let id = &manifest.export_id;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
        if !is_export_id(id) || !id.chars().all(is_plain) || id.len() > 255 {
            return Err(format!("names an invalid export, {id:?}"));
        }
        Ok(StoredManifest { bytes, manifest })
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the name of the host.
    pub fn host(&self) -> &str {
        &self.manifest.host
    }

    /// Returns the name of the export.
    pub fn export_id(&self) -> &str {
        &self.manifest.export_id
    }

    /// Returns the files of all tables.
    pub fn files(&self) -> impl Iterator<Item = &TableFile> {
        self.manifest.tables.values().flatten()
    }

    /// Returns the number of rows of a table.
    pub fn rows(&self, table: &str) -> u64 {
        self.manifest.rows(table)
    }
}

/// Compares the bytes of a file with the manifest while they are copied.
#[derive(Debug)]
pub struct FileCheck<'a> {
    expected: &'a TableFile,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl<'a> FileCheck<'a> {
    /// Begins a comparison with the file `expected` of the manifest.
    pub fn new(expected: &'a TableFile) -> FileCheck<'a> {
        FileCheck { expected, hasher: blake3::Hasher::new(), bytes: 0 }
    }

    /// Adds the next bytes of the file.
    ///
    /// # Errors
    ///
    /// Returns a message if the file has more bytes than the manifest states.
    pub fn add(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.bytes += bytes.len() as u64;
        if self.bytes > self.expected.bytes {
            return Err(format!("has more than the {} bytes of the manifest", self.expected.bytes));
        }
        self.hasher.update(bytes);
        Ok(())
    }

    /// Ends the comparison at the end of the file.
    ///
    /// # Errors
    ///
    /// Returns a message if the size or the digest differs.
    pub fn finish(self) -> Result<(), String> {
        let (found, expected) = (self.bytes, self.expected);
        if found != expected.bytes {
            return Err(format!("has {found} bytes, but the manifest has {}", expected.bytes));
        }
        if self.hasher.finalize().to_hex().as_str() != expected.blake3 {
            return Err("its BLAKE3 digest differs from the manifest".into());
        }
        Ok(())
    }
}

/// A copy of an export that is being written. Dropping it removes it, unless it was published.
#[derive(Debug)]
pub struct Copied {
    folder: NewFolder,
    manifest: StoredManifest,
    /// Number of files that are complete.
    finished: AtomicUsize,
}

impl Copied {
    /// Creates a folder for a copy of an export below `out`.
    ///
    /// # Errors
    ///
    /// Fails if another process writes an export of the same host to `out`, or if a folder cannot be created.
    /// Missing parents may have been created.
    pub fn create(out: &Path, manifest: StoredManifest) -> Result<Copied, Error> {
        let folder = NewFolder::named(out, manifest.host(), |_| manifest.export_id().to_owned())?;
        Ok(Copied { folder, manifest, finished: AtomicUsize::new(0) })
    }

    /// Returns the manifest.
    pub fn manifest(&self) -> &StoredManifest {
        &self.manifest
    }

    /// Begins a file that the manifest names.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be created, for example because it was begun before.
    pub fn file<'a>(&'a self, of: &'a TableFile) -> Result<CopiedFile<'a>, Error> {
        let (file, path) = self.folder.create_file(&of.file)?;
        Ok(CopiedFile { export: self, check: FileCheck::new(of), file, path, written: 0 })
    }

    /// Writes the manifest and gives the folder its final name. Returns its path.
    ///
    /// # Errors
    ///
    /// Fails if a file of the manifest is not complete, if the export exists, or if the manifest cannot be
    /// written.
    pub fn publish(self) -> Result<PathBuf, Error> {
        let Copied { folder, manifest, finished } = self;
        if finished.into_inner() != manifest.files().count() {
            return Err(Error::invalid(
                Path::new(manifest.export_id()),
                "not all files were copied",
            ));
        }
        folder.publish_bytes(manifest.bytes(), false)
    }
}

/// A file of a copy that is being written.
#[derive(Debug)]
pub struct CopiedFile<'a> {
    export: &'a Copied,
    check: FileCheck<'a>,
    file: NewFile,
    path: PathBuf,
    written: u64,
}

impl CopiedFile<'_> {
    /// Writes the next bytes.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written, or if it would have more bytes than the manifest states.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.check.add(bytes).map_err(|reason| Error::invalid(&self.path, reason))?;
        self.file.write_at(bytes, self.written).at(Op::Write, &self.path)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Checks the size and the digest of the file, and syncs it.
    ///
    /// # Errors
    ///
    /// Fails if the size or the digest differs from the manifest, or if the file cannot be synced.
    pub fn finish(self) -> Result<(), Error> {
        self.check.finish().map_err(|reason| Error::invalid(&self.path, reason))?;
        self.file.sync().at(Op::Sync, &self.path)?;
        self.export.finished.fetch_add(1, Relaxed);
        Ok(())
    }
}
