//! The names of keys, as in the DOM property `KeyboardEvent.key`.

use fantoccini::key::Key;

const NAMED: [(&str, Key); 22] = [
    ("Alt", Key::Alt),
    ("ArrowDown", Key::Down),
    ("ArrowLeft", Key::Left),
    ("ArrowRight", Key::Right),
    ("ArrowUp", Key::Up),
    ("Backspace", Key::Backspace),
    ("Control", Key::Control),
    ("Delete", Key::Delete),
    ("End", Key::End),
    ("Enter", Key::Enter),
    ("Escape", Key::Escape),
    ("F1", Key::F1),
    ("F5", Key::F5),
    ("F6", Key::F6),
    ("Home", Key::Home),
    ("Insert", Key::Insert),
    ("Meta", Key::Meta),
    ("PageDown", Key::PageDown),
    ("PageUp", Key::PageUp),
    ("Shift", Key::Shift),
    ("Space", Key::Space),
    ("Tab", Key::Tab),
];

/// Returns the keys of a combination such as `j`, `Enter` or `Control+Shift+a`, in the order in
/// which they are pressed.
pub(crate) fn parse(combination: &str) -> Result<Vec<char>, String> {
    // The last key may be the plus sign itself.
    let (modifiers, last) = match combination.strip_suffix('+') {
        Some(before) => (before.trim_end_matches('+'), "+"),
        None => combination.rsplit_once('+').unwrap_or(("", combination)),
    };
    let names = modifiers.split('+').filter(|name| !name.is_empty()).chain([last]);
    names.map(key).collect()
}

fn key(name: &str) -> Result<char, String> {
    if let Some((_, key)) = NAMED.iter().find(|(known, _)| *known == name) {
        return Ok(char::from(*key));
    }
    let mut characters = name.chars();
    match (characters.next(), characters.next()) {
        (Some(one), None) => Ok(one),
        _ => Err(format!("no key is called {name:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn combinations_have_modifiers_before_the_key() {
        assert_eq!(parse("j"), Ok(vec!['j']));
        assert_eq!(parse("+"), Ok(vec!['+']));
        assert_eq!(parse("Shift++"), Ok(vec!['\u{e008}', '+']));
        assert_eq!(parse("Control+Shift+a"), Ok(vec!['\u{e009}', '\u{e008}', 'a']));
        assert_eq!(parse("Enter"), Ok(vec!['\u{e007}']));
        parse("Retrun").expect_err("not a key");
    }
}
