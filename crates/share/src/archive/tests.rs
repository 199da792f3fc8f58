//! Archives compared with their trees, by other programs.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use fsops::Dir;
use httpd::server::Part;
use testkit::snapshot::{Compare, Entry, Kind};
use testkit::{Snapshot, TempTree, TreeBuilder, assert_same, deep_path, hostile_tree};
use walk::OwnFiles;

use super::{Archive, plan};

fn plan_of(root: &Path) -> Arc<Archive> {
    let dir = Dir::open(root).expect("opened");
    Arc::new(Archive::plan(dir, b"tree", &OwnFiles::default()).expect("planned"))
}

/// Returns the bytes of a body, or the error that ends it.
fn read(archive: &Arc<Archive>, from: u64, to: u64) -> io::Result<Vec<u8>> {
    let mut body = Arc::clone(archive).body(from, to);
    let mut bytes = Vec::new();
    while let Some(part) = body.next()? {
        match part {
            Part::Bytes(part) => bytes.extend_from_slice(&part),
            Part::File(range) => {
                range.served.check()?;
                let start = bytes.len();
                bytes.resize(start + usize::try_from(range.end - range.at).expect("fits"), 0);
                let read = range.served.file.read_at(&mut bytes[start..], range.at)?;
                assert_eq!(start + read, bytes.len());
            }
        }
    }
    Ok(bytes)
}

fn whole(archive: &Arc<Archive>) -> Vec<u8> {
    let bytes = read(archive, 0, archive.length()).expect("read");
    assert_eq!(bytes.len() as u64, archive.length());
    bytes
}

fn run(command: &mut Command) -> Output {
    let output = command.env("LC_ALL", "C").output().expect("started");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {message}");
    assert!(message.is_empty(), "{command:?}: {message}");
    output
}

/// Writes the archive of `root` next to a new directory for its contents.
fn saved(archive: &Arc<Archive>) -> (TempTree, std::path::PathBuf) {
    let out = TempTree::new();
    let file = out.path().join("archive.tar");
    testkit::TreeBuilder::new().file("archive.tar", whole(archive)).dir("out").make(out.path());
    (out, file)
}

fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        testkit::skipped(format!("no {program}"));
    }
    found
}

/// Compares what a program extracted with the tree. Entries whose names are in `missing` are not in the archive.
fn compare(root: &Path, out: &Path, missing: &[&[u8]]) {
    let before = Snapshot::except(root, |path| missing.contains(&path));
    let after = Snapshot::of(out.join("tree"));
    let what = Compare::VISIBLE | Compare::MODE | Compare::LINKS;
    assert_same(&before, &after, what);
    // Python does not set the times of symbolic links.
    let is_link = |entry: &Entry| matches!(entry.kind, Kind::Symlink(_));
    for (path, entry) in before.entries.iter().filter(|(_, entry)| !is_link(entry)) {
        let seconds = |ns: i128| ns.div_euclid(1_000_000_000);
        assert_eq!(seconds(entry.mtime_ns), seconds(after.entries[path].mtime_ns), "{path:?}");
    }
}

/// Everything that the format has to represent.
fn tree() -> TempTree {
    let long = "n".repeat(255);
    TreeBuilder::new()
        .dir("empty")
        .file("-rf", "a dash\n")
        .file("a/b/c", "deeper\n")
        .file("a.b", "sorted after the directory\n")
        .seeded("large", 1, 200_000)
        .file("no bytes", "")
        .hard_links("linked\n", &["links/1", "links/2", "a/linked"])
        .symlink("link", "a/b")
        .symlink("long link", "t".repeat(300).as_str())
        .file(format!("{long}/{long}/{}", "f".repeat(99)), "long\n")
        .file([b"\xff\n\xe9 bytes".to_vec(), vec![0xfe; 120]].concat(), "bytes\n")
        .seeded("exact block", 2, 512)
        .seeded("batch", 3, 65536)
        .seeded("batch and one", 4, 65537)
        .mode("a.b", 0o604)
        .mode("empty", 0o711)
        .mtime("a.b", -5, 0)
        .mtime("large", 1 << 33, 999_999_999)
        .make_temp()
}

#[test]
fn gnu_tar_extracts_the_tree() {
    if !has("tar") {
        return;
    }
    let tree = tree();
    let (out, file) = saved(&plan_of(tree.path()));
    let into = out.path().join("out");
    // The times of two files are before 1970 and in the far future.
    let extract = ["--warning=no-timestamp", "-xpf"];
    run(Command::new("tar").args(extract).arg(&file).arg("-C").arg(&into));
    compare(tree.path(), &into, &[]);
    let listing = run(Command::new("tar").args(["--numeric-owner", "-tvf"]).arg(&file));
    let listing = String::from_utf8_lossy(&listing.stdout).into_owned();
    assert!(listing.lines().all(|line| line.contains(" 0/0 ")), "{listing}");
}

