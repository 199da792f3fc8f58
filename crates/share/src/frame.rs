//! The frame of every page: the head, the style, and names of files.
//!
//! All paths of the server belong to the shared trees, so a page consists of one document: the style is part of it,
//! and icons are part of the style. Pages have no scripts, and the browser loads nothing else.
//!
//! File names come from the disk and can contain anything. They are shown only through [`name`].

use std::sync::LazyLock;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use httpd::server::{Head, Response};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use runtime::shown::{shown_name, write_html};
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("frame/style.css");

/// The policy of all pages: the browser accepts only this style, and only the icons in it.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = BASE64_STANDARD.encode(Sha256::digest(STYLE));
    format!(
        "default-src 'none'; style-src 'sha256-{hash}'; img-src 'self' data:; form-action 'self'; \
         base-uri 'none'; frame-ancestors 'none'"
    )
});

/// Ends a response with a page. `title` is plain text.
pub(crate) fn respond(head: Head, title: &str, body: &Markup) -> Response {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                // The browser would otherwise ask for /favicon.ico, which belongs to the shared tree.
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) }
            }
            body { (body) }
        }
    };
    let head = head.field("content-type", "text/html; charset=utf-8");
    let head = head.field("content-security-policy", POLICY.as_str());
    common(head).with_bytes(page.into_string().into_bytes())
}

/// Adds the fields of all generated responses.
pub(crate) fn common(head: Head) -> Head {
    head.field("cache-control", "no-cache")
        .field("x-content-type-options", "nosniff")
        .field("referrer-policy", "same-origin")
}

/// Returns a file name for display. Characters and bytes that nobody would see are shown as escapes.
pub(crate) fn name(bytes: &[u8]) -> Markup {
    let mut out = String::with_capacity(bytes.len());
    write_html(&mut out, shown_name(bytes));
    html! { bdi { (PreEscaped(out)) } }
}

/// Returns the same text as [`name`], for titles.
pub(crate) fn plain_name(bytes: &[u8]) -> String {
    shown_name(bytes).iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::{POLICY, STYLE, name, plain_name};

    #[test]
    fn a_hostile_name_cannot_leave_its_element() {
        let shown = name(b"<script>alert(\"1\")</script>&'\n").into_string();
        let expected = "<bdi>&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;\
                        <span class=\"esc\">\\n</span></bdi>";
        assert_eq!(shown, expected);
        assert_eq!(name(b"</bdi>").into_string(), "<bdi>&lt;/bdi&gt;</bdi>");
    }

    #[test]
    fn invisible_characters_and_other_bytes_are_shown_as_escapes() {
        let name_of = |bytes: &[u8]| name(bytes).into_string();
        assert_eq!(
            name_of("a\u{202e}gpj.exe".as_bytes()),
            "<bdi>a<span class=\"esc\">\\u{202e}</span>gpj.exe</bdi>"
        );
        assert_eq!(name_of(b"\xff\x1b"), "<bdi><span class=\"esc\">\\xff\\x1b</span></bdi>");
        assert_eq!(plain_name(b"a\n\xff "), "a\\n\\xff\\x20");
    }

    #[test]
    fn the_style_cannot_end_its_element() {
        assert!(!STYLE.contains("</"));
        assert!(POLICY.contains("style-src 'sha256-") && POLICY.is_ascii());
    }
}
