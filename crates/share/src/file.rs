//! A file that is ready to be sent: its descriptor, validators and head.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::SystemTime;

use fsops::{Found, LONGEST_TICK, Stat};
use httpd::conditions::{Outcome, Validators, http_date};
use httpd::entity_tag::EntityTag;
use httpd::media_type;
use httpd::server::{Body, Bytes, FileRange, Head, Request, Response, Served, read_exactly};

use crate::multipart::Multipart;

/// Maximum size in bytes of a file that is read as a whole. Larger files go from the page cache to
/// the socket without a copy.
pub(crate) const SMALL: u64 = 64 << 10;

/// An open file with everything that responses about it need.
#[derive(Debug)]
pub(crate) struct SharedFile {
    pub(crate) served: Arc<Served>,
    validators: Validators,
    media_type: &'static str,
    /// The head of a response with the whole file.
    head: Bytes,
}

impl SharedFile {
    /// Opens a file that was found. `digest` is the digest of its content, if it is known for this
    /// very version.
    ///
    /// # Errors
    ///
    /// Fails if it is not a regular file or cannot be opened.
    pub(crate) fn open(
        found: &Found,
        name: &[u8],
        digest: Option<String>,
    ) -> io::Result<SharedFile> {
        let file = found.open_file()?;
        let stat = file.stat()?;
        let is_exact = digest.is_some();
        let tag = match digest {
            Some(digest) => Some(EntityTag::strong(digest)),
            None if is_settled(&stat) => Some(EntityTag::weak(version(&stat))),
            None => None,
        };
        let media_type = media_type::of_name(name);
        let modified = tag.as_ref().map(|_| stat.mtime.s);
        let validators = Validators { tag, modified };
        let head =
            fields(Head::new(200), &validators, media_type).field("content-type", media_type);
        let head = head.with_length(stat.size);
        let served = Arc::new(Served { file, stat, is_exact });
        Ok(SharedFile { served, validators, media_type, head })
    }

    /// Returns whether the whole content may be kept in memory until the file changes.
    pub(crate) fn is_small(&self) -> bool {
        self.served.stat.size <= SMALL && is_settled(&self.served.stat)
    }

    /// Reads the whole content, if all of it is in the page cache.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, or has changed since it was opened.
    pub(crate) fn read_cached(&self) -> io::Result<Option<Bytes>> {
        self.read(|buffer| self.served.file.read_cached(buffer, 0))
    }

    /// Reads the whole content. This may wait for the disk.
    ///
    /// # Errors
    ///
    /// Like [`SharedFile::read_cached`].
    pub(crate) fn read_whole(&self) -> io::Result<Option<Bytes>> {
        self.read(|buffer| self.served.file.read_at(buffer, 0).map(Some))
    }

    fn read(
        &self,
        how: impl FnOnce(&mut [u8]) -> io::Result<Option<usize>>,
    ) -> io::Result<Option<Bytes>> {
        let length = usize::try_from(self.served.stat.size).map_err(io::Error::other)?;
        let bytes = read_exactly(length, how)?;
        // The bytes are those of this version only if it is still the current one.
        if self.served.file.stat()?.same_version(&self.served.stat) {
            Ok(bytes)
        } else {
            Err(io::ErrorKind::InvalidData.into())
        }
    }

    /// Returns the response to a request. `content` is the whole content, if it is in memory.
    pub(crate) fn respond(&self, request: &Request<'_>, content: Option<&Bytes>) -> Response {
        let conditions = &request.conditions;
        if conditions.are_none() {
            return self.whole(content);
        }
        let size = self.served.stat.size;
        match conditions.evaluate(&self.validators, size, SystemTime::now()) {
            Outcome::Whole => self.whole(content),
            Outcome::NotModified => self.not_modified(),
            Outcome::Failed => Response::text(412, "the file is another version"),
            Outcome::Unsatisfiable => {
                let head = Head::new(416).field("content-range", format_args!("bytes */{size}"));
                head.with_bytes(*b"")
            }
            Outcome::Ranges(ranges) => self.parts(&ranges),
        }
    }

    fn whole(&self, content: Option<&Bytes>) -> Response {
        let head = Arc::clone(&self.head);
        let body = content.map_or_else(
            || Body::File(self.range(0, self.served.stat.size)),
            |content| Body::Bytes(Arc::clone(content)),
        );
        Response { head, body }
    }

    fn not_modified(&self) -> Response {
        let mut head = Head::new(304);
        if let Some(tag) = &self.validators.tag {
            head = head.field("etag", tag);
        }
        head.without_body()
    }

    fn parts(&self, ranges: &[Range<u64>]) -> Response {
        let head = fields(Head::new(206), &self.validators, self.media_type);
        if let [Range { start, end }] = *ranges {
            let (last, size) = (end - 1, self.served.stat.size);
            let head = head.field("content-type", self.media_type);
            let head = head.field("content-range", format_args!("bytes {start}-{last}/{size}"));
            let body = Body::File(self.range(start, end));
            return Response { head: head.with_length(end - start), body };
        }
        let ranges = ranges.iter().map(|range| self.range(range.start, range.end));
        Multipart::response(head, self.media_type, ranges.collect())
    }

    fn range(&self, at: u64, end: u64) -> FileRange {
        FileRange { served: Arc::clone(&self.served), at, end }
    }
}

/// Adds the fields that responses with the whole file or parts of it have in common.
fn fields(head: Head, validators: &Validators, media_type: &str) -> Head {
    let mut head = head.field("accept-ranges", "bytes");
    if let Some(tag) = &validators.tag {
        head = head.field("etag", tag);
    }
    if let Some(date) = validators.modified.and_then(http_date) {
        head = head.field("last-modified", date);
    }
    if media_type::is_active(media_type) {
        // Scripts of a shared document run as if they came from nowhere, so they cannot read other
        // files with the rights of the person who opened it.
        head = head.field("content-security-policy", "sandbox allow-scripts allow-popups");
    }
    // Browsers ask again each time; the answer is usually 304.
    head.field("cache-control", "no-cache").field("x-content-type-options", "nosniff")
}

/// Returns a text that differs between versions of a file.
fn version(stat: &Stat) -> String {
    format!("{:x}-{:x}-{:x}-{:x}", stat.inode, stat.size, stat.mtime_ns(), stat.ctime_ns)
}

/// Returns whether a further change of the file would change its status change time. Two changes
/// within a tick of the clock may have the same time.
fn is_settled(stat: &Stat) -> bool {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let age = i128::try_from(now.as_nanos()).unwrap_or(i128::MAX) - i128::from(stat.ctime_ns);
    age > 2 * i128::try_from(LONGEST_TICK.as_nanos()).unwrap_or(0)
}
