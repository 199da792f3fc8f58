//! Tests of the access rules.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use httpd::hosts::Hosts;
use httpd::secret::Secret;
use httpd::server::OwnedRequest;

use super::Access;

fn access(token: Option<&Secret>) -> Access {
    let hosts = Hosts::new([127, 0, 0, 1].into(), &["nas.example".to_owned()]);
    Access::new(Some(hosts), token.cloned(), 8421, false)
}

/// Returns the status and the head of the response, or `None` if the request is answered.
fn check(access: &Access, target: &str, fields: &str) -> Option<(u16, String)> {
    let head = format!("GET {target} HTTP/1.1\r\nHost: localhost:8421\r\n{fields}\r\n");
    check_head(access, &head)
}

fn check_head(access: &Access, head: &str) -> Option<(u16, String)> {
    let request = OwnedRequest::of(head.as_bytes()).expect("a request");
    let response = access.check(&request.get().expect("a request"))?;
    Some((response.status(), String::from_utf8_lossy(&response.head).into_owned()))
}

fn status(answer: Option<(u16, String)>) -> Option<u16> {
    answer.map(|(status, _)| status)
}

#[test]
fn only_requests_for_this_server_are_answered() {
    for access in [access(None), access(Some(&Secret::random().expect("random")))] {
        for host in ["evil.example", "192.168.1.2", "", "localhost.evil.example"] {
            let head = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
            assert_eq!(status(check_head(&access, &head)), Some(421), "{host}");
            let head = format!("GET http://{host}x/ HTTP/1.1\r\nHost: localhost\r\n\r\n");
            assert_eq!(status(check_head(&access, &head)), Some(421), "{host} in the target");
        }
    }
    let public = access(None);
    for host in ["localhost", "127.0.0.1:8421", "nas.example:443"] {
        assert!(check_head(&public, &format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n")).is_none());
    }
    assert!(check_head(&public, "GET / HTTP/1.0\r\n\r\n").is_none());
    let proxied = Access::new(None, None, 0, false);
    assert!(check_head(&proxied, "GET / HTTP/1.1\r\nHost: any.example\r\n\r\n").is_none());
}

#[test]
fn programs_send_the_token_in_one_of_three_ways() {
    let secret = Secret::random().expect("random");
    let (access, token) = (access(Some(&secret)), secret.digits());
    assert!(check(&access, &format!("/f?token={token}"), "").is_none());
    assert!(check(&access, &format!("/f?tar&token={token}"), "Accept: */*\r\n").is_none());
    assert!(check(&access, "/f", &format!("Authorization: Bearer {token}\r\n")).is_none());
    let basic = BASE64_STANDARD.encode(format!("me:{token}"));
    assert!(check(&access, "/f", &format!("Authorization: basic {basic}\r\n")).is_none());
}

#[test]
fn a_browser_gets_a_cookie_and_an_address_without_the_token() {
    let secret = Secret::random().expect("random");
    let (access, token) = (access(Some(&secret)), secret.digits());
    let html = "Accept: text/html,*/*\r\n";
    for (target, expected) in [
        (format!("/?token={token}"), "/"),
        (format!("/a%20b/?sort=size&token={token}&order=asc"), "/a%20b/?sort=size&order=asc"),
        (format!("//evil.example/?token={token}"), "/evil.example/"),
        (format!("/\\evil.example/?token={token}"), "/evil.example/"),
        (format!("/\u{80}?token={token}"), "/%C2%80"),
    ] {
        let (status, head) = check(&access, &target, html).expect("a redirection");
        assert_eq!(status, 303);
        assert!(head.contains(&format!("location: {expected}\r\n")), "{head}");
        let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: "));
        let cookie = cookie.expect("a cookie").split(';').next().expect("a pair");
        assert!(!cookie.contains(token));
        let field = format!("Cookie: other=1; {cookie}\r\n");
        assert!(check(&access, expected, &field).is_none());
    }
}

#[test]
fn without_the_token_no_request_is_answered() {
    let secret = Secret::random().expect("random");
    let (access, token) = (access(Some(&secret)), secret.digits());
    let basic = BASE64_STANDARD.encode(format!("{token}:"));
    for (target, fields) in [
        ("/", String::new()),
        ("/?token=", String::new()),
        ("/?token=0", String::new()),
        ("/", format!("Cookie: lop-8421={token}\r\n")),
        ("/", format!("Cookie: lop-8420={}\r\n", secret.derived("session").digits())),
        ("/", format!("Authorization: {token}\r\n")),
        ("/", format!("Authorization: Basic {token}\r\n")),
        ("/", format!("Authorization: Basic {basic}\r\n")),
        ("/", format!("Authorization: Digest {token}\r\n")),
        ("/", "Authorization: Bearer\r\n".to_owned()),
        ("/", format!("Authorization: Bearer {token}0\r\n")),
    ] {
        let (status, head) = check(&access, target, &fields).expect("no answer");
        assert_eq!(status, 401, "{fields}");
        assert!(head.contains("www-authenticate: Basic"));
    }
    let wrong = format!("/?token={}", &token[1..]);
    assert_eq!(status(check(&access, &wrong, "Accept: text/html\r\n")), Some(401));
}
