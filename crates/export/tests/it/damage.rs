//! Exports that were damaged or forged are refused, and leave no catalog.

use std::fs;
use std::path::Path;

use catalog::FileRow;
use export::Error;

use crate::rows::{FILE, Rows, Scratch, plain};

/// Exports odd rows, changes the export, and returns the text of the error of the import.
fn error_after(change: impl FnOnce(&Path)) -> String {
    let scratch = Scratch::new();
    let exported = scratch.export(&Rows::odd(2), &plain());
    change(&exported.path);
    let error = scratch.import(&exported.path).expect_err("refused");
    assert!(
        matches!(error, Error::Invalid { .. } | Error::File(_) | Error::Table { .. }),
        "{error}"
    );
    assert!(!scratch.dir.join("imported.db").exists());
    error.to_string()
}

/// Replaces a part of the manifest.
fn edit(dir: &Path, from: &str, to: &str) {
    let path = dir.join("_MANIFEST.json");
    let text = fs::read_to_string(&path).expect("a manifest");
    assert!(text.contains(from), "{from}");
    fs::write(path, text.replacen(from, to, 1)).expect("written");
}

#[test]
fn a_changed_byte_in_any_file_is_found() {
    for file in [
        "inodes-0.parquet",
        "inodes-1.parquet",
        "names.parquet",
        "dirs.parquet",
        "contents.parquet",
    ] {
        for at in [4, 100, 200] {
            let error = error_after(|dir| {
                let mut bytes = fs::read(dir.join(file)).expect("a file");
                bytes[at] ^= 1;
                fs::write(dir.join(file), bytes).expect("written");
            });
            assert!(error.contains(file) && error.contains("BLAKE3"), "{error}");
        }
    }
}

#[test]
fn a_shortened_or_missing_file_is_found() {
    let error = error_after(|dir| {
        let bytes = fs::read(dir.join("names.parquet")).expect("a file");
        fs::write(dir.join("names.parquet"), &bytes[..bytes.len() - 1]).expect("written");
    });
    assert!(error.contains("but the manifest has"), "{error}");
    let error = error_after(|dir| fs::remove_file(dir.join("dirs.parquet")).expect("removed"));
    assert!(error.contains("cannot open") && error.contains("dirs.parquet"), "{error}");
    let error = error_after(|dir| fs::remove_file(dir.join("_MANIFEST.json")).expect("removed"));
    assert!(error.contains("not an export: it has no file _MANIFEST.json"), "{error}");
}

#[test]
fn a_forged_manifest_is_refused() {
    let error = error_after(|dir| edit(dir, "\"schema_version\": 1", "\"schema_version\": 2"));
    assert!(error.contains("schema version 2; this lop knows versions up to 1"), "{error}");
    let error = error_after(|dir| edit(dir, "{", "["));
    assert!(error.contains("not a valid manifest"), "{error}");
    let error = error_after(|dir| edit(dir, "\"rows\": 550", "\"rows\": 551"));
    assert!(error.contains("has 550 rows, but the manifest has 551"), "{error}");
    let error = error_after(|dir| edit(dir, "\"names.parquet\"", "\"../names.parquet\""));
    assert!(error.contains("names an invalid file"), "{error}");
    let error = error_after(|dir| edit(dir, "\"path\": \"/srv\"", "\"path\": \"srv\""));
    assert!(error.contains("a root has no absolute path"), "{error}");
}

#[test]
fn a_table_in_place_of_another_is_refused() {
    let error = error_after(|dir| {
        let text = fs::read_to_string(dir.join("_MANIFEST.json")).expect("a manifest");
        let swapped = text.replace("\"dirs\":", "\"swap\":").replace("\"names\": [", "\"dirs\": [");
        fs::write(dir.join("_MANIFEST.json"), swapped).expect("written");
    });
    assert!(error.contains("its columns are not those of dirs"), "{error}");
}

#[test]
fn rows_that_no_catalog_has_are_refused() {
    // Catalogs are not checked when they are made, so they can be forged here.
    let forged = |dirs: &[(i64, i64, &[u8])], name: &[u8]| Rows {
        volumes: Rows::odd(1).volumes,
        dirs: dirs.iter().map(|(id, parent, name)| (*id, *parent, name.to_vec())).collect(),
        files: vec![(1, name.to_vec(), FileRow { ..FILE })],
        ..Rows::default()
    };
    for rows in [
        forged(&[(2, 1, b"..")], b"a"),
        forged(&[(2, 1, b"a/b")], b"a"),
        forged(&[(2, 1, b"")], b"a"),
        forged(&[(3, 4, b"x"), (4, 1, b"y")], b"a"),
        forged(&[], b"../etc"),
        forged(&[], b"nul\0"),
    ] {
        let scratch = Scratch::new();
        let catalog = rows.write(&scratch.dir.join("catalog.db"));
        let error =
            export::export(&catalog, &scratch.out(), &plain(), &runtime::Progress::default());
        assert!(matches!(error, Err(Error::Catalog(_))), "{rows:?}: {error:?}");
        assert_eq!(fs::read_dir(scratch.out().join("nas")).expect("a folder").count(), 0);
    }
}

#[test]
fn files_in_directories_that_are_missing_are_refused() {
    let rows = Rows { files: vec![(9, b"a".to_vec(), FILE)], ..Rows::default() };
    let scratch = Scratch::new();
    let catalog = rows.write(&scratch.dir.join("catalog.db"));
    let error = export::export(&catalog, &scratch.out(), &plain(), &runtime::Progress::default());
    assert!(matches!(error, Err(Error::Catalog(catalog::Error::Orphans { .. }))), "{error:?}");
}
