//! Compares two files byte by byte, each to its end.
//!
//! [`super::verify`] compares batches of many files. This module compares only pairs.

use content::{CompareOptions, Digest, EqualFiles, Scratch, partition};
use fsops::{File, Lease};
use runtime::{Interrupted, Progress};

/// Returns whether two files are equal and `size` bytes long.
///
/// # Errors
///
/// Fails if the user asked to stop.
pub(crate) fn equal(
    one: &File,
    other: &File,
    size: u64,
    scratch: &mut Scratch,
    progress: &Progress,
) -> Result<bool, Interrupted> {
    compare(one, other, size, false, scratch, progress).map(|same| same.is_some())
}

/// Like [`equal`], but returns the two files as one set of equal files, with their digest if
/// `digest` is true. A file that cannot be read counts as different.
pub(crate) fn compare(
    one: &File,
    other: &File,
    size: u64,
    digest: bool,
    scratch: &mut Scratch,
    progress: &Progress,
) -> Result<Option<EqualFiles>, Interrupted> {
    let same = if size == 0 {
        Some(EqualFiles { members: vec![0, 1], digest: Some(Digest::of(b"")) })
    } else {
        let compare_options = CompareOptions { sparse: true, digest, quantum: 1 << 20 };
        let (mut parts, failures) =
            partition(&[one, other], size, compare_options, scratch, progress)?;
        parts.pop().filter(|part| failures.is_empty() && part.members.len() == 2)
    };
    let ends = |file: &File| file.ends_at(size).is_ok_and(|ends| ends);
    Ok(same.filter(|_| ends(one) && ends(other)))
}

/// Takes leases on two files, and then compares them. Returns the leases if the files are equal and
/// `size` bytes long, and `None` otherwise.
///
/// Right before the caller removes one of the files, it must check [`Leases::hold`]. It must keep
/// the leases until the removal is done. An undo does not use this function. It takes its leases
/// before it decides whether a comparison is needed, because the leases also prove which status
/// changes are its own (`undo::replace`).
///
/// # Errors
///
/// Fails if the user asked to stop.
pub(crate) fn equal_under_leases<'f>(
    one: &'f File,
    other: &'f File,
    size: u64,
    scratch: &mut Scratch,
    progress: &Progress,
) -> Result<Option<Leases<'f>>, Interrupted> {
    let leases = Leases([one.take_lease(), other.take_lease()]);
    Ok(equal(one, other, size, scratch, progress)?.then_some(leases))
}

/// The leases on two equal files.
pub(crate) struct Leases<'f>([Lease<'f>; 2]);

impl Leases<'_> {
    /// Returns true if no program is waiting to write to either file. Also returns true if the
    /// kernel granted no leases.
    pub(crate) fn hold(&self) -> bool {
        self.0.iter().all(Lease::holds)
    }
}
