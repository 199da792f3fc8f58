//! Writes the inodes, several files at the same time.

use std::ops::RangeInclusive;
use std::thread;

use content::Head;

use super::{Output, Tables};
use crate::error::Error;
use crate::inodes::{Contents, Inode, Inodes, Sorted};
use crate::manifest::TableFile;
use crate::schema::INODES;
use crate::table::writer::{TableWriter, Value};

/// The buckets in each file. All files are written at the same time.
pub(super) const BUCKETS: [RangeInclusive<u8>; 2] = [0..=127, 128..=255];

impl Output<'_> {
    /// Writes the inodes, several files at the same time.
    pub(super) fn inodes(
        &self,
        inodes: &Inodes,
        contents: &Contents,
        tables: &mut Tables,
    ) -> Result<(), Error> {
        let write = |part| self.write_inodes(part, inodes, contents);
        let files = thread::scope(|scope| {
            let threads: Vec<_> =
                (0..BUCKETS.len()).map(|part| scope.spawn(move || write(part))).collect();
            let joined = threads.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            joined.collect::<Result<Vec<TableFile>, Error>>()
        })?;
        tables.insert(INODES.name.into(), files);
        Ok(())
    }

    fn write_inodes(
        &self,
        part: usize,
        inodes: &Inodes,
        contents: &Contents,
    ) -> Result<TableFile, Error> {
        let mut out = self.folder.table(&INODES, Some(part))?;
        let key = self.options.key.as_ref();
        let exported_head = |head: Head, size| match key {
            Some(key) => key.head(head, size),
            None => head.0.get().cast_signed(),
        };
        let sorted = inodes.sorted(BUCKETS[part].clone(), contents, exported_head, self.progress);
        let mut last_bucket = None;
        for inode in &sorted {
            let is_next =
                last_bucket.replace(inode.bucket).is_some_and(|last| last != inode.bucket);
            if is_next && out.is_group_full() {
                self.progress.check()?;
                out.end_group(&INODES)?;
            }
            push_inode(&mut out, inode, inodes.get(inode.number), contents);
        }
        out.finish(&INODES)
    }
}

fn push_inode(out: &mut TableWriter, sorted: &Sorted, inode: &Inode, contents: &Contents) {
    let digest = inode.content.and_then(|content| contents.digest(content));
    let content = inode.content.map(|content| contents.id(content));
    out.push(&[
        Value::Int32(sorted.bucket.into()),
        Value::Int64(inode.size.cast_signed()),
        sorted.head.map_or(Value::Null, Value::Int64),
        digest.map_or(Value::Null, |digest| Value::Bytes(digest)),
        Value::Int64(sorted.number.into()),
        Value::Int64(inode.volume.into()),
        Value::Int64(inode.number.cast_signed()),
        Value::Int64(inode.mtime_ns),
        Value::Int64(inode.ctime_ns),
        Value::Int64(inode.allocated.cast_signed()),
        Value::Int32(inode.names.cast_signed()),
        content.map_or(Value::Null, Value::Int64),
        Value::Int32(i32::from(inode.state as u8)),
    ]);
}
