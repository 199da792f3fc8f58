//! Random secrets, and their comparison in constant time.

use std::fmt;

/// A secret of 256 random bits, written as 64 hexadecimal digits.
#[derive(Clone)]
pub(crate) struct Secret(String);

impl Secret {
    /// Makes a new secret.
    ///
    /// # Errors
    ///
    /// Fails if the system has no random numbers.
    pub(crate) fn random() -> Result<Secret, getrandom::Error> {
        let mut bytes = [0u8; 32];
        getrandom::fill(&mut bytes)?;
        Ok(Secret(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Returns the digits.
    pub(crate) fn digits(&self) -> &str {
        &self.0
    }

    /// Returns whether `text` is this secret. The time that this takes does not depend on how many
    /// digits are right.
    pub(crate) fn is(&self, text: &str) -> bool {
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
    }
}
