//! The arguments of `lop-fleet inventory`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use export::Names;

/// Export an S3 Inventory, so that its bucket is one more host
///
/// Reads the objects that an S3 Inventory lists, in CSV or Parquet, and exports them as files of a host. MANIFEST is the
/// URL of the manifest.json, or its path in a copy of the inventory that contains the folders of the bucket. Empty objects, older versions and delete markers are left out.
///
/// The ETag of an object is its MD5 digest if the object was uploaded in one part and is not encrypted with a key of
/// yours. Objects with MD5 digests are compared with each other. Files of other hosts have BLAKE3 digests; whether they
/// are equal to an object is unknown if their sizes are equal.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop-fleet inventory s3://inventories/photos/daily/2026-11-01T00-00Z/manifest.json \\
      /srv/fleet")]
pub(crate) struct InventoryArgs {
    /// Path or URL of the manifest.json of the inventory
    #[arg(value_name = "MANIFEST")]
    pub(crate) manifest: PathBuf,

    /// Folder with the exports of all hosts; created if it does not exist
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,

    /// Name of the host [default: the name of the bucket]
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Option<String>,

    /// How to export keys
    #[arg(long, value_name = "HOW", value_enum, default_value_t = KeyNames::Plain)]
    pub(crate) names: KeyNames,

    /// Remove the older exports of the host
    #[arg(long)]
    pub(crate) replace: bool,
}

/// How keys are exported.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum KeyNames {
    /// As names of directories and files.
    Plain,
    /// Not at all.
    None,
}

impl From<KeyNames> for Names {
    fn from(names: KeyNames) -> Names {
        match names {
            KeyNames::Plain => Names::Plain,
            KeyNames::None => Names::None,
        }
    }
}
