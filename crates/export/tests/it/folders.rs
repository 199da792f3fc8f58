//! The folders of exports: names, order, and what killed exports leave.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use export::{Error, Options};
use runtime::Progress;

use crate::rows::{Rows, Scratch, plain};

#[test]
fn later_exports_have_greater_names_even_if_the_clock_goes_back() {
    let (scratch, rows) = (Scratch::new(), Rows::odd(1));
    let catalog = rows.write(&scratch.dir.join("catalog.db"));
    let mut names = Vec::new();
    for created_ms in
        [1_795_822_381_138, 1_795_822_381_138, 1_000, 1_795_822_381_139, 1_795_822_399_999]
    {
        let options = Options { created_ms, ..plain() };
        let exported = export::export(&catalog, &scratch.out(), &options, &Progress::default());
        let path = exported.expect("exported").path;
        names.push(path.file_name().expect("a name").to_str().expect("ASCII").to_owned());
    }
    let expected = ["01.138", "01.139", "01.140", "01.141", "19.999"];
    assert_eq!(names, expected.map(|end| format!("20261127T2333{end}Z")));
}

#[test]
fn only_the_owner_can_read_an_export() {
    let scratch = Scratch::new();
    let exported = scratch.export(&Rows::odd(1), &plain());
    let mode = |path| fs::metadata(path).expect("exists").permissions().mode() & 0o777;
    assert_eq!(mode(exported.path.clone()), 0o700);
    assert_eq!(mode(exported.path.join("names.parquet")), 0o600);
    assert_eq!(mode(exported.path.join("_MANIFEST.json")), 0o600);
}

#[test]
fn a_host_has_a_name_that_engines_and_file_systems_accept() {
    let scratch = Scratch::new();
    let catalog = Rows::default().write(&scratch.dir.join("catalog.db"));
    let long = "x".repeat(256);
    for host in ["", ".", "..", "a/b", "_x", ".x", "-x", "host=7", "ä", "a b", "a\nb", &long] {
        let options = Options { host: host.into(), ..plain() };
        let error = export::export(&catalog, &scratch.out(), &options, &Progress::default());
        assert!(matches!(error, Err(Error::Host(_))), "{host:?}");
    }
    assert!(!scratch.out().exists());
    for host in ["a", "7", "nas-2.example_org", "x".repeat(255).as_str()] {
        let options = Options { host: host.into(), ..plain() };
        let exported = export::export(&catalog, &scratch.out(), &options, &Progress::default());
        assert!(exported.is_ok(), "{host:?}");
    }
}

#[test]
fn what_a_killed_export_left_is_removed() {
    let scratch = Scratch::new();
    let left = scratch.out().join("nas/_part/20200101T000000.000Z");
    fs::create_dir_all(&left).expect("made");
    fs::write(left.join("names.parquet"), "half").expect("written");
    let other_host = scratch.out().join("other/_part/20200101T000000.000Z");
    fs::create_dir_all(&other_host).expect("made");
    scratch.export(&Rows::odd(1), &plain());
    assert!(!scratch.out().join("nas/_part").exists());
    assert!(other_host.exists());
}

#[test]
fn files_that_are_not_of_an_export_are_never_removed() {
    let scratch = Scratch::new();
    let inside = scratch.out().join("nas/_part/20200101T000000.000Z/thesis.txt");
    let beside = scratch.out().join("nas/_part/thesis.txt");
    fs::create_dir_all(inside.parent().expect("a folder")).expect("made");
    for file in [&inside, &beside] {
        fs::write(file, "years of work").expect("written");
    }
    scratch.export(&Rows::odd(1), &plain());
    for file in [&inside, &beside] {
        assert_eq!(fs::read(file).expect("is there"), b"years of work");
    }
}

#[test]
fn a_stopped_export_leaves_nothing() {
    let scratch = Scratch::new();
    let catalog = Rows::odd(1).write(&scratch.dir.join("catalog.db"));
    let progress = Progress::default();
    progress.stop();
    let error = export::export(&catalog, &scratch.out(), &plain(), &progress);
    assert!(matches!(error, Err(Error::Interrupted(_))), "{error:?}");
    assert_eq!(fs::read_dir(scratch.out().join("nas")).expect("a folder").count(), 0);
}

#[test]
fn two_exports_of_a_host_do_not_run_at_once() {
    let scratch = Scratch::new();
    let catalog = Rows::odd(1).write(&scratch.dir.join("catalog.db"));
    let host = scratch.out().join("nas");
    fs::create_dir_all(&host).expect("made");
    let dir = fsops::Dir::open(&host).expect("opens");
    assert!(dir.lock().expect("locks"));
    let error = export::export(&catalog, &scratch.out(), &plain(), &Progress::default());
    assert!(matches!(error, Err(Error::Busy(_))), "{error:?}");
    dir.unlock();
    assert!(export::export(&catalog, &scratch.out(), &plain(), &Progress::default()).is_ok());
}

#[test]
fn older_exports_are_removed_only_if_they_are_replaced_and_contain_nothing_else() {
    let scratch = Scratch::new();
    let exports = || {
        let listed = fs::read_dir(scratch.out().join("nas")).expect("a folder");
        listed.map(|entry| entry.expect("readable").path()).collect::<Vec<_>>()
    };
    let catalog = Rows::odd(1).write(&scratch.dir.join("catalog.db"));
    let export =
        |options: &Options| export::export(&catalog, &scratch.out(), options, &Progress::default());
    let first = export(&plain()).expect("exported").path;
    export(&plain()).expect("exported");
    assert_eq!(exports().len(), 2);
    let foreign = scratch.out().join("nas/_survey");
    fs::create_dir(&foreign).expect("made");
    let replacing = Options { replaces: true, ..plain() };
    let newest = export(&replacing).expect("exported").path;
    let mut left = exports();
    left.sort();
    assert_eq!(left, [newest.clone(), foreign]);
    assert!(newest > first);

    fs::write(newest.join("thesis.txt"), "years of work").expect("written");
    let error = export(&replacing);
    let error = error.expect_err("an older export contains something else").to_string();
    assert!(error.contains(newest.to_str().expect("UTF-8")), "{error}");
    assert_eq!(fs::read(newest.join("thesis.txt")).expect("is there"), b"years of work");
}
