//! The parts of pages that need no state: the head and file names.
//!
//! File names come from the disk and can contain anything. They are shown only through [`name`].

use maud::{Markup, PreEscaped, html};
use runtime::shown::{shown_name, write_html};

use crate::assets;

/// Returns the head of a page. `csrf` is the secret that its scripts send with every change.
pub(crate) fn head(title: &str, csrf: &str) -> Markup {
    html! {
        head {
            (first_tags(title))
            meta name="lop-csrf" content=(csrf);
            link rel="icon" href=(assets::path("icon.svg"));
            link rel="stylesheet" href=(assets::path("app.css"));
            script type="module" src=(assets::path("app.js")) {}
        }
    }
}

/// Returns the tags with which the head of every page begins.
pub(crate) fn first_tags(title: &str) -> Markup {
    html! {
        meta charset="utf-8";
        meta name="viewport" content="width=device-width, initial-scale=1";
        meta name="color-scheme" content="light dark";
        title { (title) " – lop" }
    }
}

/// Returns a file name or a path for display. Characters and bytes that nobody would see are shown as escapes
/// in `<span class=esc>`.
pub(crate) fn name(bytes: &[u8]) -> Markup {
    let mut out = String::with_capacity(bytes.len());
    write_html(&mut out, shown_name(bytes));
    html! { bdi { (PreEscaped(out)) } }
}

/// Returns a path whose directory is shortened if there is too little room, so that the name stays visible.
pub(crate) fn path_name(path: &[u8]) -> Markup {
    let at = path.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1);
    let (dir, file) = path.split_at(at);
    html! { span.pathname { span.dir { (name(dir)) } span.file { (name(file)) } } }
}

/// Returns the same text as [`name`], for attributes and scripts.
pub(crate) fn plain_name(bytes: &[u8]) -> String {
    shown_name(bytes).iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::{name, plain_name};

    #[test]
    fn a_hostile_name_cannot_leave_its_element() {
        let shown = name(b"<script>alert(\"1\")</script>&'").into_string();
        assert_eq!(shown, "<bdi>&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;</bdi>");
    }

    #[test]
    fn invisible_characters_and_other_bytes_are_shown_as_escapes() {
        assert_eq!(plain_name(b"a\n\xff\xe2\x80\xaegpj.exe"), "a\\n\\xff\\u{202e}gpj.exe");
        assert_eq!(
            name(b"\xff\x1b").into_string(),
            "<bdi><span class=\"esc\">\\xff\\x1b</span></bdi>"
        );
        assert_eq!(plain_name("Größe 日本".as_bytes()), "Größe 日本");
        assert_eq!(
            name(b"/a b/  ").into_string(),
            "<bdi>/a b/<span class=\"esc\">\\x20\\x20</span></bdi>"
        );
    }
}
