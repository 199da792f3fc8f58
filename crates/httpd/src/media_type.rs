//! Media types by the extension of a name.

/// The type of everything that has no better one.
pub const BINARY: &str = "application/octet-stream";

/// Extensions and their types, sorted by extension. Text is taken for UTF-8, which is right for nearly
/// all files; without it, browsers guess an encoding of their language.
const TYPES: [(&str, &str); 77] = [
    ("3gp", "video/3gpp"),
    ("7z", "application/x-7z-compressed"),
    ("aac", "audio/aac"),
    ("apk", "application/vnd.android.package-archive"),
    ("avi", "video/x-msvideo"),
    ("avif", "image/avif"),
    ("bmp", "image/bmp"),
    ("bz2", "application/x-bzip2"),
    ("c", "text/plain; charset=utf-8"),
    ("cfg", "text/plain; charset=utf-8"),
    ("conf", "text/plain; charset=utf-8"),
    ("cpp", "text/plain; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("csv", "text/csv; charset=utf-8"),
    ("deb", "application/vnd.debian.binary-package"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("epub", "application/epub+zip"),
    ("flac", "audio/flac"),
    ("gif", "image/gif"),
    ("go", "text/plain; charset=utf-8"),
    ("gz", "application/gzip"),
    ("h", "text/plain; charset=utf-8"),
    ("heic", "image/heic"),
    ("htm", "text/html; charset=utf-8"),
    ("html", "text/html; charset=utf-8"),
    ("ico", "image/x-icon"),
    ("ini", "text/plain; charset=utf-8"),
    ("iso", "application/x-iso9660-image"),
    ("java", "text/plain; charset=utf-8"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript; charset=utf-8"),
    ("json", "application/json"),
    ("jxl", "image/jxl"),
    ("log", "text/plain; charset=utf-8"),
    ("m3u", "audio/x-mpegurl"),
    ("m3u8", "application/vnd.apple.mpegurl"),
    ("m4a", "audio/mp4"),
    ("m4v", "video/mp4"),
    ("md", "text/plain; charset=utf-8"),
    ("mjs", "text/javascript; charset=utf-8"),
    ("mkv", "video/x-matroska"),
    ("mov", "video/quicktime"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("mpeg", "video/mpeg"),
    ("mpg", "video/mpeg"),
    ("ods", "application/vnd.oasis.opendocument.spreadsheet"),
    ("odt", "application/vnd.oasis.opendocument.text"),
    ("oga", "audio/ogg"),
    ("ogg", "audio/ogg"),
    ("ogv", "video/ogg"),
    ("opus", "audio/ogg"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("py", "text/plain; charset=utf-8"),
    ("rs", "text/plain; charset=utf-8"),
    ("sh", "text/plain; charset=utf-8"),
    ("srt", "text/plain; charset=utf-8"),
    ("svg", "image/svg+xml"),
    ("tar", "application/x-tar"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("toml", "text/plain; charset=utf-8"),
    ("txt", "text/plain; charset=utf-8"),
    ("vtt", "text/vtt; charset=utf-8"),
    ("wasm", "application/wasm"),
    ("wav", "audio/wav"),
    ("webm", "video/webm"),
    ("webp", "image/webp"),
    ("xhtml", "application/xhtml+xml"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("xml", "application/xml"),
    ("yaml", "text/plain; charset=utf-8"),
    ("zip", "application/zip"),
    ("zst", "application/zstd"),
];

/// Returns the media type of a file with this name.
pub fn of_name(name: &[u8]) -> &'static str {
    let Some(dot) = name.iter().rposition(|&byte| byte == b'.') else { return BINARY };
    let extension = name[dot + 1..].to_ascii_lowercase();
    let found = TYPES.binary_search_by(|(known, _)| known.as_bytes().cmp(&extension));
    found.map_or(BINARY, |at| TYPES[at].1)
}

/// Returns whether a browser may run scripts of a document of this type.
pub fn is_active(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default();
    matches!(essence, "text/html" | "application/xhtml+xml" | "image/svg+xml" | "application/xml")
}

#[cfg(test)]
mod tests {
    use super::{BINARY, TYPES, is_active, of_name};

    #[test]
    fn the_table_is_sorted() {
        assert!(TYPES.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn the_last_extension_decides() {
        for (name, expected) in [
            (&b"film.MP4"[..], "video/mp4"),
            (b"a.html.zip", "application/zip"),
            (b"notes.txt", "text/plain; charset=utf-8"),
            (b"README", BINARY),
            (b"a.", BINARY),
            (b"a.\xff", BINARY),
            (b".gif", "image/gif"),
        ] {
            assert_eq!(of_name(name), expected);
        }
        for (name, runs) in
            [(&b"a.svg"[..], true), (b"a.HTML", true), (b"a.js", false), (b"a.pdf", false)]
        {
            assert_eq!(is_active(of_name(name)), runs);
        }
    }
}
