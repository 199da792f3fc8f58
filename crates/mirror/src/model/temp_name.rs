//! Temporary names, for a file while it is written and a directory while it is filled.
//!
//! A temporary name is `.lop-part-HASH-TAG`. HASH is that of the final name, so a later run finds what a killed run
//! left of an entry. TAG is a keyed hash with a key that each run draws at random: no two runs use the same name, and
//! nobody can take a name in advance. Both are BLAKE3, and long enough that two names of a directory never get the same
//! temporary name, by chance or on purpose.

use std::ffi::{CStr, CString};
use std::hash::{BuildHasher, RandomState};

/// How every temporary name starts.
const PREFIX: &[u8] = b".lop-part-";

/// The bytes of the hash and of the tag. Each byte is written as two digits.
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
            // Each state gets its own keys from the random numbers of the system.
            word.copy_from_slice(&RandomState::new().hash_one(0).to_ne_bytes());
        }
        TempNames { key }
    }

    /// Returns the temporary name for the final name `name`.
    pub(crate) fn of(&self, name: &CStr) -> CString {
        let tag = blake3::keyed_hash(&self.key, name.to_bytes());
        let mut temp = temp_name_prefix(name);
        push_hex(&mut temp, &tag.as_bytes()[..TAG_BYTES]);
        // The text has no NUL.
        CString::new(temp).unwrap_or_default()
    }
}

/// Returns the prefix that the temporary names of all runs for `name` share.
pub(crate) fn temp_name_prefix(name: &CStr) -> Vec<u8> {
    let mut start = PREFIX.to_vec();
    push_hex(&mut start, &blake3::hash(name.to_bytes()).as_bytes()[..HASH_BYTES]);
    start.push(b'-');
    start
}

/// Returns whether a name is a temporary name of any run.
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
    fn a_name_has_another_temporary_name_in_each_run_and_all_begin_alike() {
        let (one, two) = (TempNames::new(), TempNames::new());
        let (a, b) = (one.of(c"a"), one.of(c"b"));
        // The reference implementation of BLAKE3 gives this value for "a".
        let start = b".lop-part-17762fddd969a453925d65717ac3eea2-";
        assert_eq!(temp_name_prefix(c"a"), start);
        assert!(a.as_bytes().starts_with(start) && two.of(c"a").as_bytes().starts_with(start));
        assert!(a != two.of(c"a") && a != b && a == one.of(c"a"));
        assert!(is_temp_name(a.as_bytes()) && is_temp_name(b.as_bytes()));
    }

    #[test]
    fn lookalikes_are_no_temporary_names() {
        let temp = TempNames::new().of(c"a").into_bytes();
        let mut cases = vec![temp[1..].to_vec(), temp[..temp.len() - 1].to_vec()];
        for at in [10, 42, temp.len() - 1] {
            cases.push(temp.clone());
            cases.last_mut().expect("there is one")[at] = b'A';
        }
        cases.extend([b".lop-part-".to_vec(), b".lop-part-af63dc4c8601ec8c".to_vec()]);
        for case in cases {
            assert!(!is_temp_name(&case), "{}", case.escape_ascii());
        }
    }

    /// These two names have the same FNV-1a hash, which earlier temporary names were made of.
    #[test]
    fn names_that_collide_in_a_weak_hash_do_not_here() {
        assert_ne!(
            temp_name_prefix(c"8yn0iYCKYHlIj4-BwPqk"),
            temp_name_prefix(c"GReLUrM4wMqfg9yzV3KQ")
        );
    }
}
