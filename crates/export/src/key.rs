//! Replaces digests, heads and names by keyed hashes.
//!
//! A plain digest tells everybody who has a copy of a file that the host has it, too, and a plain
//! hash of a name can be found in a dictionary. A keyed hash tells this only to those who have the
//! key. Equal values still have equal hashes, so hosts with the same key can be compared.

use std::io;
use std::path::Path;

use content::Head;
use fsops::{File, Kind, io_text};

use crate::error::Error;

/// Minimum length of a key in bytes.
const SHORTEST: usize = 16;

/// Maximum size of a file with a key in bytes.
const LONGEST: u64 = 64 << 10;

/// The secret that the hosts of a fleet share.
#[derive(Clone)]
pub struct Key {
    digests: [u8; 32],
    heads: [u8; 32],
    names: [u8; 32],
    id: String,
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Key({})", self.id)
    }
}

/// Error for a key that is too short to be a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("has {0} bytes, but a key has at least {SHORTEST}")]
pub struct ShortKey(usize);

impl Key {
    /// Returns the key that `secret` stands for.
    ///
    /// # Errors
    ///
    /// Fails if `secret` has fewer than 16 bytes.
    pub fn new(secret: &[u8]) -> Result<Key, ShortKey> {
        if secret.len() < SHORTEST {
            return Err(ShortKey(secret.len()));
        }
        let derive =
            |purpose: &str| blake3::derive_key(&format!("lop export v1 {purpose}"), secret);
        let id = blake3::Hash::from_bytes(derive("id")).to_hex();
        Ok(Key {
            digests: derive("digests"),
            heads: derive("heads"),
            names: derive("names"),
            id: id[..16].to_owned(),
        })
    }

    /// Reads the secret in a file.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, is not a regular file of at most 64 KiB, or is too short.
    pub fn read(path: &Path) -> Result<Key, Error> {
        let unusable = |reason: String| Error::Key { path: path.into(), reason };
        let failed = |e: io::Error| unusable(io_text(&e));
        // A link is followed, because the user named it.
        let file = path.canonicalize().and_then(|path| File::open(&path)).map_err(failed)?;
        let stat = file.stat().map_err(failed)?;
        if stat.kind != Kind::File || stat.size > LONGEST {
            return Err(unusable("it is not a regular file of at most 64 KiB".into()));
        }
        let mut secret = vec![0; usize::try_from(stat.size).unwrap_or(0)];
        let read = file.read_at(&mut secret, 0).map_err(failed)?;
        Key::new(&secret[..read]).map_err(|e| unusable(format!("it {e}")))
    }

    /// Returns a number by which exports with the same key are recognised. It does not reveal the
    /// key.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the keyed hash of a digest.
    pub fn digest(&self, digest: [u8; 32]) -> [u8; 32] {
        *blake3::keyed_hash(&self.digests, &digest).as_bytes()
    }

    /// Returns the keyed hash of the head of a file, as the export stores it.
    #[expect(clippy::missing_panics_doc, reason = "a hash has more than eight bytes")]
    pub fn head(&self, head: Head, size: u64) -> i64 {
        let bytes = [head.0.get().to_le_bytes(), size.to_le_bytes()].concat();
        let hash = blake3::keyed_hash(&self.heads, &bytes);
        i64::from_le_bytes(*hash.as_bytes().first_chunk().expect("a hash has 32 bytes"))
    }

    pub(crate) fn name(&self, name: &[u8]) -> [u8; 16] {
        let hash = blake3::keyed_hash(&self.names, name);
        *hash.as_bytes().first_chunk().expect("a hash has 32 bytes")
    }
}
