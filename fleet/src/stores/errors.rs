//! The error of a request to an object store, in one line.
//!
//! The client nests its errors, and each level repeats the text of the one below. A message for the user contains the
//! place, the reason and, if the server cannot be reached, the name of the server.

use std::error::Error as StdError;
use std::fmt::{self, Display, Formatter};
use std::io;

use fsops::io_text;

/// Maximum number of characters of a message from a server.
const LONGEST_MESSAGE: usize = 300;

/// A place in a store that cannot be used.
#[derive(Debug)]
pub(crate) struct Error {
    url: String,
    reason: String,
    pub(super) kind: Kind,
}

/// The kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The object does not exist.
    Missing,
    /// The object is larger than the caller allows.
    TooLarge,
    /// The store cannot be used.
    Failed,
}

impl Error {
    pub(super) fn new(url: &str, reason: impl Into<String>) -> Error {
        Error { url: url.to_owned(), reason: reason.into(), kind: Kind::Failed }
    }

    /// Returns the error for an object of `size` bytes.
    pub(super) fn too_large(url: &str, size: u64) -> Error {
        let reason = format!("too large, {size} bytes");
        Error { kind: Kind::TooLarge, ..Error::new(url, reason) }
    }

    /// Returns the error of a request to `server`.
    pub(super) fn of(url: &str, server: &str, error: &object_store::Error) -> Error {
        let reason = reason(server, error);
        let kind = match error {
            object_store::Error::NotFound { .. } if !reason.contains("NoSuchBucket") => {
                Kind::Missing
            }
            _ => Kind::Failed,
        };
        Error { kind, ..Error::new(url, reason) }
    }
}

impl Display for Error {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.url, self.reason)
    }
}

impl StdError for Error {}

fn reason(server: &str, error: &(dyn StdError + 'static)) -> String {
    let mut last = error;
    let mut asks_instance = is_about_instance(last);
    while let Some(source) = last.source() {
        last = source;
        asks_instance |= is_about_instance(last);
    }
    if asks_instance {
        return "no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY".into();
    }
    let text = last.to_string();
    if text.contains("UnknownIssuer") {
        return format!(
            "the certificate of {server} is not trusted; set SSL_CERT_FILE to the certificate of its CA"
        );
    }
    if let Some(error) = last.downcast_ref::<io::Error>() {
        return format!("cannot reach {server}: {}", io_text(error));
    }
    if text.contains("timed out") {
        return format!("cannot reach {server}: timed out");
    }
    if let Some(code) = between(&text, "<Code>", "</Code>") {
        let message = between(&text, "<Message>", "</Message>").unwrap_or(server);
        return short(&format!("{} ({code})", message.trim_end_matches('.')));
    }
    if let Some(status) = text.strip_prefix("Server returned non-2xx status code: ") {
        let status = status.split(": ").next().unwrap_or(status).trim_end_matches(':');
        let hint = if status.starts_with('3') { "; set AWS_REGION" } else { "" };
        return short(&format!("{server} answered {status}{hint}"));
    }
    short(&text)
}

/// Returns true if the client asked the metadata service of a cloud for credentials. The client does so if the
/// environment contains none, and this request fails outside a cloud.
fn is_about_instance(error: &(dyn StdError + 'static)) -> bool {
    let text = error.to_string();
    text.contains("/latest/api/token") || text.contains("/latest/meta-data")
}

fn between<'a>(text: &'a str, begin: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(begin)?;
    rest.split_once(end).map(|(inner, _)| inner)
}

/// Returns the first [`LONGEST_MESSAGE`] characters of a text, in one line.
fn short(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(LONGEST_MESSAGE).collect()
}

#[cfg(test)]
mod tests {
    use std::error::Error as StdError;
    use std::fmt::{self, Display, Formatter};
    use std::io;

    use super::reason;

    #[derive(Debug)]
    struct Outer(Box<dyn StdError>);

    impl Display for Outer {
        fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
            write!(formatter, "Generic S3 error: {}", self.0)
        }
    }

    impl StdError for Outer {
        fn source(&self) -> Option<&(dyn StdError + 'static)> {
            Some(&*self.0)
        }
    }

    fn reason_of(inner: impl Into<Box<dyn StdError>>) -> String {
        reason("host:9", &Outer(Box::new(Outer(inner.into()))))
    }

    #[test]
    fn a_reason_is_one_line_without_the_nesting() {
        let status = "Server returned non-2xx status code: ";
        let body = "<?xml version=\"1.0\"?>\n<Error><Code>SignatureDoesNotMatch</Code>\
                    <Message>Wrong\nsignature.</Message><AWSAccessKeyId>AKIA</AWSAccessKeyId></Error>";
        for (inner, expected) in [
            (format!("{status}403 Forbidden: {body}"), "Wrong signature (SignatureDoesNotMatch)"),
            (format!("{status}503 Slow Down: "), "host:9 answered 503 Slow Down"),
            (format!("{status}301 Moved: "), "host:9 answered 301 Moved; set AWS_REGION"),
            (
                "invalid peer certificate: UnknownIssuer".into(),
                "the certificate of host:9 is not trusted; set SSL_CERT_FILE to the certificate of its CA",
            ),
            ("operation timed out".into(), "cannot reach host:9: timed out"),
            (
                "Error performing PUT http://169.254.169.254/latest/api/token".into(),
                "no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
            ),
        ] {
            assert_eq!(reason_of(inner), expected);
        }
        let refused = io::Error::from_raw_os_error(111);
        assert_eq!(reason_of(refused), "cannot reach host:9: Connection refused");
        assert_eq!(reason_of("x".repeat(1000)).len(), super::LONGEST_MESSAGE);
    }
}
