//! Errors that keep the server from starting, and error pages for failed requests.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use serde_json::json;

use crate::layout::name;

/// The reason why the server cannot start or had to end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address cannot be used.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The system has no random numbers for the token.
    #[error("cannot make a token: {0}")]
    Token(#[from] getrandom::Error),
    /// The file with the certificate cannot be used.
    #[error("cannot use the certificate in {}", file.display())]
    Certificate {
        /// The file.
        file: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The file with the token cannot be used.
    #[error("cannot use the token in {}", file.display())]
    TokenFile {
        /// The file.
        file: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The threads of the server cannot be started.
    #[error("cannot start the server")]
    Start(#[source] io::Error),
}

/// Returns the text of an error without the number of a system error.
fn text_of(error: &(dyn std::error::Error + 'static)) -> String {
    match error.downcast_ref::<io::Error>() {
        Some(error) => fsops::io_text(error),
        None => error.to_string(),
    }
}

/// The reason why a request failed, as the user reads it.
///
/// As a response, it is a JSON object with `error`, `advice`, `link` and `overtaken`. For a browser that loads a page,
/// [`crate::error_page`] puts a page in its place.
#[derive(Clone, Debug)]
pub(crate) struct PageError {
    status: StatusCode,
    text: String,
    advice: &'static str,
    /// Where the user can follow the advice. May be empty.
    link: &'static str,
    /// Tells a script that another window has changed a decision, so that this page is out of date.
    is_overtaken: bool,
}

impl PageError {
    /// Returns an error with any status. `text` says what happened, without a full stop.
    pub(crate) fn new(
        status: StatusCode,
        text: impl Into<String>,
        advice: &'static str,
    ) -> PageError {
        PageError { status, text: text.into(), advice, link: "", is_overtaken: false }
    }

    /// The request itself is wrong. `text` says why.
    pub(crate) fn bad_request(text: impl Into<String>) -> PageError {
        PageError::new(StatusCode::BAD_REQUEST, text, "")
    }

    /// The thing that was asked for does not exist.
    pub(crate) fn not_found(text: impl Into<String>) -> PageError {
        PageError::new(StatusCode::NOT_FOUND, text, "")
    }

    /// The request does not fit the current state, for example because another tab was faster.
    pub(crate) fn conflict(text: impl Into<String>, advice: &'static str) -> PageError {
        PageError::new(StatusCode::CONFLICT, text, advice)
    }

    /// The server may not do this.
    pub(crate) fn forbidden(text: impl Into<String>, advice: &'static str) -> PageError {
        PageError::new(StatusCode::FORBIDDEN, text, advice)
    }

    /// The server cannot do this now.
    pub(crate) fn unavailable(text: impl Into<String>, advice: &'static str) -> PageError {
        PageError::new(StatusCode::SERVICE_UNAVAILABLE, text, advice)
    }

    /// The server failed.
    pub(crate) fn failed(error: &(dyn std::error::Error + 'static)) -> PageError {
        let (mut text, mut cause) = (text_of(error), error.source());
        while let Some(error) = cause {
            let more = text_of(error);
            if !text.contains(&more) {
                text = format!("{text}: {more}");
            }
            cause = error.source();
        }
        PageError::new(StatusCode::INTERNAL_SERVER_ERROR, text, "")
    }

    /// Adds what the user can do.
    pub(crate) fn with_advice(self, advice: &'static str) -> PageError {
        PageError { advice, ..self }
    }

    /// Adds the address of the page on which the user can follow the advice.
    pub(crate) fn with_link(self, link: &'static str) -> PageError {
        PageError { link, ..self }
    }

    /// Marks the error as caused by a decision of another window.
    pub(crate) fn overtaken(self) -> PageError {
        PageError { is_overtaken: true, ..self }
    }

    /// Returns what happened, without a full stop.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns what the user can do. May be empty.
    pub(crate) fn advice(&self) -> &'static str {
        self.advice
    }

    /// Returns the reason and the advice, for a page that shows more than the error.
    pub(crate) fn markup(&self) -> Markup {
        html! {
            p { (name(self.text.as_bytes())) "." }
            @if !self.advice.is_empty() { p { (self.advice) } }
        }
    }

    /// Returns the HTTP status of the response.
    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns the title of the error page.
    pub(crate) fn title(&self) -> &'static str {
        match self.status {
            StatusCode::NOT_FOUND => "Not found",
            StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED => "Not allowed",
            StatusCode::CONFLICT | StatusCode::SERVICE_UNAVAILABLE => "Not possible now",
            status if status.is_client_error() => "Invalid request",
            _ => "Something went wrong",
        }
    }
}

impl From<catalog::Error> for PageError {
    fn from(error: catalog::Error) -> PageError {
        let advice = match error {
            catalog::Error::Missing(_) => "Start a scan to create it.",
            catalog::Error::TooOld { .. } => "A scan brings it up to date.",
            _ => "",
        };
        PageError { advice, ..PageError::failed(&error) }
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let body = json!({
            "error": self.text, "advice": self.advice, "link": self.link, "overtaken": self.is_overtaken,
        });
        let mut response = (self.status, Json(body)).into_response();
        response.extensions_mut().insert(self);
        response
    }
}
