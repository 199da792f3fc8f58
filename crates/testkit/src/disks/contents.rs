//! The contents of the entries of a disk.
//!
//! Every content contains the path of the file, so that no two files are identical.

use crate::content::Content;

/// Returns the content of the file `path`. Without a name, the content is the path.
///
/// # Panics
///
/// Panics if no content has this name.
pub(super) fn named(name: Option<&str>, path: &str) -> Content {
    let signature: &[u8] = match name {
        None => b"",
        // The Cache Directory Tagging Specification: the first 43 bytes of the file.
        Some("cachedir-tag") => b"Signature: 8a477f597d28d172789f06886806bc55\n# ",
        // The same signature, but not at the beginning.
        Some("late-tag") => b"# \nSignature: 8a477f597d28d172789f06886806bc55\n# ",
        // A compound file of OLE, the format of Thumbs.db.
        Some("ole") => b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1",
        // AppleDouble, version 2.
        Some("appledouble") => b"\x00\x05\x16\x07\x00\x02\x00\x00",
        // ELF, 64 bits, little-endian: a core file (type 4), and a program (type 2).
        Some("core") => b"\x7FELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x04\x00\x3E\x00",
        Some("program") => b"\x7FELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\x00\x3E\x00",
        // View settings of Finder and of Dolphin.
        Some("ds-store") => b"\0\0\0\x01Bud1",
        Some("dolphin") => b"[Dolphin]\nVersion=4\n# ",
        Some("xml") => b"<?xml version=\"1.0\"?>\n",
        Some("pyvenv") => b"home = /usr/bin\nversion = 3.11.2\n# ",
        Some(name) => panic!("no content is called {name}"),
    };
    [signature, path.as_bytes()].concat().into()
}
