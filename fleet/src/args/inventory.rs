//! The arguments of `lop-fleet inventory`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use export::Names;

/// Export the objects of an S3 bucket as one more host
///
/// Reads an S3 Inventory in CSV or Parquet, and exports the listed objects as files of a host. MANIFEST is the URL of
/// the manifest.json of the inventory, or its path in a copy that contains the folders of the bucket. Empty objects,
/// older versions and delete markers are left out.
///
/// The ETag of an object is its MD5 digest if the object was uploaded in one part and is not encrypted with a key of
/// yours. lop-fleet compares objects by their MD5 digests. Files of other hosts have BLAKE3 digests, so a file and an
/// object of the same size count as not compared.
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

    /// How to export the keys of the objects
    #[arg(long, value_name = "HOW", value_enum, default_value_t = KeyNames::Plain)]
    pub(crate) names: KeyNames,

    /// Remove the older exports of the host when the new one is complete
    #[arg(long)]
    pub(crate) replace: bool,
}

/// How keys are exported.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum KeyNames {
    /// Export keys as names of directories and files.
    Plain,
    /// Export no keys.
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
