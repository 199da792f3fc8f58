//! The output of a child, in memory if it is small and otherwise in an unnamed file.
//!
//! A reader has its own position, so several requests can read one output at the same time.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// Size up to which an output is kept in memory.
const MAX_MEMORY_BYTES: usize = 1 << 20;

/// The complete output of a child. Cloning does not copy the bytes.
#[derive(Clone, Debug)]
pub struct Output(Arc<Stored>);

#[derive(Debug)]
enum Stored {
    Memory(Vec<u8>),
    File(File, u64),
}

impl Output {
    /// Wraps a complete file.
    ///
    /// # Errors
    ///
    /// Fails if the length of the file cannot be determined.
    pub(super) fn of_file(file: File) -> io::Result<Output> {
        let length = file.metadata()?.len();
        Ok(Output(Arc::new(Stored::File(file, length))))
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> u64 {
        match &*self.0 {
            Stored::Memory(bytes) => bytes.len() as u64,
            Stored::File(_, length) => *length,
        }
    }

    /// Returns whether the output is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a reader at the start of the output.
    pub fn reader(&self) -> BufReader<OutputReader> {
        BufReader::new(OutputReader { output: self.clone(), at: 0 })
    }

    /// Reads bytes starting at a position, and returns their number. 0 means the end.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read.
    pub fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        match &*self.0 {
            Stored::Memory(bytes) => {
                let start = usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
                (&bytes[start..]).read(buffer)
            }
            Stored::File(file, _) => file.read_at(buffer, at),
        }
    }

    /// Returns the bytes if they are in memory.
    pub(super) fn in_memory(&self) -> Option<&[u8]> {
        match &*self.0 {
            Stored::Memory(bytes) => Some(bytes),
            Stored::File(..) => None,
        }
    }

    /// Returns a new descriptor of the file, for a child that reads the file by a path in `/proc`.
    ///
    /// # Errors
    ///
    /// Fails if the output is in memory, or if no descriptor is left.
    pub(super) fn descriptor(&self) -> io::Result<File> {
        match &*self.0 {
            Stored::Memory(_) => Err(io::ErrorKind::Unsupported.into()),
            Stored::File(file, _) => file.try_clone(),
        }
    }
}

/// Reads an output.
#[derive(Debug)]
pub struct OutputReader {
    output: Output,
    at: u64,
}

impl Read for OutputReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.output.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Reads a pipe to its end, even if the bytes cannot be kept, because the child must never wait for its reader.
///
/// # Errors
///
/// Fails if the pipe cannot be read, or if the file for a large output cannot be written.
pub(super) fn collect(mut from: impl Read, folder: &Path) -> io::Result<Output> {
    let mut bytes = Vec::new();
    from.by_ref().take(MAX_MEMORY_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() <= MAX_MEMORY_BYTES {
        return Ok(Output(Arc::new(Stored::Memory(bytes))));
    }
    let kept = runtime::unnamed_file(folder).and_then(|mut file| {
        file.write_all(&bytes)?;
        io::copy(&mut from, &mut file)?;
        Output::of_file(file)
    });
    if kept.is_err() {
        io::copy(&mut from, &mut io::sink())?;
    }
    kept
}

#[cfg(test)]
mod tests {
    use std::io::{Read, repeat};
    use std::path::Path;

    use super::{MAX_MEMORY_BYTES, collect};

    #[test]
    fn outputs_of_any_size_are_read_back_from_their_start() {
        for length in [0, 5, MAX_MEMORY_BYTES, MAX_MEMORY_BYTES + 1, 3 * MAX_MEMORY_BYTES] {
            let temp = std::env::temp_dir();
            let output = collect(repeat(b'x').take(length as u64), &temp).expect("collected");
            assert_eq!(output.in_memory().is_some(), length <= MAX_MEMORY_BYTES, "{length}");
            assert_eq!((output.len(), output.is_empty()), (length as u64, length == 0));
            for _ in 0..2 {
                let mut bytes = Vec::new();
                output.reader().read_to_end(&mut bytes).expect("read");
                assert!(bytes.len() == length && bytes.iter().all(|&byte| byte == b'x'));
            }
        }
    }

    #[test]
    fn a_pipe_is_read_to_its_end_even_if_its_bytes_cannot_be_kept() {
        let mut large = repeat(b'x').take(3 * MAX_MEMORY_BYTES as u64);
        collect(large.by_ref(), Path::new("/proc/nowhere")).expect_err("no such folder");
        assert_eq!(large.limit(), 0);
    }
}
