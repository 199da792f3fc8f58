//! Reads the index of a git repository, which lists all tracked files.
//!
//! Format: <https://git-scm.com/docs/index-format>, versions 2 to 4 with SHA-1. Any other index
//! counts as unreadable, so that no directory is mistaken for an untracked one.

/// Number of bytes of an entry before the hash: times, device, inode number, mode, owner and size.
const STAT_BYTES: usize = 40;
const HASH_BYTES: usize = 20;

/// The bits of an entry's flags.
const IS_EXTENDED: u16 = 0x4000;
const LENGTH: u16 = 0x0FFF;

/// The names of all tracked files, relative to the top of the working tree.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// The names in ascending order, without separators.
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Names {
    /// Reads an index. Returns `None` if it cannot be read.
    pub(super) fn parse(index: &[u8]) -> Option<Names> {
        let mut rest = Bytes(index.strip_prefix(b"DIRC")?);
        let version = rest.u32()?;
        let count = rest.u32()?;
        if !(2..=4).contains(&version) {
            return None;
        }
        let (mut names, mut name, mut last) = (Names::default(), Vec::new(), Vec::new());
        for _ in 0..count {
            let before = rest.0.len();
            rest.take(STAT_BYTES + HASH_BYTES)?;
            let flags = rest.u16()?;
            if flags & IS_EXTENDED != 0 {
                rest.take(2)?;
            }
            // Version 4 stores how many bytes of the previous name to drop.
            let kept = if version == 4 { name.len().checked_sub(rest.offset()?)? } else { 0 };
            name.truncate(kept);
            name.extend_from_slice(rest.until_nul()?);
            if version < 4 {
                let length = before - rest.0.len();
                rest.take(length.next_multiple_of(8) - length)?;
            }
            // With another size of the hash, the lengths would differ.
            if usize::from(flags & LENGTH) != name.len().min(LENGTH.into()) || name < last {
                return None;
            }
            last.clone_from(&name);
            names.bytes.extend_from_slice(&name);
            names.ends.push(names.bytes.len());
        }
        while rest.0.len() > HASH_BYTES {
            let signature = rest.take(4)?;
            let size = usize::try_from(rest.u32()?).ok()?;
            rest.take(size)?;
            // A reader must understand extensions in lower case. They tell that the index does not
            // list all files by itself.
            if !signature[0].is_ascii_uppercase() {
                return None;
            }
        }
        (rest.0.len() == HASH_BYTES).then_some(names)
    }

    /// Returns whether `path`, or a file below it, is tracked.
    pub(super) fn has(&self, path: &[u8]) -> bool {
        let below = [path, b"/"].concat();
        self.first_from(path) == Some(path)
            || self.first_from(&below).is_some_and(|name| name.starts_with(&below))
            || path.is_empty() && !self.ends.is_empty()
    }

    /// Returns the first name that is not smaller than `least`.
    fn first_from(&self, least: &[u8]) -> Option<&[u8]> {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.get(middle)? < least { low = middle + 1 } else { high = middle }
        }
        self.get(low)
    }

    fn get(&self, at: usize) -> Option<&[u8]> {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.bytes[start..*self.ends.get(at)?])
    }
}

/// The bytes that have not been read yet.
struct Bytes<'b>(&'b [u8]);

impl<'b> Bytes<'b> {
    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn u16(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn until_nul(&mut self) -> Option<&'b [u8]> {
        let end = self.0.iter().position(|&byte| byte == 0)?;
        let taken = self.take(end);
        self.take(1)?;
        taken
    }

    /// Reads an integer in the encoding of offsets in pack files: seven bits a byte, the highest
    /// first, and each further byte adds one to the bits before it.
    fn offset(&mut self) -> Option<usize> {
        let mut value = 0_usize;
        loop {
            let byte = self.take(1)?[0];
            value = value.checked_add(usize::from(byte & 0x7F))?;
            if byte & 0x80 == 0 {
                return Some(value);
            }
            value = value.checked_add(1)?.checked_mul(128)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{HASH_BYTES, Names, STAT_BYTES};

    fn lists(index: &[u8], path: &[u8]) -> Option<bool> {
        Names::parse(index).map(|names| names.has(path))
    }

    /// Returns an index of version 2 with these names.
    fn index(names: &[&str]) -> Vec<u8> {
        let count = u32::try_from(names.len()).expect("few");
        let mut bytes = [&b"DIRC"[..], &2_u32.to_be_bytes(), &count.to_be_bytes()].concat();
        for name in names {
            let start = bytes.len();
            bytes.extend([7; STAT_BYTES + HASH_BYTES]);
            bytes.extend(u16::try_from(name.len()).expect("short").to_be_bytes());
            bytes.extend(name.as_bytes());
            let length = bytes.len() + 1 - start;
            bytes.resize(start + length.next_multiple_of(8), 0);
        }
        bytes.extend([9; HASH_BYTES]);
        bytes
    }

    #[test]
    fn a_tracked_file_counts_for_all_directories_above_it() {
        let index = index(&["a", "dist-old/x", "dist/lib/x.js", "module", "src/dist.rs"]);
        for (path, expected) in [
            ("dist", true),
            ("dist/lib", true),
            ("dist/lib/x.js", true),
            ("module", true),
            ("dis", false),
            ("src/dist", false),
            ("dist/lib/x", false),
            ("", true),
        ] {
            assert_eq!(lists(&index, path.as_bytes()), Some(expected), "{path}");
        }
    }

    #[test]
    fn an_index_that_cannot_be_read_is_not_mistaken_for_an_empty_one() {
        let whole = index(&["a", "b/c"]);
        for end in 0..whole.len() {
            assert_eq!(lists(&whole[..end], b"x"), None, "{end} bytes");
        }
        let mut split = whole[..whole.len() - HASH_BYTES].to_vec();
        split.extend(b"link\0\0\0\0");
        split.extend([9; HASH_BYTES]);
        assert_eq!(lists(&split, b"x"), None);
        assert_eq!(lists(&index(&["b", "a"]), b"x"), None, "not in order");
        assert_eq!(lists(b"", b"x"), None);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_no_harm(bytes: Vec<u8>, at in 0..200_usize, byte: u8) {
            lists(&[&b"DIRC\0\0\0\x04\0\0\0\x09"[..], &bytes].concat(), b"x");
            let mut damaged = index(&["a/b", "c"]);
            if let Some(place) = damaged.get_mut(at) {
                *place = byte;
            }
            lists(&damaged, b"x");
        }
    }
}
