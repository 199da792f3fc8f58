//! Tests which requests the gate admits, over all combinations of host, origin and token.

use axum::body::Body;
use axum::extract::Request;
use axum::http::Method;

use httpd::hosts::Hosts;
use httpd::secret::Secret;

use super::{Gate, Refused};

fn gate() -> Gate {
    let token = Secret::random().expect("random");
    gate_with(token)
}

fn gate_with(token: Secret) -> Gate {
    Gate::new(Hosts::new([127, 0, 0, 1].into(), &[]), 8080, token, false).expect("random")
}

/// A request of a page of the server that changes something.
fn change(gate: &Gate) -> axum::http::request::Builder {
    Request::builder()
        .method(Method::POST)
        .uri("/api/decide")
        .header("host", "127.0.0.1:8080")
        .header("cookie", format!("other=1; lop-8080={}", gate.session.digits()))
        .header("origin", "http://127.0.0.1:8080")
        .header("sec-fetch-site", "same-origin")
        .header("x-lop-csrf", gate.csrf())
        .header("content-type", "application/json; charset=utf-8")
}

/// The same request with one header replaced, or without it.
fn changed(gate: &Gate, name: &'static str, value: Option<&str>) -> Result<(), Refused> {
    let mut request = change(gate).body(Body::empty()).expect("request");
    request.headers_mut().remove(name);
    if let Some(value) = value {
        request.headers_mut().insert(name, value.parse().expect("header"));
    }
    gate.admits(&request)
}

#[test]
fn a_page_of_the_server_may_change_things() {
    let gate = gate();
    assert_eq!(gate.admits(&change(&gate).body(Body::empty()).expect("request")), Ok(()));
    assert_eq!(changed(&gate, "origin", None), Ok(()), "same-origin is proof enough");
    assert_eq!(changed(&gate, "sec-fetch-site", None), Ok(()), "plain http in a network");
}

#[test]
fn a_change_needs_every_proof() {
    let gate = gate();
    for (name, value, refused) in [
        ("host", None, Refused::Host),
        ("host", Some("evil.example"), Refused::Host),
        ("cookie", None, Refused::NoToken),
        ("cookie", Some("lop-8080=0000"), Refused::OldCookie),
        ("cookie", Some("lop-8081=0000"), Refused::NoToken),
        ("origin", Some("http://evil.example"), Refused::Origin),
        ("origin", Some("http://127.0.0.1:9999"), Refused::Origin),
        ("origin", Some("http://localhost:8080"), Refused::Origin),
        ("origin", Some("null"), Refused::Origin),
        ("sec-fetch-site", Some("cross-site"), Refused::Origin),
        ("sec-fetch-site", Some("same-site"), Refused::Origin),
        ("x-lop-csrf", None, Refused::Csrf),
        ("x-lop-csrf", Some("0"), Refused::Csrf),
        ("content-type", None, Refused::ContentType),
        ("content-type", Some("text/plain"), Refused::ContentType),
        ("content-type", Some("application/jsonx"), Refused::ContentType),
    ] {
        assert_eq!(changed(&gate, name, value), Err(refused), "{name}: {value:?}");
    }
}

#[test]
fn a_change_without_any_origin_is_refused() {
    let gate = gate();
    let mut request = change(&gate).body(Body::empty()).expect("request");
    request.headers_mut().remove("origin");
    request.headers_mut().remove("sec-fetch-site");
    assert_eq!(gate.admits(&request), Err(Refused::Origin));
}

#[test]
fn a_header_that_occurs_twice_proves_nothing() {
    let gate = gate();
    for (name, refused) in [
        ("host", Refused::Host),
        ("origin", Refused::Origin),
        ("x-lop-csrf", Refused::Csrf),
        ("content-type", Refused::ContentType),
    ] {
        let mut request = change(&gate).body(Body::empty()).expect("request");
        let value = request.headers()[name].clone();
        request.headers_mut().append(name, value);
        assert_eq!(gate.admits(&request), Err(refused), "{name}");
    }
}

#[test]
fn a_request_that_names_two_hosts_is_refused() {
    let gate = gate();
    let admits = |uri: &str| {
        let request = change(&gate).uri(uri).body(Body::empty()).expect("request");
        gate.admits(&request)
    };
    assert_eq!(admits("http://127.0.0.1:8080/api/decide"), Ok(()));
    for other in
        ["http://evil.example/api/decide", "http://localhost:8080/", "http://a@127.0.0.1:8080/"]
    {
        assert_eq!(admits(other), Err(Refused::Host), "{other}");
    }
}

#[test]
fn the_token_is_exchanged_for_a_cookie_once() {
    let gate = gate();
    let get = |uri: &str| {
        Request::get(uri).header("host", "localhost").body(Body::empty()).expect("request")
    };
    let token = gate.token();
    let admits = |uri: String| gate.admits(&get(&uri));
    assert_eq!(admits(format!("/?token={token}")), Err(Refused::Redirect("/".into())));
    let filtered = format!("/groups?filter=a&token={token}&sort=size");
    assert_eq!(admits(filtered), Err(Refused::Redirect("/groups?filter=a&sort=size".into())));
    let elsewhere = format!("//evil.example/?token={token}");
    assert_eq!(admits(elsewhere), Err(Refused::Redirect("/evil.example/".into())));
    assert_eq!(admits("/?token=".into()), Err(Refused::WrongToken));
    assert_eq!(admits(format!("/?token={token}0")), Err(Refused::WrongToken));
    assert_eq!(admits(format!("/?token={}", gate.session.digits())), Err(Refused::WrongToken));
    assert_eq!(admits("/".into()), Err(Refused::NoToken));
    assert_eq!(admits("/assets/app.css".into()), Err(Refused::NoToken), "static files too");
}

#[test]
fn a_program_may_send_the_token_in_a_header() {
    let gate = gate();
    let with = |token: &str| {
        let request = Request::post("/api/decide").header("host", "localhost");
        let request = request.header("authorization", format!("Bearer {token}"));
        gate.admits(&request.body(Body::empty()).expect("request"))
    };
    assert_eq!(with(gate.token()), Ok(()));
    assert_eq!(with(gate.session.digits()), Err(Refused::WrongToken));
}

#[test]
fn other_methods_are_refused() {
    let gate = gate();
    for method in [Method::PUT, Method::DELETE, Method::OPTIONS, Method::PATCH, Method::TRACE] {
        let request = change(&gate).method(method).body(Body::empty()).expect("request");
        assert_eq!(gate.admits(&request), Err(Refused::Method));
    }
}

#[test]
fn a_page_of_an_earlier_server_can_be_read_again_but_changes_nothing() {
    let earlier = gate();
    let gate = gate_with(earlier.token.clone());
    assert!(gate.session.is(earlier.session.digits()), "the cookie of a kept token stays valid");
    assert_eq!(changed(&gate, "x-lop-csrf", Some(earlier.csrf())), Err(Refused::Csrf));
}
