//! Digests of files that did not have to be read for a comparison.

use std::fs;
use std::sync::atomic::Ordering::Relaxed;

use content::Digest;
use dupes::{Digested, Work, digest};
use fsops::Op;
use runtime::Progress;
use testkit::{TempTree, TreeBuilder};
use walk::FileId;

use crate::injected::Rules;
use crate::scan::{Scan, ids, setup};

fn tree() -> TempTree {
    TreeBuilder::new()
        .seeded("copy 1", 1, 70_000)
        .seeded("copy 2", 1, 70_000)
        .seeded("of a lone size", 2, 1_234_567)
        .hard_link("of a lone size", "link")
        .seeded("of a lone beginning", 3, 70_000)
        .differing("like the others at first", 1, 70_000, 69_999, 1)
        .file("empty", "")
        .make_temp()
}

fn digested(scan: &Scan, wanted: impl Fn(FileId) -> bool) -> (Digested, u64) {
    let (options, progress) = (setup().find, Progress::default());
    let work = Work::new(&scan.tree, &scan.fingerprints, &options, &progress);
    let digested = digest(&work, wanted).expect("not stopped");
    (digested, progress.bytes_read.load(Relaxed))
}

fn known(scan: &Scan, id: FileId) -> Option<Digest> {
    scan.fingerprints.content(id.0).and_then(|content| scan.fingerprints.digest(content))
}

#[test]
fn every_file_gets_the_digest_of_its_bytes_and_is_read_once() {
    let tree = tree();
    let scan = setup().scan(&[&tree]);
    let (digested, bytes) = digested(&scan, |_| true);
    assert!(digested.problems.is_empty() && digested.hollow == 0);
    assert_eq!(bytes, 1_234_567 + 2 * 70_000, "files with a digest are not read again");
    for id in ids(&scan.tree) {
        let name = scan.tree.name(id).to_str().expect("UTF-8");
        let bytes = fs::read(tree.join(name)).expect("readable");
        assert_eq!(known(&scan, id), Some(Digest::of(&bytes)), "{name}");
        assert!(scan.fingerprints.head(id.0).is_some(), "{name}");
    }
    // The digests are now known, so another search reads nothing.
    let listed = scan.listed();
    let again = scan.again(&setup());
    assert!(again.listed() == listed && again.bytes_read() == 0);
}

#[test]
fn only_wanted_files_are_read() {
    let tree = tree();
    let scan = setup().scan(&[&tree]);
    let is_wanted = |id: FileId| scan.tree.name(id) == c"link";
    let (_, bytes) = digested(&scan, is_wanted);
    assert_eq!(bytes, 1_234_567);
    let lone = ids(&scan.tree).find(|id| scan.tree.name(*id) == c"of a lone size");
    assert!(known(&scan, lone.expect("exists")).is_some(), "all names of the inode get the digest");
    let other = ids(&scan.tree).find(|id| scan.tree.name(*id) == c"of a lone beginning");
    assert_eq!(known(&scan, other.expect("exists")), None);
}

#[test]
fn an_unreadable_file_is_a_problem() {
    let tree = tree();
    TreeBuilder::new().seeded("with no good spot", 7, 300_000).make(&tree);
    let scan = setup().scan(&[&tree]);
    let rules = Rules::new(Op::Read, "no good spot", libc::EIO);
    let (digested, _) = digested(&scan, |_| true);
    drop(rules);
    assert_eq!(digested.problems.len(), 1);
    let bad = ids(&scan.tree).find(|id| scan.tree.name(*id) == c"with no good spot");
    assert!(scan.fingerprints.unreadable(bad.expect("exists").0));
}
