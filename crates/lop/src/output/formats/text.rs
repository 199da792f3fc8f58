//! The format `text`, for people: a heading for each group, then its paths, indented.

use std::io::{self, Write};

use super::{GroupHead, GroupWriter, Stream};
use crate::quantity::{counted, size};

/// Number of digits of a digest that are printed. These digits are enough to tell groups apart and to find the full
/// digest in another format.
const DIGEST_DIGITS: usize = 12;

/// Writes groups as text for people.
pub(super) struct Text<W> {
    out: W,
    stream: Stream,
    started: bool,
}

impl<W: Write> Text<W> {
    pub(super) fn new(out: W, stream: Stream) -> Self {
        Text { out, stream, started: false }
    }
}

impl<W: Write> GroupWriter for Text<W> {
    fn begin(&mut self, group: &GroupHead) -> io::Result<()> {
        if std::mem::replace(&mut self.started, true) {
            self.out.write_all(b"\n")?;
        }
        self.stream.write_heading(&mut self.out, &heading(group))
    }

    fn file(&mut self, path: &[u8], mark: Option<&str>) -> io::Result<()> {
        self.out.write_all(b"  ")?;
        self.stream.names.write_line(&mut self.out, path, mark.unwrap_or_default())
    }

    fn end(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self, _summary: &str) -> io::Result<()> {
        self.out.flush()
    }
}

fn heading(group: &GroupHead) -> String {
    let GroupHead { size: bytes, digest, files, inodes, reclaimable_bytes } = *group;
    let gain = if inodes == 1 && files > 1 {
        "hard links".to_string()
    } else {
        format!("{} reclaimable", size(reclaimable_bytes))
    };
    let mut text = format!("{} of {}, {gain}", counted(files, "file", "files"), size(bytes));
    if let Some(digest) = digest {
        text.push_str(", ");
        text.push_str(&digest.to_string()[..DIGEST_DIGITS]);
    }
    text
}
