//! Exports that reveal neither digests nor names.

use std::fs;
use std::path::Path;

use export::{Key, Names, Options};

use crate::rows::{Rows, Scratch, plain};

fn keyed(secret: &[u8], names: Names) -> Options {
    Options { key: Some(Key::new(secret).expect("long enough")), names, ..plain() }
}

/// Returns the bytes of all files of an export, uncompressed enough to find a name in them.
fn all_bytes(dir: &Path) -> Vec<u8> {
    let files = fs::read_dir(dir).expect("a folder").map(|entry| entry.expect("an entry").path());
    files.flat_map(|path| fs::read(path).expect("a file")).collect()
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn keyed_exports_contain_no_digest_and_no_name() {
    let rows = Rows::odd(5);
    let digest = rows.contents.iter().find_map(|content| content.digest).expect("one has a digest");
    let digest = digest.0;
    let path = b"/srv";
    let scratch = Scratch::new();
    let plain = scratch.export(&rows, &plain());
    let found = all_bytes(&plain.path);
    assert!(contains(&found, path), "a plain export shows the roots");
    for names in [Names::Keyed, Names::None] {
        let scratch = Scratch::new();
        let exported = scratch.export(&rows, &keyed(b"a secret of 24 bytes....", names));
        let found = all_bytes(&exported.path);
        for part in [&digest[..], path, b"locked", b"exclude", b"name 0"] {
            assert!(!contains(&found, part), "{names:?} {part:?}");
        }
        let has_names = exported.path.join("names.parquet").exists();
        assert_eq!(has_names, names == Names::Keyed);
    }
}

#[test]
fn only_the_same_secret_gives_the_same_hashes() {
    let rows = Rows::odd(6);
    let inodes = |secret: &[u8]| {
        let scratch = Scratch::new();
        let exported = scratch.export(&rows, &keyed(secret, Names::Keyed));
        fs::read(exported.path.join("inodes-0.parquet")).expect("a file")
    };
    let first = inodes(b"the secret of the fleet");
    assert!(first == inodes(b"the secret of the fleet"));
    assert!(first != inodes(b"the secret of the fleeT"));
    let id = |secret: &[u8]| Key::new(secret).expect("long enough").id().to_owned();
    assert_eq!(id(b"the secret of the fleet"), id(b"the secret of the fleet"));
    assert_ne!(id(b"the secret of the fleet"), id(b"the secret of the fleeT"));
}

#[test]
fn a_short_secret_is_refused() {
    assert!(Key::new(b"sixteen bytes...").is_ok());
    let error = Key::new(b"fifteen bytes..").expect_err("too short");
    assert_eq!(error.to_string(), "has 15 bytes, but a key has at least 16");
}

#[test]
fn exports_without_names_or_with_keyed_digests_do_not_become_catalogs() {
    let rows = Rows::odd(7);
    let secret = b"the secret of the fleet";
    for options in [
        Options { names: Names::None, ..plain() },
        keyed(secret, Names::Plain),
        keyed(secret, Names::Keyed),
    ] {
        let scratch = Scratch::new();
        let exported = scratch.export(&rows, &options);
        let error = scratch.import(&exported.path).expect_err("refused");
        assert!(matches!(error, export::Error::Unreadable { .. }), "{error}");
        assert!(!scratch.dir.join("imported.db").exists());
    }
}
