//! JSON documents: their version, paths that may not be UTF-8, and lists that are written item by item.
//!
//! Every document and every single-line record begins with the key `format_version`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

/// The version of all documents. It increases when a key is removed or renamed, or when its meaning changes. New keys
/// do not change it.
pub(crate) const FORMAT_VERSION: u32 = 1;

/// Returns a document on one line. `content` must serialise as an object.
pub(crate) fn document(content: &impl Serialize) -> String {
    #[derive(Serialize)]
    struct Document<'c, C> {
        format_version: u32,
        #[serde(flatten)]
        content: &'c C,
    }
    to_json(&Document { format_version: FORMAT_VERSION, content })
}

/// Returns whether a number is zero, for `skip_serializing_if`.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(crate) fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Returns a document that consists of a summary.
pub(crate) fn summary_document(summary: &impl Serialize) -> String {
    document_with("summary", summary)
}

/// Returns a document that consists of one key and its value.
pub(crate) fn document_with(key: &str, value: &impl Serialize) -> String {
    document(&BTreeMap::from([(key, value)]))
}

/// Writes a document item by item, each on a separate line: `{"format_version":1,"KEY":[…],"summary":{…}}`.
///
/// The document begins with the first item, or at its end if it has no items. A command that fails early therefore
/// prints only its error.
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

    /// Starts an item and returns the output, so that an item that does not fit into memory can be written in parts.
    pub(super) fn begin_item(&mut self) -> io::Result<&mut W> {
        if self.is_begun {
            self.out.write_all(b",\n")?;
        } else {
            self.begin()?;
            self.out.write_all(b"\n")?;
        }
        Ok(&mut self.out)
    }

    /// Returns the output, so that the caller can write the rest of an item.
    pub(super) fn out(&mut self) -> &mut W {
        &mut self.out
    }

    /// Ends the document. `summary` is a JSON text.
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

/// A path in JSON. If the path is not UTF-8, a second key holds its bytes in base64.
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

    /// Returns a `JsonPath` with owned text.
    pub(crate) fn owned(path: &[u8]) -> JsonPath<'static> {
        let JsonPath { path, path_base64 } = JsonPath::new(path);
        JsonPath { path: Cow::Owned(path.into_owned()), path_base64 }
    }
}

/// Serialises a path with the keys of a [`JsonPath`], for `serialize_with`.
pub(super) fn serialize_path<S: serde::Serializer>(path: &[u8], to: S) -> Result<S::Ok, S::Error> {
    JsonPath::new(path).serialize(to)
}

/// Returns a value as JSON on one line. Characters that could disturb a terminal are escaped.
pub(crate) fn to_json(value: &impl Serialize) -> String {
    let mut text = Vec::new();
    // Writing to a vector cannot fail. Serialising cannot fail either, because all keys of lop's types are strings.
    let _infallible = runtime::json::write(&mut text, value);
    String::from_utf8(text).unwrap_or_default()
}
