//! Finding files below a directory that may have a given content.

use std::fs;
use std::path::Path;

use catalog::{ContentIndex, DigestedFile};
use content::Digest;
use testkit::{TempTree, TreeBuilder};

use crate::disk::{bytes, stat};
use crate::sandbox::Sandbox;

fn scanned() -> (Sandbox, TempTree) {
    let tree = TreeBuilder::new()
        .file("in/a", "alike")
        .file("in/d/copy", "alike")
        .hard_links("linked", &["in/l1", "in/d/l2", "outside/l3"])
        .file("outside/copy", "alike")
        .file("in/unlike", "Alike")
        .file("in/single", "no other has this size")
        .mtime("in/single", 5, 7)
        .file("in/d/moment", "no other is as long as this")
        .mtime("in/d/moment", 5, 7)
        .file("inner/copy", "alike")
        .make_temp();
    let sandbox = Sandbox::new();
    sandbox.scan(&[tree.path()]);
    (sandbox, tree)
}

fn index(sandbox: &Sandbox, top: &Path, smallest: u64) -> ContentIndex {
    ContentIndex::new(sandbox.catalog(), &bytes(top), smallest)
}

fn sorted(mut paths: Vec<Vec<u8>>) -> Vec<String> {
    paths.sort();
    paths.into_iter().map(|path| String::from_utf8(path).expect("plain names")).collect()
}

fn names(held: &[DigestedFile]) -> Vec<&[u8]> {
    held.iter().map(|held| &held.name[..]).collect()
}

#[test]
fn a_content_is_found_by_its_digest_only_below_the_top() {
    let (sandbox, tree) = scanned();
    let index = index(&sandbox, &tree.join("in"), 1);
    let found = index.find_by_digest(&Digest::of(b"alike")).expect("query succeeds");
    assert_eq!(sorted(found), ["a", "d/copy"]);
    for other in [&b"no other has this size"[..], b"nowhere"] {
        assert!(index.find_by_digest(&Digest::of(other)).expect("query succeeds").is_empty());
    }
}

#[test]
fn a_file_is_found_by_its_size_and_mtime() {
    let (sandbox, tree) = scanned();
    let found = |top: &str, smallest, size, mtime_ns| {
        let index = index(&sandbox, &tree.join(top), smallest);
        sorted(index.find_by_version(size, mtime_ns, b"moment").expect("query succeeds"))
    };
    let time = 5_000_000_007;
    assert_eq!(found("in", 1, 22, time), ["single"]);
    assert_eq!(found("in", 1, 27, time), ["d/moment"]);
    assert_eq!(found("", 1, 27, time), ["in/d/moment"]);
    for (top, smallest, size, mtime_ns) in [
        ("in", 28, 27, time),
        ("in", 1, 27, time + 1),
        ("in", 1, 26, time),
        ("nowhere", 1, 27, time),
    ] {
        assert!(found(top, smallest, size, mtime_ns).is_empty(), "{top} {smallest} {size}");
    }
}

#[test]
fn files_with_digests_are_listed_and_their_copies_found() {
    let (sandbox, tree) = scanned();
    let all = index(&sandbox, &tree.join("in"), 1);
    let held = all.digested_in(b"").expect("query succeeds");
    assert!(names(&held).contains(&&b"a"[..]) && !names(&held).contains(&&b"single"[..]));
    let a = held.iter().find(|held| held.name == b"a").expect("it is there");
    assert_eq!((a.digest, a.size), (Digest::of(b"alike"), 5));
    assert!(
        a.is_unchanged(&stat(&tree.join("in/a")))
            && !a.is_unchanged(&stat(&tree.join("in/single")))
    );
    assert_eq!(all.another_copy(a, b"a").expect("query succeeds"), Some(b"d/copy".to_vec()));
    assert_eq!(all.another_copy(a, b"elsewhere").expect("query succeeds"), Some(b"a".to_vec()));
    assert_eq!(names(&all.digested_in(b"d").expect("query succeeds")), [b"copy"]);
    assert!(all.digested_in(b"nowhere").expect("query succeeds").is_empty());
    assert!(
        index(&sandbox, &tree.join("in"), 6).digested_in(b"").expect("query succeeds").is_empty()
    );
    fs::write(tree.join("in/a"), "Blike").expect("written");
    assert!(!a.is_unchanged(&stat(&tree.join("in/a"))));
}
