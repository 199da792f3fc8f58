//! Recognizes the types of files that browsers may show, by their first bytes.
//!
//! The list is an allow list: documents that can contain scripts (HTML, SVG, PDF) are not on it, so
//! they are always downloads.

/// Number of bytes that [`Type::of`] wants to see.
pub(super) const READ_BYTES: usize = 4096;

/// Largest picture that is shown. A browser needs all of it in memory.
const MAX_PICTURE: u64 = 64 << 20;

/// A type of file, as far as it matters for showing the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Jpeg,
    Png,
    Gif,
    Webp,
    Avif,
    Mp4,
    Webm,
    Mp4Audio,
    Mp3,
    Ogg,
    Flac,
    Wav,
    /// Text, as far as the first bytes tell. Never sent as text, only shown in a page.
    Text,
    Other,
}

/// How a page shows a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Picture,
    Video,
    Sound,
    Text,
    Nothing,
}

impl Type {
    /// Returns the type of a file that starts with these bytes.
    pub(super) fn of(start: &[u8]) -> Type {
        let at = |offset: usize, magic: &[u8]| {
            start.get(offset..).is_some_and(|rest| rest.starts_with(magic))
        };
        if at(0, b"\xff\xd8\xff") {
            Type::Jpeg
        } else if at(0, b"\x89PNG\r\n\x1a\n") {
            Type::Png
        } else if at(0, b"GIF87a") || at(0, b"GIF89a") {
            Type::Gif
        } else if at(0, b"RIFF") && at(8, b"WEBP") {
            Type::Webp
        } else if at(0, b"RIFF") && at(8, b"WAVE") {
            Type::Wav
        } else if at(4, b"ftyp") {
            of_brands(start)
        } else if at(0, b"\x1a\x45\xdf\xa3") && is_webm(start) {
            Type::Webm
        } else if at(0, b"OggS") {
            Type::Ogg
        } else if at(0, b"fLaC") {
            Type::Flac
        } else if at(0, b"ID3") || is_mpeg_frame(start) {
            Type::Mp3
        } else if is_text(start) {
            Type::Text
        } else {
            Type::Other
        }
    }

    /// Returns how a page shows a file of this type and size.
    pub(super) fn shown(self, size: u64) -> Shown {
        match self {
            Type::Jpeg | Type::Png | Type::Gif | Type::Webp | Type::Avif => {
                if size <= MAX_PICTURE {
                    Shown::Picture
                } else {
                    Shown::Nothing
                }
            }
            Type::Mp4 | Type::Webm => Shown::Video,
            Type::Mp4Audio | Type::Mp3 | Type::Ogg | Type::Flac | Type::Wav => Shown::Sound,
            Type::Text => Shown::Text,
            Type::Other => Shown::Nothing,
        }
    }

    /// Returns whether a browser may show the bytes of such a file. All others are downloads.
    pub(super) fn is_shown(self, size: u64) -> bool {
        matches!(self.shown(size), Shown::Picture | Shown::Video | Shown::Sound)
    }

    /// Returns the media type for responses.
    pub(super) fn media_type(self) -> &'static str {
        match self {
            Type::Jpeg => "image/jpeg",
            Type::Png => "image/png",
            Type::Gif => "image/gif",
            Type::Webp => "image/webp",
            Type::Avif => "image/avif",
            Type::Mp4 => "video/mp4",
            Type::Webm => "video/webm",
            Type::Mp4Audio => "audio/mp4",
            Type::Mp3 => "audio/mpeg",
            Type::Ogg => "audio/ogg",
            Type::Flac => "audio/flac",
            Type::Wav => "audio/wav",
            Type::Text | Type::Other => "application/octet-stream",
        }
    }

    /// Returns the name of the type for people, if it is known.
    pub(super) fn name(self) -> Option<&'static str> {
        Some(match self {
            Type::Jpeg => "JPEG picture",
            Type::Png => "PNG picture",
            Type::Gif => "GIF picture",
            Type::Webp => "WebP picture",
            Type::Avif => "AVIF picture",
            Type::Mp4 => "MP4 video",
            Type::Webm => "WebM video",
            Type::Mp4Audio => "MP4 audio",
            Type::Mp3 => "MP3 audio",
            Type::Ogg => "Ogg audio",
            Type::Flac => "FLAC audio",
            Type::Wav => "WAV audio",
            Type::Text => "Text",
            Type::Other => return None,
        })
    }
}

/// Returns the type of an ISO media file, by the brands in its first box.
fn of_brands(start: &[u8]) -> Type {
    let length = start.first_chunk().map_or(0, |length| u32::from_be_bytes(*length) as usize);
    let box_end = length.clamp(0, start.len());
    let major = start.get(8..12).unwrap_or_default();
    let compatible = start.get(16..box_end).unwrap_or_default().chunks_exact(4);
    let has = |brands: &[&[u8; 4]]| {
        std::iter::once(major)
            .chain(compatible.clone())
            .any(|brand| brands.iter().any(|known| brand == *known))
    };
    if has(&[b"avif", b"avis"]) {
        Type::Avif
    } else if matches!(major, b"heic" | b"heix" | b"hevc" | b"mif1" | b"msf1" | b"crx " | b"qt  ") {
        Type::Other
    } else if matches!(major, b"M4A " | b"M4B ") {
        Type::Mp4Audio
    } else if has(&[
        b"isom", b"iso2", b"iso4", b"iso5", b"iso6", b"mp41", b"mp42", b"avc1", b"M4V ",
    ]) {
        Type::Mp4
    } else {
        Type::Other
    }
}

