//! Reads an S3 Inventory: a list of the objects of a bucket, which the store writes every day or every week.
//!
//! An inventory is a manifest and data files, in CSV or Parquet:
//! <https://docs.aws.amazon.com/AmazonS3/latest/userguide/storage-inventory-location.html>.
//!
//! | module | purpose |
//! |---|---|
//! | `csv` | Reads data files in CSV, compressed with gzip. |
//! | `parquet` | Reads data files in Parquet. |
//! | `row` | Makes an object of a row. |

mod csv;
mod parquet;
mod row;

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use export::Object;
use fsops::io_text;
use md5::{Digest, Md5};
use serde::Deserialize;

use self::row::Row;

pub(crate) use self::row::md5_of;

/// Largest manifest that is read, in bytes. A manifest has about 200 bytes for each data file.
const LARGEST_MANIFEST: u64 = 64 << 20;

/// An inventory on a disk.
#[derive(Debug)]
pub(crate) struct Inventory {
    manifest: Manifest,
    path: PathBuf,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    source_bucket: String,
    /// Milliseconds since the epoch, as text.
    creation_timestamp: String,
    file_format: String,
    file_schema: String,
    files: Vec<DataFile>,
}

#[derive(Debug, Deserialize)]
struct DataFile {
    key: String,
    #[serde(rename = "MD5checksum")]
    md5: String,
}

/// The objects of an inventory, and why some of them have no digest.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    /// The current versions of all objects.
    pub(crate) objects: Vec<Object>,
    /// True if the inventory does not tell how objects are encrypted, so that an `ETag` may be something else than an
    /// MD5 digest.
    pub(crate) lacks_encryption: bool,
}

impl Inventory {
    /// Opens the inventory with the manifest `path`.
    ///
    /// # Errors
    ///
    /// Fails if the manifest cannot be read or is not that of an inventory.
    pub(crate) fn open(path: &Path) -> Result<Inventory, Box<dyn Error>> {
        let of = |reason: &dyn std::fmt::Display| format!("{}: {reason}", path.display());
        let text = read_manifest(path)
            .map_err(|e| format!("cannot read {}: {}", path.display(), io_text(&e)))?;
        let manifest: Manifest = serde_json::from_slice(&text)
            .map_err(|e| of(&format_args!("not the manifest of an S3 Inventory: {e}")))?;
        if !["CSV", "Parquet"].contains(&manifest.file_format.as_str()) {
            let format = &manifest.file_format;
            return Err(of(&format_args!(
                "lop-fleet cannot read inventories in the format {format}; choose CSV or Parquet for the inventory"
            ))
            .into());
        }
        Ok(Inventory { manifest, path: path.into() })
    }

    /// Returns the name of the bucket that the inventory describes.
    pub(crate) fn bucket(&self) -> &str {
        &self.manifest.source_bucket
    }

    /// Returns the time at which the store began to list the bucket, in milliseconds since the epoch.
    ///
    /// # Errors
    ///
    /// Fails if the manifest does not contain it.
    pub(crate) fn created_ms(&self) -> Result<i64, Box<dyn Error>> {
        let created = self.manifest.creation_timestamp.parse();
        created.map_err(|_| format!("{}: no valid creationTimestamp", self.path.display()).into())
    }

    /// Reads all data files, after checking their MD5 digests.
    ///
    /// # Errors
    ///
    /// Fails if a data file is missing, differs from the manifest, or is damaged.
    pub(crate) fn objects(&self) -> Result<Objects, Box<dyn Error>> {
        let mut objects = Objects::default();
        for file in &self.manifest.files {
            let path = self.find(&file.key)?;
            self.read(&path, file, &mut objects)
                .map_err(|reason| format!("{}: {reason}", path.display()))?;
        }
        Ok(objects)
    }

    fn read(&self, path: &Path, file: &DataFile, to: &mut Objects) -> Result<(), String> {
        let io_failed = |e: io::Error| format!("cannot be read: {}", io_text(&e));
        let mut open = File::open(path).map_err(io_failed)?;
        let mut hasher = Hasher(Md5::new());
        io::copy(&mut open, &mut hasher).map_err(io_failed)?;
        if md5_of(&file.md5) != Some(hasher.0.finalize().into()) {
            return Err("its MD5 digest differs from the manifest".into());
        }
        open.rewind().map_err(io_failed)?;
        let mut add = |row: Row<'_>| -> Result<(), String> {
            if row.bucket.as_ref() != self.bucket() {
                return Err(format!("has an object of another bucket, {}", row.bucket));
            }
            to.lacks_encryption |= row.encryption.is_none();
            to.objects.extend(row.object()?);
            Ok(())
        };
        match self.manifest.file_format.as_str() {
            "CSV" => csv::each_row(open, &self.manifest.file_schema, &mut add),
            _ => parquet::each_row(open, &mut add),
        }
    }

    /// Returns the path of the data file with a key in the destination bucket. The folder of the manifest, or one above
    /// it, is a copy of the bucket or of a folder of it.
    fn find(&self, key: &str) -> Result<PathBuf, Box<dyn Error>> {
        let parts: Vec<&str> = key.split('/').collect();
        let is_inside = parts.iter().all(|part| !matches!(*part, "" | "." | ".."));
        let manifest = self.path.canonicalize()?;
        for above in manifest.ancestors().skip(1).filter(|_| is_inside) {
            for start in 0..parts.len() {
                let path = above.join(parts[start..].join("/"));
                if path.is_file() {
                    return Ok(path);
                }
            }
        }
        Err(format!("{}: the data file {key} is missing", self.path.display()).into())
    }
}

fn read_manifest(path: &Path) -> io::Result<Vec<u8>> {
    // Opening a FIFO would wait for a writer.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a regular file; name the manifest.json of an inventory"));
    }
    let mut text = Vec::new();
    File::open(path)?.take(LARGEST_MANIFEST).read_to_end(&mut text)?;
    Ok(text)
}

/// Passes written bytes to a hash function.
struct Hasher(Md5);

impl io::Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
