//! Headers of entries in the format of GNU tar.
//!
//! A name or a target that does not fit into the header precedes it as an entry of its own, with the type `L` or
//! `K`. A number that does not fit is written in base 256. The owner is always 0, without a name.
//!
//! Source: the manual of GNU tar 1.34, "Basic Tar Format" and "Extensions to tar".

use super::{BLOCK, padded};

/// The length of a header.
const HEADER: usize = 512;

/// The longest name or target in a header. GNU tar also writes 100 bytes, but then without a final NUL, which old
/// programs expect.
const MAX_SHORT: usize = 99;

/// The types of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Type {
    /// A regular file.
    File = b'0',
    /// Another name of an earlier file.
    HardLink = b'1',
    /// A symbolic link.
    Symlink = b'2',
    /// A directory.
    Dir = b'5',
}

/// The fields of a header.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    pub(super) kind: Type,
    /// The path in the archive. The path of a directory ends with a slash.
    pub(super) path: &'a [u8],
    /// The target of a link, otherwise empty.
    pub(super) target: &'a [u8],
    /// The permissions.
    pub(super) mode: u16,
    /// Length of the contents in bytes.
    pub(super) size: u64,
    /// Modification time in seconds since the epoch.
    pub(super) mtime: i64,
}

/// Returns the length of the header of an entry, with the entries that precede it.
pub(super) fn length(path: usize, target: usize) -> Option<u64> {
    let long = |length: usize| match length {
        0..=MAX_SHORT => Some(0),
        // A NUL ends the name.
        _ => padded(length as u64 + 1)?.checked_add(BLOCK),
    };
    long(path)?.checked_add(long(target)?)?.checked_add(BLOCK)
}

/// Appends the header of an entry.
pub(super) fn write(out: &mut Vec<u8>, fields: &Fields<'_>) {
    for (kind, text) in [(b'K', fields.target), (b'L', fields.path)] {
        if text.len() > MAX_SHORT {
            write_long(out, kind, text);
        }
    }
    let kind = fields.kind as u8;
    write_block(out, kind, fields, fields.size);
}

fn write_long(out: &mut Vec<u8>, kind: u8, text: &[u8]) {
    let path = b"././@LongLink";
    let fields = Fields { kind: Type::File, path, target: b"", mode: 0o644, size: 0, mtime: 0 };
    write_block(out, kind, &fields, text.len() as u64 + 1);
    out.extend_from_slice(text);
    let rest = HEADER - text.len() % HEADER;
    out.resize(out.len() + rest, 0);
}

fn write_block(out: &mut Vec<u8>, kind: u8, fields: &Fields<'_>, size: u64) {
    let mut block = [0; HEADER];
    put_text(&mut block[..100], fields.path);
    put_number(&mut block[100..108], fields.mode.into());
    put_number(&mut block[108..116], 0);
    put_number(&mut block[116..124], 0);
    put_number(&mut block[124..136], size.into());
    put_number(&mut block[136..148], fields.mtime.into());
    // The checksum counts its own field as spaces.
    block[148..156].fill(b' ');
    block[156] = kind;
    put_text(&mut block[157..257], fields.target);
    block[257..265].copy_from_slice(b"ustar  \0");
    let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
    put_number(&mut block[148..155], sum.into());
    out.extend_from_slice(&block);
}

/// Copies the start of a text. One byte of the field stays 0.
fn put_text(field: &mut [u8], text: &[u8]) {
    let length = text.len().min(field.len() - 1);
    field[..length].copy_from_slice(&text[..length]);
}

/// Writes a number with octal digits and a NUL, or in base 256 if it is negative or too large.
fn put_number(field: &mut [u8], number: i128) {
    let (last, digits) = field.split_last_mut().expect("a field with room");
    if (0..1 << (3 * digits.len())).contains(&number) {
        *last = 0;
        for (at, digit) in digits.iter_mut().rev().enumerate() {
            *digit = b'0' + u8::try_from(number >> (3 * at) & 7).unwrap_or(0);
        }
        return;
    }
    let bytes = number.to_be_bytes();
    field.copy_from_slice(&bytes[bytes.len() - field.len()..]);
    // The first bit marks the encoding; the next one is the sign.
    field[0] |= 0x80;
}

#[cfg(test)]
mod tests {
    use super::{Fields, Type, length, put_number, write};

    #[test]
    fn numbers_are_octal_or_base_256() {
        let field = |number: i128| {
            let mut field = [0xaa; 12];
            put_number(&mut field, number);
            field
        };
        assert_eq!(&field(0o644), b"00000000644\0");
        assert_eq!(&field((8 << 30) - 1), b"77777777777\0");
        assert_eq!(field(8 << 30), [0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0]);
        assert_eq!(field(-1), [0xff; 12]);
        let largest = field(u64::MAX.into());
        assert_eq!(largest, [0x80, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]);
    }

    #[test]
    fn a_header_has_the_length_that_was_announced() {
        for (path, target) in [(1, 0), (99, 99), (100, 0), (511, 512), (5000, 100)] {
            let (path, target) = (vec![b'p'; path], vec![b't'; target]);
            let fields = Fields {
                kind: Type::Symlink,
                path: &path,
                target: &target,
                mode: 0o777,
                size: 0,
                mtime: 7,
            };
            let mut out = Vec::new();
            write(&mut out, &fields);
            assert_eq!(length(path.len(), target.len()), Some(out.len() as u64));
        }
    }
}