/// Returns whether a Matroska file says that it is restricted to `WebM`.
fn is_webm(start: &[u8]) -> bool {
    let header = &start[..start.len().min(64)];
    header.windows(7).any(|window| window[..2] == *b"\x42\x82" && window[3..] == *b"webm")
}

/// Returns whether the bytes start with the header of an MPEG audio frame of layer III.
fn is_mpeg_frame(start: &[u8]) -> bool {
    let [0xff, second, third, ..] = *start else { return false };
    let (version, layer) = (second >> 3 & 3, second >> 1 & 3);
    let (bit_rate, sample_rate) = (third >> 4, third >> 2 & 3);
    second >> 5 == 7
        && version != 1
        && layer == 1
        && !matches!(bit_rate, 0 | 15)
        && sample_rate != 3
}

/// Returns whether the bytes are UTF-8 text, or mostly text in an older encoding.
fn is_text(start: &[u8]) -> bool {
    let is_odd = |byte: &u8| *byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b);
    let is_utf8 = match std::str::from_utf8(start) {
        Ok(_) => true,
        // A character may be cut off at the end.
        Err(error) => error.error_len().is_none(),
    };
    let high = start.iter().filter(|byte| **byte >= 0x80).count();
    !start.is_empty() && !start.iter().any(is_odd) && (is_utf8 || high * 4 < start.len())
}

#[cfg(test)]
mod tests {
    use super::Type;

    #[test]
    fn the_first_bytes_decide() {
        for (start, kind) in [
            (&b"\xff\xd8\xff\xe0"[..], Type::Jpeg),
            (b"\x89PNG\r\n\x1a\n", Type::Png),
            (b"GIF89a", Type::Gif),
            (b"RIFF\0\0\0\0WEBP", Type::Webp),
            (b"RIFF\0\0\0\0WAVE", Type::Wav),
            (b"RIFF\0\0\0\0AVI ", Type::Other),
            (b"\0\0\0\x1cftypavif\0\0\0\0avifmif1miaf", Type::Avif),
            (b"\0\0\0\x1cftypmif1\0\0\0\0avifmif1miaf", Type::Avif),
            (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", Type::Other),
            (b"\0\0\0\x18ftypisom\0\0\0\0isomavc1", Type::Mp4),
            (b"\0\0\0\x18ftypM4A \0\0\0\0M4A mp42", Type::Mp4Audio),
            (b"\0\0\0\x14ftypqt  \0\0\0\0qt  ", Type::Other),
            (b"\x1a\x45\xdf\xa3\x9f\x42\x82\x84webm", Type::Webm),
            (b"\x1a\x45\xdf\xa3\x9f\x42\x82\x88matroska", Type::Other),
            (b"OggS", Type::Ogg),
            (b"fLaC", Type::Flac),
            (b"ID3\x04", Type::Mp3),
            (b"\xff\xfb\x90\x64", Type::Mp3),
            (b"\xff\xf1\x50\x80", Type::Other),
            (b"<html><script>", Type::Text),
            (b"<svg xmlns=''>", Type::Text),
            (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3 and so on and on", Type::Text),
            (b"%PDF-1.7\0", Type::Other),
            (b"Gr\xc3\xb6\xc3", Type::Text),
            (b"Gr\xf6\xdfe in Latin-1", Type::Text),
            (b"\0\0\0\0", Type::Other),
            (b"", Type::Other),
        ] {
            assert_eq!(Type::of(start), kind, "{start:?}");
        }
    }

    #[test]
    fn documents_with_scripts_are_never_shown() {
        for start in
            [&b"<html>"[..], b"<svg>", b"%PDF-1.7\n", b"<?xml version='1.0'?>", b"#!/bin/sh"]
        {
            let kind = Type::of(start);
            assert!(!kind.is_shown(100), "{start:?}");
            assert_eq!(kind.media_type(), "application/octet-stream", "{start:?}");
        }
        assert!(Type::Jpeg.is_shown(64 << 20));
        assert!(!Type::Jpeg.is_shown((64 << 20) + 1), "too large for the memory of a phone");
        assert!(Type::Mp4.is_shown(20 << 30), "sent in parts");
    }

    #[test]
    fn a_forged_box_length_is_harmless() {
        assert_eq!(Type::of(b"\xff\xff\xff\xffftypisom"), Type::Mp4);
        assert_eq!(Type::of(b"\0\0\0\0ftypzzzz\0\0\0\0isom"), Type::Other);
        assert_eq!(Type::of(b"\0\0\0\x08ftyp"), Type::Other);
    }
}
