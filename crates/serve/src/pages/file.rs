//! Shows and downloads single files of a group.
//!
//! A browser refers to a file by numbers (`address`), never by a path.
//!
//! File contents are untrusted, so a response MUST NOT let a browser guess their type. The first bytes
//! determine the type; files of types that are not on a short list are downloads.

mod address;
mod body;
mod conditions;
mod member;
mod meta;
mod preview;
mod size;
mod text;
mod types;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE,
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode};
use axum::routing::get;
use httpd::disposition::disposition;
use maud::Markup;

pub(crate) use self::address::Address;
use self::body::FileBody;
use self::conditions::{Part, part};
use self::member::{Opened, with_file};
use self::types::Type;
use crate::app::App;
use crate::error::PageError;

/// Policy of every response with bytes of a file: even if it were shown as a page, it could load and
/// run nothing, and would have no access to this server.
const POLICY: &str = "sandbox; default-src 'none'";

/// Browsers ask on every use whether their copy is current, so a copy needs the cookie too.
const CACHE: &str = "private, no-cache";

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/file/{number}/{key}", get(send))
        .route("/file/{number}/{key}/text", get(show_text))
        .route("/file/{number}/{key}/thumb", get(send_thumbnail))
        .route("/file/{number}/{key}/preview", get(show_preview))
}

/// Answers with the bytes of a file, or a part of them. Any query asks for a download.
async fn send(
    State(app): State<Arc<App>>,
    Path(address): Path<Address>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response<Body>, PageError> {
    let opened = with_file(&app, address, Ok).await?;
    let is_download = query.is_some() || !opened.kind.is_shown(opened.stat.size);
    respond(&app, opened, is_download, &headers)
}

fn respond(
    app: &App,
    opened: Opened,
    is_download: bool,
    headers: &HeaderMap,
) -> Result<Response<Body>, PageError> {
    let size = opened.stat.size;
    let tag = opened.tag();
    let media_type = if is_download { Type::Other } else { opened.kind }.media_type();
    let response = Response::builder()
        .header(ETAG, tag.to_string())
        .header(CACHE_CONTROL, CACHE)
        .header(CONTENT_SECURITY_POLICY, POLICY)
        .header(ACCEPT_RANGES, "bytes");
    let name = disposition(is_download, opened.name());
    let (file, device) = (opened.file, opened.stat.device);
    let body = |from, to| FileBody::new(app, file, device, from..to);
    let response = match part(headers, &tag, size) {
        Part::NotModified => response.status(StatusCode::NOT_MODIFIED).body(Body::new(body(0, 0))),
        Part::Unsatisfiable => response
            .status(StatusCode::RANGE_NOT_SATISFIABLE)
            .header(CONTENT_RANGE, format!("bytes */{size}"))
            .body(Body::new(body(0, 0))),
        Part::Bytes { from, to, is_whole } => {
            let mut response = response
                .header(CONTENT_TYPE, media_type)
                .header(CONTENT_LENGTH, to - from)
                .header(CONTENT_DISPOSITION, name);
            if !is_whole {
                let range = format!("bytes {from}-{}/{size}", to - 1);
                response =
                    response.status(StatusCode::PARTIAL_CONTENT).header(CONTENT_RANGE, range);
            }
            response.body(Body::new(body(from, to)))
        }
    };
    response.map_err(|error| PageError::failed(&error))
}

/// Answers with the beginning of a file as escaped text.
async fn show_text(
    State(app): State<Arc<App>>,
    Path(address): Path<Address>,
) -> Result<Markup, PageError> {
    with_file(&app, address, |opened| {
        let start = opened.start(text::SHOWN_BYTES)?;
        Ok(text::fragment(&start, opened.stat.size))
    })
    .await
}

/// Answers with the thumbnail that a camera stored in a photo.
async fn send_thumbnail(
    State(app): State<Arc<App>>,
    Path(address): Path<Address>,
) -> Result<Response<Body>, PageError> {
    let thumbnail = with_file(&app, address, |opened| {
        let found = meta::thumbnail(opened.start(meta::READ_BYTES)?);
        found.ok_or_else(|| PageError::not_found("This file contains no thumbnail"))
    });
    let thumbnail = thumbnail.await?;
    let mut response = Response::new(Body::from(thumbnail));
    for (name, value) in [
        (CONTENT_TYPE, Type::Jpeg.media_type()),
        (CONTENT_SECURITY_POLICY, POLICY),
        (CACHE_CONTROL, "private, max-age=600"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

/// Answers with the part of a page that shows a file. If the file cannot be opened, the part says why.
async fn show_preview(State(app): State<Arc<App>>, Path(address): Path<Address>) -> Markup {
    let shown = with_file(&app, address, move |file| preview::show(&file, address)).await;
    shown.unwrap_or_else(|error| preview::unavailable(&error))
}

#[cfg(test)]
mod tests;
