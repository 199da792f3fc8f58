//! Percent-encoding of paths (RFC 3986), for names of any bytes.

/// Returns a name as one segment of a path.
pub fn encode_segment(name: &[u8]) -> String {
    encode(name, |byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
}

/// Returns a path, in which slashes stay.
pub fn encode_path(path: &[u8]) -> String {
    encode(path, |byte| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte))
}

/// Returns `bytes` with every byte encoded that is not plain.
pub fn encode(bytes: &[u8], is_plain: impl Fn(u8) -> bool) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        if is_plain(byte) {
            text.push(char::from(byte));
        } else {
            let digit = |half: u8| char::from(DIGITS[usize::from(half & 15)]);
            text.extend(['%', digit(byte >> 4), digit(byte)]);
        }
    }
    text
}

/// Returns the bytes that a text stands for, or `None` if a percent sign is not followed by two
/// hexadecimal digits. A plus sign is a plus sign.
pub fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let [high, low, after @ ..] = rest else { return None };
        bytes.push(digit(*high)? << 4 | digit(*low)?);
        rest = after;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{decode, encode_path, encode_segment};

    #[test]
    fn any_bytes_survive() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(encode_segment(&all).as_bytes()), Some(all.clone()));
        assert_eq!(decode(encode_path(&all).as_bytes()), Some(all));
        assert_eq!(encode_segment(b"a b/c%\xff"), "a%20b%2Fc%25%FF");
        assert_eq!(encode_path(b"a b/c"), "a%20b/c");
    }

    #[test]
    fn bad_escapes_are_refused() {
        for text in ["%", "%1", "a%", "%zz", "%+1", "%1g", "%\u{660}"] {
            assert_eq!(decode(text.as_bytes()), None, "{text}");
        }
        assert_eq!(decode(b"+%2b%2B"), Some(b"+++".to_vec()));
    }
}
