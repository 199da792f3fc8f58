//! Names of what is not ready: a file that is being written, a directory that is being filled.
//!
//! The name follows from that which it is to have, so that the next run finds what one that was killed
//! left: nobody else has such names, since only one run at a time has a destination locked.

use std::ffi::{CStr, CString};

/// How they begin.
pub(crate) const PREFIX: &[u8] = b".lop-part-";

/// Hexadecimal digits after that.
const DIGITS: usize = 16;

/// Returns the name of what is to be called `name`: FNV-1a of it, 64 bits.
pub(crate) fn part_name(name: &CStr) -> CString {
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = name.to_bytes().iter().fold(0xcbf2_9ce4_8422_2325, step);
    let name = [PREFIX, format!("{hash:016x}").as_bytes()].concat();
    // There is no NUL in it.
    CString::new(name).unwrap_or_default()
}

/// Returns whether a name is one of these.
pub(crate) fn is_part(name: &[u8]) -> bool {
    name.strip_prefix(PREFIX).is_some_and(|rest| {
        rest.len() == DIGITS && rest.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    })
}

#[cfg(test)]
mod tests {
    use super::{is_part, part_name};

    #[test]
    fn each_name_has_its_own() {
        let (a, b) = (part_name(c"a"), part_name(c"b"));
        // The value that the reference of FNV-1a gives for "a".
        assert_eq!(a.as_bytes(), b".lop-part-af63dc4c8601ec8c");
        assert!(a != b && is_part(a.as_bytes()) && is_part(b.as_bytes()));
        for other in
            [&b".lop-part-"[..], b".lop-part-AF63dc4c8601ec8c", b"lop-part-af63dc4c8601ec8c"]
        {
            assert!(!is_part(other));
        }
    }
}
