//! `json`: one document, written group by group, one group a line.

use std::borrow::Cow;
use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

use super::{GroupHead, GroupWriter};
use crate::names::is_disturbing;

/// Writes `{"groups":[…],"summary":{…}}`.
pub(super) struct Json<W> {
    out: W,
    groups: u64,
    files: u64,
}

impl<W: Write> Json<W> {
    pub(super) fn new(out: W) -> Self {
        Json { out, groups: 0, files: 0 }
    }
}

impl<W: Write> GroupWriter for Json<W> {
    fn begin(&mut self, group: &GroupHead) -> io::Result<()> {
        let before: &[u8] = if self.groups == 0 { b"{\"groups\":[\n" } else { b",\n" };
        self.out.write_all(before)?;
        self.groups += 1;
        self.files = 0;
        let GroupHead { size, digest, reclaimable, .. } = *group;
        write!(self.out, "{{\"size\":{size},\"digest\":")?;
        match digest {
            Some(digest) => write!(self.out, "\"{digest}\"")?,
            None => self.out.write_all(b"null")?,
        }
        write!(self.out, ",\"reclaimable\":{reclaimable},\"files\":[")
    }

    fn file(&mut self, path: &[u8], mark: Option<&str>) -> io::Result<()> {
        if self.files > 0 {
            self.out.write_all(b",")?;
        }
        self.files += 1;
        write_json(&mut self.out, &JsonFile { path: JsonPath::new(path), state: mark })
    }

    fn end(&mut self) -> io::Result<()> {
        self.out.write_all(b"]}")
    }

    fn finish(&mut self, summary: &str) -> io::Result<()> {
        if self.groups == 0 {
            self.out.write_all(b"{\"groups\":[")?;
        }
        self.out.write_all(b"\n],\"summary\":")?;
        self.out.write_all(summary.as_bytes())?;
        self.out.write_all(b"}\n")?;
        self.out.flush()
    }
}

/// A path that is not lost on JSON: where its bytes are not UTF-8, they come along in base64.
#[derive(Debug, Serialize)]
pub(crate) struct JsonPath<'a> {
    path: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_base64: Option<String>,
}

impl<'a> JsonPath<'a> {
    pub(crate) fn new(path: &'a [u8]) -> Self {
        let text = String::from_utf8_lossy(path);
        let lossy = matches!(text, Cow::Owned(_));
        JsonPath { path: text, path_base64: lossy.then(|| STANDARD.encode(path)) }
    }

    /// Returns one that borrows nothing.
    pub(crate) fn owned(path: &[u8]) -> JsonPath<'static> {
        let JsonPath { path, path_base64 } = JsonPath::new(path);
        JsonPath { path: Cow::Owned(path.into_owned()), path_base64 }
    }
}

#[derive(Serialize)]
struct JsonFile<'a> {
    #[serde(flatten)]
    path: JsonPath<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'a str>,
}

/// Returns a value as JSON on one line, with everything escaped that could disturb a terminal.
pub(crate) fn to_json(value: &impl Serialize) -> String {
    let mut text = Vec::new();
    // Neither a vector nor our types, whose keys are all strings, can fail.
    let _infallible = write_json(&mut text, value);
    String::from_utf8(text).unwrap_or_default()
}

fn write_json(out: impl Write, value: &impl Serialize) -> io::Result<()> {
    Ok(value.serialize(&mut Serializer::with_formatter(out, Plain))?)
}

/// JSON has to escape the first 32 characters only; this one escapes the other control
/// characters and the direction changes too, which means the same to every reader.
struct Plain;

impl Formatter for Plain {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| is_disturbing(*c)) {
            out.write_all(&rest.as_bytes()[..at])?;
            // All of them are in the first plane, so that one escape is enough.
            write!(out, "\\u{:04x}", u32::from(c))?;
            rest = &rest[at + c.len_utf8()..];
        }
        out.write_all(rest.as_bytes())
    }
}
