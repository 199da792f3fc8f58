//! Copies of exports: they appear only if every byte is that of the manifest.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use export::{Copied, Error, Stored, StoredManifest};

use crate::rows::{Rows, Scratch, plain};

/// Copies an export to `out`. `change` may change the bytes of each file.
fn copy(export: &Path, out: &Path, change: impl Fn(&str, &mut Vec<u8>)) -> Result<PathBuf, Error> {
    let copied = Copied::create(out, manifest(export))?;
    for file in copied.manifest().files() {
        let mut bytes = fs::read(export.join(&file.file)).expect("a file");
        change(&file.file, &mut bytes);
        let mut copy = copied.file(file)?;
        for part in bytes.chunks(1000) {
            copy.write(part)?;
        }
        copy.finish()?;
    }
    copied.publish()
}

fn manifest(export: &Path) -> StoredManifest {
    let bytes = fs::read(export.join("_MANIFEST.json")).expect("a manifest");
    StoredManifest::parse(bytes).expect("valid")
}

#[test]
fn a_copy_has_the_bytes_and_the_name_of_the_export() {
    let scratch = Scratch::new();
    let exported = scratch.export(&Rows::odd(1), &plain());
    let out = scratch.dir.join("copies");
    let path = copy(&exported.path, &out, |_, _| ()).expect("copied");
    assert_eq!(path.strip_prefix(&out), exported.path.strip_prefix(scratch.out()));
    for entry in fs::read_dir(&exported.path).expect("a folder") {
        let name = entry.expect("an entry").file_name();
        let bytes = |folder: &Path| fs::read(folder.join(&name)).expect("a file");
        assert_eq!(bytes(&path), bytes(&exported.path), "{name:?}");
        let mode = fs::metadata(path.join(&name)).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    Stored::open(&path).expect("complete");
    // The next copy finds the name taken, and changes nothing.
    assert!(copy(&exported.path, &out, |_, _| ()).is_err());
    Stored::open(&path).expect("complete");
    assert!(!out.join("nas/_part").exists());
}

#[test]
fn a_copy_that_differs_does_not_appear() {
    let scratch = Scratch::new();
    let exported = scratch.export(&Rows::odd(1), &plain());
    let out = scratch.dir.join("copies");
    let changes: [fn(&mut Vec<u8>); 4] =
        [|bytes| bytes[20] ^= 1, |bytes| bytes.push(0), |bytes| bytes.truncate(1000), Vec::clear];
    for change in changes {
        let damage = |name: &str, bytes: &mut Vec<u8>| {
            if name == "names.parquet" {
                change(bytes);
            }
        };
        let error = copy(&exported.path, &out, damage);
        assert!(matches!(error, Err(Error::Invalid { .. })), "{error:?}");
        assert_eq!(fs::read_dir(out.join("nas")).expect("a folder").count(), 0);
    }
    // A file is missing.
    let copied = Copied::create(&out, manifest(&exported.path)).expect("created");
    assert!(matches!(copied.publish(), Err(Error::Invalid { .. })));
    assert_eq!(fs::read_dir(out.join("nas")).expect("a folder").count(), 0);
}

#[test]
fn a_manifest_can_name_only_what_an_export_has() {
    let scratch = Scratch::new();
    let exported = scratch.export(&Rows::odd(1), &plain());
    let text = fs::read_to_string(exported.path.join("_MANIFEST.json")).expect("a manifest");
    let id = exported.path.file_name().expect("a name").to_str().expect("ASCII");
    for (from, to) in [
        ("names.parquet", "../names.parquet"),
        ("names.parquet", "/names.parquet"),
        ("\"nas\"", "\"..\""),
        ("\"nas\"", "\"a/b\""),
        (id, "1/../Z"),
        (id, "..Z"),
        (id, "1\\u0000Z"),
    ] {
        let forged = text.replace(from, to);
        assert_ne!(forged, text, "{from}");
        assert!(StoredManifest::parse(forged.into_bytes()).is_err(), "{to}");
    }
    assert!(StoredManifest::parse(text.into_bytes()).is_ok());
}

#[test]
fn exports_of_one_host_can_be_removed() {
    let scratch = Scratch::new();
    scratch.export(&Rows::odd(1), &plain());
    fs::create_dir(scratch.out().join("laptop")).expect("made");
    export::remove_exports(&scratch.out(), "nas").expect("removed");
    assert!(!scratch.out().join("nas").exists() && scratch.out().join("laptop").exists());
    assert!(export::remove_exports(&scratch.out(), "nas").is_err());
    assert!(export::remove_exports(&scratch.out(), "../x").is_err());
    // Other files stay.
    let scratch = Scratch::new();
    scratch.export(&Rows::odd(1), &plain());
    fs::write(scratch.out().join("nas/mine"), "x").expect("written");
    assert!(export::remove_exports(&scratch.out(), "nas").is_err());
    assert!(scratch.out().join("nas/mine").exists());
}
