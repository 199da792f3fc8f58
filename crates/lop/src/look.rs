//! Looks at remembered files where they were, following no link ([`Reach`]).

use std::io;

use catalog::Entry;
use dupes::State;
use fsops::{FileKey, Stat};
use walk::{Reach, split};

/// Looks at paths, keeping the directory used last open.
pub(crate) struct Looker(Reach);

impl Default for Looker {
    fn default() -> Self {
        Looker(Reach::new(1))
    }
}

impl Looker {
    /// Returns the metadata of what is at an absolute path.
    pub(crate) fn stat(&mut self, path: &[u8]) -> io::Result<Stat> {
        self.0.stat(path)
    }

    /// Returns the identity of the directory that holds an absolute path.
    pub(crate) fn dir_key(&mut self, path: &[u8]) -> io::Result<FileKey> {
        Ok(self.0.dir(split(path).0)?.stat()?.key())
    }

    /// Returns what has become of a remembered file.
    pub(crate) fn state(&mut self, entry: &Entry) -> State {
        match self.stat(&entry.path) {
            Ok(now) if entry.is(&now) => State::Same,
            Ok(_) => State::Changed,
            Err(e) if is_gone(&e) => State::Gone,
            Err(_) => State::Unknown,
        }
    }
}

/// Returns whether an error says that there is no such path any more.
fn is_gone(error: &io::Error) -> bool {
    let link = rustix::io::Errno::LOOP.raw_os_error();
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || error.raw_os_error() == Some(link)
}
