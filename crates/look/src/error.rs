//! The errors that end the interface, and the text of errors.

use std::io;

use fsops::io_text;

/// An error that ends the program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Opening or reading the catalog failed.
    #[error(transparent)]
    Catalog(#[from] catalog::Error),
    /// An operation on the terminal failed.
    #[error("cannot use the terminal")]
    Terminal(#[source] io::Error),
    /// The system refused a resource that the threads need.
    #[error("cannot start threads")]
    Work(#[source] io::Error),
}

/// Returns an error and its causes as one line.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let plain = error.downcast_ref::<io::Error>().map_or_else(|| error.to_string(), io_text);
        // SQLite repeats its message as its own cause.
        if !text.ends_with(&plain) {
            text.push_str(": ");
            text.push_str(&plain);
        }
        cause = error.source();
    }
    text
}
