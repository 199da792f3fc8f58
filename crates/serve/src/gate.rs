//! The gate that every request passes first: it checks the host, the token and the origin, and adds
//! the security headers to every response.
//!
//! The order of the checks matters. A request with a foreign host learns nothing, a request without the
//! token learns only that a token is needed, and nothing changes before all checks have passed.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, COOKIE, HOST, HeaderName, HeaderValue, LOCATION,
    ORIGIN, SET_COOKIE,
};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use httpd::hosts::Hosts;
use httpd::secret::Secret;

use crate::error::PageError;
use crate::error_page::{bare_page, wants_page};

/// The header with the secret that only pages of this server know.
pub(crate) const CSRF_HEADER: HeaderName = HeaderName::from_static("x-lop-csrf");

const SEC_FETCH: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Delay before a wrong token is answered. Guessing 256 bits is hopeless anyway.
const WRONG_TOKEN_DELAY: Duration = Duration::from_millis(250);

/// Headers of every response. The policy allows scripts, styles, pictures and requests of this server
/// only. `same-origin` as the referrer policy keeps the `Origin` header of requests intact.
const HEADERS: [(&str, &str); 8] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; \
         connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
    ("cache-control", "no-store"),
];

/// The secrets and hosts of a server.
#[derive(Debug)]
pub(crate) struct Gate {
    hosts: Hosts,
    /// The secret in the address that the user opens.
    token: Secret,
    /// The secret in the cookie of a browser that had the token.
    session: Secret,
    /// The secret that pages send with every change.
    csrf: Secret,
    cookie: String,
    is_encrypted: bool,
}

impl Gate {
    /// Creates the gate of a server. `port` is part of the cookie's name, because browsers send cookies to
    /// all ports of a host. `is_encrypted` keeps the cookie out of connections without encryption.
    ///
    /// The cookie is derived from the token. The secret of the pages is new at each start even if the token
    /// is not, because pages of an earlier server contain numbers of groups and jobs that have changed.
    ///
    /// # Errors
    ///
    /// Fails if the system has no random numbers.
    pub(crate) fn new(
        hosts: Hosts,
        port: u16,
        token: Secret,
        is_encrypted: bool,
    ) -> Result<Gate, getrandom::Error> {
        let (session, csrf) = (token.derived("session"), Secret::random()?);
        Ok(Gate { hosts, session, csrf, token, cookie: format!("lop-{port}"), is_encrypted })
    }

    /// Returns the token of the address that the user opens.
    pub(crate) fn token(&self) -> &str {
        self.token.digits()
    }

    /// Returns the secret that pages send in [`CSRF_HEADER`].
    pub(crate) fn csrf(&self) -> &str {
        self.csrf.digits()
    }

    fn admits(&self, request: &Request) -> Result<(), Refused> {
        let headers = request.headers();
        let host = single_header(headers, &HOST).filter(|host| self.hosts.contain(host));
        let host = host.ok_or(Refused::Host)?;
        // A request to a proxy has the address of the server in its first line.
        let named = request.uri().authority();
        if named.is_some_and(|named| !named.as_str().eq_ignore_ascii_case(host)) {
            return Err(Refused::Host);
        }
        if let Some(token) = query_token(request) {
            return Err(if self.token.is(&token) && *request.method() == Method::GET {
                Refused::Redirect(path_without_token(request))
            } else {
                Refused::WrongToken
            });
        }
        let bearer =
            single_header(headers, &AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
        match bearer {
            // A browser never sends this header by itself, so the request comes from a program.
            Some(token) if self.token.is(token) => return Ok(()),
            Some(_) => return Err(Refused::WrongToken),
            None => {}
        }
        match self.cookie(headers) {
            Some(true) => {}
            Some(false) => return Err(Refused::OldCookie),
            None => return Err(Refused::NoToken),
        }
        if single_header(headers, &SEC_FETCH)
            .is_some_and(|from| !matches!(from, "same-origin" | "none"))
        {
            return Err(Refused::Origin);
        }
        match *request.method() {
            Method::GET | Method::HEAD => Ok(()),
            Method::POST => self.admits_change(headers, host),
            _ => Err(Refused::Method),
        }
    }

    fn admits_change(&self, headers: &HeaderMap, host: &str) -> Result<(), Refused> {
        let is_own = |origin: &str| {
            let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            rest.is_some_and(|rest| rest.eq_ignore_ascii_case(host))
        };
        let has_origin = headers.contains_key(ORIGIN);
        if has_origin && !single_header(headers, &ORIGIN).is_some_and(is_own) {
            return Err(Refused::Origin);
        }
        if !has_origin && !headers.contains_key(SEC_FETCH) {
            return Err(Refused::Origin);
        }
        if !single_header(headers, &CSRF_HEADER).is_some_and(|secret| self.csrf.is(secret)) {
            return Err(Refused::Csrf);
        }
        let kind = single_header(headers, &CONTENT_TYPE).unwrap_or_default();
        let is_json = kind.split(';').next().is_some_and(|kind| kind.trim() == "application/json");
        if is_json { Ok(()) } else { Err(Refused::ContentType) }
    }

    /// Returns whether the cookie of this server is right, or `None` if there is no such cookie.
    fn cookie(&self, headers: &HeaderMap) -> Option<bool> {
        let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
        let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| {
            let (name, value) = pair.trim().split_once('=')?;
            (name == self.cookie).then_some(value)
        });
        pairs.map(|value| self.session.is(value)).reduce(|any, is_right| any || is_right)
    }

