//! Parses JSON requests from scripts, and returns results and errors as JSON.

use axum::Json;
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::PageError;

/// The answer to a script.
pub(crate) type Answer = Result<Json<Value>, PageError>;

/// Returns a JSON answer, or the error as JSON.
pub(crate) fn answer(result: Result<Value, PageError>) -> Response {
    result.map(Json).into_response()
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
