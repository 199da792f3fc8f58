//! Looks at remembered files where they were: by absolute path, however long, following no link.
//!
//! A link in the place of a directory leads elsewhere, perhaps to the very files that are asked
//! about: what is behind it is not the file that was remembered.

use std::ffi::CString;
use std::io;
use std::path::Path;

use catalog::Entry;
use dupes::State;
use fsops::{Dir, FileKey, Stat};

/// Looks at paths, keeping the directory used last open.
#[derive(Default)]
pub(crate) struct Looker {
    top: Option<Dir>,
    last: Option<(Vec<u8>, Dir)>,
}

impl Looker {
    /// Returns the metadata of what is at an absolute path.
    pub(crate) fn stat(&mut self, path: &[u8]) -> io::Result<Stat> {
        let (dir, name) = split(path);
        let name = CString::new(name)?;
        self.dir(dir)?.stat_child(&name)
    }

    /// Returns the identity of the directory that holds an absolute path.
    pub(crate) fn dir_key(&mut self, path: &[u8]) -> io::Result<FileKey> {
        Ok(self.dir(split(path).0)?.stat()?.key())
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

    fn dir(&mut self, path: &[u8]) -> io::Result<&Dir> {
        if self.last.as_ref().is_none_or(|(last, _)| last != path) {
            let dir = self.open(path)?;
            self.last = Some((path.to_vec(), dir));
        }
        self.last.as_ref().map(|(_, dir)| dir).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn open(&mut self, path: &[u8]) -> io::Result<Dir> {
        let top = match self.top.take() {
            Some(top) => top,
            None => Dir::open(Path::new("/"))?,
        };
        let below = path.strip_prefix(b"/").filter(|below| !below.is_empty()).unwrap_or(b".");
        self.top.insert(top).open_below(below)
    }
}

/// Returns directory and name of a path.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let slash = path.iter().rposition(|&b| b == b'/').unwrap_or(0);
    (&path[..slash], path.get(slash + 1..).unwrap_or_default())
}

/// Returns whether an error says that there is no such path any more.
fn is_gone(error: &io::Error) -> bool {
    let link = rustix::io::Errno::LOOP.raw_os_error();
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || error.raw_os_error() == Some(link)
}

#[cfg(test)]
mod tests {
    use super::{Looker, split};

    #[test]
    fn a_path_is_a_directory_and_a_name() {
        assert_eq!(split(b"/a/b/c"), (&b"/a/b"[..], &b"c"[..]));
        assert_eq!(split(b"/a"), (&b""[..], &b"a"[..]));
    }

    #[test]
    fn a_looker_finds_this_file_and_its_directory() {
        let here = std::fs::canonicalize(file!().trim_start_matches("crates/lop/"));
        let here = here.expect("a source file").into_os_string().into_encoded_bytes();
        let mut looker = Looker::default();
        let stat = looker.stat(&here).expect("metadata");
        assert_eq!(stat.kind, fsops::Kind::File);
        let dir = looker.dir_key(&here).expect("a directory");
        assert_ne!(dir, stat.key());
        assert!(looker.stat(b"/no such directory/x").is_err());
        assert_eq!(looker.stat(&here).ok(), Some(stat), "the last directory is looked at again");
    }
}
