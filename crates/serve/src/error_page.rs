//! Error pages: an error that a handler returns is shown in the frame, with the navigation; a request that the
//! gate refuses gets a page of its own.
//!
//! Browsers that load a page accept `text/html`. Scripts and programs do not ask for it, and get errors as
//! JSON. A refused request MUST NOT get the frame, which contains the secret of the pages.

use std::convert::Infallible;
use std::sync::{Arc, LazyLock};

use axum::extract::{Request, State};
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use crate::app::App;
use crate::error::PageError;
use crate::frame::page;
use crate::layout::first_tags;

/// The style of pages without a frame. It is part of the page, because the style sheet needs the token.
const STYLE: &str = "body { font: 15px/1.45 system-ui, sans-serif; max-width: 40em; margin: 20vh auto 0; padding: 0 16px; \
     background: light-dark(#f7f8f7, #14181a); color: light-dark(#1a211e, #e4e9e6) } \
     h1 { font-size: 1.35rem }";

/// The policy of these pages: the browser loads nothing, and accepts only this style.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = BASE64_STANDARD.encode(Sha256::digest(STYLE));
    format!(
        "default-src 'none'; style-src 'sha256-{hash}'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    )
});

/// Returns whether a browser loads a page with this request.
pub(crate) fn wants_page(request: &Request) -> bool {
    let mut accepted = request.headers().get_all(ACCEPT).iter();
    accepted.any(|value| value.to_str().is_ok_and(|value| value.contains("text/html")))
}

/// Passes a request on, and shows an error as a page if the browser loads one.
pub(crate) async fn show_errors(
    State(app): State<Arc<App>>,
    request: Request,
    next: Next,
) -> Response {
    let wants_page = wants_page(&request);
    let mut response = handle(request, next).await;
    if let Some(error) = of_framework(&response) {
        response = error.into_response();
    }
    match response.extensions_mut().remove::<PageError>() {
        Some(error) if wants_page => (error.status(), shown(&app, &error)).into_response(),
        _ => response,
    }
}

/// Runs the handler as a task of its own, so that a panic in it ends only this request.
async fn handle(request: Request, next: Next) -> Response {
    let handled = tokio::spawn(async { Ok::<_, Infallible>(next.run(request).await) }).await;
    match handled {
        Ok(Ok(response)) => response,
        Err(_panicked) => PageError::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "lop serve has a bug on this page",
            "The server is still running, and no file was changed by this request. Reload the page to try again.",
        )
        .into_response(),
    }
}

/// Returns the error for a response of the framework, which refuses an address that does not fit its route
/// with the message of a parser.
fn of_framework(response: &Response) -> Option<PageError> {
    let is_plain = |headers: &HeaderMap| {
        let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        kind.is_some_and(|kind| kind.starts_with("text/plain"))
    };
    let is_its = response.status().is_client_error() && is_plain(response.headers());
    is_its.then(|| PageError::new(response.status(), "This address is not valid", ""))
}

fn shown(app: &App, error: &PageError) -> Markup {
    let main = html! {
        .narrow {
            h1 { (error.title()) }
            (error.markup())
            p { a href="/" { "Start page" } }
        }
    };
    page(app, error.title(), "", &main)
}

/// Returns a page without the frame. It needs no secret and no state.
pub(crate) fn bare_page(status: StatusCode, title: &str, advice: &str) -> Response {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head { (first_tags(title)) style { (PreEscaped(STYLE)) } }
            body { main { h1 { (title) } p { (advice) } } }
        }
    };
    (status, [("content-security-policy", POLICY.as_str())], page).into_response()
}

#[cfg(test)]
mod tests;
