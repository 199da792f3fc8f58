//! Parses JSON requests from scripts, and returns results and errors as JSON.

use axum::Json;
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::PageError;

/// The answer to a script.
pub(crate) type Answer = Result<Json<Value>, ApiError>;

/// A [`PageError`] that is sent as JSON.
#[derive(Debug)]
pub(crate) struct ApiError(PageError);

impl From<PageError> for ApiError {
    fn from(error: PageError) -> ApiError {
        ApiError(error)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        self.0.into_json()
    }
}

/// Returns a JSON answer, or the error as JSON.
pub(crate) fn answer(result: Result<Value, PageError>) -> Response {
    result.map_or_else(PageError::into_json, |value| Json(value).into_response())
}

/// Reads the body of a request.
///
/// # Errors
///
/// Fails if the body is not the JSON that the handler expects.
pub(crate) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, PageError> {
    serde_json::from_slice(body)
        .map_err(|e| PageError::bad_request(format!("Invalid request: {e}")))
}
