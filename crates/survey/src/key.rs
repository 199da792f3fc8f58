//! The key of a size and a head.

use content::{Head, checksum};
use export::Key;

/// Number of bits of a key. Among 10^9 keys, one in 280,000 is equal to another one by coincidence.
const BITS: u32 = 48;

/// Returns the number by which hosts compare the sizes and heads of files. With a secret, only hosts that
/// know it can tell which head a key stands for.
pub fn key_of(size: u64, head: Head, secret: Option<&Key>) -> u64 {
    let hash = match secret {
        Some(secret) => secret.head(head, size).cast_unsigned(),
        None => checksum([size.to_le_bytes(), head.0.get().to_le_bytes()].as_flattened()),
    };
    hash >> (u64::BITS - BITS)
}
