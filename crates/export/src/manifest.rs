//! The manifest of an export: what it contains, and the digest of each file.

use std::borrow::Cow;
use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::schema::SCHEMA_VERSION;

/// The name of the manifest. Engines ignore files whose names begin with `_`.
pub const FILE_NAME: &str = "_MANIFEST.json";

/// How names of files and directories are exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Names {
    /// As they are.
    Plain,
    /// As keyed hashes.
    Keyed,
    /// Not at all: the tables `names` and `dirs` have no files.
    None,
}

/// The manifest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) schema_version: u32,
    pub(crate) host: String,
    pub(crate) export_id: String,
    pub(crate) created_ms: i64,
    /// The version of lop that wrote the export.
    pub(crate) lop: String,
    pub(crate) names: Names,
    /// The id of the key, if digests and heads are keyed.
    pub(crate) key_id: Option<String>,
    /// The S3 bucket, if the export describes the objects of one.
    #[serde(default, rename = "s3_bucket", skip_serializing_if = "Option::is_none")]
    pub(crate) bucket: Option<String>,
    pub(crate) roots: Vec<Root>,
    pub(crate) scans: Vec<Scan>,
    pub(crate) volumes: Vec<Volume>,
    /// The files of each table.
    pub(crate) tables: BTreeMap<String, Vec<TableFile>>,
}

/// A file of a table, as the manifest describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableFile {
    /// Its name.
    pub file: String,
    /// Number of rows.
    pub rows: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// BLAKE3 digest in hexadecimal digits.
    pub blake3: String,
}

/// A scanned directory. It has a path only if the names are exported as they are.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Root {
    pub(crate) path: Option<String>,
    /// The bytes of a path that is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path_base64: Option<String>,
    pub(crate) scan_id: i64,
}

impl Root {
    pub(crate) fn new(path: Option<&[u8]>, scan_id: i64) -> Root {
        let text = path.map(String::from_utf8_lossy);
        let lossy = matches!(text, Some(Cow::Owned(_)));
        let path_base64 = path.filter(|_| lossy).map(|path| STANDARD.encode(path));
        Root { path: text.map(Cow::into_owned), path_base64, scan_id }
    }

    /// Returns the bytes of the path, if it has a valid one.
    pub(crate) fn path(&self) -> Option<Vec<u8>> {
        match &self.path_base64 {
            Some(bytes) => STANDARD.decode(bytes).ok(),
            None => self.path.as_ref().map(|path| path.clone().into_bytes()),
        }
    }
}

/// The last scan of a root.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Scan {
    #[serde(rename = "scan_id")]
    pub(crate) id: i64,
    pub(crate) started_ms: i64,
    pub(crate) finished_ms: i64,
    /// The options that determined which files were read. They are missing if the names are not
    /// plain, because patterns are part of them.
    pub(crate) options: Option<String>,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    pub(crate) problems: u64,
    pub(crate) complete: bool,
}

/// A file system.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Volume {
    #[serde(rename = "volume_id")]
    pub(crate) id: i64,
    pub(crate) magic: u64,
    pub(crate) fsid: u64,
    pub(crate) device: u64,
}

impl Manifest {
    /// Returns the number of rows of a table.
    pub(crate) fn rows(&self, table: &str) -> u64 {
        self.tables.get(table).map_or(0, |files| files.iter().map(|file| file.rows).sum())
    }

    /// Returns the size of all tables in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.tables.values().flatten().map(|file| file.bytes).sum()
    }
}

/// Reads a manifest.
///
/// # Errors
///
/// Returns a message if it is not valid, names a file that cannot be one of its tables, or if its tables
/// are those of a later version.
pub(crate) fn parse(text: &[u8]) -> Result<Manifest, String> {
    #[derive(Deserialize)]
    struct Version {
        schema_version: u32,
    }
    let invalid = |e: serde_json::Error| format!("not a valid manifest: {e}");
    let Version { schema_version } = serde_json::from_slice(text).map_err(invalid)?;
    if schema_version > SCHEMA_VERSION {
        return Err(format!(
            "the export has schema version {schema_version}; this lop knows versions up to {SCHEMA_VERSION}"
        ));
    }
    let manifest: Manifest = serde_json::from_slice(text).map_err(invalid)?;
    let mut files = manifest.tables.values().flatten();
    match files.find(|file| !is_table_file(&file.file)) {
        Some(file) => Err(format!("names an invalid file, {:?}", file.file)),
        None => Ok(manifest),
    }
}

/// Returns whether a name may be that of a file of a table. A forged manifest must not be able to name
/// files outside its folder.
fn is_table_file(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    name.ends_with(".parquet") && !name.starts_with('.') && name.chars().all(is_plain)
}
