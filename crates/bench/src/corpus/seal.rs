//! Seals of the trees and images that are kept between races. A seal is a file beside a tree or
//! image. It identifies the plan and records whether the tree is complete.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Counts;
use crate::Failure;

#[derive(Serialize, Deserialize)]
struct Seal {
    /// The fingerprint of the plan, and the storage that holds the tree.
    key: String,
    /// The counts of the tree; `None` until it is complete.
    counts: Option<Counts>,
}

/// Makes a tree or an image once. Later calls with the same key find its seal and return its
/// counts.
///
/// A path without a seal was made by somebody else and is left alone. An incomplete tree, or one
/// with another key, is removed and made again.
///
/// # Errors
///
/// The path exists without a seal, or making the tree fails. A failure leaves an incomplete tree.
pub(crate) fn once(
    path: &Path,
    key: &str,
    make: impl FnOnce() -> Result<Counts, Failure>,
) -> Result<Counts, Failure> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".seal");
    let beside = Path::new(&beside);
    let seal: Option<Seal> =
        fs::read(beside).ok().and_then(|json| serde_json::from_slice(&json).ok());
    match (&seal, path.symlink_metadata()) {
        (Some(Seal { key: known, counts: Some(counts) }), Ok(_)) if known == key => {
            return Ok(counts.clone());
        }
        (None, Ok(_)) => return Err(Failure::at(path, "is there already, and not made by this")),
        (Some(_), Ok(found)) if found.is_dir() => testkit::remove_tree(path),
        (Some(_), Ok(_)) => fs::remove_file(path),
        (_, Err(_)) => Ok(()),
    }
    .map_err(|e| Failure::at(path, e))?;
    let write = |counts: Option<Counts>| {
        let seal = Seal { key: key.to_owned(), counts };
        let json = serde_json::to_vec(&seal).map_err(|e| Failure::at(beside, e))?;
        fs::write(beside, json).map_err(|e| Failure::at(beside, e))
    };
    // The seal is written before the tree, so that an interrupted call leaves a sealed but
    // incomplete tree.
    write(None)?;
    let counts = make()?;
    write(Some(counts.clone()))?;
    Ok(counts)
}
