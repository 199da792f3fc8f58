//! Seals of the trees and images that are kept between races: a file beside each names its plan and
//! says whether it is complete.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Counts;
use crate::Failure;

#[derive(Serialize, Deserialize)]
struct Seal {
    /// The fingerprint of the plan, and the storage it is written to.
    key: String,
    /// `None` until it is complete.
    counts: Option<Counts>,
}

/// Makes a tree or an image once; later calls with the same key find its seal and return its
/// counts.
///
/// Something without a seal was not made here and is left alone. A tree with another key, or an
/// incomplete one, is removed and made again.
///
/// # Errors
///
/// The path exists without a seal, or making the tree fails, which leaves a part of it.
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
    // Written first, so that the remains of an interrupted call carry a seal.
    write(None)?;
    let counts = make()?;
    write(Some(counts.clone()))?;
    Ok(counts)
}
