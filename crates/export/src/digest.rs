//! The digests that exports store.

use std::fmt;

/// A digest of a content. It is of one of two kinds, and digests of different kinds cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StoredDigest {
    /// The MD5 digest of an object in an S3 bucket, which the store has computed.
    Md5([u8; 16]),
    /// The BLAKE3 digest of a file, possibly keyed.
    Blake3([u8; 32]),
}

impl StoredDigest {
    /// Returns the digest with these bytes, or `None` if no kind of digest has this length.
    pub fn of(bytes: &[u8]) -> Option<StoredDigest> {
        let md5 = || bytes.try_into().ok().map(StoredDigest::Md5);
        bytes.try_into().ok().map(StoredDigest::Blake3).or_else(md5)
    }

    /// Returns the bytes of the digest.
    pub fn bytes(&self) -> &[u8] {
        match self {
            StoredDigest::Md5(bytes) => bytes,
            StoredDigest::Blake3(bytes) => bytes,
        }
    }

    /// Returns true if two digests are of the same kind, so that they show whether two contents are equal.
    pub fn is_of_kind(&self, other: &StoredDigest) -> bool {
        self.bytes().len() == other.bytes().len()
    }
}

/// Formats the digest as hexadecimal digits.
impl fmt::Display for StoredDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
