//! JSON documents: their version, paths that need not be UTF-8, and lists that are written item by item.
//!
//! Every document, and every line of JSON that stands alone, begins with the key `format_version`.

use std::borrow::Cow;
use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

use crate::output::names::is_disturbing;

/// The version of all documents. It grows when a key is removed, renamed or given another meaning; a new key
/// leaves it as it is.
pub(crate) const FORMAT_VERSION: u32 = 1;

/// Returns a document on one line; `content` has to serialise as an object.
pub(crate) fn document(content: &impl Serialize) -> String {
    #[derive(Serialize)]
    struct Document<'c, C> {
        format_version: u32,
        #[serde(flatten)]
        content: &'c C,
    }
    to_json(&Document { format_version: FORMAT_VERSION, content })
}

/// Returns a document that is a summary and nothing else.
pub(crate) fn summary_document(summary: &impl Serialize) -> String {
    #[derive(Serialize)]
    struct Content<'s, S> {
        summary: &'s S,
    }
    document(&Content { summary })
}

/// Writes a document whose items come one by one, each on a line of its own:
/// `{"format_version":1,"KEY":[…],"summary":{…}}`.
///
/// It writes nothing before the first item or the end, because the command may fail with an error only.
pub(crate) struct JsonList<W> {
    out: W,
    key: &'static str,
    is_begun: bool,
}

impl<W: Write> JsonList<W> {
    pub(crate) fn new(out: W, key: &'static str) -> Self {
        JsonList { out, key, is_begun: false }
    }

    /// Writes an item.
    pub(crate) fn item(&mut self, item: &impl Serialize) -> io::Result<()> {
        let item = to_json(item);
        self.begin_item()?.write_all(item.as_bytes())
    }

    /// Returns where to write an item that is too long to be held in memory.
    pub(super) fn begin_item(&mut self) -> io::Result<&mut W> {
        if self.is_begun {
            self.out.write_all(b",\n")?;
        } else {
            self.begin()?;
            self.out.write_all(b"\n")?;
        }
        Ok(&mut self.out)
    }

    /// Returns where to write the rest of an item.
    pub(super) fn out(&mut self) -> &mut W {
        &mut self.out
    }

    /// Ends the document; `summary` is JSON.
    pub(crate) fn finish(&mut self, summary: &str) -> io::Result<()> {
        if !self.is_begun {
            self.begin()?;
        }
        writeln!(self.out, "\n],\"summary\":{summary}}}")?;
        self.out.flush()
    }

    fn begin(&mut self) -> io::Result<()> {
        self.is_begun = true;
        write!(self.out, "{{\"format_version\":{FORMAT_VERSION},\"{}\":[", self.key)
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

/// Returns a value as JSON on one line, with everything escaped that could disturb a terminal.
pub(crate) fn to_json(value: &impl Serialize) -> String {
    let mut text = Vec::new();
    // Neither a vector nor our types, whose keys are all strings, can fail.
    let _infallible = write_json(&mut text, value);
    String::from_utf8(text).unwrap_or_default()
}

pub(super) fn write_json(out: impl Write, value: &impl Serialize) -> io::Result<()> {
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
