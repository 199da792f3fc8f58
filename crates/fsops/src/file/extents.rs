//! Queries where a file's bytes are stored on the device, in order to find files that share
//! storage.
//!
//! # Platform behavior
//!
//! The queries use `FS_IOC_FIEMAP` (Documentation/filesystems/fiemap.rst). On file systems that do
//! not support this call, it fails with `EOPNOTSUPP` or `ENOTTY`. Files on such file systems are
//! treated as sharing nothing.

use std::io;
use std::os::fd::AsRawFd;

use super::File;

/// `_IOWR('f', 11, struct fiemap)`, from linux/fs.h.
const FS_IOC_FIEMAP: libc::Ioctl = 0xC020_660B_u32 as libc::Ioctl;
const EXTENT_LAST: u32 = 0x1;
/// The location is unknown, or the data does not occupy whole blocks on the device. The `physical`
/// field of such an extent is meaningless.
const EXTENT_UNPLACED: u32 = 0x2 | 0x4 | EXTENT_INLINE;
/// The data is inside the inode.
const EXTENT_INLINE: u32 = 0x200;
/// The data is compressed or encrypted. `length` is the number of bytes in the file, not the number
/// of bytes stored at `physical`.
const EXTENT_ENCODED: u32 = 0x8;
/// The extent is preallocated. It reads as zeros, regardless of what is stored on the device.
const EXTENT_UNWRITTEN: u32 = 0x800;
/// The extent is shared with other files.
const EXTENT_SHARED: u32 = 0x2000;
/// `FIEMAP_FLAG_SYNC`. The kernel first writes dirty data to the device, so that the data has a
/// location.
const FLAG_SYNC: u32 = 0x1;
/// The address space in [`ExtentSet`] of all extents that are neither compressed nor encrypted.
const PLAIN: u64 = u64::MAX;
/// Number of extents per request. A request takes 3.6 KiB on the stack. Most files have a single
/// extent.
const BATCH: usize = 64;

#[repr(C)]
#[derive(Clone, Copy)]
struct RawExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved: [u64; 2],
    flags: u32,
    reserved_flags: [u32; 3],
}

#[repr(C)]
struct Request<const N: usize> {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    capacity: u32,
    reserved: u32,
    extents: [RawExtent; N],
}

/// Implements [`File::device_offset`].
pub(crate) fn device_offset(file: &File, offset: u64) -> io::Result<Option<u64>> {
    let mut request = Request::<1>::new(offset);
    request.ask(file)?;
    let extent = request.extents.first().filter(|_| request.mapped > 0);
    let placed = extent.filter(|extent| extent.flags & EXTENT_UNPLACED == 0);
    Ok(placed.map(|extent| extent.physical + offset.saturating_sub(extent.logical)))
}

/// Implements [`File::is_inline`].
pub(crate) fn is_inline(file: &File) -> bool {
    let mut request = Request::<1>::new(0);
    // Dirty data has no location yet. Whether the data will be inside the inode is decided when it
    // is written to the device.
    request.flags = FLAG_SYNC;
    request.ask(file).is_ok() && request.mapped > 0 && request.extents[0].flags & EXTENT_INLINE != 0
}

/// Locations of the extents of a file that shares all of its extents with other files.
///
/// If two files on the same file system have the same size and equal layouts, their bytes are
/// equal. This holds only if neither file was changed after its layout was queried.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SharedLayout(Vec<(u64, u64, u64)>);

/// Returns a file's layout if it shares all of its storage with other files.
///
/// Also returns `None` if an extent is compressed or encrypted, because the location of such an
/// extent does not reveal which part of the stored data the file uses.
pub(crate) fn shared_layout(file: &File) -> Option<SharedLayout> {
    let first = first_extent(file)?;
    layout(file, &first)
}

/// Implements [`File::frees_no_space`].
pub(crate) fn frees_no_space(file: &File) -> bool {
    let Some(first) = first_extent(file) else { return false };
    first.flags & EXTENT_INLINE != 0 || layout(file, &first).is_some()
}

fn first_extent(file: &File) -> Option<RawExtent> {
    let mut first = Request::<1>::new(0);
    first.ask(file).ok()?;
    (first.mapped > 0).then_some(first.extents[0])
}

