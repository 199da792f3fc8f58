//! The URL of a place in an object store, and the client for it.
//!
//! The environment variables are those of AWS tools, as `object_store` reads them. This module checks all of them,
//! because the client of `object_store` panics if the address is not valid.

use std::env;
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::path::Path as Key;
use object_store::{BackoffConfig, ClientOptions, RetryConfig};
use url::Url;

use super::Error;

/// Time limit of one attempt to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Time limit of one request, which transfers at most one part.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_mins(2);

/// Maximum number of retries of a failed request.
const MOST_RETRIES: usize = 5;

/// Time after which the client no longer retries a failed request.
const RETRY_TIMEOUT: Duration = Duration::from_secs(20);

/// The client for a place.
pub(super) struct Place {
    pub(super) client: AmazonS3,
    pub(super) bucket: String,
    pub(super) prefix: Key,
    /// Name of the server, for messages.
    pub(super) server: String,
}

/// Returns true if an argument is a URL, and not the name of a host or a folder.
pub(crate) fn is_url(argument: &str) -> bool {
    argument.contains("://")
}

/// Returns the client for the place `url`.
///
/// # Errors
///
/// Fails if the URL or an environment variable is not valid.
pub(super) fn open(url: &str) -> Result<Place, Error> {
    let (bucket, prefix) = parse(url)?;
    let invalid = |reason: String| Error::new(url, reason);
    let builder = variables().map_err(invalid)?;
    let region = builder.get_config_value(&AmazonS3ConfigKey::Region);
    let region = region.unwrap_or_else(|| "us-east-1".into());
    if !region.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        return Err(invalid("AWS_REGION is not the name of a region".into()));
    }
    let endpoint = [AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint];
    let endpoint = endpoint.iter().find_map(|key| builder.get_config_value(key));
    let server = endpoint.clone().unwrap_or_else(|| format!("https://s3.{region}.amazonaws.com"));
    let server = parse_server(&server).map_err(invalid)?;
    let options = ClientOptions::new()
        .with_allow_http(server.scheme() == "http")
        .with_connect_timeout(CONNECT_TIMEOUT)
        .with_timeout(REQUEST_TIMEOUT);
    let retries = RetryConfig {
        backoff: BackoffConfig::default(),
        max_retries: MOST_RETRIES,
        retry_timeout: RETRY_TIMEOUT,
    };
    let builder = builder.with_bucket_name(&bucket).with_region(region);
    let client = builder.with_client_options(options).with_retry(retries).build();
    let server = match (server.host_str().unwrap_or_default(), server.port()) {
        (host, Some(port)) => format!("{host}:{port}"),
        (host, None) => host.to_owned(),
    };
    let client = client.map_err(|e| Error::of(url, &server, &e))?;
    Ok(Place { client, bucket, prefix, server })
}

/// Returns the S3 bucket and the prefix of a URL.
fn parse(url: &str) -> Result<(String, Key), Error> {
    let Some(rest) = url.strip_prefix("s3://") else {
        return Err(Error::new(url, "only s3:// URLs are supported"));
    };
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    if !bucket.starts_with(|c: char| c.is_ascii_alphanumeric()) || !bucket.chars().all(is_plain) {
        // The text before an '@' may be a secret, so the URL is not shown.
        let reason = "not the URL of a bucket; write s3://BUCKET/PREFIX, and set credentials with AWS_ACCESS_KEY_ID \
                      and AWS_SECRET_ACCESS_KEY";
        return Err(Error::new("s3://", reason));
    }
    let prefix = Key::parse(prefix).map_err(|e| Error::new(url, e.to_string()))?;
    Ok((bucket.to_owned(), prefix))
}

/// Returns a builder with the environment variables that are not empty.
fn variables() -> Result<AmazonS3Builder, String> {
    let mut builder = AmazonS3Builder::new();
    for (name, value) in env::vars_os() {
        let Some(name) = name.to_str().filter(|name| name.starts_with("AWS_")) else { continue };
        let Ok(key) = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>() else { continue };
        let is_plain = |value: &&str| value.chars().all(|c| c.is_ascii() && !c.is_ascii_control());
        match value.to_str().filter(is_plain) {
            Some("") => {}
            Some(value) => builder = builder.with_config(key, value),
            None => return Err(format!("{name} has a character that is not allowed in it")),
        }
    }
    Ok(builder)
}

/// Returns the address of a server.
fn parse_server(endpoint: &str) -> Result<Url, String> {
    let url = Url::parse(endpoint).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let url = url.ok_or("AWS_ENDPOINT_URL is not an http:// or https:// URL")?;
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        return Err("AWS_ENDPOINT_URL must contain only a host, a port and a path".into());
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::{parse, parse_server};

    #[test]
    fn a_url_has_a_bucket_and_a_prefix() {
        for (url, bucket, prefix) in [
            ("s3://b", "b", ""),
            ("s3://b/", "b", ""),
            ("s3://my.bucket-1/a/b/", "my.bucket-1", "a/b"),
        ] {
            let (found, key) = parse(url).expect("valid");
            assert_eq!((found.as_str(), key.as_ref()), (bucket, prefix), "{url}");
        }
        for url in ["gs://b/x", "s3:///x", "s3://", "s3://b/../x", "s3://b/a//b", "s3://-b"] {
            assert!(parse(url).is_err(), "{url}");
        }
    }

    #[test]
    fn a_secret_in_a_url_is_not_shown() {
        for url in ["s3://id:secret@b/x", "s3://secret@b", "s3://id:secret"] {
            let text = parse(url).expect_err("refused").to_string();
            assert!(!text.contains("secret@") && !text.contains("id:"), "{text}");
        }
        let text = parse_server("http://id:secret@host").expect_err("refused");
        assert!(!text.contains("secret"), "{text}");
    }

    #[test]
    fn a_server_has_an_http_url() {
        for endpoint in ["http://127.0.0.1:9000", "https://s3.example.org/store"] {
            assert!(parse_server(endpoint).is_ok(), "{endpoint}");
        }
        for endpoint in
            ["localhost:9000", "127.0.0.1", "ftp://x", "http://", "http://a b", "http://x/?a"]
        {
            assert!(parse_server(endpoint).is_err(), "{endpoint}");
        }
    }
}
