//! Lists directories in parts, one buffer of names at a time.

use std::io;
use std::mem::MaybeUninit;

use rustix::fs::{RawDir, SeekFrom};

use super::{Dir, DirBuffer, DirItem};
use crate::stat::kind_of_type;

impl Dir {
    /// Reads the next buffer of names and calls `each` for every name in it except `.` and `..`.
    /// Returns the position after these names, for [`Dir::seek`], or `None` at the end.
    ///
    /// # Errors
    ///
    /// Returns the error of `getdents64`. The names listed before the error have already been
    /// passed to `each`.
    pub fn list_some(
        &self,
        buffer: &mut DirBuffer,
        mut each: impl FnMut(DirItem),
    ) -> io::Result<Option<u64>> {
        let mut raw = RawDir::new(self, buffer.space());
        let mut next = None;
        while let Some(item) = raw.next() {
            let item = item?;
            next = Some(item.next_entry_cookie());
            let name = item.file_name();
            if !matches!(name.to_bytes(), b"." | b"..") {
                each(DirItem { name, kind: kind_of_type(item.file_type()), inode: item.ino() });
            }
            if raw.is_buffer_empty() {
                break;
            }
        }
        Ok(next)
    }

    /// Sets the position at which the next [`Dir::list_some`] starts. `place` is 0 for the first
    /// name, or a position that `list_some` returned on this or another descriptor of the
    /// directory.
    ///
    /// # Errors
    ///
    /// Returns the error of `lseek(2)`.
    ///
    /// # Platform behavior
    ///
    /// On file systems that NFS can export, positions stay valid while names are added and removed.
    /// On other file systems, a listing that starts at such a position may skip names.
    pub fn seek(&self, place: u64) -> io::Result<()> {
        rustix::fs::seek(self, SeekFrom::Start(place))?;
        Ok(())
    }

    /// Reads the first block of the directory into the page cache, then resets the position to the
    /// first name.
    ///
    /// # Errors
    ///
    /// Returns the error of `getdents64` or `lseek(2)`.
    pub fn prefetch_first_block(&self) -> io::Result<()> {
        // The buffer has room for one name of any length. With a larger buffer, more blocks would
        // be read.
        let mut space = [MaybeUninit::uninit(); 512];
        if let Some(first) = RawDir::new(self, &mut space).next() {
            first?;
        }
        self.seek(0)
    }
}
