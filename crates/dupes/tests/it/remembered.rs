//! Files that a catalog remembers are compared even if the walk did not find them.

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use content::Fingerprints;
use fsops::Dir;
use testkit::{TempTree, TreeBuilder, assert_groups, groups_of, relative_to};
use walk::{FileId, Remembered};

use crate::scan::{Walked, setup};

/// Adds every file directly in `dir` to the tree, as if a catalog remembered it.
fn remember(walked: &mut Walked, dir: &Path) -> Vec<FileId> {
    let tree = &mut walked.tree;
    let mut id = tree.remember_root();
    for name in dir.iter().skip(1) {
        id = tree.remember_dir(id, &CString::new(name.as_bytes()).expect("no NUL"));
    }
    let open = Dir::open(dir).expect("a directory");
    let place = (open.stat().expect("metadata").key(), open.volume().expect("a volume"));
    tree.place_dir(id, Some(place));
    let mut names: Vec<_> =
        fs::read_dir(dir).expect("a directory").map(|e| e.expect("an entry").file_name()).collect();
    names.sort();
    let mut files = Vec::new();
    for name in names {
        let name = CString::new(name.as_bytes()).expect("no NUL");
        let stat = open.stat_child(&name).expect("metadata");
        let file = Remembered {
            size: stat.size,
            inode: stat.inode,
            mtime_ns: stat.mtime_ns(),
            ctime_ns: stat.ctime_ns,
        };
        files.push(tree.remember_file(id, &name, file));
    }
    let known = std::mem::take(&mut walked.fingerprints);
    walked.fingerprints = known;
    walked.fingerprints.grow(walked.tree.files().len());
    files
}

fn trees() -> (TempTree, TempTree) {
    let walked = TreeBuilder::new()
        .file("both 1", "in both")
        .file("both 2", "in both")
        .file("here and there", "one each!")
        .file("here alone", "unlike the other")
        .make_temp();
    let remembered = TreeBuilder::new()
        .file("both 3", "in both")
        .file("there", "one each!")
        .file("there alone", "Unlike the other")
        .file("there twice 1", "there twice")
        .file("there twice 2", "there twice")
        .make_temp();
    (walked, remembered)
}

#[test]
fn groups_contain_walked_files_and_copies_elsewhere_are_counted() {
    let (here, there) = trees();
    for inline_reads in [false, true] {
        let setup = setup().inline_reads(inline_reads);
        let mut walked = setup.walk(&[&here]);
        let ids = remember(&mut walked, there.path());
        assert!(ids.iter().all(|&id| walked.tree.is_remembered(id)));
        let names = ["both 3", "there", "there alone", "there twice 1", "there twice 2"];
        let paths: Vec<_> = ids.iter().map(|&id| walked.tree.path(id)).collect();
        assert_eq!(paths, names.map(|n| there.join(n).as_os_str().as_bytes().to_vec()));
        let scan = walked.find(&setup);
        let expected = groups_of([["both 1", "both 2"]]);
        assert_groups(&expected, &relative_to(here.path(), &scan.groups()));
        assert_eq!((scan.found.elsewhere, scan.problems().len()), (1, 0));
        let content = |name: &str| {
            let path = if name.starts_with("there") { there.join(name) } else { here.join(name) };
            let is_it = |&id: &FileId| scan.tree.path(id) == path.as_os_str().as_bytes();
            scan.fingerprints.content(crate::scan::ids(&scan.tree).find(is_it).expect("known").0)
        };
        assert!(content("there").is_some() && content("there") == content("here and there"));
        let again = scan.again(&setup);
        assert_eq!((again.opened(), again.found.elsewhere), (0, 1));
    }
}

#[test]
fn remembered_files_that_are_gone_or_changed_are_not_problems() {
    let (here, there) = trees();
    let mut walked = setup().walk(&[&here]);
    let ids = remember(&mut walked, there.path());
    fs::remove_file(there.join("both 3")).expect("removable");
    fs::write(there.join("there"), "two each!").expect("writable");
    let scan = walked.find(&setup());
    let expected = groups_of([["both 1", "both 2"]]);
    assert_groups(&expected, &relative_to(here.path(), &scan.groups()));
    assert_eq!((scan.found.elsewhere, scan.problems().len()), (0, 0));
    assert!(scan.fingerprints.dropped(ids[0].0));
}

#[test]
fn missing_directories_contain_no_files() {
    let (here, there) = trees();
    let mut walked = setup().walk(&[&here]);
    let tree = &mut walked.tree;
    let root = tree.remember_root();
    let dir = tree.remember_dir(root, c"there was such a directory once");
    tree.place_dir(dir, None);
    let file = Remembered { size: 7, inode: 12, mtime_ns: 0, ctime_ns: 0 };
    for name in [c"a", c"b"] {
        tree.remember_file(dir, name, file);
    }
    walked.fingerprints = Fingerprints::new(walked.tree.files().len());
    let scan = walked.find(&setup());
    assert_eq!((scan.found.groups.len(), scan.problems().len()), (1, 0));
    drop(there);
}
