//! Temporary names for files that are being written and directories that are being filled.
//!
//! A temporary name has the form `.lop-part-HASH-TAG`. HASH is a hash of the final name, so a later run can find the
//! unfinished entry that a killed run left behind. TAG is a keyed hash of the final name. Each run draws a new random
//! key, so two runs never use the same temporary name, and nobody can create an entry under that name in advance. Both
//! hashes are BLAKE3. They are long enough that two names in a directory never get the same temporary name, neither by
//! chance nor on purpose.

use std::ffi::{CStr, CString};
use std::hash::{BuildHasher, RandomState};

/// The prefix of all temporary names.
const PREFIX: &[u8] = b".lop-part-";

/// The lengths of the hash and the tag in bytes. Each byte is written as two hexadecimal digits.
const HASH_BYTES: usize = 16;
const TAG_BYTES: usize = 8;

/// The temporary names of one run.
#[derive(Clone, Debug)]
pub(crate) struct TempNames {
    key: [u8; 32],
}

impl TempNames {
    pub(crate) fn new() -> TempNames {
        let mut key = [0; 32];
        for word in key.chunks_mut(8) {
            // Each `RandomState` has its own keys, which are derived from random numbers of the system.
            word.copy_from_slice(&RandomState::new().hash_one(0).to_ne_bytes());
        }
        TempNames { key }
    }

    /// Returns the temporary name for the final name `name`.
    pub(crate) fn of(&self, name: &CStr) -> CString {
        let tag = blake3::keyed_hash(&self.key, name.to_bytes());
        let mut temp = temp_name_prefix(name);
        push_hex(&mut temp, &tag.as_bytes()[..TAG_BYTES]);
        // `temp` contains no NUL byte.
        CString::new(temp).unwrap_or_default()
    }
}

/// Returns the prefix that the temporary names for `name` have in common in all runs.
pub(crate) fn temp_name_prefix(name: &CStr) -> Vec<u8> {
    let mut start = PREFIX.to_vec();
    push_hex(&mut start, &blake3::hash(name.to_bytes()).as_bytes()[..HASH_BYTES]);
    start.push(b'-');
    start
}

/// Returns true if `name` is a temporary name of this run or of any other run.
pub(crate) fn is_temp_name(name: &[u8]) -> bool {
    let are_digits = |digits: &[u8]| digits.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    name.strip_prefix(PREFIX).is_some_and(|rest| {
        let is_long = rest.len() == 2 * (HASH_BYTES + TAG_BYTES) + 1;
        is_long && rest[2 * HASH_BYTES] == b'-' && are_digits(&rest[..2 * HASH_BYTES]) && {
            are_digits(&rest[2 * HASH_BYTES + 1..])
        }
    })
}

fn push_hex(to: &mut Vec<u8>, bytes: &[u8]) {
    for byte in bytes {
        to.extend([byte >> 4, byte & 15].map(|digit| b"0123456789abcdef"[usize::from(digit)]));
    }
}

#[cfg(test)]
mod tests {
    use super::{TempNames, is_temp_name, temp_name_prefix};

    #[test]
    fn temporary_names_differ_between_runs_but_share_a_prefix() {
        let (one, two) = (TempNames::new(), TempNames::new());
        let (a, b) = (one.of(c"a"), one.of(c"b"));
        // Expected value from the reference implementation of BLAKE3 for "a".
        let start = b".lop-part-17762fddd969a453925d65717ac3eea2-";
        assert_eq!(temp_name_prefix(c"a"), start);
        assert!(a.as_bytes().starts_with(start) && two.of(c"a").as_bytes().starts_with(start));
        assert!(a != two.of(c"a") && a != b && a == one.of(c"a"));
        assert!(is_temp_name(a.as_bytes()) && is_temp_name(b.as_bytes()));
    }

    #[test]
    fn similar_names_are_not_temporary_names() {
        let temp = TempNames::new().of(c"a").into_bytes();
        let mut cases = vec![temp[1..].to_vec(), temp[..temp.len() - 1].to_vec()];
        for at in [10, 42, temp.len() - 1] {
            cases.push(temp.clone());
            cases.last_mut().expect("a case was just pushed")[at] = b'A';
        }
        cases.extend([b".lop-part-".to_vec(), b".lop-part-af63dc4c8601ec8c".to_vec()]);
        for case in cases {
            assert!(!is_temp_name(&case), "{}", case.escape_ascii());
        }
    }

    /// These two names have the same FNV-1a hash.
    #[test]
    fn names_with_equal_fnv_hashes_get_different_prefixes() {
        assert_ne!(
            temp_name_prefix(c"8yn0iYCKYHlIj4-BwPqk"),
            temp_name_prefix(c"GReLUrM4wMqfg9yzV3KQ")
        );
    }
}
