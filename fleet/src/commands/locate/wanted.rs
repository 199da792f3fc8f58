//! The content that `lop-fleet where` searches, and which inodes have it.

use std::error::Error;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use content::{Digest, Head, head_length, head_of};
use export::{InodeKey, Key, Stored};
use fsops::io_text;

/// The content to find, as the exports store it.
pub(super) struct Wanted {
    digest: [u8; 32],
    /// The size and the head of the content. `None` if only the digest is known.
    size_and_head: Option<(u64, Option<i64>)>,
}

/// Whether an inode has the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match {
    Equal,
    Different,
    /// The inode has no digest, and its size and its head are those of the content as far as they are
    /// known.
    Unknown,
}

impl Wanted {
    /// Reads a file, or takes its name as a digest if there is no such file.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, is not a regular file or is empty.
    pub(super) fn new(what: &Path, key: Option<&Key>) -> Result<Wanted, Box<dyn Error>> {
        let digest = what.to_str().and_then(|text| text.parse::<Digest>().ok());
        let (digest, size_and_head) = if let Some(digest) = digest.filter(|_| !what.exists()) {
            (digest, None)
        } else {
            let (size, head, digest) = read(what).map_err(|e| unreadable(what, &e))?;
            let head = key.map_or(head.0.get().cast_signed(), |key| key.head(head, size));
            (digest, Some((size, Some(head))))
        };
        if digest == Digest::of(b"") {
            let what = what.display();
            return Err(format!("cannot search {what}: exports contain no empty files").into());
        }
        let digest = key.map_or(digest.0, |key| key.digest(digest.0));
        Ok(Wanted { digest, size_and_head })
    }

    /// Adds the size and the head, if they are not known, from the first inode with the digest. They
    /// tell which inodes without a digest cannot have the content.
    ///
    /// # Errors
    ///
    /// Fails if an export cannot be read or is damaged.
    pub(super) fn with_size(mut self, exports: &[Stored]) -> Result<Wanted, export::Error> {
        for export in exports {
            if self.size_and_head.is_some() {
                break;
            }
            let digest = Some(self.digest);
            let found = &mut self.size_and_head;
            export.each_inode(None, |inode| {
                if inode.digest == digest {
                    *found = found.or(Some((inode.size, inode.head)));
                }
            })?;
        }
        Ok(self)
    }

    /// Returns the size of the content, if it is known.
    pub(super) fn size(&self) -> Option<u64> {
        self.size_and_head.map(|(size, _)| size)
    }

    /// Returns whether an inode has the content.
    pub(super) fn matches(&self, inode: &InodeKey) -> Match {
        let differ = |a: Option<i64>, b: Option<i64>| a.zip(b).is_some_and(|(a, b)| a != b);
        match (inode.digest, self.size_and_head) {
            (Some(digest), _) if digest == self.digest => Match::Equal,
            (Some(_), _) => Match::Different,
            // An empty file has no digest and needs none.
            (None, None) if inode.size == 0 => Match::Different,
            (None, Some((size, head))) if size != inode.size || differ(head, inode.head) => {
                Match::Different
            }
            (None, _) => Match::Unknown,
        }
    }
}

/// Returns the message for a file that cannot be read.
fn unreadable(what: &Path, error: &io::Error) -> String {
    let text = format!("cannot read {}: {}", what.display(), io_text(error));
    match error.kind() {
        io::ErrorKind::NotFound => {
            format!("{text}; name a file, or a BLAKE3 digest of 64 hexadecimal digits")
        }
        _ => text,
    }
}

/// Returns the size, the head and the digest of a regular file.
fn read(path: &Path) -> io::Result<(u64, Head, Digest)> {
    let metadata = path.metadata()?;
    // Opening a FIFO would wait for a writer.
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut file = File::open(path)?;
    let mut beginning = Vec::new();
    Read::by_ref(&mut file).take(head_length(metadata.len())).read_to_end(&mut beginning)?;
    let mut hasher = blake3::Hasher::new();
    hasher.update(&beginning);
    let rest = io::copy(&mut file, &mut hasher)?;
    Ok((beginning.len() as u64 + rest, head_of(&beginning), hasher.finalize().into()))
}
