//! Compresses text for browsers that accept gzip.
//!
//! Complete pages are not compressed. They contain the session secret next to text from the address,
//! and their compressed length would reveal how similar the two are (<https://breachattack.com>).

use std::io::Write;

use axum::body::{Body, HttpBody, to_bytes};
use axum::extract::Request;
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;

/// Sizes of bodies that are compressed, in bytes. Smaller ones fit in one packet, and larger ones would
/// keep the thread of the server busy.
const SIZES: std::ops::RangeInclusive<u64> = 1024..=256 << 10;

/// The beginning of a complete page.
const PAGE: &[u8] = b"<!DOCTYPE";

/// Compresses the response to a request if the browser and the response allow it.
pub(crate) async fn compress(request: Request, next: Next) -> Response {
    let is_wanted = request.method() == Method::GET && accepts_gzip(request.headers());
    let mut response = next.run(request).await;
    if !is_compressible(&response) {
        return response;
    }
    response.headers_mut().insert(VARY, HeaderValue::from_static("accept-encoding"));
    if !is_wanted {
        return response;
    }
    let (mut head, body) = response.into_parts();
    // The body is in memory, because its size is known and it is small.
    let Ok(plain) = to_bytes(body, usize::MAX).await else {
        head.status = StatusCode::INTERNAL_SERVER_ERROR;
        return Response::from_parts(head, Body::empty());
    };
    if plain.starts_with(PAGE) {
        return Response::from_parts(head, Body::from(plain));
    }
    head.headers.remove(CONTENT_LENGTH);
    head.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    Response::from_parts(head, Body::from(gzip(&plain)))
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|coding| {
        let (name, quality) = coding.split_once(';').unwrap_or((coding, ""));
        let is_refused = matches!(quality.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000");
        name.trim().eq_ignore_ascii_case("gzip") && !is_refused
    })
}

fn is_compressible(response: &Response) -> bool {
    let headers = response.headers();
    let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let is_text = ["text/html", "text/css", "text/javascript", "application/json"]
        .iter()
        .any(|known| media_type.starts_with(known));
    let is_small = response.body().size_hint().exact().is_some_and(|size| SIZES.contains(&size));
    let is_whole = response.status() == StatusCode::OK && !headers.contains_key(CONTENT_ENCODING);
    is_text && is_small && is_whole
}

pub(crate) fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(5));
    // Writing to memory cannot fail.
    let _written = encoder.write_all(plain);
    encoder.finish().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use axum::Router;
    use axum::body::{Body, to_bytes};
    use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, VARY};
    use axum::http::{HeaderMap, Request};
    use axum::middleware::from_fn;
    use axum::response::Html;
    use axum::routing::get;
    use flate2::read::GzDecoder;
    use tower::ServiceExt;

    use super::{accepts_gzip, compress};

    #[test]
    fn gzip_is_used_only_if_the_browser_accepts_it() {
        for (value, is_accepted) in [
            ("gzip, deflate, br", true),
            ("br;q=1.0, GZIP;q=0.5", true),
            ("deflate", false),
            ("gzip;q=0", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, value.parse().expect("a value"));
            assert_eq!(accepts_gzip(&headers), is_accepted, "{value}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }

    /// Returns whether the answer to a request for a text is compressed, and the text.
    async fn sent(text: String) -> (bool, String) {
        let router =
            Router::new().route("/", get(|| async { Html(text) })).layer(from_fn(compress));
        let request = Request::get("/").header(ACCEPT_ENCODING, "gzip").body(Body::empty());
        let response = router.oneshot(request.expect("a request")).await.expect("infallible");
        let is_compressed = response.headers().contains_key(CONTENT_ENCODING);
        let body = to_bytes(response.into_body(), usize::MAX).await.expect("a body");
        let mut plain = String::new();
        let read = if is_compressed {
            GzDecoder::new(&body[..]).read_to_string(&mut plain)
        } else {
            (&body[..]).read_to_string(&mut plain)
        };
        read.expect("complete");
        (is_compressed, plain)
    }

    #[tokio::test]
    async fn caches_learn_that_the_answer_depends_on_the_accepted_codings() {
        let text = || async { Html("<p>long</p>".repeat(1000)) };
        let router = Router::new().route("/", get(text)).layer(from_fn(compress));
        let request = Request::get("/").body(Body::empty()).expect("a request");
        let response = router.oneshot(request).await.expect("infallible");
        assert_eq!(response.headers()[VARY], "accept-encoding");
        assert!(!response.headers().contains_key(CONTENT_ENCODING));
    }

    #[tokio::test]
    async fn parts_of_pages_are_compressed_and_complete_pages_are_not() {
        let rows = "<div>row</div>".repeat(1000);
        for (text, is_compressed) in [
            (rows.clone(), true),
            (format!("<!DOCTYPE html>{rows}"), false),
            ("<p>short</p>".to_owned(), false),
            ("<p>long</p>".repeat(1 << 20), false),
        ] {
            assert_eq!(sent(text.clone()).await, (is_compressed, text));
        }
    }
}
