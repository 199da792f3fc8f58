//! Addresses of the page *Groups* with a filter, for links from other pages.

use review::Filter;

/// Returns the address of the groups that have a file at or below each of these paths. Returns `None`
/// if the language of filters cannot express a path.
pub(super) fn groups_below(paths: &[&[u8]]) -> Option<String> {
    let terms =
        paths.iter().map(|path| Filter::term_below(path)).collect::<Option<Vec<String>>>()?;
    let encoded = terms.join(" ").bytes().map(encode).collect::<String>();
    Some(format!("/groups?filter={encoded}"))
}

fn encode(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'/' => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    }
}

#[cfg(test)]
mod tests {
    use super::groups_below;

    #[test]
    fn every_path_becomes_one_term() {
        let address = |path: &str| groups_below(&[path.as_bytes()]);
        assert_eq!(address("/a/b c").as_deref(), Some("/groups?filter=path%3A%22/a/b%20c%22"));
        assert_eq!(address("/a*").as_deref(), Some("/groups?filter=path%3A%22/a%5B%2A%5D%22"));
        assert_eq!(address("/\"&#").as_deref(), Some("/groups?filter=path%3A%22/%22%22%26%23%22"));
        assert_eq!(address("/a]"), None);
        assert_eq!(groups_below(&[b"/\xff"]), None);
        let both = groups_below(&[b"/a", b"/b"]);
        assert_eq!(both.as_deref(), Some("/groups?filter=path%3A%22/a%22%20path%3A%22/b%22"));
    }
}
