//! Decides which requests are answered: those for a name of this server, and with the token if there is one.
//!
//! A browser sends the token once, in the address. It gets a cookie, and an address without the token, so that the
//! token does not stay in its history. Programs send the token in the address each time, in `Authorization: Bearer`,
//! or as the password of a user of any name. The server changes nothing, so requests need no further protection from
//! other sites: they cannot read the answers.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use httpd::hosts::Hosts;
use httpd::percent;
use httpd::secret::Secret;
use httpd::server::{Head, Request, Response};

use crate::notices;

/// The rules for requests.
#[derive(Debug)]
pub(crate) struct Access {
    /// The hosts of the server. `None` behind a proxy, which has checked the host.
    hosts: Option<Hosts>,
    token: Option<Token>,
}

/// The token, and the cookie for browsers that had it.
#[derive(Debug)]
struct Token {
    secret: Secret,
    session: Secret,
    cookie: String,
    is_encrypted: bool,
}

impl Access {
    /// Returns the rules of a server. `token` is `None` for a server that everyone may use. `port` is part
    /// of the name of the cookie, because browsers send cookies to all ports of a host. `is_encrypted` keeps
    /// the cookie out of connections without encryption.
    pub(crate) fn new(
        hosts: Option<Hosts>,
        token: Option<Secret>,
        port: u16,
        is_encrypted: bool,
    ) -> Access {
        let token = token.map(|secret| {
            let (session, cookie) = (secret.derived("session"), format!("lop-{port}"));
            Token { secret, session, cookie, is_encrypted }
        });
        Access { hosts, token }
    }

    /// Returns the token.
    pub(crate) fn token(&self) -> Option<&str> {
        self.token.as_ref().map(|token| token.secret.digits())
    }

    /// Checks a request. Returns the response if the request is not to be answered.
    pub(crate) fn check(&self, request: &Request<'_>) -> Option<Response> {
        if let (Some(hosts), Some(host)) = (&self.hosts, request.host) {
            let host = std::str::from_utf8(host).ok();
            // A request without a host comes from a program that speaks HTTP/1.0.
            if !host.is_some_and(|host| hosts.contain(host)) {
                return Some(foreign_host(request));
            }
        }
        self.token.as_ref()?.check(request)
    }
}

impl Token {
    fn check(&self, request: &Request<'_>) -> Option<Response> {
        if let Some(token) = token_of(request.query) {
            return match self.is(token) {
                true if notices::wants_page(request) => Some(self.redirect(request)),
                true => None,
                false => Some(wrong_token(request)),
            };
        }
        if request.cookie.is_some_and(|cookie| self.is_cookie(cookie)) {
            return None;
        }
        match request.authorization.map(credentials) {
            Some(given) if given.as_deref().is_some_and(|given| self.is(given)) => None,
            Some(_) => Some(wrong_token(request)),
            None => Some(no_token(request)),
        }
    }

    fn is(&self, text: &[u8]) -> bool {
        std::str::from_utf8(text).is_ok_and(|text| self.secret.is(text))
    }

    fn is_cookie(&self, line: &[u8]) -> bool {
        let pairs = line.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
        let values = pairs.filter_map(|pair| {
            pair.strip_prefix(self.cookie.as_bytes()).and_then(|rest| rest.strip_prefix(b"="))
        });
        let mut texts = values.filter_map(|value| std::str::from_utf8(value).ok());
        texts.any(|text| self.session.is(text))
    }

    /// Returns a response that gives a browser the cookie, and sends it to the address without the token.
    fn redirect(&self, request: &Request<'_>) -> Response {
        // The cookie is also sent when the user follows a link from another site (`Lax`). It is not sent for what
        // pages of other sites embed.
        let secure = if self.is_encrypted { "; Secure" } else { "" };
        let (name, session) = (&self.cookie, self.session.digits());
        let cookie = format!("{name}={session}; Path=/; HttpOnly; SameSite=Lax{secure}");
        let head = Head::new(303).field("location", without_token(request));
        head.field("set-cookie", cookie).field("cache-control", "no-store").with_bytes(*b"")
    }
}

/// Returns the token in a query.
fn token_of(query: Option<&[u8]>) -> Option<&[u8]> {
    query?.split(|&byte| byte == b'&').find_map(|pair| pair.strip_prefix(b"token="))
}

/// Returns the address of a request without the token. Browsers take `//name` for another host, so the path
/// begins with one slash.
fn without_token(request: &Request<'_>) -> String {
    // Bytes that are no plain ASCII are encoded, because they could end the field.
    let plain = |bytes: &[u8]| percent::encode(bytes, |byte| byte.is_ascii_graphic());
    let start = request.path.iter().position(|byte| !matches!(byte, b'/' | b'\\'));
    let mut to = format!("/{}", plain(start.map_or(&[], |start| &request.path[start..])));
    let parts = request.query.unwrap_or_default().split(|&byte| byte == b'&');
    let parts = parts.filter(|part| !part.is_empty() && !part.starts_with(b"token="));
    for (part, separator) in parts.zip(std::iter::once('?').chain(std::iter::repeat('&'))) {
        to.push(separator);
        to.push_str(&plain(part));
    }
    to
}

/// Returns the token of `Bearer`, or the password of `Basic`.
fn credentials(value: &[u8]) -> Option<Vec<u8>> {
    let space = value.iter().position(|&byte| byte == b' ')?;
    let (scheme, rest) = (&value[..space], value[space..].trim_ascii());
    if scheme.eq_ignore_ascii_case(b"bearer") {
        return Some(rest.to_vec());
    }
    if !scheme.eq_ignore_ascii_case(b"basic") {
        return None;
    }
    let decoded = BASE64_STANDARD.decode(rest).ok()?;
    let colon = decoded.iter().position(|&byte| byte == b':')?;
    Some(decoded[colon + 1..].to_vec())
}

fn foreign_host(request: &Request<'_>) -> Response {
    let advice = "Open the address that lop share printed. To use another name, start lop with --allow-host NAME.";
    notices::error(request, 421, "This host name is not allowed", advice)
}

fn wrong_token(request: &Request<'_>) -> Response {
    let advice = "Open the address that lop share printed when it started. Each start has a new token, unless the \
                  token is kept in a file.";
    unauthorized(request, "Wrong token", advice)
}

fn no_token(request: &Request<'_>) -> Response {
    let advice = "Open the address that lop share printed, including everything after ?token=, or use the token as password.";
    unauthorized(request, "This page needs a token", advice)
}

fn unauthorized(request: &Request<'_>, title: &str, advice: &str) -> Response {
    // Download programs ask for a password then, and browsers show a form.
    let head = Head::new(401).field("www-authenticate", "Basic realm=\"lop share\"");
    notices::error_in(head, request, 401, title, advice)
}

#[cfg(test)]
mod tests;