#[test]
fn the_tarfile_module_of_python_extracts_the_tree() {
    if !has("python3") {
        return;
    }
    let tree = tree();
    let (out, file) = saved(&plan_of(tree.path()));
    let into = out.path().join("out");
    let script = "import sys, tarfile\n\
                  with tarfile.open(sys.argv[1], encoding='utf-8', errors='surrogateescape') as a:\n    a.extractall(sys.argv[2])";
    run(Command::new("python3").args(["-c", script]).arg(&file).arg(&into));
    compare(tree.path(), &into, &[]);
}

#[test]
fn bsdtar_and_busybox_extract_the_tree() {
    let tree = tree();
    let (out, file) = saved(&plan_of(tree.path()));
    let into = out.path().join("out");
    for (program, args) in [("bsdtar", &["-xpf"][..]), ("busybox", &["tar", "-xpf"])] {
        if has(program) {
            run(Command::new(program).args(args).arg(&file).arg("-C").arg(&into));
            compare(tree.path(), &into, &[]);
            testkit::remove_tree(&into.join("tree")).expect("removed");
        }
    }
}

#[test]
fn hostile_names_survive_and_special_files_are_left_out() {
    let tree = TempTree::new();
    let hostile = hostile_tree(tree.path());
    hostile.unlock(tree.path());
    let archive = plan_of(tree.path());
    let left_out: Vec<&[u8]> = archive
        .left_out()
        .iter()
        .map(|left| left.path.strip_prefix(b"tree/").expect("below"))
        .collect();
    let special: &[&[u8]] = &[b"device null", b"fifo", b"socket"];
    assert!(left_out.iter().all(|path| special.contains(path)), "{left_out:?}");
    assert!(archive.left_out().iter().any(|left| left.why == "it is a FIFO"));
    if !has("tar") {
        return;
    }
    let (out, file) = saved(&archive);
    let into = out.path().join("out");
    run(Command::new("tar").arg("-xpf").arg(&file).arg("-C").arg(&into));
    compare(tree.path(), &into, special);
}

#[test]
fn what_cannot_be_opened_is_left_out_with_the_reason() {
    if testkit::is_root() {
        return testkit::skipped("root can read every file");
    }
    let tree = TreeBuilder::new()
        .file("closed", "x")
        .mode("closed", 0)
        .file("dir/x", "x")
        .mode("dir", 0)
        .file("open", "x")
        .make_temp();
    let archive = plan_of(tree.path());
    let left_out: Vec<_> = archive.left_out().iter().map(|left| left.path.as_slice()).collect();
    assert_eq!(left_out, [&b"tree/closed"[..], b"tree/dir"]);
    assert_eq!(archive.entries(), 2);
    assert!(archive.left_out().iter().all(|left| left.why.contains("ermission denied")));
}

#[test]
fn a_path_longer_than_the_limit_of_the_kernel_is_archived() {
    let tree = TreeBuilder::new().deep_chain(60, "d".repeat(100), "at the bottom\n").make_temp();
    let archive = plan_of(tree.path());
    let bytes = whole(&archive);
    let path = [b"tree/".to_vec(), deep_path(60, "d".repeat(100))].concat();
    assert!(path.len() > 4096);
    assert!(bytes.windows(path.len()).any(|window| window == path));
    // The last file is found again without the parts before it.
    let last = archive.length() - 2048;
    assert_eq!(
        read(&archive, last, last + 1024).expect("read"),
        bytes[usize::try_from(last).expect("fits")..][..1024]
    );
    if !has("tar") {
        return;
    }
    let (out, file) = saved(&archive);
    let listing = run(Command::new("tar").arg("-tf").arg(&file));
    assert!(listing.stdout.windows(path.len()).any(|window| window == path));
    drop(out);
}

#[test]
fn a_file_of_more_than_8_gib_has_its_size() {
    let tree = TreeBuilder::new().sparse("sparse", 9 << 30, &[]).file("z", "after\n").make_temp();
    let archive = plan_of(tree.path());
    assert!(archive.length() > 9 << 30);
    // The root and the header of the large file.
    let start = read(&archive, 0, 1024).expect("read");
    let end = read(&archive, archive.length() - 2048, archive.length()).expect("read");
    assert!(start[512..].starts_with(b"tree/sparse\0") && end.starts_with(b"tree/z\0"));
    if has("tar") {
        let out = TreeBuilder::new().file("start", start).make_temp();
        let file = out.path().join("start");
        // The archive ends after the header, so this fails after the listing.
        let listing = Command::new("tar").arg("-tvf").arg(file).output().expect("started");
        let listing = String::from_utf8_lossy(&listing.stdout).into_owned();
        assert!(listing.contains(" 9663676416 "), "{listing}");
    }
}

