//! Finds the word that the user probably meant, for errors about unknown options and keys.

/// Returns the known word that is most similar to a typed one, if one is similar enough to be meant.
pub(crate) fn nearest<'k>(typed: &str, known: &[&'k str]) -> Option<&'k str> {
    let similar = known.iter().filter(|known| is_similar(typed, known));
    similar.min_by_key(|known| distance(typed.as_bytes(), known.as_bytes())).copied()
}

/// Returns true if one text may be a misspelling of the other.
pub(crate) fn is_similar(typed: &str, known: &str) -> bool {
    let plain = |text: &str| text.trim_start_matches('-').to_ascii_lowercase();
    let (typed, known) = (plain(typed), plain(known));
    let is_start = typed.len() > 2 && (known.starts_with(&typed) || typed.starts_with(&known));
    is_start || distance(typed.as_bytes(), known.as_bytes()) <= 1 + typed.len() / 4
}

/// Returns the Levenshtein distance of two texts in bytes.
fn distance(one: &[u8], other: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, byte) in one.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (place, with) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(byte != with);
            diagonal = row[place + 1];
            row[place + 1] = replaced.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

    #[test]
    fn distances() {
        for (one, other, expected) in [("", "abc", 3), ("kitten", "sitting", 3), ("a", "a", 0)] {
            assert_eq!(distance(one.as_bytes(), other.as_bytes()), expected);
        }
    }

    #[test]
    fn the_nearest_word_is_found_if_it_is_similar() {
        let known = ["exclude", "roots", "protect", "keep"];
        for (typed, expected) in
            [("exlude", Some("exclude")), ("root", Some("roots")), ("protected", Some("protect"))]
        {
            assert_eq!(nearest(typed, &known), expected, "{typed}");
        }
        assert_eq!(nearest("threads", &known), None);
    }
}
