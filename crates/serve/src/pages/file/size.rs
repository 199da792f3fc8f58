//! Reads the width and height of a picture from its header.
//!
//! A small file can claim to be a picture of billions of pixels, which the browser would have to decode.
//! Pages therefore check the size before they show a picture.

use super::types::Type;

/// Largest picture that a page shows: as many pixels as the largest cameras make, and some more.
const MAX_PIXELS: u64 = 256_000_000;

/// Width and height in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pixels {
    pub(super) width: u32,
    pub(super) height: u32,
}

impl Pixels {
    /// Returns whether a browser should decode a picture of this size.
    pub(super) fn is_shown(self) -> bool {
        u64::from(self.width) * u64::from(self.height) <= MAX_PIXELS
    }

    /// Returns the size that the first bytes of a picture claim. Returns `None` if the header is
    /// elsewhere or damaged.
    pub(super) fn of(kind: Type, start: &[u8]) -> Option<Pixels> {
        match kind {
            Type::Png => {
                let width = u32::from_be_bytes(*start.get(16..)?.first_chunk()?);
                Some(Pixels { width, height: u32::from_be_bytes(*start.get(20..)?.first_chunk()?) })
            }
            Type::Gif => Some(Pixels { width: little_16(start, 6)?, height: little_16(start, 8)? }),
            Type::Webp => of_webp(start),
            Type::Jpeg => of_jpeg(start),
            _ => None,
        }
    }
}

fn little_16(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?).into())
}

fn little_24(bytes: &[u8], at: usize) -> Option<u32> {
    let [a, b, c] = *bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes([a, b, c, 0]))
}

fn of_webp(start: &[u8]) -> Option<Pixels> {
    match start.get(12..16)? {
        b"VP8 " => Some(Pixels {
            width: little_16(start, 26)? & 0x3fff,
            height: little_16(start, 28)? & 0x3fff,
        }),
        b"VP8L" => {
            let bits = u32::from_le_bytes(*start.get(21..)?.first_chunk()?);
            Some(Pixels { width: (bits & 0x3fff) + 1, height: (bits >> 14 & 0x3fff) + 1 })
        }
        b"VP8X" => {
            Some(Pixels { width: little_24(start, 24)? + 1, height: little_24(start, 27)? + 1 })
        }
        _ => None,
    }
}

/// Follows the segments of a JPEG file to the first frame header.
fn of_jpeg(start: &[u8]) -> Option<Pixels> {
    let mut at = 2;
    loop {
        let [0xff, marker] = *start.get(at..)?.first_chunk()? else { return None };
        match marker {
            // Padding before a marker.
            0xff => at += 1,
            // SOF0 to SOF15. The range also contains three markers of tables, which are left out.
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                let big_16 = |at: usize| {
                    Some(u32::from(u16::from_be_bytes(*start.get(at..)?.first_chunk()?)))
                };
                return Some(Pixels { width: big_16(at + 7)?, height: big_16(at + 5)? });
            }
            // The picture itself starts or ends.
            0xda | 0xd9 => return None,
            _ => {
                let length = u16::from_be_bytes(*start.get(at + 2..)?.first_chunk()?);
                at += 2 + usize::from(length).max(2);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Pixels, Type};

    const BOMB: &[u8] = b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc2\0\x11\x08\xff\xff\xff\xff\x03";

    #[test]
    fn the_size_is_in_the_header() {
        let size = |width, height| Some(Pixels { width, height });
        assert_eq!(Pixels::of(Type::Jpeg, BOMB), size(65535, 65535));
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\x02\0\0\0\x03";
        assert_eq!(Pixels::of(Type::Png, png), size(258, 3));
        assert_eq!(Pixels::of(Type::Gif, b"GIF89a\x02\x01\x03\0"), size(258, 3));
        let extended = b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x01\x01\0\x02\0\0";
        assert_eq!(Pixels::of(Type::Webp, extended), size(258, 3));
        let lossless = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\x01\xc1\0\0";
        assert_eq!(Pixels::of(Type::Webp, lossless), size(258, 4));
        let lossy = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x02\x41\x03\x80";
        assert_eq!(Pixels::of(Type::Webp, lossy), size(258, 3));
    }

    #[test]
    fn a_picture_of_billions_of_pixels_is_not_shown() {
        assert!(!Pixels::of(Type::Jpeg, BOMB).expect("a size").is_shown());
        assert!(Pixels { width: 12_000, height: 9_000 }.is_shown());
    }

    #[test]
    fn a_header_that_is_cut_off_has_no_size() {
        for length in 0..BOMB.len() - 1 {
            assert_eq!(Pixels::of(Type::Jpeg, &BOMB[..length]), None);
        }
        assert_eq!(Pixels::of(Type::Jpeg, b"\xff\xd8\xff\xe0\0\0\xff\xe0\0\0"), None);
        assert_eq!(Pixels::of(Type::Png, b"\x89PNG\r\n\x1a\n"), None);
        assert_eq!(Pixels::of(Type::Webp, b"RIFF\0\0\0\0WEBP"), None);
    }
}
