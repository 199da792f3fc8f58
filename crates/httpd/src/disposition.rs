//! Names files for browsers that save them (RFC 6266).
//!
//! File names come from the disk and can contain anything. The header consists of ASCII letters only,
//! so no name can end the header or start another one.

use runtime::shown::is_confusing;

use crate::percent;

/// Maximum number of bytes of a name. File systems allow 255; replacements can make it longer.
const MAX_NAME: usize = 1024;

/// Returns the value of `Content-Disposition`, which is ASCII without control characters.
pub fn disposition(is_download: bool, name: &[u8]) -> String {
    let kind = if is_download { "attachment" } else { "inline" };
    format!("{kind}; filename*=UTF-8''{}", encoded(name))
}

fn encoded(name: &[u8]) -> String {
    let mut out = String::new();
    for letter in String::from_utf8_lossy(name).chars() {
        let is_safe = !is_confusing(letter) && !matches!(letter, '/' | '\\');
        let letter = if is_safe { letter } else { '_' };
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        out.push_str(&percent::encode(letter.encode_utf8(&mut [0; 4]).as_bytes(), is_plain));
        if out.len() > MAX_NAME {
            break;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::disposition;

    fn of(name: &[u8]) -> String {
        disposition(true, name)
    }

    #[test]
    fn a_hostile_name_stays_in_its_parameter() {
        assert_eq!(of(b"a b.jpg"), "attachment; filename*=UTF-8''a%20b.jpg");
        assert_eq!(
            of(b"\"; filename=\"evil.exe\r\nSet-Cookie: a=b"),
            "attachment; filename*=UTF-8''%22%3B%20filename%3D%22evil.exe__Set-Cookie%3A%20a%3Db"
        );
        assert_eq!(of("Größe".as_bytes()), "attachment; filename*=UTF-8''Gr%C3%B6%C3%9Fe");
    }

    #[test]
    fn names_cannot_lie_about_their_end_or_lead_elsewhere() {
        assert_eq!(
            of("photo\u{202e}gpj.exe".as_bytes()),
            "attachment; filename*=UTF-8''photo_gpj.exe"
        );
        assert_eq!(of(b"..\\..\\x"), "attachment; filename*=UTF-8''.._.._x");
        assert_eq!(of(b"\xff"), "attachment; filename*=UTF-8''%EF%BF%BD");
    }
}
