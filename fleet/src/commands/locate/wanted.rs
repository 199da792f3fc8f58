//! The content that `lop-fleet where` searches, and which inodes have it.

use std::error::Error;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use content::{Digest, Head, head_length, head_of};
use export::{InodeKey, Key, Stored, StoredDigest};
use fsops::io_text;
use md5::{Digest as _, Md5};

/// The content to find, as the exports store it.
pub(super) struct Wanted {
    /// Its digests, of different kinds.
    digests: Vec<StoredDigest>,
    /// The size and the head of the content. `None` if only the digest is known.
    size_and_head: Option<(u64, Option<i64>)>,
}

/// Whether an inode has the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match {
    Equal,
    Different,
    /// The inode has no digest, or one of another kind. As far as they are known, its size and its head are those of
    /// the content.
    Unknown,
}

impl Wanted {
    /// Reads a file, or takes its name as a digest if there is no such file.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, is not a regular file or is empty.
    pub(super) fn new(what: &Path, key: Option<&Key>) -> Result<Wanted, Box<dyn Error>> {
        let typed = what.to_str().and_then(digest_of).filter(|_| !what.exists());
        let (mut digests, size_and_head) = if let Some(digest) = typed {
            (vec![digest], None)
        } else {
            let Content { size, head, digests } = read(what).map_err(|e| unreadable(what, &e))?;
            let head = key.map_or(head.0.get().cast_signed(), |key| key.head(head, size));
            (digests.to_vec(), Some((size, Some(head))))
        };
        let blake3_of_nothing = StoredDigest::Blake3(Digest::of(b"").0);
        let md5_of_nothing = StoredDigest::Md5(Md5::digest(b"").into());
        if digests.iter().any(|digest| [blake3_of_nothing, md5_of_nothing].contains(digest)) {
            let what = what.display();
            return Err(format!("cannot search {what}: exports contain no empty files").into());
        }
        for digest in &mut digests {
            if let (StoredDigest::Blake3(bytes), Some(key)) = (&mut *digest, key) {
                *bytes = key.digest(*bytes);
            }
        }
        Ok(Wanted { digests, size_and_head })
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
            let Wanted { digests, size_and_head: found } = &mut self;
            export.each_inode(None, |inode| {
                if inode.digest.is_some_and(|digest| digests.contains(&digest)) {
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
        let of_kind =
            |digest: &StoredDigest| self.digests.iter().find(|wanted| wanted.is_of_kind(digest));
        match (inode.digest.as_ref().and_then(of_kind), self.size_and_head) {
            (Some(wanted), _) if inode.digest.as_ref() == Some(wanted) => Match::Equal,
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

/// Returns the digest that a user has typed: BLAKE3, or MD5 as in the `ETag` of an object.
fn digest_of(text: &str) -> Option<StoredDigest> {
    let digest = text.parse::<Digest>().map(|digest| StoredDigest::Blake3(digest.0));
    digest.ok().or_else(|| Some(StoredDigest::Md5(crate::inventory::md5_of(text)?)))
}

/// Returns the message for a file that cannot be read.
fn unreadable(what: &Path, error: &io::Error) -> String {
    let text = format!("cannot read {}: {}", what.display(), io_text(error));
    match error.kind() {
        io::ErrorKind::NotFound => format!(
            "{text}; name a file, a BLAKE3 digest of 64 hexadecimal digits, or an MD5 digest of 32"
        ),
        _ => text,
    }
}

/// The content of a file.
struct Content {
    size: u64,
    head: Head,
    digests: [StoredDigest; 2],
}

/// Reads a regular file.
fn read(path: &Path) -> io::Result<Content> {
    let metadata = path.metadata()?;
    // Opening a FIFO would wait for a writer.
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut file = File::open(path)?;
    let mut beginning = Vec::new();
    Read::by_ref(&mut file).take(head_length(metadata.len())).read_to_end(&mut beginning)?;
    let (mut blake3, mut md5) = (blake3::Hasher::new(), Md5::new());
    blake3.update(&beginning);
    md5.update(&beginning);
    let mut buffer = vec![0; 1 << 20];
    let mut size = beginning.len() as u64;
    loop {
        let bytes = match file.read(&mut buffer)? {
            0 => break,
            length => &buffer[..length],
        };
        size += bytes.len() as u64;
        blake3.update(bytes);
        md5.update(bytes);
    }
    let digests =
        [StoredDigest::Blake3(blake3.finalize().into()), StoredDigest::Md5(md5.finalize().into())];
    Ok(Content { size, head: head_of(&beginning), digests })
}
