//! COMPARE

use content::{Digest, Manner, Part, Scratch, partition};
use fsops::{File, Lease};
use runtime::{Interrupted, Progress};

/// Returns whether two files are equal and `size` bytes long, each read to its end.
///
/// # Errors
///
/// That a stop was asked for.
pub(crate) fn equal(
    one: &File,
    other: &File,
    size: u64,
    scratch: &mut Scratch,
    progress: &Progress,
) -> Result<bool, Interrupted> {
    compare(one, other, size, false, scratch, progress).map(|same| same.is_some())
}

/// Returns two files as one part if they are equal and `size` bytes long.
pub(crate) fn compare(
    one: &File,
    other: &File,
    size: u64,
    digest: bool,
    scratch: &mut Scratch,
    progress: &Progress,
) -> Result<Option<Part>, Interrupted> {
    let same = if size == 0 {
        Some(Part { members: vec![0, 1], digest: Some(Digest::of(b"")) })
    } else {
        let manner = Manner { sparse: true, digest, quantum: 1 << 20 };
        let (mut parts, failures) = partition(&[one, other], size, manner, scratch, progress)?;
        parts.pop().filter(|part| failures.is_empty() && part.members.len() == 2)
    };
    let ends = |file: &File| file.ends_at(size).is_ok_and(|ends| ends);
    Ok(same.filter(|_| ends(one) && ends(other)))
}

/// Compares two files while leases keep writers away from both.
pub(crate) fn equal_under_leases<'f>(
    one: &'f File,
    other: &'f File,
    size: u64,
    scratch: &mut Scratch,
    progress: &Progress,
) -> Result<Option<Leases<'f>>, Interrupted> {
    let leases = Leases([one.keep_writers_away(), other.keep_writers_away()]);
    Ok(equal(one, other, size, scratch, progress)?.then_some(leases))
}

/// Leases
pub(crate) struct Leases<'f>([Lease<'f>; 2]);

impl Leases<'_> {
    /// Returns whether
    pub(crate) fn hold(&self) -> bool {
        self.0.iter().all(Lease::holds)
    }
}
