//! Shows the beginning of a file as text.

use maud::{Markup, PreEscaped, html};
use runtime::shown::{Shown, shown_text, write_html};

use crate::quantity;

/// Number of bytes that are shown.
pub(super) const SHOWN_BYTES: usize = 64 << 10;

/// Returns the part of a page with the beginning of a file. `size` is the size of the whole file.
pub(super) fn fragment(start: &[u8], size: u64) -> Markup {
    let is_cut = size > start.len() as u64;
    let shown = if is_cut { without_cut_letter(start) } else { start };
    let mut text = String::with_capacity(shown.len());
    let keep_lines = |letter| match letter {
        Shown::Escaped(letter @ ('\n' | '\t')) => Shown::Letter(letter),
        other => other,
    };
    write_html(&mut text, shown_text(shown).map(keep_lines));
    html! {
        pre tabindex="0" aria-label="Text of the file" { (PreEscaped(text)) }
        @if is_cut {
            p.dim { "The first " (quantity::size(shown.len() as u64)) " of " (quantity::size(size)) "." }
        }
    }
}

/// Returns the text without a character at its end that is cut off.
fn without_cut_letter(text: &[u8]) -> &[u8] {
    let last = text.utf8_chunks().last().map_or(&[][..], |chunk| chunk.invalid());
    // The last bytes are a cut character if more bytes could make one of them.
    match std::str::from_utf8(last) {
        Err(error) if error.error_len().is_none() => &text[..text.len() - last.len()],
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::fragment;

    #[test]
    fn text_cannot_leave_its_element() {
        let shown = fragment(b"</pre><script>alert(1)</script>\n\tend", 36).into_string();
        assert!(
            shown.contains(">&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;\n\tend</pre>"),
            "{shown}"
        );
        assert!(!shown.contains("The first"), "{shown}");
    }

    #[test]
    fn other_bytes_share_one_element_of_escapes() {
        let shown = fragment(b"a\xff\xfe\x00b", 5).into_string();
        assert!(shown.contains(r#">a<span class="esc">\xff\xfe\x00</span>b</pre>"#), "{shown}");
    }

    #[test]
    fn a_character_that_is_cut_off_is_not_shown() {
        assert!(fragment(b"Gr\xc3", 4).into_string().contains(">Gr</pre>"));
        assert!(fragment(b"Gr\xc3", 3).into_string().contains(r"\xc3"), "the file ends here");
        assert!(fragment(b"Gr\xff", 4).into_string().contains(r"\xff"), "not a character");
    }
}
