//! The parts of pages that need no state: the head and file names.
//!
//! File names come from the disk and can contain anything. They are shown only through [`name`].

use maud::{Markup, PreEscaped, html};

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

/// Returns a file name or a path for display. Bytes that are not UTF-8, control characters and
/// characters that change the direction of text are shown as escapes in `<span class=esc>`.
pub(crate) fn name(bytes: &[u8]) -> Markup {
    let mut out = String::with_capacity(bytes.len());
    escape_into(&mut out, bytes, |_| false);
    html! { bdi { (PreEscaped(out)) } }
}

/// Appends text as [`name`] shows it, but without an element around it. `keeps` returns true for
/// confusing characters that are shown as they are.
pub(crate) fn escape_into(out: &mut String, bytes: &[u8], keeps: impl Fn(char) -> bool) {
    let mut is_escape = false;
    let mut span = |out: &mut String, wanted: bool| {
        if wanted != is_escape {
            out.push_str(if wanted { "<span class=\"esc\">" } else { "</span>" });
            is_escape = wanted;
        }
    };
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            let is_confusing = is_confusing(letter) && !keeps(letter);
            span(out, is_confusing);
            match letter {
                letter if is_confusing => out.extend(letter.escape_default()),
                '<' => out.push_str("&lt;"),
                '>' => out.push_str("&gt;"),
                '&' => out.push_str("&amp;"),
                '"' => out.push_str("&quot;"),
                '\'' => out.push_str("&#39;"),
                letter => out.push(letter),
            }
        }
        for byte in chunk.invalid() {
            span(out, true);
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    span(out, false);
}

/// Returns a path whose directory is shortened if there is too little room, so that the name stays visible.
pub(crate) fn path_name(path: &[u8]) -> Markup {
    let at = path.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1);
    let (dir, file) = path.split_at(at);
    html! { span.pathname { span.dir { (name(dir)) } span.file { (name(file)) } } }
}

/// Returns the same text as [`name`], for attributes and scripts.
pub(crate) fn plain_name(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            if is_confusing(letter) {
                out.extend(letter.escape_default());
            } else {
                out.push(letter);
            }
        }
        chunk.invalid().iter().for_each(|byte| out.push_str(&format!("\\x{byte:02x}")));
    }
    out
}

/// Returns whether a character is invisible, breaks lines or changes the direction of text.
pub(crate) fn is_confusing(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
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
            "<bdi><span class=\"esc\">\\xff\\u{1b}</span></bdi>"
        );
        assert_eq!(plain_name("Größe 日本".as_bytes()), "Größe 日本");
    }
}
