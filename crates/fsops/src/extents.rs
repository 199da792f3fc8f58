//! Where a file's bytes lie on the device, to know which copies share their storage.
//!
//! # Platform behavior
//!
//! `FS_IOC_FIEMAP` (Documentation/filesystems/fiemap.rst). File systems without it answer
//! `EOPNOTSUPP` or `ENOTTY`; the file then counts as storage of its own.

use std::io;
use std::os::fd::AsRawFd;

use crate::file::File;

/// `_IOWR('f', 11, struct fiemap)`, from linux/fs.h.
const FS_IOC_FIEMAP: u64 = 0xC020_660B;
const EXTENT_LAST: u32 = 0x1;
/// Location not known yet, not mapped to a device block, or inside the inode: the `physical`
/// field of such an extent identifies nothing.
const EXTENT_UNPLACED: u32 = 0x2 | 0x4 | EXTENT_INLINE;
/// Inside the inode.
const EXTENT_INLINE: u32 = 0x200;
/// Compressed or encrypted: `length` is that of the content, of which `physical` on as many bytes
/// are not on the device.
const EXTENT_ENCODED: u32 = 0x8;
/// Preallocated: reads as zeros whatever is there.
const EXTENT_UNWRITTEN: u32 = 0x800;
/// Other files use it too.
const EXTENT_SHARED: u32 = 0x2000;
/// `FIEMAP_FLAG_SYNC`: what is dirty gets its place first.
const FLAG_SYNC: u32 = 0x1;
/// The space of all extents that are stored as they are.
const PLAIN: u64 = u64::MAX;
/// Extents asked for at a time: 3.6 KiB on the stack; most files have one.
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

/// Returns where on the device the first bytes at or after `offset` lie: see [`File::place`].
pub(crate) fn place(file: &File, offset: u64) -> io::Result<Option<u64>> {
    let mut request = Request::<1>::new(offset);
    request.ask(file)?;
    let extent = request.extents.first().filter(|_| request.mapped > 0);
    let placed = extent.filter(|extent| extent.flags & EXTENT_UNPLACED == 0);
    Ok(placed.map(|extent| extent.physical + offset.saturating_sub(extent.logical)))
}

/// Returns whether a file's bytes are inside its inode: see [`File::is_inline`].
pub(crate) fn is_inline(file: &File) -> bool {
    let mut request = Request::<1>::new(0);
    // What is dirty may become so.
    request.flags = FLAG_SYNC;
    request.ask(file).is_ok() && request.mapped > 0 && request.extents[0].flags & EXTENT_INLINE != 0
}

/// Storage that a file shares to its last byte.
///
/// Two files of one file system and size have the same bytes if they have equal ones, each taken
/// after the last change to its file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SharedLayout(Vec<(u64, u64, u64)>);

/// Returns a file's layout, if it shares all of its storage with other files.
///
/// `None` for compressed and encrypted extents too: of those the place does not tell which part of
/// what is there a file uses.
pub(crate) fn shared_layout(file: &File) -> Option<SharedLayout> {
    let first = first_extent(file)?;
    layout(file, &first)
}

/// Returns whether no space becomes free with a file: see [`File::has_no_space_of_its_own`].
pub(crate) fn has_no_space_of_its_own(file: &File) -> bool {
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
    // Most files share nothing, which one extent is enough to see.
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
                // Two that touch are one, however they were cut.
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

/// The storage that a set of files of one device takes up together.
#[derive(Debug, Default)]
pub struct Storage {
    /// Space, start, end. Plain extents lie in one space by their place on the device, each
    /// encoded extent in a space of its own, named by its place, by their offset in the file.
    placed: Vec<(u64, u64, u64)>,
    unplaced_bytes: u64,
}

impl Storage {
    /// Adds a file's storage; returns the bytes it takes up on its own. Holes take none, nor does what is inside
    /// the inode.
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
                    // No block becomes free with it.
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

    /// Returns the bytes all added files take up together, shared ones counted once.
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
    /// Returns a question for what a file has from `start` on.
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

    /// Has the kernel fill in the extents.
    #[expect(unsafe_code, reason = "ioctl has no safe wrapper")]
    fn ask(&mut self, file: &File) -> io::Result<()> {
        // SAFETY: the request has the layout of struct fiemap followed by `capacity` extents, all
        // of it initialised and borrowed mutably for the call; the descriptor is open.
        let answer =
            unsafe { libc::ioctl(file.fd().as_raw_fd(), FS_IOC_FIEMAP, std::ptr::from_mut(self)) };
        if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::{PLAIN, Storage};

    #[test]
    fn shared_ranges_count_once_however_they_are_split() {
        let storage = Storage {
            placed: vec![(PLAIN, 0, 10), (PLAIN, 4, 6), (PLAIN, 10, 20), (PLAIN, 5, 15)],
            unplaced_bytes: 3,
        };
        assert_eq!(storage.total_bytes(), 23);
    }

    #[test]
    fn encoded_extents_are_shared_only_with_themselves() {
        // Two extents that lie 4 KiB apart, each with 128 KiB of content, one of them twice.
        let placed = vec![(4096, 0, 131_072), (8192, 131_072, 262_144), (4096, 0, 131_072)];
        assert_eq!(Storage { placed, unplaced_bytes: 0 }.total_bytes(), 262_144);
    }
}
