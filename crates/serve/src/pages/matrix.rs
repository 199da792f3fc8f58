//! Tests the rules of docs/serve.md about security for each route, method, host, origin and credential. The
//! tests restate the rules and use no code of the gate.

mod routes;
mod table;

use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use futures_util::future::join_all;
use testkit::{Compare, Snapshot, TreeBuilder, assert_same};
use tower::ServiceExt;

use self::routes::Route;
use self::table::ROUTES;
use crate::testing::TestServer;

/// A file of the scanned tree.
const FILE: &str = "private/a";

const OWN: &str = "http://127.0.0.1:8080";

const METHODS: [Method; 6] =
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS];

/// Hosts, and whether they are the server's.
const HOSTS: [(Option<&str>, bool); 8] = [
    (Some("127.0.0.1:8080"), true),
    (Some("evil.example"), false),
    (Some("192.168.1.1:8080"), false),
    (Some("127.0.0.1.nip.io:8080"), false),
    (Some("localhost.evil"), false),
    (Some("127.0.0.1:8080, evil.example"), false),
    (Some(""), false),
    (None, false),
];

/// Values of `Origin`, and whether they are the server's.
const ORIGINS: [(Option<&str>, bool); 6] = [
    (None, false),
    (Some(OWN), true),
    (Some("null"), false),
    (Some("http://evil.example"), false),
    (Some("http://127.0.0.1:9999"), false),
    (Some("http://127.0.0.1:8080.evil.example"), false),
];

/// Values of `Sec-Fetch-Site`, and whether the browser vouches for the page with them.
const FETCHES: [(Option<&str>, bool); 5] = [
    (None, true),
    (Some("none"), true),
    (Some("same-origin"), true),
    (Some("same-site"), false),
    (Some("cross-site"), false),
];

/// The credentials that a request contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Proof {
    Nothing,
    WrongToken,
    WrongBearer,
    /// The secret in the cookie of a server on another port.
    OtherCookie,
    /// The cookie, as any page makes the browser send it.
    Cookie,
    /// The cookie, and the secret of the pages of another start of the server.
    OldPage,
    /// The cookie, and the secret of a page, but a body that any page can send.
    FormOfPage,
    /// The credentials that a page of this server sends.
    Page,
    /// The token in a header that only programs send.
    Bearer,
}

const PROOFS: [Proof; 9] = [
    Proof::Nothing,
    Proof::WrongToken,
    Proof::WrongBearer,
    Proof::OtherCookie,
    Proof::Cookie,
    Proof::OldPage,
    Proof::FormOfPage,
    Proof::Page,
    Proof::Bearer,
];

