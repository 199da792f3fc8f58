//! The lines of a journal. Each line is a JSON object whose last member is a checksum of everything
//! before it.
//!
//! The checksum (`sum`, XXH3-64) detects damage. Without it, one flipped bit in a path could make
//! an undo restore a file to the wrong place. The checksum does not prevent forgery. [`fsops::Log`]
//! does: it checks that a journal belongs to the user who runs lop and that nobody else may write
//! to it.
//!
//! # Lines that were cut off
//!
//! A crash or a full disk may cut off the last line. The next process that appends to the journal
//! writes an empty line first ([`APPEND_MARK`]). A line without a valid checksum counts as cut off
//! if it is the last line or if an empty line follows it. Such a line is ignored, because a process
//! acts only on lines that it has written completely. Any other line without a valid checksum
//! counts as damaged.

use std::io::{BufRead, BufReader};
use std::path::Path;

use content::checksum;
use fsops::{Context, Log, Op};
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The journal format that this version writes and reads. Format 1 had no checksums.
pub(crate) const FORMAT: u32 = 2;

/// The bytes that a process writes before it appends to an existing journal.
pub(crate) const APPEND_MARK: &[u8] = b"\n\n";

/// The parts of a line after the record: the bytes before the checksum, the number of hexadecimal
/// digits of the checksum, and the bytes after it.
const CHECKSUM_KEY: &[u8] = br#","sum":""#;
const CHECKSUM_DIGITS: usize = 16;
const LINE_END: &[u8] = br#""}"#;

/// Lines to append in one write.
#[derive(Debug, Default)]
pub(crate) struct Lines(Vec<u8>);

impl Lines {
    /// Adds a record. The record must serialize to an object with at least one member.
    pub(crate) fn push(&mut self, record: &impl Serialize) {
        let start = self.0.len();
        // Writes to a vector cannot fail. Serialization of our types cannot fail either, because
        // all their keys are strings.
        let _infallible = serde_json::to_writer(&mut self.0, record);
        let closed = self.0.pop();
        debug_assert_eq!(closed, Some(b'}'), "a record is an object");
        let sum = checksum(&self.0[start..]);
        self.0.extend_from_slice(CHECKSUM_KEY);
        self.0.extend_from_slice(format!("{sum:016x}").as_bytes());
        self.0.extend_from_slice(LINE_END);
        self.0.push(b'\n');
    }

    pub(crate) fn append(&mut self, other: &Lines) {
        self.0.extend_from_slice(&other.0);
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// Returns whether a line (without its newline) has a valid checksum.
pub(crate) fn is_whole(line: &[u8]) -> bool {
    let Some(at) = line.len().checked_sub(CHECKSUM_KEY.len() + CHECKSUM_DIGITS + LINE_END.len())
    else {
        return false;
    };
    let (record, tail) = line.split_at(at);
    let digits = tail.strip_prefix(CHECKSUM_KEY).and_then(|tail| tail.strip_suffix(LINE_END));
    digits.is_some_and(|digits| digits == format!("{:016x}", checksum(record)).as_bytes())
}

/// Replays a journal.
///
/// Builds a state from the first line with `begin`, and passes every later valid line with its
/// position in the file to `apply`. Returns the state and the number of damaged lines. Lines for
/// which `apply` returns false count as damaged too. Returns `None` if the first line was cut off,
/// which means that the run did nothing.
///
/// # Errors
///
/// Fails if the journal cannot be read, has another format, or others may have written to it. Also fails
/// if `begin` returns `None`. The error message is then `wrong_kind`. Nothing on disk changes.
pub(crate) fn replay<T>(
    path: &Path,
    wrong_kind: &str,
    begin: impl FnOnce(&[u8]) -> Option<T>,
    mut apply: impl FnMut(&mut T, &[u8], u64) -> bool,
) -> Result<Option<(T, u64)>, Error> {
    let mut lines = LineReader::open(path)?;
    let Some(first) = lines.begin()? else { return Ok(None) };
    let Some(mut state) = begin(first) else { return Err(lines.bad(wrong_kind)) };
    let mut unknown = 0;
    while let Some((at, line)) = lines.next()? {
        unknown += u64::from(!apply(&mut state, line, at));
    }
    Ok(Some((state, lines.damaged + unknown)))
}

/// Reads the valid lines of a journal.
#[derive(Debug)]
struct LineReader<'p> {
    path: &'p Path,
    from: BufReader<std::fs::File>,
    /// The last line that was read, without its newline.
    line: Vec<u8>,
    /// Whether `line` ended with a newline.
    is_ended: bool,
    /// The position of the next line.
    next: u64,
    /// Whether `line` was invalid.
    is_bad: bool,
    /// The number of damaged lines so far.
    damaged: u64,
}

impl<'p> LineReader<'p> {
    /// Opens a journal.
    ///
    /// # Errors
    ///
    /// Fails if the journal cannot be read, or others may have written to it.
    fn open(path: &'p Path) -> Result<LineReader<'p>, Error> {
        let file = Log::reader(path).context(Op::Open, || path)?;
        let from = BufReader::with_capacity(1 << 20, file);
        Ok(LineReader {
            path,
            from,
            line: Vec::new(),
            is_ended: false,
            next: 0,
            is_bad: false,
            damaged: 0,
        })
    }

    /// Reads the first line, which contains the format version. Returns `None` if the line was cut
    /// off. It is then the only line.
    fn begin(&mut self) -> Result<Option<&[u8]>, Error> {
        #[derive(Deserialize)]
        struct Begin {
            format_version: u32,
        }
        let is_ended = self.read()? && self.is_ended;
        match serde_json::from_slice(&self.line).map(|begin: Begin| begin.format_version) {
            Ok(FORMAT) if is_whole(&self.line) => Ok(Some(&self.line)),
            Ok(format) if format > FORMAT => {
                Err(self.bad(&format!("a later version of lop wrote it (format {format})")))
            }
            Ok(format) if format < FORMAT => {
                let why =
                    format!("an earlier version of lop wrote it (format {format}); use that one");
                Err(self.bad(&why))
            }
            _ if is_ended => Err(self.bad("its first line is damaged")),
            _ => Ok(None),
        }
    }

    /// Reads the next valid line. Returns its position and its bytes without the newline.
    fn next(&mut self) -> Result<Option<(u64, &[u8])>, Error> {
        loop {
            let at = self.next;
            if !self.read()? {
                return Ok(None);
            }
            let follows_bad = std::mem::take(&mut self.is_bad);
            if self.line.is_empty() {
                continue;
            }
            self.damaged += u64::from(follows_bad);
            self.is_bad = !is_whole(&self.line);
            if !self.is_bad {
                return Ok(Some((at, &self.line)));
            }
        }
    }

    /// Reads the next line, valid or not. Returns whether there was one.
    fn read(&mut self) -> Result<bool, Error> {
        self.line.clear();
        let read = self.from.read_until(b'\n', &mut self.line).context(Op::Read, || self.path)?;
        self.next += read as u64;
        self.is_ended = self.line.pop_if(|last| *last == b'\n').is_some();
        Ok(read > 0)
    }

    /// Returns the error for an unusable journal.
    fn bad(&self, why: &str) -> Error {
        Error::Journal { path: self.path.into(), why: why.into() }
    }
}
