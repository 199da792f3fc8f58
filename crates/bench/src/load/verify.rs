//! The comparison of bodies with files.

use std::fs::File;
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::probe::send;
use super::request::{self, RANGE_BYTES, Request};
use crate::Failure;

/// Compares the body of each file with the file below `root`. Paths begin with a slash.
///
/// # Errors
///
/// A response differs from the file, or the server sends none.
pub fn files(address: SocketAddr, root: &Path, paths: &[String]) -> Result<(), Failure> {
    for path in paths {
        let file = root.join(path.trim_start_matches('/'));
        let expected = std::fs::read(&file).map_err(|e| Failure::at(&file, e))?;
        let response = send(address, &request::text(address, path, ""))?.with_status(200)?;
        if response.body != expected {
            return Err(Failure::new(format!("the body of {path} differs from the file")));
        }
    }
    Ok(())
}

/// Compares random ranges of a large file with the file below `root`.
///
/// # Errors
///
/// A response differs from the file, or the server sends none.
pub fn ranges(
    address: SocketAddr,
    root: &Path,
    target: &(String, u64),
    count: usize,
) -> Result<(), Failure> {
    let path = root.join(target.0.trim_start_matches('/'));
    let file = File::open(&path).map_err(|e| Failure::at(&path, e))?;
    for Request { text, length, .. } in request::ranges(address, target, count) {
        let from = text.split("bytes=").nth(1).and_then(|range| range.split('-').next());
        let from = from.and_then(|from| from.parse().ok()).unwrap_or(0);
        let mut expected = vec![0; usize::try_from(length).unwrap_or(RANGE_BYTES)];
        file.read_exact_at(&mut expected, from).map_err(|e| Failure::at(&path, e))?;
        if send(address, &text)?.with_status(206)?.body != expected {
            return Err(Failure::new(format!("the range from {from} differs from the file")));
        }
    }
    Ok(())
}
