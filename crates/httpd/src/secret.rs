//! Random secrets, and their comparison in constant time.

use std::fmt;
use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::private_file;

/// A secret of 256 random bits, written as 64 hexadecimal digits.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Makes a new secret.
    ///
    /// # Errors
    ///
    /// Fails if the system has no random numbers.
    pub fn random() -> Result<Secret, getrandom::Error> {
        let mut bytes = [0u8; 32];
        getrandom::fill(&mut bytes)?;
        Ok(Secret::of_bytes(&bytes))
    }

    /// Reads the secret in `file`. If the file does not exist, makes a secret and stores it there.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read or created, is not private, or contains no secret, or if the system
    /// has no random numbers.
    pub fn kept_in(file: &Path) -> io::Result<Secret> {
        match private_file::read(file) {
            Ok(bytes) => Secret::parse(&bytes).ok_or_else(|| {
                io::Error::new(io::ErrorKind::InvalidData, "not 64 hexadecimal digits")
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let secret = Secret::random().map_err(io::Error::other)?;
                let line = format!("{}\n", secret.0);
                private_file::create(file, line.as_bytes())?;
                Ok(secret)
            }
            Err(error) => Err(error),
        }
    }

    fn of_bytes(bytes: &[u8]) -> Secret {
        let digit = |digit: u8| char::from_digit(digit.into(), 16).unwrap_or('0');
        let digits = bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
        Secret(digits.collect())
    }

    fn parse(bytes: &[u8]) -> Option<Secret> {
        let text = std::str::from_utf8(bytes).ok()?.trim_end();
        let is_secret = text.len() == 64 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        is_secret.then(|| Secret(text.to_ascii_lowercase()))
    }

    /// Derives another secret from this one without revealing it. Different purposes give different
    /// secrets.
    #[must_use]
    pub fn derived(&self, purpose: &str) -> Secret {
        let digest = Sha256::new().chain_update(purpose).chain_update(&self.0).finalize();
        Secret::of_bytes(&digest)
    }

    /// Returns the digits.
    pub fn digits(&self) -> &str {
        &self.0
    }

    /// Returns whether `text` is this secret. The time that this takes does not depend on how many
    /// digits are right.
    pub fn is(&self, text: &str) -> bool {
        let (own, other) = (self.0.as_bytes(), text.as_bytes());
        let differences = own.iter().zip(other).fold(0u8, |all, (a, b)| all | (a ^ b));
        own.len() == other.len() && std::hint::black_box(differences) == 0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn only_the_same_digits_are_the_secret() {
        let secret = Secret::random().expect("random");
        assert_eq!(secret.digits().len(), 64);
        assert!(secret.is(secret.digits()));
        assert!(!secret.is("") && !secret.is(&secret.digits()[1..]));
        assert!(!secret.is(&format!("{}0", secret.digits())));
        let mut other = secret.digits().to_owned().into_bytes();
        other[63] ^= 1;
        assert!(!secret.is(&String::from_utf8(other).expect("ASCII")));
    }

    #[test]
    fn secrets_differ() {
        let random = || Secret::random().expect("random");
        assert!(!random().is(random().digits()));
        let secret = random();
        assert!(!secret.derived("a").is(secret.derived("b").digits()));
        assert!(!secret.derived("a").is(secret.digits()));
    }

    #[test]
    fn a_kept_secret_stays_the_same() {
        let tree = testkit::TempTree::new();
        let file = tree.path().join("token");
        let first = Secret::kept_in(&file).expect("made");
        assert!(Secret::kept_in(&file).expect("read").is(first.digits()));
    }

    #[test]
    fn a_file_without_a_secret_is_refused() {
        for bytes in [&b""[..], b"0123", &[b'g'; 64], &[b'0'; 65], b"\xff"] {
            assert!(Secret::parse(bytes).is_none());
        }
        assert!(Secret::parse(&[b'A'; 64]).is_some());
    }
}
