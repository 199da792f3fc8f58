//! Paths in requests.

use httpd::percent;

/// A path below the shared directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    /// The names, joined by slashes.
    pub(crate) bytes: Vec<u8>,
    /// True if the request names a directory, by a slash at the end.
    pub(crate) is_dir: bool,
}

impl Path {
    /// Decodes the path of a request. Returns `None` if it names nothing: a name is empty, `.` or `..`,
    /// or contains a slash or NUL, or an escape is malformed.
    pub(crate) fn decode(encoded: &[u8]) -> Option<Path> {
        let rest = encoded.strip_prefix(b"/")?;
        if rest.is_empty() {
            return Some(Path { bytes: Vec::new(), is_dir: true });
        }
        let (names, is_dir) = match rest.strip_suffix(b"/") {
            Some(names) => (names, true),
            None => (rest, false),
        };
        let mut bytes = Vec::with_capacity(names.len());
        for name in names.split(|&byte| byte == b'/') {
            let name = percent::decode(name)?;
            let is_name = !matches!(&name[..], b"" | b"." | b"..");
            if !is_name || name.iter().any(|byte| matches!(byte, b'/' | b'\0')) {
                return None;
            }
            if !bytes.is_empty() {
                bytes.push(b'/');
            }
            bytes.extend_from_slice(&name);
        }
        Some(Path { bytes, is_dir })
    }

    /// Returns the last name.
    pub(crate) fn name(&self) -> &[u8] {
        self.bytes.rsplit(|&byte| byte == b'/').next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::Path;

    #[test]
    fn names_are_decoded() {
        for (encoded, bytes, is_dir) in [
            (&b"/"[..], &b""[..], true),
            (b"/a", b"a", false),
            (b"/a/", b"a", true),
            (b"/a%20b/%FF%0a", b"a b/\xff\n", false),
            (b"/...", b"...", false),
            (b"/a%5Cb", b"a\\b", false),
        ] {
            let path = Path::decode(encoded).expect("a path");
            assert_eq!((&path.bytes[..], path.is_dir), (bytes, is_dir));
        }
        assert_eq!(Path::decode(b"/a/b%2Fc"), None);
    }

    #[test]
    fn paths_cannot_lead_elsewhere() {
        for encoded in [
            "",
            "a",
            "//",
            "//a",
            "/a//b",
            "/a//",
            "/.",
            "/..",
            "/a/..",
            "/a/../b",
            "/%2e%2e/b",
            "/%2e",
            "/a%00",
            "/a%2f..%2fb",
            "/%",
            "/a%zz",
            "/..%2f",
            "/%2F",
        ] {
            assert_eq!(Path::decode(encoded.as_bytes()), None, "{encoded}");
        }
    }
}
