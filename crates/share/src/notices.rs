//! Pages that are no listings: errors, the list of the shared directories, and statistics.

use httpd::server::{Head, Response};
use maud::{Markup, html};

use crate::frame::{name, respond};
use crate::listing::href;

/// Returns a page for an error. `advice` tells the reader what to do.
pub fn error_page(status: u16, title: &str, advice: &str) -> Response {
    error_page_in(Head::new(status), status, title, advice)
}

/// Like [`error_page`], for a head with further fields, such as `WWW-Authenticate`.
pub fn error_page_in(head: Head, status: u16, title: &str, advice: &str) -> Response {
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

/// Returns the page that leads to several shared directories. A name is the first component of the paths below the
/// directory.
pub fn top_page(names: &[&[u8]]) -> Response {
    let body = html! {
        header { h1 { "Shared folders" } }
        main {
            table {
                tbody {
                    @for folder in names { tr { td.d { a href=(href(folder, true)) { (name(folder)) } } } }
                }
            }
        }
    };
    respond(Head::new(200), "Shared folders", &body)
}

/// Returns a page with labels and values.
pub fn stats_page(title: &str, rows: &[(&str, String)]) -> Response {
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
    use httpd::server::{Body, Response};

    use super::{error_page, stats_page, top_page};

    fn html(response: &Response) -> String {
        let Body::Bytes(body) = &response.body else { panic!("a page") };
        String::from_utf8(body.to_vec()).expect("UTF-8")
    }

    #[test]
    fn an_error_page_has_its_status_and_advice() {
        let response = error_page(404, "Not found: <b>", "Check the address & try again.");
        assert_eq!(response.status(), 404);
        let page = html(&response);
        assert!(
            page.contains("<h1>Not found: &lt;b&gt;</h1><p>Check the address &amp; try again.</p>")
        );
        assert!(
            page.contains("href=\"/\"") && !html(&error_page(401, "", "")).contains("href=\"/\"")
        );
    }

    #[test]
    fn the_top_page_links_to_each_directory() {
        let page = html(&top_page(&[b"photos", b"a b\xff"]));
        assert!(page.contains("<a href=\"./photos/\"><bdi>photos</bdi></a>"));
        assert!(page.contains(
            "<a href=\"./a%20b%FF/\"><bdi>a b<span class=\"esc\">\\xff</span></bdi></a>"
        ));
    }

    #[test]
    fn statistics_are_a_table() {
        let page = html(&stats_page("Statistics", &[("Requests", "1,234".to_owned())]));
        assert!(page.contains("<th scope=\"row\">Requests</th><td>1,234</td>"));
    }
}
