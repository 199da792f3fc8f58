//! Prefetches the files that a batch is about to compare, in the order that suits the disk.
//!
//! Groups are compared one after the other, and the files of a group side by side. On a hard disk,
//! the head would move back and forth between the files. Prefetching the prefixes of all files in
//! disk order covers most of the bytes of small files.

use fsops::File;

use crate::plan::kind::Kind;
use crate::run::apply::Worker;

/// Maximum number of bytes to prefetch from one file. The rest of a larger file is read in long
/// ranges anyway.
const MAX_PREFETCH_BYTES_PER_FILE: u64 = 1 << 20;

/// Maximum number of bytes to prefetch for one batch. They must fit in the page cache until they
/// are compared.
const MAX_PREFETCH_BYTES: u64 = 64 << 20;

impl Worker<'_> {
    /// Starts to prefetch the prefixes of files. Each file is given with its size.
    pub(crate) fn prefetch<'f>(&self, files: impl Iterator<Item = (&'f File, u64)>) {
        let compared = !matches!(self.shared.options.kind, Kind::Reflink | Kind::Separate);
        if !compared || !self.disk.is_cold() {
            return;
        }
        let is_seek_bound = self.disk.is_seek_bound();
        let place =
            |file: &File| if is_seek_bound { file.device_offset(0).ok().flatten() } else { None };
        let mut files: Vec<(Option<u64>, &File, u64)> =
            files.map(|(file, size)| (place(file), file, size)).collect();
        files.sort_by_key(|&(place, ..)| place);
        let mut left = MAX_PREFETCH_BYTES;
        for (_, file, size) in files {
            let length = size.min(MAX_PREFETCH_BYTES_PER_FILE).min(left);
            file.fetch(0, length);
            left -= length;
            if left == 0 {
                return;
            }
        }
    }
}
