//! Downloads. They are sent in chunks, so that a plan of any size needs little memory.

use std::io;

use axum::body::Body;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream;

/// Returns a response that the browser saves as `name`. `name` is plain ASCII.
pub(crate) fn attachment(name: &str, media_type: &'static str, body: Body) -> Response {
    let disposition = format!("attachment; filename=\"{name}\"");
    ([(CONTENT_TYPE, media_type.to_owned()), (CONTENT_DISPOSITION, disposition)], body)
        .into_response()
}

/// Returns a body whose chunks `next` makes one after the other, on a thread for slow work. The body ends
/// when `next` returns `None`. An error cuts the connection, so that the browser notices that the file is
/// incomplete.
pub(crate) fn in_chunks<S: Send + 'static>(
    state: S,
    next: impl Fn(&mut S) -> io::Result<Option<Vec<u8>>> + Clone + Send + 'static,
) -> Body {
    Body::from_stream(stream::try_unfold(state, move |mut state| {
        let next = next.clone();
        let work = move || next(&mut state).map(|chunk| chunk.map(|chunk| (chunk, state)));
        async { tokio::task::spawn_blocking(work).await.map_err(io::Error::other)? }
    }))
}

/// Appends a row of CSV (RFC 4180). A field that a spreadsheet would take for a formula begins with an
/// apostrophe.
pub(crate) fn csv_row(out: &mut Vec<u8>, fields: &[&[u8]]) {
    for (at, field) in fields.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        let is_formula = matches!(field.first(), Some(b'=' | b'+' | b'-' | b'@' | b'\t' | b'\r'));
        let is_quoted = field.iter().any(|byte| matches!(byte, b'"' | b',' | b'\n' | b'\r'));
        if is_quoted {
            out.push(b'"');
        }
        if is_formula {
            out.push(b'\'');
        }
        for &byte in *field {
            out.push(byte);
            if byte == b'"' {
                out.push(byte);
            }
        }
        if is_quoted {
            out.push(b'"');
        }
    }
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::csv_row;

    #[test]
    fn a_field_is_never_a_formula_and_never_ends_a_row() {
        let mut out = Vec::new();
        csv_row(&mut out, &[b"/a\"b\n,c", b"=cmd|' /C calc'!A0", b"-1", b"", b"\xff"]);
        assert_eq!(out, b"\"/a\"\"b\n,c\",'=cmd|' /C calc'!A0,'-1,,\xff\n");
    }
}
