//! Decodes a record. A forged or damaged record is an error and never takes more memory than
//! [`MAX_BYTES`].

use std::io::Read;

use super::{Record, RecordedDir, UNITS, VERSION, expected};

/// Maximum length of an uncompressed record, enough for 20 million directories.
const MAX_BYTES: u64 = 1 << 30;

/// A record that is damaged or has an unknown version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the record of an earlier scan is damaged")]
pub struct Malformed;

/// Decodes a record from [`super::encode`].
///
/// # Errors
///
/// Fails if the record is damaged or has another version.
pub fn decode(data: &[u8]) -> Result<Record, Malformed> {
    let mut input = Input(data);
    if input.byte()? != VERSION {
        return Err(Malformed);
    }
    let length = input.number()?;
    if length > MAX_BYTES {
        return Err(Malformed);
    }
    let mut columns = Vec::new();
    let decoder = zstd::stream::read::Decoder::with_buffer(input.0).map_err(|_| Malformed)?;
    decoder.take(length + 1).read_to_end(&mut columns).map_err(|_| Malformed)?;
    if columns.len() as u64 != length {
        return Err(Malformed);
    }
    record(Input(&columns))
}

fn record(mut input: Input<'_>) -> Result<Record, Malformed> {
    let count = input.number()?;
    // Each directory takes at least three bytes.
    if count == 0 || count > input.0.len() as u64 {
        return Err(Malformed);
    }
    let unit = u32::try_from(input.number()?).map_err(|_| Malformed)?;
    if !UNITS.contains(&unit) {
        return Err(Malformed);
    }
    let mut record = Record::default();
    read_names(&mut input, count, &mut record)?;
    for dir in &mut record.dirs {
        dir.files = input.small()?;
    }
    for dir in &mut record.dirs {
        dir.bytes = input.number()?;
    }
    for dir in &mut record.dirs {
        let more = input.number()?;
        let more = (more >> 1).cast_signed() ^ -(more & 1).cast_signed();
        let units = expected(dir.bytes, unit).wrapping_add_signed(more);
        dir.allocated = units.checked_mul(1 << unit).ok_or(Malformed)?;
    }
    if input.0.is_empty() { Ok(record) } else { Err(Malformed) }
}

fn read_names(input: &mut Input<'_>, count: u64, record: &mut Record) -> Result<(), Malformed> {
    // The last child of each directory on the path to the last directory.
    let mut path = vec![(0, 0)];
    record.dirs.push(RecordedDir { depth: 0, bytes: 0, allocated: 0, files: 0, name: (0, 0) });
    for _ in 1..count {
        let up = usize::try_from(input.number()?).map_err(|_| Malformed)?;
        let depth = path.len().checked_sub(up).ok_or(Malformed)?;
        path.truncate(depth);
        let last = path.last_mut().ok_or(Malformed)?;
        let (same, other) = (input.small()?, input.small()?);
        let from = last.0;
        if same > last.1 - from {
            return Err(Malformed);
        }
        let start = to_u32(record.names.len())?;
        record.names.extend_from_within(from as usize..(from + same) as usize);
        record.names.extend_from_slice(input.take(other as usize)?);
        let name = (start, to_u32(record.names.len())?);
        *last = name;
        path.push((0, 0));
        let depth = to_u32(depth)?;
        record.dirs.push(RecordedDir { depth, bytes: 0, allocated: 0, files: 0, name });
        if record.names.len() as u64 > MAX_BYTES {
            return Err(Malformed);
        }
    }
    Ok(())
}

fn to_u32(number: usize) -> Result<u32, Malformed> {
    u32::try_from(number).map_err(|_| Malformed)
}

/// The bytes that have not been read yet.
struct Input<'d>(&'d [u8]);

impl<'d> Input<'d> {
    fn byte(&mut self) -> Result<u8, Malformed> {
        let (&byte, rest) = self.0.split_first().ok_or(Malformed)?;
        self.0 = rest;
        Ok(byte)
    }

    fn take(&mut self, length: usize) -> Result<&'d [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Reads a varint.
    fn number(&mut self) -> Result<u64, Malformed> {
        let (mut number, mut shift) = (0u64, 0);
        loop {
            let byte = self.byte()?;
            if shift > 63 || (shift == 63 && byte > 1) {
                return Err(Malformed);
            }
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
            shift += 7;
        }
    }

    /// Reads a varint of 32 bits.
    fn small(&mut self) -> Result<u32, Malformed> {
        self.number().and_then(|number| u32::try_from(number).map_err(|_| Malformed))
    }
}
