//! Finds the files of an export that are equal to another file of the same host.

use std::fs::File;

use fsops::Op;

use crate::error::{At, Error};
use crate::schema::INODES;
use crate::stored::Stored;
use crate::table::reader::{Group, TableReader};

/// A file of an export, in the version that lop read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredInode {
    /// The number of the inode in its export.
    pub inode_id: i64,
    /// Length in bytes.
    pub size: u64,
    /// Its digest, possibly keyed.
    pub digest: [u8; 32],
    /// The device number of its file system when lop last saw it.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// Modification time in nanoseconds since the epoch.
    pub mtime_ns: i64,
    /// Status change time in nanoseconds since the epoch.
    pub ctime_ns: i64,
    /// Bytes on disk.
    pub allocated: u64,
}

impl Stored {
    /// Calls `each` with all inodes of each digest that at least two inodes of at least `min_size` bytes have.
    ///
    /// # Errors
    ///
    /// Fails if the export cannot be read or is damaged.
    pub fn each_redundant(
        &self,
        min_size: u64,
        mut each: impl FnMut(&[StoredInode]),
    ) -> Result<(), Error> {
        let mut same: Vec<StoredInode> = Vec::new();
        for file in self.files(INODES.name) {
            let open = File::open(&file.path).at(Op::Open, &file.path)?;
            TableReader::new(INODES, open, file.path)?.each_group(|group| {
                // Inodes are sorted by size, head and digest, so equal ones follow each other.
                for inode in (0..group.rows).filter_map(|row| self.inode(&group, row)) {
                    if inode.size < min_size {
                        continue;
                    }
                    if same.first().is_some_and(|first| first.digest != inode.digest) {
                        report(&same, &mut each);
                        same.clear();
                    }
                    same.push(inode);
                }
                Ok(())
            })?;
        }
        report(&same, &mut each);
        Ok(())
    }

    /// Returns an inode, if it has a digest and a known file system.
    fn inode(&self, group: &Group, row: usize) -> Option<StoredInode> {
        let number = |column| group.number(column, row).unwrap_or(0);
        Some(StoredInode {
            inode_id: number("inode_id"),
            size: number("size").cast_unsigned(),
            digest: group.bytes("digest", row)?.try_into().ok()?,
            device: self.device(number("volume_id"))?,
            inode: number("inode").cast_unsigned(),
            mtime_ns: number("mtime_ns"),
            ctime_ns: number("ctime_ns"),
            allocated: number("allocated").cast_unsigned(),
        })
    }
}

fn report(same: &[StoredInode], each: &mut impl FnMut(&[StoredInode])) {
    if same.len() > 1 {
        each(same);
    }
}
