//! Parses the output formats of the program under test into [`Groups`].
//!
//! The parsers are strict on purpose: they panic on truncated output and on a path that is listed
//! twice, because a set would hide these defects. A group with a single file is kept, so that the
//! comparison reports it.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::groups::{Groups, shown};

/// One group of the JSON format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonGroup {
    /// Size in bytes of each file.
    pub size: u64,
    /// The digest as printed, if there is one.
    pub digest: Option<String>,
    /// The exact paths, in output order.
    pub files: Vec<Vec<u8>>,
}

/// Returns the groups of the `fdupes` format: one path per line, with an empty line between groups.
///
/// The format cannot represent a newline in a name. Use another format for trees with such names.
///
/// # Panics
///
/// Panics if the last line has no newline or a path occurs twice.
pub fn parse_fdupes(output: &[u8]) -> Groups {
    collect(&split(output, b'\n', "fdupes"))
}

/// Returns the groups of the `nul` format: every path ends with NUL, and every group with one more
/// NUL.
///
/// # Panics
///
/// Panics if the output ends within a group or a path occurs twice.
pub fn parse_nul(output: &[u8]) -> Groups {
    let whole = output.is_empty() || output.ends_with(b"\0\0");
    assert!(whole, "nul output is cut short: it ends with {}", shown(tail(output)));
    collect(&split(output, 0, "nul"))
}

/// Returns the groups of the JSON format. See [`parse_json_groups`].
///
/// # Panics
///
/// Panics for the same reasons as [`parse_json_groups`], or if a path occurs twice.
pub fn parse_json(output: &[u8]) -> Groups {
    let groups = parse_json_groups(output).into_iter();
    collect(&groups.map(|group| group.files).collect::<Vec<_>>())
}

/// Parses `{"groups":[{"size":N,"digest":"…" or null,"files":[{"path":"…"}]}]}` and keeps sizes,
/// digests and order. A `"path_base64"` takes precedence over the `"path"` of a file.
///
/// # Panics
///
/// Panics if the output has another form. The message shows the part in question.
pub fn parse_json_groups(output: &[u8]) -> Vec<JsonGroup> {
    let document: Value = serde_json::from_slice(output)
        .unwrap_or_else(|e| panic!("no JSON: {e}: it ends with {}", shown(tail(output))));
    array(&document, "groups").iter().map(json_group).collect()
}

fn json_group(group: &Value) -> JsonGroup {
    let digest = match &group["digest"] {
        Value::Null => None,
        Value::String(digest) => Some(digest.clone()),
        other => panic!("a digest is text or null, not {other}"),
    };
    JsonGroup {
        size: group["size"].as_u64().unwrap_or_else(|| panic!("no \"size\" in {group}")),
        digest,
        files: array(group, "files").iter().map(json_path).collect(),
    }
}

fn json_path(file: &Value) -> Vec<u8> {
    let text = file["path"].as_str().unwrap_or_else(|| panic!("no \"path\" in {file}"));
    match &file["path_base64"] {
        Value::Null => text.as_bytes().to_vec(),
        Value::String(code) => {
            STANDARD.decode(code).unwrap_or_else(|e| panic!("bad base64 in {file}: {e}"))
        }
        other => panic!("\"path_base64\" is text, not {other}"),
    }
}

fn array<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap_or_else(|| panic!("no array \"{key}\" in {value}"))
}

/// Splits the output at `end` into groups. An empty path ends each group.
fn split(output: &[u8], end: u8, format: &str) -> Vec<Vec<Vec<u8>>> {
    let Some((last, rest)) = output.split_last() else {
        return Vec::new();
    };
    assert!(*last == end, "{format} output is cut short: it ends with {}", shown(tail(output)));
    let paths: Vec<&[u8]> = rest.split(|byte| *byte == end).collect();
    let groups = paths.split(|path| path.is_empty()).filter(|group| !group.is_empty());
    groups.map(|group| group.iter().map(|path| path.to_vec()).collect()).collect()
}

fn collect(groups: &[Vec<Vec<u8>>]) -> Groups {
    let mut seen = BTreeSet::new();
    for path in groups.iter().flatten() {
        assert!(seen.insert(path), "the path {} is listed twice", shown(path));
    }
    groups.iter().map(|group| group.iter().cloned().collect()).collect()
}

fn tail(output: &[u8]) -> &[u8] {
    &output[output.len().saturating_sub(60)..]
}

#[cfg(test)]
mod tests {
    use super::{JsonGroup, parse_fdupes, parse_json, parse_json_groups, parse_nul};
    use crate::groups_of;

    #[test]
    fn fdupes_lines_and_blank_lines() {
        let expected = groups_of([["a b", "c"], ["d", "e"]]);
        assert_eq!(parse_fdupes(b"a b\nc\n\nd\ne\n"), expected);
        assert_eq!(parse_fdupes(b"a b\nc\n\nd\ne\n\n"), expected);
        assert!(parse_fdupes(b"").is_empty());
        assert_eq!(parse_fdupes(b"\xff\nlone\n\nsingle\n").len(), 2, "groups of one are kept");
    }

    #[test]
    fn nul_keeps_every_byte() {
        let expected = groups_of([[&b"a\nb"[..], b"\xff"], [b"d", b"e"]]);
        assert_eq!(parse_nul(b"a\nb\0\xff\0\0d\0e\0\0"), expected);
        assert!(parse_nul(b"").is_empty());
    }

    #[test]
    fn json_with_and_without_digest_and_base64() {
        let text = br#"{"groups":[{"size":3,"digest":"ab","files":[{"path":"x\ny"},
            {"path":"?","path_base64":"/w=="}]},{"size":1,"digest":null,"files":[]}],"more":1}"#;
        let first = JsonGroup {
            size: 3,
            digest: Some("ab".into()),
            files: vec![b"x\ny".to_vec(), b"\xff".to_vec()],
        };
        let second = JsonGroup { size: 1, digest: None, files: vec![] };
        assert_eq!(parse_json_groups(text), [first, second]);
        assert_eq!(parse_json(br#"{"groups":[]}"#).len(), 0);
    }

    #[test]
    #[should_panic(expected = "cut short")]
    fn fdupes_without_its_last_newline_is_refused() {
        drop(parse_fdupes(b"a\nb"));
    }

    #[test]
    #[should_panic(expected = "cut short")]
    fn nul_without_the_end_of_its_group_is_refused() {
        drop(parse_nul(b"a\0b\0"));
    }

    #[test]
    #[should_panic(expected = "listed twice")]
    fn a_path_listed_twice_is_refused() {
        drop(parse_nul(b"a\0b\0\0c\0a\0\0"));
    }

    #[test]
    #[should_panic(expected = "no JSON")]
    fn json_cut_short_is_refused() {
        drop(parse_json(br#"{"groups":[{"size":1"#));
    }
}
