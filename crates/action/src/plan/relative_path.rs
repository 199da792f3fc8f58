//! Relative paths between two places, for symbolic links and scripts.

/// Returns the relative path from a directory to another path. Both are absolute.
pub(crate) fn relative(from: &[u8], to: &[u8]) -> Vec<u8> {
    let (from, to) = (components(from), components(to));
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = from[common..].iter().map(|_| &b".."[..]);
    up.chain(to[common..].iter().copied()).collect::<Vec<_>>().join(&b'/')
}

fn components(path: &[u8]) -> Vec<&[u8]> {
    path.split(|&b| b == b'/').filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::relative;

    #[test]
    fn a_relative_path_goes_up_and_down() {
        for (from, to, way) in [
            ("/a/b", "/a/b/c", "c"),
            ("/a/b", "/a/x", "../x"),
            ("/a/b/c", "/d/e", "../../../d/e"),
            ("", "/a", "a"),
            ("/ab", "/a/b", "../a/b"),
        ] {
            assert_eq!(relative(from.as_bytes(), to.as_bytes()), way.as_bytes());
        }
    }
}
