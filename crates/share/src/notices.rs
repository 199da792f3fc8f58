//! Pages that are no listings: errors and statistics.

use httpd::server::{Head, Request, Response};
use maud::{Markup, html};

use crate::frame::{common, respond};

/// Returns a response to a request that has failed: a page for a browser, and text for programs. `advice` tells the
/// reader what to do.
pub(crate) fn error(request: &Request<'_>, status: u16, title: &str, advice: &str) -> Response {
    error_in(Head::new(status), request, status, title, advice)
}

/// Like [`error`], for a head with further fields, such as `WWW-Authenticate`.
pub(crate) fn error_in(
    head: Head,
    request: &Request<'_>,
    status: u16,
    title: &str,
    advice: &str,
) -> Response {
    if !wants_page(request) {
        let head = common(head.field("content-type", "text/plain; charset=utf-8"));
        return head.with_bytes(format!("{title}\n{advice}\n").into_bytes());
    }
    // After other errors, that page would have the same error.
    let has_start = matches!(status, 403 | 404);
    let body = html! {
        main.notice {
            h1 { (title) }
            p { (advice) }
            @if has_start { p { a href="/" { "Go to the first page" } } }
        }
    };
    respond(head, title, &body)
}

/// Returns whether a request comes from a browser that loads a page.
pub(crate) fn wants_page(request: &Request<'_>) -> bool {
    const PAGE: &[u8] = b"text/html";
    request.accept.is_some_and(|accept| accept.windows(PAGE.len()).any(|part| part == PAGE))
}

/// Returns a page with labels and values.
pub(crate) fn stats_page(title: &str, rows: &[(&str, String)]) -> Response {
    respond(Head::new(200), title, &stats(title, rows))
}

fn stats(title: &str, rows: &[(&str, String)]) -> Markup {
    html! {
        header { h1 { (title) } }
        main {
            table.values {
                tbody {
                    @for (label, value) in rows { tr { th scope="row" { (label) } td { (value) } } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use httpd::server::{Body, OwnedRequest, Response};

    use super::{error, stats_page};

    fn text(response: &Response) -> String {
        let Body::Bytes(body) = &response.body else { panic!("a page") };
        String::from_utf8(body.to_vec()).expect("UTF-8")
    }

    fn error_for(accept: &str, status: u16, title: &str, advice: &str) -> Response {
        let head = format!("GET / HTTP/1.1\r\nHost: a\r\nAccept: {accept}\r\n\r\n");
        let request = OwnedRequest::of(head.as_bytes()).expect("a request");
        error(&request.get().expect("a request"), status, title, advice)
    }

    #[test]
    fn an_error_has_its_status_and_advice() {
        let browser = "text/html,application/xhtml+xml,*/*;q=0.8";
        let response = error_for(browser, 404, "Not found: <b>", "Check the address & try again.");
        assert_eq!(response.status(), 404);
        let page = text(&response);
        assert!(
            page.contains("<h1>Not found: &lt;b&gt;</h1><p>Check the address &amp; try again.</p>")
        );
        assert!(page.contains("href=\"/\""));
        assert!(!text(&error_for(browser, 401, "", "")).contains("href=\"/\""));
        let response = error_for("*/*", 404, "Not found", "Check the address.");
        assert_eq!(
            (response.status(), text(&response)),
            (404, "Not found\nCheck the address.\n".into())
        );
    }

    #[test]
    fn statistics_are_a_table() {
        let page = text(&stats_page("Statistics", &[("Requests", "1,234".to_owned())]));
        assert!(page.contains("<th scope=\"row\">Requests</th><td>1,234</td>"));
    }
}
