//! Trees on disk match their description.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::panic::catch_unwind;

use super::TreeBuilder;
use crate::{TempTree, is_root};

#[test]
fn every_kind_is_made_as_described() {
    let temp = TempTree::new();
    let tree = TreeBuilder::new()
        .dir("empty")
        .file(b"odd \xff\n", b"bytes\0")
        .hard_links("linked", &["h1", "sub/h2", "sub/h3"])
        .symlink_loop("sub/l1", "sub/l2")
        .dangling_symlink("dangling")
        .fifo("fifo")
        .socket("socket")
        .char_device("null", 1, 3)
        .block_device("disk", 7, 200);
    let made = tree.make(&temp);
    assert_eq!(fs::read(made.path(b"odd \xff\n")).expect("a file"), b"bytes\0");
    let stat = |name: &str| fs::symlink_metadata(made.path(name)).expect(name);
    assert!(stat("empty").is_dir());
    assert_eq!((stat("h1").nlink(), stat("h1").ino()), (3, stat("sub/h3").ino()));
    assert!(stat("dangling").is_symlink() && fs::metadata(made.path("dangling")).is_err());
    let looping = fs::metadata(made.path("sub/l1")).expect_err("a loop");
    assert_eq!(looping.raw_os_error(), Some(rustix::io::Errno::LOOP.raw_os_error()));
    assert!(stat("fifo").file_type().is_fifo() && stat("socket").file_type().is_socket());
    assert_eq!(made.was_made("null"), is_root());
    if made.was_made("disk") {
        assert_eq!(stat("null").rdev(), rustix::fs::makedev(1, 3));
        assert!(stat("disk").file_type().is_block_device());
    }
}

#[test]
fn holes_are_holes_with_data_where_described() {
    let tree = TreeBuilder::new().sparse("s", 10 << 20, &[(5 << 20, b"island")]).make_temp();
    let bytes = fs::read(tree.join("s")).expect("a file");
    assert_eq!((bytes.len(), &bytes[5 << 20..][..6]), (10 << 20, &b"island"[..]));
    assert!(fs::metadata(tree.join("s")).expect("there").blocks() * 512 < 1 << 20);
}

#[test]
fn times_and_modes_are_exact_even_of_parents() {
    let tree = TreeBuilder::new()
        .file("d/sub/f", "x")
        .symlink("d/l", "nowhere")
        .mtime("d/sub/f", 1, 2)
        .mtime("d/sub", -5, 999_999_999)
        .mtime("d", 1_700_000_000, 1)
        .mtime("d/l", 77, 7)
        .mode("d/sub/f", 0o4751)
        .mode("d/sub", 0)
        .mode("d", 0o1700)
        .make_temp();
    let stat = |name: &str| fs::symlink_metadata(tree.join(name)).expect(name);
    let time = |name: &str| (stat(name).mtime(), stat(name).mtime_nsec());
    assert_eq!(time("d"), (1_700_000_000, 1));
    assert_eq!(time("d/sub"), (-5, 999_999_999));
    assert_eq!(time("d/l"), (77, 7));
    assert_eq!((stat("d").mode() & 0o7777, stat("d/sub").mode() & 0o7777), (0o1700, 0));
    if is_root() {
        assert_eq!(time("d/sub/f"), (1, 2));
        assert_eq!(stat("d/sub/f").mode() & 0o7777, 0o4751);
    }
}

#[test]
fn owners_and_extended_attributes_are_set() {
    if !is_root() {
        return crate::skipped("only root can change the owner of a file");
    }
    let tree = TreeBuilder::new().file("f", "x").owner("f", 12, 34).mode("f", 0o4755);
    let tree = tree.xattr("f", "user.note", b"\x00\xff").make_temp();
    let stat = fs::metadata(tree.join("f")).expect("there");
    assert_eq!((stat.uid(), stat.gid(), stat.mode() & 0o7777), (12, 34, 0o4755));
    let mut value = [0; 16];
    let n = rustix::fs::lgetxattr(tree.join("f"), "user.note", &mut value).expect("an attribute");
    assert_eq!(value[..n], [0, 0xff]);
}

#[test]
fn a_name_described_twice_is_an_error_that_names_it() {
    let temp = TempTree::new();
    let twice = TreeBuilder::new().file("one name", "x").file("one name", "y");
    let panic = catch_unwind(|| twice.make(&temp)).expect_err("must fail");
    let message = panic.downcast_ref::<String>().expect("a message");
    assert!(message.contains("one name") && message.contains("exists"), "{message}");
}