/// One request of the matrix.
#[derive(Clone, Debug)]
struct Case {
    method: Method,
    host: (Option<&'static str>, bool),
    origin: (Option<&'static str>, bool),
    fetch: (Option<&'static str>, bool),
    proof: Proof,
}

impl Case {
    fn all() -> Vec<Case> {
        let mut cases = Vec::new();
        for method in METHODS {
            for host in HOSTS {
                for origin in ORIGINS {
                    for fetch in FETCHES {
                        for proof in PROOFS {
                            cases.push(Case { method: method.clone(), host, origin, fetch, proof });
                        }
                    }
                }
            }
        }
        cases
    }

    /// Whether a handler may see the request.
    fn is_admitted(&self) -> bool {
        if !self.host.1 {
            return false;
        }
        match self.proof {
            Proof::Bearer => true,
            Proof::Cookie | Proof::OldPage | Proof::FormOfPage | Proof::Page if self.fetch.1 => {
                match self.method {
                    Method::GET | Method::HEAD => true,
                    Method::POST => self.proof == Proof::Page && self.is_from_own_page(),
                    _ => false,
                }
            }
            _ => false,
        }
    }

    /// Whether the browser says that a page of this server sends the request.
    fn is_from_own_page(&self) -> bool {
        self.origin.1 || (self.origin.0.is_none() && self.fetch.0.is_some())
    }

    fn request(&self, secrets: &Secrets, route: &Route) -> Request<Body> {
        let mut uri = route.uri.clone();
        if self.proof == Proof::WrongToken {
            uri = format!(
                "{uri}{}token={}",
                if uri.contains('?') { '&' } else { '?' },
                "0".repeat(64)
            );
        }
        let mut request = Request::builder().method(self.method.clone()).uri(uri);
        let kind = if self.proof == Proof::FormOfPage { "text/plain" } else { "application/json" };
        let (cookie, csrf, bearer) = self.secrets(secrets);
        for (name, value) in [
            ("host", self.host.0),
            ("accept", Some("text/html")),
            ("origin", self.origin.0),
            ("sec-fetch-site", self.fetch.0),
            ("content-type", Some(kind)),
            ("cookie", cookie.as_deref()),
            ("x-lop-csrf", csrf.as_deref()),
            ("authorization", bearer.as_deref()),
        ] {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        request.body(Body::from(route.body.clone())).expect("a request")
    }

    /// Returns the cookie, the secret of the pages, and the token in a header.
    fn secrets(&self, secrets: &Secrets) -> (Option<String>, Option<String>, Option<String>) {
        let Secrets { cookie, csrf, token } = secrets;
        let bearer = |token: &str| Some(format!("Bearer {token}"));
        match self.proof {
            Proof::Nothing | Proof::WrongToken => (None, None, None),
            Proof::WrongBearer => (Some(cookie.clone()), Some(csrf.clone()), bearer(csrf)),
            Proof::OtherCookie => (Some(cookie.replace("8080", "8081")), Some(csrf.clone()), None),
            Proof::Cookie => (Some(cookie.clone()), None, None),
            Proof::OldPage => (Some(cookie.clone()), Some("0".repeat(64)), None),
            Proof::FormOfPage | Proof::Page => (Some(cookie.clone()), Some(csrf.clone()), None),
            Proof::Bearer => (None, None, bearer(token)),
        }
    }
}

/// The secrets of a server.
struct Secrets {
    cookie: String,
    csrf: String,
    token: String,
}

/// An answer, and what it answers.
struct Answered {
    case: Case,
    status: StatusCode,
    headers: HeaderMap,
    text: String,
}

impl Secrets {
    fn of(served: &TestServer) -> Secrets {
        let token = served.gate.token().to_owned();
        let request = Request::get(format!("/?token={token}")).header("host", "127.0.0.1:8080");
        let answer = served.runtime.block_on(async {
            let request = request.body(Body::empty()).expect("a request");
            served.router.clone().oneshot(request).await.expect("never fails")
        });
        let cookie = answer.headers()["set-cookie"].to_str().expect("ASCII");
        let cookie = cookie.split(';').next().expect("a pair").to_owned();
        Secrets { cookie, csrf: served.gate.csrf().to_owned(), token }
    }
}

/// Sends the requests at the same time.
fn send(served: &TestServer, secrets: &Secrets, route: &Route, cases: Vec<Case>) -> Vec<Answered> {
    served.runtime.block_on(join_all(cases.into_iter().map(async |case| {
        let request = case.request(secrets, route);
        let answer = served.router.clone().oneshot(request).await.expect("never fails");
        let (head, body) = answer.into_parts();
        let body = to_bytes(body, usize::MAX).await.expect("a body");
        let text = String::from_utf8_lossy(&body).into_owned();
        Answered { case, status: head.status, headers: head.headers, text }
    })))
}

/// Everything that a request could change: the files, the catalog and the files beside it, and the jobs.
fn everything(served: &TestServer) -> (Snapshot, Snapshot, String) {
    let jobs = served.app.jobs.list();
    let jobs = serde_json::to_string(&jobs.iter().map(|job| &**job).collect::<Vec<_>>());
    let jobs = jobs.expect("JSON");
    (Snapshot::of(&served.tree), Snapshot::of(&served.state), jobs)
}

fn served() -> TestServer {
    let tree = TreeBuilder::new();
    let tree = tree.file("private/a", "secret text").file("private/b", "secret text");
    TestServer::scanned(&tree)
}

fn assert_refused(answered: &Answered, secrets: &Secrets, route: &Route) {
    let Answered { case, status, headers, text } = answered;
    let refusals = [401, 403, 405, 415, 421];
    assert!(refusals.contains(&status.as_u16()), "{} {case:?}: {status}", route.uri);
    for secret in ["private", "secret text", &secrets.csrf, &secrets.token] {
        assert!(!text.contains(secret), "{} {case:?}: {text}", route.uri);
    }
    assert!(!headers.contains_key("set-cookie"), "{} {case:?}", route.uri);
}

#[test]
fn only_requests_with_all_proofs_reach_a_page_and_only_changes_change_anything() {
    let served = served();
    let (secrets, routes) = (Secrets::of(&served), routes::of(&served, FILE));
    let before = everything(&served);
    for route in &routes {
        let is_change = |case: &Case| case.is_admitted() && case.method == Method::POST;
        let cases = Case::all().into_iter().filter(|case| !is_change(case)).collect();
        for answered in &send(&served, &secrets, route, cases) {
            let Answered { case, status, headers, .. } = answered;
            if !case.is_admitted() {
                assert_refused(answered, &secrets, route);
            } else if case.method == route.method {
                assert!(
                    !matches!(status.as_u16(), 401 | 403 | 405 | 415 | 421),
                    "{case:?} {status}"
                );
            }
            assert!(headers.contains_key("content-security-policy"), "{} {case:?}", route.uri);
            let shared = headers.keys().find(|name| name.as_str().starts_with("access-control-"));
            assert_eq!(shared, None, "{} {case:?}", route.uri);
        }
    }
    let after = everything(&served);
    assert_same(&before.0, &after.0, Compare::ALL);
    assert_same(&before.1, &after.1, Compare::ALL);
    assert_eq!(before.2, after.2, "no job was started");
}

#[test]
fn a_page_with_all_proofs_can_change_things() {
    let served = served();
    let (secrets, routes) = (Secrets::of(&served), routes::of(&served, FILE));
    for route in routes.iter().filter(|route| route.method == Method::POST) {
        let before = everything(&served);
        let changes = |case: &Case| case.is_admitted() && case.method == Method::POST;
        let cases: Vec<Case> = Case::all().into_iter().filter(changes).collect();
        assert!(cases.len() > 5);
        for Answered { case, status, .. } in send(&served, &secrets, route, cases) {
            let refused = matches!(status.as_u16(), 401 | 403 | 405 | 415 | 421);
            assert!(!refused, "{} {case:?}: {status}", route.uri);
        }
        served.wait_for_jobs();
        assert_eq!(everything(&served) != before, route.changes, "{}", route.uri);
    }
}

#[test]
fn the_table_has_each_route_of_the_source_and_each_is_served() {
    assert_eq!(routes::in_source(), routes::in_table());
    let served = served();
    for route in routes::of(&served, FILE) {
        let answer = served.ask(route.method.clone(), &route.uri, &[]);
        assert_ne!(answer.status, StatusCode::METHOD_NOT_ALLOWED, "{}", route.uri);
        assert!(!answer.text().contains("This page does not exist"), "{}", route.uri);
    }
    assert!(ROUTES.len() > 40);
}

/// Names that would end an element or an attribute, hide their end, or are not UTF-8.
const HOSTILE: [&[u8]; 4] = [
    b"private<img src=x onerror=alert(1)>",
    b"private\" onmouseover=\"alert(1)\"\n' onclick='x",
    "private\u{202e}gpj.exe\u{1b}[2J".as_bytes(),
    b"private\xff&lt;script>",
];

#[test]
fn hostile_names_stay_text_on_every_route() {
    let mut tree = TreeBuilder::new();
    for name in HOSTILE {
        tree = tree.file([name, b"/", name].concat(), "secret text");
    }
    let served = TestServer::scanned(&tree);
    let first = String::from_utf8_lossy(HOSTILE[0]);
    let file = format!("{first}/{first}");
    let mut shown = 0;
    for route in routes::of(&served, &file).iter().filter(|route| route.method == Method::GET) {
        let answer = served.ask(Method::GET, &route.uri, &[]);
        let text = answer.text();
        // Values of attributes are in double quotes, so single ones need no escape.
        for raw in ["<img src=x", "\" onmouseover=", "\u{202e}", "\u{1b}", "<script>"] {
            assert!(!text.contains(raw), "{raw:?} in {}: {text}", route.uri);
        }
        shown += usize::from(text.contains("&lt;img src=x"));
        if answer.header("content-type") == "application/json" {
            serde_json::from_slice::<serde_json::Value>(&answer.body).expect("JSON");
        }
    }
    assert!(shown >= 5, "{shown} answers show the names");
}
