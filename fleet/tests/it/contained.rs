//! `uniques` and `contains`: which files of a directory are nowhere else.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use export::Names;
use testkit::{Output, PathBytes, Sandbox};

use crate::hosts::{Hosts, Inode, Name};

const PHOTO: Inode = (1000, 1, 1);
const FILM: Inode = (5000, 2, 2);
const NOTE: Inode = (70, 3, 3);
/// Of the same size and beginning as [`FILM`], but without a digest.
const PERHAPS: Inode = (5000, 2, 0);
const LONE: Inode = (99, 9, 0);
const EMPTY: Inode = (0, 0, 0);

/// Runs a command with the folder of exports and some places.
fn ask<P: PathBytes>(command: &[&str], hosts: &Hosts, places: &[P]) -> Output {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_lop-fleet"));
    sandbox.command().args(command).arg(hosts.dir.as_ref() as &std::path::Path).args(places).run()
}

fn export(hosts: &mut Hosts, host: &str, names: &[Name<'_>]) {
    hosts.export_names(host, names, Names::Plain, None);
}

/// A laptop with a photo that the nas has, a film that it may have, and a note that it does not have.
fn laptop_and_nas() -> Hosts {
    let mut hosts = Hosts::new();
    let laptop: [Name<'_>; 7] = [
        (b"/home/me/photo", 1, PHOTO),
        (b"/home/me/a/same photo", 1, PHOTO),
        (b"/home/me/film", 2, FILM),
        (b"/home/me/note", 3, NOTE),
        (b"/home/me/a/empty", 4, EMPTY),
        (b"/home/meg/lone", 5, LONE),
        (b"/etc/note", 6, NOTE),
    ];
    export(&mut hosts, "laptop", &laptop);
    export(&mut hosts, "nas", &[(b"/srv/photos/x", 1, PHOTO), (b"/srv/perhaps", 2, PERHAPS)]);
    hosts
}

#[test]
fn files_that_no_other_host_has_are_listed() {
    let hosts = laptop_and_nas();
    let output = ask(&["uniques"], &hosts, &["laptop:/home/me/"]);
    output.code(6);
    let expected = "/home/me/note\n/home/me/film  (not compared)\n";
    assert_eq!(output.stdout_str(), expected);
    assert_eq!(
        output.stderr_str(),
        "3 files: 1 on another host, 1 on no other host, 1 not compared\n"
    );
    let output = ask(&["uniques"], &hosts, &["laptop:/home/me/a"]);
    output.success();
    assert_eq!(output.stdout_str(), "");
    // All names of a file below the directory are listed.
    let output = ask(&["uniques", "--json"], &hosts, &["laptop:/"]);
    let answer: serde_json::Value = serde_json::from_str(output.stdout_str()).expect("JSON");
    assert_eq!((&answer["files"], &answer["elsewhere"]), (&5.into(), &1.into()));
    let paths: Vec<&str> = answer["uniques"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|at| at["path"].as_str())
        .collect();
    assert_eq!(paths, ["/etc/note", "/home/me/note", "/home/meg/lone"]);
}

#[test]
fn a_directory_contains_another_if_it_has_all_contents() {
    let mut hosts = laptop_and_nas();
    let contains =
        |hosts: &Hosts, wanted: &str, there: &str| ask(&["contains"], hosts, &[wanted, there]);
    let output = contains(&hosts, "laptop:/home/me", "nas:/srv");
    output.code(6);
    assert_eq!(output.stdout_str(), "/home/me/note\n/home/me/film  (not compared)\n");
    assert_eq!(output.stderr_str(), "3 files: 1 in nas:/srv, 1 not in nas:/srv, 1 not compared\n");
    contains(&hosts, "laptop:/home/me/a", "nas:/srv/photos").success();
    // On one host, too: the note is in both directories.
    let output = contains(&hosts, "laptop:/etc", "laptop:/home/me");
    output.success();
    assert_eq!(
        output.stderr_str(),
        "1 file: 1 in laptop:/home/me, 0 not in laptop:/home/me, 0 not compared\n"
    );
    let names: [Name<'_>; 3] =
        [(b"/srv/film", 1, FILM), (b"/srv/photo", 2, PHOTO), (b"/srv/a/note", 3, NOTE)];
    export(&mut hosts, "nas", &names);
    contains(&hosts, "laptop:/home/me", "nas:/srv").success();
    contains(&hosts, "laptop:/home/me", "nas:/srv/a").code(6);
    // The nas may have the only file of this host, because the file has no digest.
    export(&mut hosts, "old", &[(b"/perhaps", 1, PERHAPS)]);
    contains(&hosts, "old:/", "nas:/srv").code(3);
}

#[test]
fn places_that_cannot_be_compared_are_errors() {
    let mut hosts = laptop_and_nas();
    hosts.export("nameless", &[PHOTO]);
    for (place, message) in [
        ("laptop", "laptop: give a host and an absolute path, such as nas:/srv"),
        ("laptop:home", "laptop:home: give a host and an absolute path, such as nas:/srv"),
        ("nowhere:/x", "nowhere:/x: there is no complete export of this host"),
        ("nameless:/", "nameless:/: the names of nameless were not exported as they are"),
    ] {
        let output = ask(&["uniques"], &hosts, &[place]);
        output.code(1);
        assert_eq!(output.stderr_str(), format!("lop-fleet: {message}\n"));
    }
    let output = ask(&["uniques"], &hosts, &["laptop:/home/m"]);
    output.code(1);
    assert!(output.stderr_str().ends_with(" has no such directory\n"), "{output:?}");
    assert!(output.stderr_str().starts_with("lop-fleet: laptop:/home/m: the export "));
}

#[test]
fn odd_names_keep_their_bytes() {
    let mut hosts = Hosts::new();
    let names: [Name<'_>; 3] =
        [(b"/d\xff/new\nline", 1, NOTE), (b"/d\xff/\xfe", 2, LONE), (b"/d\xff/x", 3, PHOTO)];
    export(&mut hosts, "a", &names);
    export(&mut hosts, "b", &[(b"/x", 1, PHOTO)]);
    let place = OsStr::from_bytes(b"a:/d\xff");
    let output = ask(&["uniques"], &hosts, &[place]);
    output.code(6);
    assert_eq!(output.stdout, b"\\/d\xff/new\\nline\n/d\xff/\xfe\n");
}

#[test]
fn a_file_on_a_shared_file_system_is_no_copy_of_itself() {
    let names = |top: &str| {
        [("photo", 11, (1000, 1, 1)), ("other", 12, (2000, 1, 2))]
            .map(|(name, inode, of)| (format!("{top}/{name}").into_bytes(), inode, of))
    };
    let mut hosts = crate::hosts::Hosts::new();
    hosts.shared_fsid = Some(7);
    for (host, top) in [("laptop", "/mnt"), ("nas", "/srv")] {
        let names = names(top);
        let names: Vec<_> = names.iter().map(|(path, inode, of)| (&**path, *inode, *of)).collect();
        hosts.export_names(host, &names, export::Names::Plain, None);
    }
    let sandbox = testkit::Sandbox::new(env!("CARGO_BIN_EXE_lop-fleet"));
    let run = |args: &[&str]| {
        sandbox.command().arg(args[0]).arg(hosts.dir.join("")).args(&args[1..]).run()
    };
    assert_eq!(run(&["uniques", "nas:/srv"]).code(6).stdout_str().lines().count(), 2);
    assert_eq!(
        run(&["contains", "nas:/srv", "laptop:/mnt"]).code(6).stdout_str().lines().count(),
        2
    );
}
