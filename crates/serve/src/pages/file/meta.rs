//! Reads the metadata that a camera stored in a photo: the thumbnail, the orientation and the date.
//!
//! lop decodes no pictures. It copies the thumbnail unchanged, so the worst that a hostile file can do is
//! to show a wrong picture in the browser that requested it.

use std::io::Cursor;

use exif::{Exif, In, Reader, Tag, Value};

/// Bytes of a file to read. The segment with this information is at most 64 KiB and near the start.
pub(super) const READ_BYTES: usize = 128 << 10;

/// Maximum number of letters of a date or the name of a camera.
const MAX_TEXT: usize = 64;

/// Facts about a photo.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// Time at which the photo was taken, as recorded by the camera: `2019-05-04 12:30:00`.
    pub(super) taken: Option<String>,
    /// The model of the camera.
    pub(super) camera: Option<String>,
    /// True if the file contains a thumbnail.
    pub(super) has_thumbnail: bool,
}

/// Returns what the first bytes of a photo say about it.
pub(super) fn facts(start: Vec<u8>) -> Facts {
    let Some(exif) = read(start) else { return Facts::default() };
    Facts {
        taken: text(&exif, Tag::DateTimeOriginal).map(|text| with_dashes(&text)),
        camera: text(&exif, Tag::Model),
        has_thumbnail: small_picture(&exif).is_some(),
    }
}

/// Returns the thumbnail that a photo contains, with the orientation of the photo.
pub(super) fn thumbnail(start: Vec<u8>) -> Option<Vec<u8>> {
    let exif = read(start)?;
    let picture = small_picture(&exif)?;
    Some(oriented(picture, orientation(&exif)))
}

fn read(start: Vec<u8>) -> Option<Exif> {
    let mut reader = Reader::new();
    let read = reader.continue_on_error(true).read_from_container(&mut Cursor::new(start));
    // Photos are often damaged in places that do not matter here.
    read.or_else(|error| error.distill_partial_result(|_| ())).ok()
}

fn small_picture(exif: &Exif) -> Option<&[u8]> {
    let number = |tag| {
        let value = exif.get_field(tag, In::THUMBNAIL)?.value.get_uint(0)?;
        usize::try_from(value).ok()
    };
    let from = number(Tag::JPEGInterchangeFormat)?;
    let to = from.checked_add(number(Tag::JPEGInterchangeFormatLength)?)?;
    exif.buf().get(from..to).filter(|picture| picture.starts_with(b"\xff\xd8\xff"))
}

fn orientation(exif: &Exif) -> u8 {
    let value = exif.get_field(Tag::Orientation, In::PRIMARY).and_then(|f| f.value.get_uint(0));
    value
        .and_then(|value| u8::try_from(value).ok())
        .filter(|value| (1..=8).contains(value))
        .unwrap_or(1)
}

/// Inserts the orientation into a JPEG picture, so that browsers turn it. The segment has the tag
/// `Orientation` and nothing else.
fn oriented(picture: &[u8], orientation: u8) -> Vec<u8> {
    let (start, rest) = picture.split_at(2);
    let mut segment =
        *b"\xff\xe1\0\x22Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\0\0\0\0\0\0\0";
    // The value is a big-endian 16-bit number, the first half of a field of 4 bytes.
    let value = segment.len() - 7;
    segment[value] = orientation;
    [start, &segment, rest].concat()
}

fn text(exif: &Exif, tag: Tag) -> Option<String> {
    let field = exif.get_field(tag, In::PRIMARY)?;
    let Value::Ascii(lines) = &field.value else { return None };
    let text = String::from_utf8_lossy(lines.first()?).into_owned();
    let text: String =
        text.trim().chars().filter(|letter| !letter.is_control()).take(MAX_TEXT).collect();
    (!text.is_empty()).then_some(text)
}

/// Turns `2019:05:04 12:30:00` into `2019-05-04 12:30:00`.
fn with_dashes(date: &str) -> String {
    match date.split_once(' ') {
        Some((day, time)) => format!("{} {time}", day.replace(':', "-")),
        None => date.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Facts, facts, oriented, read, thumbnail};

    /// A JPEG photo with the tags `Model` and `Orientation`, and a thumbnail.
    fn photo() -> Vec<u8> {
        let mut tiff = b"II\x2a\0\x08\0\0\0".to_vec();
        let entry = |tag: u16, kind: u16, count: u32, value: [u8; 4]| {
            let mut entry = [tag.to_le_bytes(), kind.to_le_bytes()].concat();
            entry.extend(count.to_le_bytes());
            entry.extend(value);
            entry
        };
        tiff.extend(2u16.to_le_bytes());
        tiff.extend(entry(0x110, 2, 4, *b"Cam\0"));
        tiff.extend(entry(0x112, 3, 1, [6, 0, 0, 0]));
        tiff.extend(38u32.to_le_bytes());
        tiff.extend(2u16.to_le_bytes());
        tiff.extend(entry(0x201, 4, 1, 68u32.to_le_bytes()));
        tiff.extend(entry(0x202, 4, 1, 6u32.to_le_bytes()));
        tiff.extend(0u32.to_le_bytes());
        assert_eq!(tiff.len(), 68);
        tiff.extend(b"\xff\xd8\xff\xdb\xff\xd9");
        let mut jpeg = b"\xff\xd8\xff\xe1".to_vec();
        let length = u16::try_from(tiff.len() + 8).expect("small");
        jpeg.extend(length.to_be_bytes());
        jpeg.extend(b"Exif\0\0");
        jpeg.extend(tiff);
        jpeg.extend(b"\xff\xd9");
        jpeg
    }

    #[test]
    fn the_thumbnail_is_found_and_turned() {
        let thumbnail = thumbnail(photo()).expect("has one");
        assert!(thumbnail.starts_with(b"\xff\xd8\xff\xe1"));
        assert!(thumbnail.ends_with(b"\xff\xdb\xff\xd9"));
        let exif = read(thumbnail).expect("has an orientation");
        assert_eq!(super::orientation(&exif), 6);
        let expected = Facts { taken: None, camera: Some("Cam".into()), has_thumbnail: true };
        assert_eq!(facts(photo()), expected);
    }

    #[test]
    fn a_photo_that_is_cut_off_has_no_thumbnail() {
        let photo = photo();
        for length in 0..photo.len() - 8 {
            assert_eq!(thumbnail(photo[..length].to_vec()), None, "{length} bytes");
        }
    }

    #[test]
    fn a_thumbnail_must_be_a_jpeg_within_the_segment() {
        let photo = photo();
        let find = |part: &[u8]| photo.windows(part.len()).position(|w| w == part).expect("there");
        let offset = find(&68u32.to_le_bytes());
        for (at, bytes) in [
            (offset, u32::MAX.to_le_bytes()),
            (offset, 1u32.to_le_bytes()),
            (offset + 12, u32::MAX.to_le_bytes()),
        ] {
            let mut forged = photo.clone();
            forged[at..at + 4].copy_from_slice(&bytes);
            assert_eq!(thumbnail(forged), None);
        }
    }

    #[test]
    fn the_segment_with_the_orientation_is_complete() {
        let picture = oriented(b"\xff\xd8\xff\xd9", 8);
        let length = usize::from(u16::from_be_bytes([picture[4], picture[5]]));
        assert_eq!(picture[4 + length..], *b"\xff\xd9");
    }
}