#[test]
fn a_body_can_begin_and_end_at_every_offset() {
    let tree = TreeBuilder::new()
        .file("a", "abc")
        .seeded("batch and more", 1, 65_600)
        .symlink("link", "t".repeat(120).as_str())
        .file(format!("{}/x", "l".repeat(150)), "x")
        .make_temp();
    let archive = plan_of(tree.path());
    let bytes = whole(&archive);
    let length = archive.length();
    // Inside the large file, one offset is as good as any other.
    let cuts = (0..=length).filter(|cut| !(4_000..length - 8_000).contains(cut) || cut % 997 == 0);
    for cut in cuts {
        let (first, second) = (read(&archive, 0, cut), read(&archive, cut, length));
        let both = [first.expect("read"), second.expect("read")].concat();
        assert!(both == bytes, "cut at {cut}");
    }
    for start in (0..length - 700).step_by(311) {
        let part = read(&archive, start, start + 700).expect("read");
        assert!(part == bytes[usize::try_from(start).expect("fits")..][..700], "from {start}");
    }
}

#[test]
fn the_same_tree_has_the_same_tag_and_the_same_bytes() {
    let tree = tree();
    let (one, other) = (plan_of(tree.path()), plan_of(tree.path()));
    assert_eq!(one.tag(), other.tag());
    assert_eq!((one.tag().len(), one.modified()), (32, 1 << 33));
    assert_eq!(whole(&one), whole(&other));
    let dir = Dir::open(tree.path()).expect("opened");
    let named = Archive::plan(dir, b"else", &OwnFiles::default()).expect("planned");
    assert_ne!(one.tag(), named.tag());
    TreeBuilder::new().mode("a.b", 0o600).make(tree.path());
    assert_ne!(one.tag(), plan_of(tree.path()).tag());
}

#[test]
fn a_file_that_changes_after_the_plan_ends_the_body() {
    for (name, size) in [("small", 100), ("large", 100_000)] {
        let tree = TreeBuilder::new().file("a", "first\n").seeded(name, 1, size).make_temp();
        let archive = plan_of(tree.path());
        let path = tree.path().join(name);
        let before = fs::metadata(&path).expect("metadata");
        let file = fs::File::options().write(true).open(&path).expect("opened");
        std::os::unix::fs::FileExt::write_all_at(&file, b"!", 0).expect("written");
        file.set_modified(before.modified().expect("a time")).expect("set");
        assert_eq!(fs::metadata(&path).expect("metadata").mtime_nsec(), before.mtime_nsec());
        let error = read(&archive, 0, archive.length()).expect_err("changed");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{name}");
        // The bytes before it are still sent.
        assert!(read(&archive, 0, 1536).is_ok());
    }
}

#[test]
fn a_large_file_that_changes_while_it_is_sent_ends_the_body() {
    let tree = TreeBuilder::new().seeded("large", 1, 100_000).make_temp();
    let archive = plan_of(tree.path());
    let mut body = Arc::clone(&archive).body(1024, archive.length());
    assert!(matches!(body.next(), Ok(Some(Part::File(_)))));
    let file = fs::File::options().append(true).open(tree.path().join("large")).expect("opened");
    file.set_len(100_001).expect("set");
    assert_eq!(
        body.next().map(drop).map_err(|error| error.kind()),
        Err(io::ErrorKind::InvalidData)
    );
}

#[test]
fn a_link_in_place_of_a_directory_is_not_followed() {
    let tree = TreeBuilder::new().file("dir/x", "x").make_temp();
    let archive = plan_of(tree.path());
    let other = TempTree::new();
    let moved = other.path().join("dir");
    #[expect(clippy::disallowed_methods, reason = "this test meddles with its own tree")]
    fs::rename(tree.path().join("dir"), &moved).expect("moved");
    std::os::unix::fs::symlink(&moved, tree.path().join("dir")).expect("linked");
    assert!(read(&archive, 0, archive.length()).is_err());
}

#[test]
fn names_that_are_no_component_and_trees_that_are_too_large_are_refused() {
    let tree = TreeBuilder::new().file("a", "").file("b", "").make_temp();
    for name in [&b""[..], b".", b"..", b"a/b", b"a\0"] {
        let dir = Dir::open(tree.path()).expect("opened");
        let planned = Archive::plan(dir, name, &OwnFiles::default());
        assert_eq!(planned.expect_err("refused").kind(), io::ErrorKind::InvalidInput);
    }
    let open = || Dir::open(tree.path()).expect("opened");
    let plan = |max| plan::plan(open(), b"tree", &OwnFiles::default(), max);
    assert_eq!(plan(3).expect("planned").entries(), 3);
    let error = plan(2).expect_err("refused");
    assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    assert_eq!(error.to_string(), "the directory has more than 2 entries");
}

#[test]
fn own_files_are_no_part_of_an_archive() {
    let tree = TreeBuilder::new().file("a/catalog.db", "1").file("catalog.db", "2").make_temp();
    let own = OwnFiles::new(&[tree.path().join("a/catalog.db")]);
    let dir = Dir::open(tree.path()).expect("opened");
    let archive = Archive::plan(dir, b"t", &own).expect("planned");
    // The root, the directory, and the file in the root.
    assert_eq!(archive.entries(), 3);
    assert!(archive.left_out().is_empty());
}
