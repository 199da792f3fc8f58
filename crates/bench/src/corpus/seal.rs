//! Trees are kept between races: a seal beside each says that it is whole.

use std::fs;
use std::path::Path;

use super::Counts;
use crate::Failure;

/// Makes a tree or an image once; later calls find its seal and return the counts in it.
///
/// # Errors
///
/// Those of making it, and that the seal cannot be written.
pub(crate) fn once(
    path: &Path,
    make: impl FnOnce() -> Result<Counts, Failure>,
) -> Result<Counts, Failure> {
    let mut seal = path.as_os_str().to_owned();
    seal.push(".counts");
    let seal = Path::new(&seal);
    let sealed = fs::read(seal).ok().and_then(|json| serde_json::from_slice(&json).ok());
    if let Some(counts) = sealed.filter(|_| path.exists()) {
        return Ok(counts);
    }
    let counts = make()?;
    // Only now, so that an interrupted one is not taken for whole.
    let json = serde_json::to_vec(&counts).map_err(|e| Failure::at(seal, e))?;
    fs::write(seal, json).map_err(|e| Failure::at(seal, e))?;
    Ok(counts)
}
