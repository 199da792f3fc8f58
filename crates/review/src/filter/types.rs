//! The types of files, by the extensions of their names.

/// A type of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Type {
    Image,
    Video,
    Audio,
    Document,
    Archive,
    Code,
    Other,
}

/// The extensions of each type.
const EXTENSIONS: [(Type, &str); 6] = [
    (
        Type::Image,
        "jpg jpeg jpe png gif webp avif heic heif bmp tif tiff svg ico psd xcf raw cr2 cr3 nef arw dng orf rw2 raf",
    ),
    (Type::Video, "mp4 m4v mkv webm mov avi wmv flv mpg mpeg mts m2ts ts vob 3gp ogv"),
    (Type::Audio, "mp3 flac ogg oga opus m4a aac wav wma aif aiff ape alac mid midi"),
    (
        Type::Document,
        "pdf doc docx odt rtf txt md xls xlsx ods csv ppt pptx odp epub mobi azw3 djvu tex ps",
    ),
    (
        Type::Archive,
        "zip tar gz tgz bz2 tbz2 xz txz zst lz4 7z rar iso img dmg deb rpm jar apk cab cpio vmdk qcow2",
    ),
    (
        Type::Code,
        "c h cc cpp cxx hpp rs go py js mjs tsx jsx java kt swift rb php pl sh bash lua sql html htm css scss xml json \
         yaml yml toml ini cmake",
    ),
];

impl Type {
    pub(super) const ALL: [Type; 7] = [
        Type::Image,
        Type::Video,
        Type::Audio,
        Type::Document,
        Type::Archive,
        Type::Code,
        Type::Other,
    ];

    pub(super) fn word(self) -> &'static str {
        match self {
            Type::Image => "image",
            Type::Video => "video",
            Type::Audio => "audio",
            Type::Document => "document",
            Type::Archive => "archive",
            Type::Code => "code",
            Type::Other => "other",
        }
    }
}

/// The known extensions as numbers, sorted.
#[derive(Clone, Debug)]
pub(super) struct Table(Vec<(u64, Type)>);

impl Table {
    pub(super) fn new() -> Table {
        let all = EXTENSIONS.iter().flat_map(|(kind, extensions)| {
            let numbers = extensions.split_ascii_whitespace().filter_map(|e| number(e.as_bytes()));
            numbers.map(|number| (number, *kind))
        });
        let mut table: Vec<_> = all.collect();
        table.sort_unstable();
        Table(table)
    }

    /// Returns the type of a file. A name such as `.ini` has no extension.
    pub(super) fn type_of(&self, name: &[u8]) -> Type {
        let dot = memchr::memrchr(b'.', name).filter(|&dot| dot > 0);
        let Some(wanted) = dot.and_then(|dot| number(&name[dot + 1..])) else {
            return Type::Other;
        };
        let found = self.0.binary_search_by_key(&wanted, |(known, _)| *known);
        found.map_or(Type::Other, |found| self.0[found].1)
    }
}

/// Returns a number for an extension, regardless of case. Returns `None` if the extension has more
/// than 8 bytes.
fn number(extension: &[u8]) -> Option<u64> {
    let mut bytes = [0; 8];
    bytes.get_mut(..extension.len())?.copy_from_slice(extension);
    bytes.make_ascii_lowercase();
    Some(u64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::{Table, Type};

    #[test]
    fn the_last_extension_determines_the_type() {
        let table = Table::new();
        for (name, kind) in [
            ("a.JPG", Type::Image),
            ("a.tar.gz", Type::Archive),
            ("b.mp4", Type::Video),
            ("c.Flac", Type::Audio),
            ("d.pdf", Type::Document),
            ("e.rs", Type::Code),
            ("jpg", Type::Other),
            (".jpg", Type::Other),
            ("f.", Type::Other),
            ("f.much-too-long", Type::Other),
        ] {
            assert_eq!(table.type_of(name.as_bytes()), kind, "{name}");
        }
    }

    #[test]
    fn no_extension_has_two_types() {
        let table = Table::new();
        assert!(table.0.windows(2).all(|pair| pair[0].0 != pair[1].0));
        let all: usize =
            super::EXTENSIONS.iter().map(|(_, text)| text.split_ascii_whitespace().count()).sum();
        assert_eq!(table.0.len(), all);
    }
}
