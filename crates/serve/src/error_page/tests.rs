//! Tests error pages and JSON errors.

use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, StatusCode};
use testkit::TreeBuilder;
use tower::ServiceExt;

use crate::testing::{Answer, TestServer};

const PAGE: (&str, &str) = ("accept", "text/html,*/*;q=0.8");

fn is_in_frame(answer: &Answer) -> bool {
    let text = answer.text();
    text.contains("aria-label=\"Pages\"") && text.contains("app.css") && text.contains("lop-csrf")
}

/// Sends a request without the token.
fn ask_as_stranger(served: &TestServer, headers: &[(&str, &str)]) -> Answer {
    let mut request = Request::get("/groups").header("host", "localhost");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Body::empty()).expect("a request");
    served.runtime.block_on(async {
        let response = served.router.clone().oneshot(request).await.expect("never fails");
        let (head, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.expect("a body").to_vec();
        Answer { status: head.status, headers: head.headers, body }
    })
}

#[test]
fn a_browser_gets_errors_in_the_frame_without_messages_of_parsers() {
    let served = TestServer::scanned(&TreeBuilder::new().file("a", "same").file("b", "same"));
    for (uri, status, text) in [
        ("/nope", StatusCode::NOT_FOUND, "This page does not exist"),
        ("/runs/99", StatusCode::NOT_FOUND, "99"),
        ("/runs/abc", StatusCode::BAD_REQUEST, "This address is not valid"),
        ("/groups/rows?from=x", StatusCode::BAD_REQUEST, "This address is not valid"),
        ("/file/1/1", StatusCode::BAD_REQUEST, "<h1>"),
    ] {
        let answer = served.ask(Method::GET, uri, &[PAGE]);
        assert_eq!(answer.status, status, "{uri}");
        let page = answer.text();
        assert!(is_in_frame(&answer) && page.contains(text), "{uri}: {page}");
        assert!(!page.contains("u64") && !page.contains("deserialize"), "{uri}: {page}");
    }
}

#[test]
fn a_script_gets_every_error_as_json() {
    let served = TestServer::new(false);
    for uri in ["/nope", "/runs/abc", "/space/map", "/groups/rows?from=x"] {
        let answer = served.get(uri);
        assert!(!answer.status.is_success(), "{uri}");
        let said: serde_json::Value = serde_json::from_slice(&answer.body).expect("JSON");
        assert!(said["error"].as_str().is_some_and(|text| !text.is_empty()), "{uri}: {said}");
    }
    let refused: serde_json::Value =
        serde_json::from_slice(&ask_as_stranger(&served, &[]).body).expect("JSON");
    assert_eq!(refused["error"], "This page needs a token");
}

#[test]
fn a_refused_browser_gets_a_page_with_a_style_but_without_the_frame() {
    let served = TestServer::scanned(&TreeBuilder::new().file("a", "same").file("b", "same"));
    let answer = ask_as_stranger(&served, &[PAGE]);
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
    let page = answer.text();
    assert!(page.contains("This page needs a token") && page.contains("<style>"), "{page}");
    assert!(!is_in_frame(&answer) && !page.contains("<a "), "{page}");
    let policy = answer.header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
}

#[test]
fn an_old_cookie_is_answered_with_the_address_to_open() {
    let served = TestServer::new(false);
    let cookie = ("cookie", "lop-8080=0000");
    let answer = ask_as_stranger(&served, &[cookie]);
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
    let said: serde_json::Value = serde_json::from_slice(&answer.body).expect("JSON");
    assert_eq!(said["error"], "lop serve was started again");
    assert_eq!(said["advice"], "Open the address that it printed.");
    assert!(ask_as_stranger(&served, &[cookie, PAGE]).text().contains("was started again"));
}
