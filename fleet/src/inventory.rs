//! Reads an S3 Inventory: a list of the objects in an S3 bucket, which the store writes every day or every week.
//!
//! An inventory consists of a manifest and data files in CSV or Parquet:
//! <https://docs.aws.amazon.com/AmazonS3/latest/userguide/storage-inventory-location.html>.
//!
//! | module | purpose |
//! |---|---|
//! | `csv` | Reads data files in CSV, compressed with gzip. |
//! | `parquet` | Reads data files in Parquet. |
//! | `row` | Makes an object of a row. |
//! | `source` | Opens the manifest and the data files. |

mod csv;
mod parquet;
mod row;
mod source;

use std::error::Error;
use std::fs::File;
use std::io::{self, Seek};
use std::path::Path;

use export::Object;
use fsops::io_text;
use md5::{Digest, Md5};
use serde::Deserialize;

use self::row::Row;
use self::source::Source;

pub(crate) use self::row::md5_of;

/// An inventory.
#[derive(Debug)]
pub(crate) struct Inventory {
    manifest: Manifest,
    source: Source,
    /// The path or the URL of the manifest, for messages.
    shown: String,
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

/// The objects of an inventory, with a reason why some of them have no digest.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    /// The current versions of all objects.
    pub(crate) objects: Vec<Object>,
    /// True if the inventory does not state how objects are encrypted, so that an `ETag` may not be an MD5 digest.
    pub(crate) lacks_encryption: bool,
}

impl Inventory {
    /// Opens the inventory with a manifest, which is a file or an object.
    ///
    /// # Errors
    ///
    /// Fails if the manifest cannot be read or is not that of an inventory.
    pub(crate) fn open(manifest: &Path) -> Result<Inventory, Box<dyn Error>> {
        let shown = manifest.display().to_string();
        let (source, text) = Source::open(manifest)?;
        let manifest: Manifest = serde_json::from_slice(&text)
            .map_err(|e| format!("{shown}: not the manifest of an S3 Inventory: {e}"))?;
        let format = manifest.file_format.as_str();
        if !["CSV", "Parquet"].contains(&format) {
            return Err(format!(
                "{shown}: lop-fleet cannot read inventories in the format {format}; choose CSV or Parquet for the inventory"
            )
            .into());
        }
        Ok(Inventory { manifest, source, shown })
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
        created.map_err(|_| format!("{}: no valid creationTimestamp", self.shown).into())
    }

    /// Reads all data files, after checking their MD5 digests.
    ///
    /// # Errors
    ///
    /// Fails if a data file is missing, differs from the manifest, or is damaged.
    pub(crate) fn objects(&self) -> Result<Objects, Box<dyn Error>> {
        let mut objects = Objects::default();
        for file in &self.manifest.files {
            let (open, shown) = self.source.data_file(&file.key)?;
            self.read(open, file, &mut objects).map_err(|reason| format!("{shown}: {reason}"))?;
        }
        Ok(objects)
    }

    fn read(&self, mut open: File, file: &DataFile, to: &mut Objects) -> Result<(), String> {
        let io_failed = |e: io::Error| format!("cannot be read: {}", io_text(&e));
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
