//! The bytes of an archive, in parts.
//!
//! The only state is the offset of the next byte. Its place in the table decides what comes next, so a body that
//! starts in the middle of a header or of a file needs no special treatment.

use std::io;
use std::sync::Arc;

use httpd::server::{FileRange, Part, Parts, Served};

use super::descent::Descent;
use super::table::Index;
use super::{Archive, END, padded};

/// Bytes that are collected before they are sent, and the size of the largest file that is read into memory.
/// One call per file would cost more than copying that many bytes.
const BATCH: usize = 64 << 10;

/// A part of an archive that is being sent.
pub(super) struct Body {
    archive: Arc<Archive>,
    descent: Descent,
    /// The offset of the next byte.
    at: u64,
    end: u64,
    /// The file whose contents were the last part.
    sent: Option<Arc<Served>>,
}

/// The section of the archive that contains a byte.
enum Section {
    /// The header of an entry, which starts at this offset.
    Header(Index, u64),
    /// The contents of a file.
    Contents(Index, Span),
    /// Zeros up to this offset.
    Padding(u64),
}

/// Where the contents of a file are in the archive.
#[derive(Clone, Copy)]
struct Span {
    start: u64,
    end: u64,
}

impl Body {
    pub(super) fn new(archive: Arc<Archive>, from: u64, to: u64) -> Body {
        let descent = Descent::new(Arc::clone(&archive.root));
        let end = to.min(archive.length);
        Body { archive, descent, at: from, end, sent: None }
    }

    /// Returns what the next byte belongs to.
    fn section(&self) -> Section {
        let (archive, table) = (&self.archive, &self.archive.table);
        let Some(index) = table.find(self.at) else { return Section::Padding(self.end) };
        let entry = table.get(index);
        let is_last = index as usize + 1 == table.len();
        let end = if is_last { archive.length - END } else { table.get(index + 1).start };
        // The plan has computed this length before.
        let start = end - padded(entry.size).unwrap_or(0);
        let contents = Span { start, end: start + entry.size };
        if self.at < contents.start {
            Section::Header(index, entry.start)
        } else if self.at < contents.end {
            Section::Contents(index, contents)
        } else {
            Section::Padding(if is_last { archive.length } else { end })
        }
    }

    /// Appends the rest of a header, which starts at the offset `start`.
    fn append_header(&mut self, batch: &mut Vec<u8>, index: Index, start: u64) {
        let mut header = Vec::with_capacity(512);
        self.archive.table.write_header(index, &mut header);
        let end = self.end.min(start + header.len() as u64);
        batch.extend_from_slice(&header[to_usize(self.at - start)..to_usize(end - start)]);
        self.at = end;
    }

    /// Appends zeros up to the offset `end`.
    fn append_zeros(&mut self, batch: &mut Vec<u8>, end: u64) {
        let end = self.end.min(end);
        batch.resize(batch.len() + to_usize(end - self.at), 0);
        self.at = end;
    }

    /// Appends the rest of a small file.
    fn append_file(&mut self, batch: &mut Vec<u8>, index: Index, span: Span) -> io::Result<()> {
        let served = self.open(index)?;
        let end = self.end.min(span.end);
        let start = batch.len();
        batch.resize(start + to_usize(end - self.at), 0);
        let read = served.file.read_at(&mut batch[start..], self.at - span.start)?;
        if start + read < batch.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        served.check()?;
        self.at = end;
        Ok(())
    }

    /// Returns the rest of a large file, which the server reads.
    fn file(&mut self, index: Index, span: Span) -> io::Result<FileRange> {
        let served = Arc::new(self.open(index)?);
        let end = self.end.min(span.end);
        let range = FileRange {
            served: Arc::clone(&served),
            at: self.at - span.start,
            end: end - span.start,
        };
        self.at = end;
        self.sent = Some(served);
        Ok(range)
    }

    /// Opens a file of the archive.
    ///
    /// # Errors
    ///
    /// Returns [`io::ErrorKind::InvalidData`] if it is not the recorded version.
    fn open(&mut self, index: Index) -> io::Result<Served> {
        let table = &self.archive.table;
        let dir = self.descent.open(table, table.get(index).parent)?;
        let file = dir.open_regular(&table.c_name(index)?)?;
        let stat = file.stat()?;
        if !table.is_recorded(index, &stat) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(Served { file, stat, is_exact: true })
    }
}

impl Parts for Body {
    fn next(&mut self) -> io::Result<Option<Part>> {
        // The server checks a file before it sends bytes of it. This check finds a change during the last call.
        if let Some(sent) = self.sent.take() {
            sent.check()?;
        }
        let mut batch = Vec::new();
        while self.at < self.end && batch.len() < BATCH {
            match self.section() {
                Section::Header(index, start) => self.append_header(&mut batch, index, start),
                Section::Padding(end) => self.append_zeros(&mut batch, end),
                Section::Contents(index, span) if span.end - span.start <= BATCH as u64 => {
                    self.append_file(&mut batch, index, span)?;
                }
                Section::Contents(..) if !batch.is_empty() => break,
                Section::Contents(index, span) => {
                    return Ok(Some(Part::File(self.file(index, span)?)));
                }
            }
        }
        Ok((!batch.is_empty()).then(|| Part::Bytes(batch.into())))
    }
}

/// Converts a length that is known to be small.
fn to_usize(length: u64) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}
