//! Folds case as NTFS does: one UTF-16 unit at a time, to upper case.
//!
//! The table of a volume (`$UpCase`) depends on the version of Windows, and this module does not
//! read it.

use std::borrow::Cow;

/// Returns the folded name, or `None` if the name is not valid UTF-8. Such a name matches no folded
/// pattern.
pub fn fold(name: &[u8]) -> Option<Vec<u8>> {
    if name.is_ascii() {
        return Some(name.to_ascii_uppercase());
    }
    let name = std::str::from_utf8(name).ok()?;
    Some(name.chars().map(fold_char).collect::<String>().into_bytes())
}

/// Folds `name` into `buffer` if `folds`, and returns the name to match. Returns `None` if the name
/// cannot be folded.
pub(crate) fn fold_into<'n>(
    name: &'n [u8],
    folds: bool,
    buffer: &'n mut Vec<u8>,
) -> Option<&'n [u8]> {
    if !folds {
        return Some(name);
    }
    buffer.clear();
    if name.is_ascii() {
        buffer.extend(name.iter().map(u8::to_ascii_uppercase));
    } else {
        buffer.extend(fold(name)?);
    }
    Some(buffer)
}

/// Folds a character that one UTF-16 unit can represent. Other characters have no case on NTFS.
fn fold_char(char: char) -> char {
    let mut upper = char.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(single), None) if char.len_utf16() == 1 && single.len_utf16() == 1 => single,
        _ => char,
    }
}

/// Returns the literal name to store in a table of folded or exact names.
pub(crate) fn stored(name: &[u8], folds: bool) -> Option<Cow<'_, [u8]>> {
    if folds { fold(name).map(Cow::Owned) } else { Some(Cow::Borrowed(name)) }
}

#[cfg(test)]
mod tests {
    use super::fold;

    #[test]
    fn case_does_not_matter_after_folding() {
        for (a, b) in [("Temp", "tEMP"), ("Lokale Einträge", "LOKALE EINTRÄGE"), ("ſ", "ſ")] {
            assert_eq!(fold(a.as_bytes()), fold(b.as_bytes()));
        }
    }

    #[test]
    fn characters_without_a_single_upper_case_stay_as_they_are() {
        assert_eq!(fold("ß".as_bytes()), Some("ß".as_bytes().to_vec()));
        assert_eq!(fold("\u{10428}".as_bytes()), Some("\u{10428}".as_bytes().to_vec()));
        assert_eq!(fold(b"\xff"), None);
    }
}
