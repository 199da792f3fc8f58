//! Searches for a word regardless of the case of ASCII letters.
//!
//! `memchr` looks for the byte of the word that is rarest in paths. The word is compared only where
//! this byte occurs.

/// A word to search for, in any case of ASCII letters.
#[derive(Clone, Debug)]
pub struct Needle {
    /// In lower case.
    word: Vec<u8>,
    /// The position of the rarest byte.
    at: usize,
}

impl Needle {
    /// Prepares the search for a word.
    pub fn new(word: &[u8]) -> Needle {
        let word = word.to_ascii_lowercase();
        let rarest = word.iter().enumerate().min_by_key(|(_, byte)| frequency(**byte));
        Needle { at: rarest.map_or(0, |(at, _)| at), word }
    }

    /// Returns whether a text contains the word. Every text contains an empty word.
    pub fn is_in(&self, text: &[u8]) -> bool {
        let Needle { word, at } = self;
        let Some(last) = text.len().checked_sub(word.len()) else { return false };
        let Some(&low) = word.get(*at) else { return true };
        let window = &text[*at..=*at + last];
        let high = low.to_ascii_uppercase();
        let is_here = |start: usize| text[start..start + word.len()].eq_ignore_ascii_case(word);
        if low == high {
            memchr::memchr_iter(low, window).any(is_here)
        } else {
            memchr::memchr2_iter(low, high, window).any(is_here)
        }
    }
}

/// Returns how common a lower-case byte is in paths, on a coarse scale.
fn frequency(byte: u8) -> usize {
    /// From common to rare.
    const COMMON: &[u8] = b"/e.aiotsrn0l1c2dmpu_h-3g456789bfyvkwx jzq";
    let place = COMMON.iter().position(|&common| common == byte);
    place.map_or(0, |place| COMMON.len() - place)
}

#[cfg(test)]
mod tests {
    use super::Needle;

    #[test]
    fn a_word_is_found_anywhere_in_any_case() {
        for text in ["img_1.jpg", "MY IMG_1.JPG", "/a/Img_1.Jpg~", "ximg_1.jpgx", "iimg_1.jpg"] {
            assert!(Needle::new(b"IMG_1.jpg").is_in(text.as_bytes()), "{text}");
        }
        for text in ["", "img_1.jp", "img_1jpg", "mg_1.jpg", "img_1.\u{17f}"] {
            assert!(!Needle::new(b"img_1.jpg").is_in(text.as_bytes()), "{text}");
        }
        assert!(Needle::new(b"[").is_in(b"a[") && !Needle::new(b"[").is_in(b"{"));
        assert!(Needle::new("ä".as_bytes()).is_in("xä".as_bytes()));
    }
}
