//! The listing as JSON, with the keys and escapes of lop's other documents.

use std::borrow::Cow;
use std::io;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use fsops::Kind;
use httpd::server::{Body, Head, Part, Parts, Response};
use serde::Serialize;

use super::budget::Reservation;
use super::{FolderSizes, List, Row, View};
use crate::frame::common;

/// The version of the format, as in all documents of lop.
const FORMAT_VERSION: u32 = 1;

/// A large document. It keeps its memory reserved until it has been sent.
struct Document {
    unsent: Option<Vec<u8>>,
    _reservation: Reservation,
}

impl Parts for Document {
    fn next(&mut self) -> io::Result<Option<Part>> {
        Ok(self.unsent.take().map(|document| Part::Bytes(document.into())))
    }
}

#[derive(Serialize)]
struct Entry<'a> {
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name_base64: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "is_false")]
    is_link: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mtime_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
}

#[derive(Serialize)]
struct Summary {
    dirs: u64,
    files: u64,
    bytes: u64,
}

impl List {
    /// Returns the whole listing as JSON, in the order of `view`.
    pub(crate) fn json(self, view: View, sizes: FolderSizes<'_>) -> Response {
        let head = common(Head::new(200).field("content-type", "application/json"));
        let document = self.document(view, sizes);
        if !self.reservation.is_large() {
            return head.with_bytes(document);
        }
        let head = head.with_length(document.len() as u64);
        let body = Document { unsent: Some(document), _reservation: self.reservation };
        Response { head, body: Body::Parts(Box::new(body)) }
    }

    fn document(&self, view: View, sizes: FolderSizes<'_>) -> Vec<u8> {
        let mut out = format!("{{\"format_version\":{FORMAT_VERSION},\"entries\":[").into_bytes();
        for (at, row) in self.sorted(view, sizes).into_iter().enumerate() {
            out.extend_from_slice(if at == 0 { b"\n" } else { b",\n" });
            write(&mut out, &entry(row, sizes));
        }
        let totals = self.totals;
        let summary = Summary { dirs: totals.folders, files: totals.files, bytes: totals.bytes };
        out.extend_from_slice(b"\n],\"summary\":");
        write(&mut out, &summary);
        out.extend_from_slice(b"}\n");
        out
    }
}

fn entry<'a>(row: &'a Row, sizes: FolderSizes<'_>) -> Entry<'a> {
    let name = String::from_utf8_lossy(&row.name);
    let is_lossy = matches!(name, Cow::Owned(_));
    let folder = row.folder_size(sizes);
    Entry {
        name,
        name_base64: is_lossy.then(|| BASE64_STANDARD.encode(&row.name)),
        kind: row.kind.word(),
        is_link: row.is_link,
        size: (row.kind == Kind::File).then_some(row.size),
        files: folder.map(|folder| folder.files),
        bytes: folder.map(|folder| folder.bytes),
        mtime_ns: (row.kind != Kind::Unknown).then(|| row.mtime.as_ns()),
        why: row.why.as_deref(),
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

fn write(out: &mut Vec<u8>, value: &impl Serialize) {
    // Writing to a vector cannot fail, and all keys are strings.
    let _always = runtime::json::write(out, value);
}
