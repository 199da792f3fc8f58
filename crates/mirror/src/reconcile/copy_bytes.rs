//! Copies the bytes of a file: skips holes, lets the kernel copy if it can, applies the bandwidth limit, and reads
//! copies back to verify them.

use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use fsops::{File, NewFile, Op, Stat};

use crate::engine::dir_state::DirState;
use crate::engine::worker::Worker;
use crate::model::reason::Reason;
use crate::model::settled::{Failure, destination};

/// Maximum size of a file that is read and written with one system call each.
const MAX_SINGLE_CALL_BYTES: u64 = 192 << 10;

/// Maximum number of bytes that the kernel copies per call. A request to stop takes effect between two calls.
const STEP_BYTES: u64 = 8 << 20;

/// Method of copying bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyMethod {
    /// Read and write the bytes.
    Buffered,
    /// Let the kernel copy the bytes if it can.
    InKernel,
    /// Let the kernel copy from another file in the destination. The bandwidth limit does not apply.
    WithinDestination,
}

#[derive(Debug)]
pub(crate) enum Proof<'f> {
    Original(&'f File),
    /// BLAKE3 digest of the content.
    Digest(Option<[u8; 32]>),
}

impl Worker<'_> {
    /// Copies all bytes of a file.
    pub(crate) fn copy_bytes(
        &mut self,
        dir_state: &DirState,
        source: &File,
        new: &NewFile,
        stat: &Stat,
    ) -> io::Result<()> {
        if stat.size == 0 {
            return Ok(());
        }
        let is_limited = self.job.options.bandwidth.rate().is_some();
        if dir_state.traits.can_clone && !is_limited && new.clone_from(source)? {
            return Ok(());
        }
        let has_holes = stat.allocated < stat.size;
        if stat.size <= MAX_SINGLE_CALL_BYTES && !has_holes {
            return self.copy_data_range(source, new, 0..stat.size, CopyMethod::Buffered);
        }
        let mut at = 0;
        while let Some(data) = next_data_range(source, stat, at)? {
            self.copy_data_range(source, new, data.clone(), CopyMethod::InKernel)?;
            at = data.end;
        }
        if at < stat.size { new.set_size(stat.size) } else { Ok(()) }
    }

    /// Copies a range of bytes.
    pub(crate) fn copy_data_range(
        &mut self,
        source: &File,
        new: &NewFile,
        range: Range<u64>,
        method: CopyMethod,
    ) -> io::Result<()> {
        let Range { start: mut at, end } = range;
        let mut in_kernel = method != CopyMethod::Buffered;
        while at < end {
            if self.stopped() {
                return Err(ErrorKind::Interrupted.into());
            }
            self.call_for_help();
            let step_bytes = if method == CopyMethod::WithinDestination {
                STEP_BYTES
            } else {
                self.step_bytes()
            }
            .min(end - at);
            let copied = if in_kernel { new.copy_range(source, at, step_bytes)? } else { None };
            in_kernel = copied.is_some();
            let copied = match copied {
                Some(copied) => copied,
                None => self.copy_buffered(source, new, at, step_bytes)?,
            };
            if copied == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            at += copied;
            if method != CopyMethod::WithinDestination {
                self.account_copied(copied)?;
            }
        }
        Ok(())
    }

    /// Copies up to `most` bytes at offset `at` by reading and writing them. Returns the number of bytes copied.
    fn copy_buffered(
        &mut self,
        source: &File,
        new: &NewFile,
        at: u64,
        most: u64,
    ) -> io::Result<u64> {
        let buffer = self.buffer.get(&self.job.large_buffers);
        let length = usize::try_from(most).unwrap_or(usize::MAX).min(buffer.len());
        let read = source.read_at(&mut buffer[..length], at)?;
        new.write_at(&buffer[..read], at)?;
        Ok(read as u64)
    }

    /// Counts copied bytes, and waits if the bandwidth limit requires it.
    fn account_copied(&mut self, copied: u64) -> io::Result<()> {
        self.counted_bytes += copied;
        self.job.progress.bytes_done.fetch_add(copied, Relaxed);
        let passes = self.job.options.bandwidth.pass_some(copied, self.job.progress);
        if passes { Ok(()) } else { Err(ErrorKind::Interrupted.into()) }
    }

    /// Returns the number of bytes to copy per call. With a bandwidth limit, a call copies at most 1/16 of the bytes
    /// allowed per second, but at least 4 KiB.
    fn step_bytes(&self) -> u64 {
        self.job
            .options
            .bandwidth
            .rate()
            .map_or(STEP_BYTES, |rate| (rate.get() / 16).clamp(1 << 12, STEP_BYTES))
    }

    /// Reads the copy back from the disk, and compares it with the original or with its digest.
    pub(crate) fn verify(
        &mut self,
        new: &NewFile,
        proof: &Proof<'_>,
        stat: &Stat,
    ) -> Result<(), Failure> {
        new.sync_and_forget().map_err(destination(Op::Sync))?;
        let copy = new.reader().map_err(destination(Op::Open))?;
        let is_equal = match proof {
            Proof::Original(source) => {
                stat.size == 0 || !self.contents_differ(source, &copy, stat.size)?
            }
            Proof::Digest(digest) => Some(self.digest(&copy, stat.size)?) == *digest,
        };
        if is_equal { Ok(()) } else { Err(Failure::Failed(Reason::Unlike)) }
    }

    /// Returns the BLAKE3 digest of the first `size` bytes of a file in the destination.
    pub(crate) fn digest(&mut self, file: &File, size: u64) -> Result<[u8; 32], Failure> {
        let mut hasher = blake3::Hasher::new();
        let mut at = 0;
        while at < size {
            if self.stopped() {
                return Err(Failure::Stopped);
            }
            let buffer = self.buffer.get(&self.job.large_buffers);
            let length = buffer.len().min(usize::try_from(size - at).unwrap_or(usize::MAX));
            let read = file.read_at(&mut buffer[..length], at).map_err(destination(Op::Read))?;
            if read == 0 {
                break;
            }
            hasher.update(&buffer[..read]);
            at += read as u64;
        }
        Ok(hasher.finalize().into())
    }
}

/// Returns the next range of data at or after offset `at`. Holes are skipped.
pub(crate) fn next_data_range(
    source: &File,
    stat: &Stat,
    at: u64,
) -> io::Result<Option<Range<u64>>> {
    if at >= stat.size {
        return Ok(None);
    }
    let Some(from) = source.next_data(at)?.filter(|&from| from < stat.size) else {
        return Ok(None);
    };
    Ok(Some(from..source.next_hole(from)?.min(stat.size)))
}

/// Returns the failure to report for an error that occurred while bytes were copied.
pub(crate) fn copy_failure(error: io::Error) -> Failure {
    match error.kind() {
        ErrorKind::Interrupted => Failure::Stopped,
        ErrorKind::UnexpectedEof => Failure::Failed(Reason::Changed),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            destination(Op::Write)(error)
        }
        _ => Failure::Failed(Reason::Source { op: Op::Read, source: error }),
    }
}
