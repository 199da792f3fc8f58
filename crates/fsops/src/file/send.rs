//! Sends the bytes of a file to a socket, and reads bytes that the kernel has in memory.

use std::io::{self, IoSliceMut};
use std::os::fd::AsFd;

use rustix::io::{Errno, ReadWriteFlags};

use super::File;

impl File {
    /// Sends up to `length` bytes from `offset` to a socket, without copying them to this process
    /// (`sendfile(2)`). Returns the number of bytes sent: 0 if the file ends at `offset`, and less
    /// than `length` if the socket takes no more or the file ends.
    ///
    /// # Errors
    ///
    /// Returns the error of `sendfile(2)`: [`io::ErrorKind::WouldBlock`] if a nonblocking socket
    /// takes no bytes at all.
    ///
    /// # Platform behavior
    ///
    /// If the other end has closed the socket, the kernel also sends SIGPIPE, which Rust programs
    /// ignore.
    pub fn send_to(&self, socket: impl AsFd, offset: u64, length: usize) -> io::Result<usize> {
        let mut at = offset;
        loop {
            match rustix::fs::sendfile(&socket, &self.fd, Some(&mut at), length) {
                Err(Errno::INTR) => {}
                sent => return Ok(sent?),
            }
        }
    }

    /// Fills `buffer` with the bytes at `offset` if all of them are in the page cache. Returns the
    /// number of bytes, which is less than the length of the buffer only at the end of the file, or
    /// `None` if the disk has to be read.
    ///
    /// # Errors
    ///
    /// Returns the error of `preadv2(2)`.
    ///
    /// # Platform behavior
    ///
    /// Returns `None` on file systems that do not support `RWF_NOWAIT`.
    pub fn read_cached(&self, buffer: &mut [u8], offset: u64) -> io::Result<Option<usize>> {
        #[cfg(feature = "faults")]
        crate::faults::check(crate::Op::Read, &self.name)?;
        let mut filled = 0;
        while filled < buffer.len() {
            let slice = &mut [IoSliceMut::new(&mut buffer[filled..])];
            match rustix::io::preadv2(
                &self.fd,
                slice,
                offset + filled as u64,
                ReadWriteFlags::NOWAIT,
            ) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN | Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Some(filled))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use crate::File;

    #[test]
    fn a_range_of_a_file_is_sent_to_a_socket() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(b"0123456789").expect("written");
        let file = File::open(file.path()).expect("opened");
        let (near, mut far) = UnixStream::pair().expect("a pair");
        assert_eq!(file.send_to(&near, 2, 3).expect("sent"), 3);
        assert_eq!(file.send_to(&near, 8, 100).expect("sent"), 2);
        assert_eq!(file.send_to(&near, 10, 100).expect("sent"), 0);
        drop(near);
        let mut got = String::new();
        far.read_to_string(&mut got).expect("read");
        assert_eq!(got, "23489");
    }

    #[test]
    fn cached_bytes_are_read_at_once() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(b"0123456789").expect("written");
        let file = File::open(file.path()).expect("opened");
        let mut buffer = [0; 6];
        match file.read_cached(&mut buffer, 6).expect("read") {
            Some(n) => assert_eq!(&buffer[..n], b"6789"),
            None => assert_eq!(file.read_at(&mut buffer, 6).expect("read"), 4),
        }
    }
}