    fn redirect(&self, to: &str) -> Response {
        let secure = if self.is_encrypted { "; Secure" } else { "" };
        let session = self.session.digits();
        let cookie =
            format!("{}={session}; Path=/; HttpOnly; SameSite=Strict{secure}", self.cookie);
        (StatusCode::SEE_OTHER, [(LOCATION, to.to_owned()), (SET_COOKIE, cookie)]).into_response()
    }
}

/// The reason why a request does not reach its handler.
#[derive(Debug, PartialEq, Eq)]
enum Refused {
    /// The host is not this server's.
    Host,
    /// The token was right. The browser gets the cookie and is sent to this path.
    Redirect(String),
    WrongToken,
    NoToken,
    /// The cookie is that of an earlier start of the server.
    OldCookie,
    /// The request comes from a page of another server.
    Origin,
    Csrf,
    ContentType,
    Method,
}

/// Passes a request on if the gate admits it. Adds the security headers to every response.
pub(crate) async fn pass(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    let mut response = match gate.admits(&request) {
        Ok(()) => next.run(request).await,
        Err(refused) => {
            let wants_page = wants_page(&request);
            refuse(&gate, refused, wants_page).await
        }
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        let is_own_policy = name == CACHE_CONTROL.as_str() || name == "content-security-policy";
        if !(is_own_policy && headers.contains_key(name)) {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
    response
}

/// Answers a request that does not reach its handler. The answer contains nothing about the catalog, because
/// anyone in the network can read it.
async fn refuse(gate: &Gate, refused: Refused, wants_page: bool) -> Response {
    let (status, text, advice) = match refused {
        Refused::Redirect(to) => return gate.redirect(&to),
        Refused::Host => (
            StatusCode::MISDIRECTED_REQUEST,
            "This host name is not allowed",
            "Open the address that lop serve printed. To use another name, start lop with --allow-host NAME.",
        ),
        Refused::WrongToken => {
            tokio::time::sleep(WRONG_TOKEN_DELAY).await;
            (
                StatusCode::FORBIDDEN,
                "Wrong token",
                "Open the address that lop serve printed when it started. Each start has a new token.",
            )
        }
        Refused::NoToken => (
            StatusCode::UNAUTHORIZED,
            "This page needs a token",
            "Open the address that lop serve printed, including everything after ?token=.",
        ),
        Refused::OldCookie => (
            StatusCode::UNAUTHORIZED,
            "lop serve was started again",
            "Open the address that it printed.",
        ),
        Refused::Origin => (
            StatusCode::FORBIDDEN,
            "This request came from another site",
            "Open the page itself and try again.",
        ),
        Refused::Csrf => (
            StatusCode::FORBIDDEN,
            "This page is older than the server",
            "lop serve was started again. Reload the page.",
        ),
        Refused::ContentType => (
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "Changes are sent as JSON",
            "Set the content type application/json.",
        ),
        Refused::Method => (
            StatusCode::METHOD_NOT_ALLOWED,
            "Method not allowed",
            "This server answers GET, HEAD and POST.",
        ),
    };
    if wants_page {
        bare_page(status, text, advice)
    } else {
        PageError::new(status, text, advice).into_response()
    }
}

/// Returns the value of a header that occurs exactly once and is ASCII text.
pub(crate) fn single_header<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    if values.next().is_some() { None } else { value.to_str().ok() }
}

/// Returns the token in the query of the address.
fn query_token(request: &Request) -> Option<String> {
    let mut pairs = request.uri().query()?.split('&');
    pairs.find_map(|pair| pair.strip_prefix("token=")).map(str::to_owned)
}

/// Returns the path and query of the address without the token. The path starts with exactly one
/// slash, because browsers take `//name` for another host.
fn path_without_token(request: &Request) -> String {
    let uri = request.uri();
    let rest = uri.query().unwrap_or_default().split('&');
    let rest: Vec<&str> = rest.filter(|pair| !pair.starts_with("token=")).collect();
    let path = format!("/{}", uri.path().trim_start_matches(['/', '\\']));
    if rest.is_empty() { path } else { format!("{path}?{}", rest.join("&")) }
}

#[cfg(test)]
mod tests;
