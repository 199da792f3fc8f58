//! Watches each directory with inotify.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::area::Areas;
use crate::notes::Notes;

/// Not implemented yet.
#[derive(Debug)]
pub(crate) struct Source {
    fd: OwnedFd,
}

impl Source {
    pub(crate) fn new() -> io::Result<Source> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn drain(&mut self, _areas: &mut Areas, _notes: &mut Notes) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn watch_area(&mut self, _path: &[u8]) -> Result<usize, String> {
        Err(String::new())
    }

    pub(crate) fn forget_area(&mut self, _path: &[u8]) {}

    pub(crate) fn watches_area(&self, _path: &[u8]) -> bool {
        false
    }

    pub(crate) fn path(&self, _key: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

impl AsFd for Source {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