fn layout(file: &File, first: &RawExtent) -> Option<SharedLayout> {
    const OTHER: u32 = EXTENT_UNPLACED | EXTENT_ENCODED | EXTENT_UNWRITTEN;
    // Most files share nothing, and checking the first extent is enough to find that out.
    if first.flags & (EXTENT_SHARED | OTHER) != EXTENT_SHARED {
        return None;
    }
    let mut layout: Vec<(u64, u64, u64)> = Vec::new();
    let mut at = 0;
    loop {
        let mut batch = Request::<BATCH>::new(at);
        batch.flags = FLAG_SYNC;
        batch.ask(file).ok()?;
        for extent in batch.extents.iter().take(batch.mapped as usize) {
            if extent.flags & (EXTENT_SHARED | OTHER) != EXTENT_SHARED {
                return None;
            }
            at = extent.logical + extent.length;
            match layout.last_mut() {
                // Adjacent extents are merged, so that two layouts with the same blocks are equal
                // even if the kernel splits the blocks into extents differently.
                Some((logical, physical, length))
                    if *logical + *length == extent.logical
                        && *physical + *length == extent.physical =>
                {
                    *length += extent.length;
                }
                _ => layout.push((extent.logical, extent.physical, extent.length)),
            }
            if extent.flags & EXTENT_LAST != 0 {
                return Some(SharedLayout(layout));
            }
        }
        if batch.mapped == 0 {
            return Some(SharedLayout(layout));
        }
    }
}

/// Computes how much storage several files on the same device occupy together.
#[derive(Debug, Default)]
pub struct ExtentSet {
    /// Tuples of address space, start and end. All plain extents are in the address space `PLAIN`,
    /// in which addresses are device offsets. Each encoded extent has its own address space,
    /// identified by its device offset, in which addresses are file offsets.
    placed: Vec<(u64, u64, u64)>,
    unplaced_bytes: u64,
}

impl ExtentSet {
    /// Adds a file's storage. Returns the number of bytes that the file would occupy if it shared
    /// nothing. Holes and data inside the inode do not count.
    ///
    /// # Errors
    ///
    /// Fails if the file system does not report extents.
    pub fn add(&mut self, file: &File) -> io::Result<u64> {
        let mut own = 0;
        let mut at = 0;
        loop {
            let mut batch = Request::<BATCH>::new(at);
            batch.ask(file)?;
            for extent in batch.extents.iter().take(batch.mapped as usize) {
                at = extent.logical + extent.length;
                let is_inline = extent.flags & EXTENT_INLINE != 0;
                own += if is_inline { 0 } else { extent.length };
                if is_inline {
                    // Removing inline data would not free any blocks.
                } else if extent.flags & EXTENT_UNPLACED != 0 {
                    self.unplaced_bytes += extent.length;
                } else if extent.flags & EXTENT_ENCODED != 0 {
                    self.placed.push((extent.physical, extent.logical, at));
                } else {
                    self.placed.push((PLAIN, extent.physical, extent.physical + extent.length));
                }
                if extent.flags & EXTENT_LAST != 0 {
                    return Ok(own);
                }
            }
            if batch.mapped == 0 {
                return Ok(own);
            }
        }
    }

    /// Returns the number of bytes that all added files occupy together. Shared bytes are counted
    /// once.
    pub fn total_bytes(mut self) -> u64 {
        self.placed.sort_unstable();
        let mut total = self.unplaced_bytes;
        let (mut space, mut covered) = (PLAIN, 0);
        for (own_space, start, end) in self.placed {
            if own_space != space {
                (space, covered) = (own_space, 0);
            }
            total += end.saturating_sub(start.max(covered));
            covered = covered.max(end);
        }
        total
    }
}

impl<const N: usize> Request<N> {
    /// Creates a request for all extents at or after `start`.
    fn new(start: u64) -> Self {
        const EMPTY: RawExtent = RawExtent {
            logical: 0,
            physical: 0,
            length: 0,
            reserved: [0; 2],
            flags: 0,
            reserved_flags: [0; 3],
        };
        Request {
            start,
            length: u64::MAX - start,
            flags: 0,
            mapped: 0,
            capacity: u32::try_from(N).unwrap_or(u32::MAX),
            reserved: 0,
            extents: [EMPTY; N],
        }
    }

    /// Sends the request to the kernel, which fills in `extents`.
    #[expect(unsafe_code, reason = "ioctl has no safe wrapper")]
    fn ask(&mut self, file: &File) -> io::Result<()> {
        // SAFETY: the request has the layout of struct fiemap followed by `capacity` extents. All
        // of it is initialised and mutably borrowed during the call. The descriptor is open.
        let answer =
            unsafe { libc::ioctl(file.fd().as_raw_fd(), FS_IOC_FIEMAP, std::ptr::from_mut(self)) };
        if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::{ExtentSet, PLAIN};

    #[test]
    fn shared_ranges_count_once_however_they_are_split() {
        let storage = ExtentSet {
            placed: vec![(PLAIN, 0, 10), (PLAIN, 4, 6), (PLAIN, 10, 20), (PLAIN, 5, 15)],
            unplaced_bytes: 3,
        };
        assert_eq!(storage.total_bytes(), 23);
    }

    #[test]
    fn encoded_extents_overlap_only_with_themselves() {
        // Two extents that are 4 KiB apart on the device and contain 128 KiB of data each. The
        // first one occurs twice.
        let placed = vec![(4096, 0, 131_072), (8192, 131_072, 262_144), (4096, 0, 131_072)];
        assert_eq!(ExtentSet { placed, unplaced_bytes: 0 }.total_bytes(), 262_144);
    }
}
