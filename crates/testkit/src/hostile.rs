//! A tree with everything that has broken a duplicate finder: odd names, odd kinds of entries, and
//! missing permissions.
//!
//! All files with odd names have the same size, so that a duplicate finder has to open each of
//! them.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::groups::Groups;
use crate::path_bytes::PathBytes;
use crate::tree::TreeBuilder;

/// The correct results for the hostile tree. All paths are relative to its root.
#[derive(Debug, Clone)]
pub struct Hostile {
    /// The groups that root finds.
    pub groups: Groups,
    /// The groups that any other user finds, unless the user owns the tree and changes its modes.
    pub groups_without_rights: Groups,
    /// The entries that only root can examine: one file and one directory of mode 000.
    pub unreadable: BTreeSet<Vec<u8>>,
}

impl Hostile {
    /// Returns the groups that this process can find.
    pub fn groups_here(&self) -> &Groups {
        if crate::is_root() { &self.groups } else { &self.groups_without_rights }
    }
}

impl Hostile {
    /// Gives the current user access to everything in the tree at `root`. Has no effect for root,
    /// who has access anyway.
    ///
    /// # Panics
    ///
    /// Panics if the modes cannot be set.
    pub fn unlock(&self, root: impl AsRef<Path>) {
        use std::os::unix::ffi::OsStrExt;
        for name in self.unreadable.iter().filter(|_| !crate::is_root()) {
            let path = root.as_ref().join(std::ffi::OsStr::from_bytes(name));
            std::fs::set_permissions(path, PermissionsExt::from_mode(0o700)).expect("set");
        }
    }
}

/// Creates the hostile tree in `root` and returns what a correct program finds there.
///
/// # Panics
///
/// Panics if the tree cannot be created.
pub fn hostile_tree(root: impl AsRef<Path>) -> Hostile {
    let names = odd_names();
    let mut tree = TreeBuilder::new();
    let mut groups = Groups::new();
    for (i, pair) in names.chunks(2).enumerate() {
        let content = format!("content {i:03}\n");
        for name in pair {
            tree = tree.file(name, content.as_str());
        }
        if pair.len() > 1 {
            groups.insert(pair.iter().cloned().collect());
        }
    }
    let tree = other_kinds(linked(in_odd_directories(tree, &mut groups), &mut groups));
    let (tree, groups_without_rights) = without_rights(tree, &mut groups);
    tree.make(root);
    let unreadable = BTreeSet::from([b"locked file".to_vec(), b"locked dir".to_vec()]);
    Hostile { groups, groups_without_rights, unreadable }
}

/// Returns an even number of file names. Each is awkward in a different way.
fn odd_names() -> Vec<Vec<u8>> {
    let mut names: Vec<Vec<u8>> = [
        &b"new\nline"[..],
        b"\n",
        b"ends with newline\n",
        b"a\n\nb",
        b"tab\there",
        b"carriage\rreturn",
        b"double\"quote",
        b"single'quote",
        b"back`tick`",
        b"back\\slash",
        b"$HOME",
        b"$(touch pwned)",
        b"; touch pwned #",
        b"-dash",
        b"--",
        b"-rf",
        b" ",
        b" leading and trailing ",
        b"*",
        b"[glob]?{a,b}",
        b"~",
        b"#",
        b"%s%n",
        b"...",
        b".hidden",
        b"\x1b[31mred\x1b[0m",
        b"\x1b]0;title\x07",
        b"\x07\x08\x7f",
        b"\xff",
        b"\xff\xfe",
        b"cut \xc3",
        b"overlong \xc0\xaf",
        b"surrogate \xed\xa0\x80",
        b"latin1 \xe9",
        "nfc \u{e9}".as_bytes(),
        "nfd e\u{301}".as_bytes(),
        "bidi \u{202e}txt.exe".as_bytes(),
        "wide \u{3042} \u{1f600}".as_bytes(),
        b"null",
        b"{\"path\":\"x\"}",
        b"a,b;\"c\"",
        b"case",
    ]
    .map(<[u8]>::to_vec)
    .into();
    names.push(vec![b'n'; 255]);
    names.push(vec![0xff; 255]);
    names
}

/// Adds identical files in directories with odd names. The name of one file looks like the path of
/// another.
fn in_odd_directories(tree: TreeBuilder, groups: &mut Groups) -> TreeBuilder {
    let (one, other) = (&b"dir \xff\n/copy"[..], &b"-dir/\x1b[2J/copy"[..]);
    let longest = [vec![b'd'; 255], b"/".to_vec(), vec![b'f'; 255]].concat();
    groups.insert(group(&[one, other, &longest, b"CASE"]));
    tree.file(one, "in a dir   \n")
        .file(other, "in a dir   \n")
        .file(&longest, "in a dir   \n")
        .file("CASE", "in a dir   \n")
        .file("CASE2", "IN A DIR   \n")
}

/// Adds hard links. Two names of one inode and a copy form a group of two.
fn linked(tree: TreeBuilder, groups: &mut Groups) -> TreeBuilder {
    groups.insert(group(&["linked 1", "linked copy"]));
    tree.hard_links("linked     \n", &["linked 1", "linked 2"])
        .file("linked copy", "linked     \n")
        .hard_links("only links \n", &["lone 1", "lone 2"])
}

/// Adds entries that are not regular files, and empty files.
fn other_kinds(tree: TreeBuilder) -> TreeBuilder {
    tree.fifo("fifo")
        .socket("socket")
        .char_device("device null", 1, 3)
        .dangling_symlink("link dangling")
        .symlink_loop("link loop 1", "link loop 2")
        .symlink("link itself", "link itself")
        .symlink("link to parent", "..")
        .symlink("link to dir", "-dir")
        .symlink("link to file", "CASE")
        .dir("empty dir")
        .file("empty 1", "")
        .file("empty 2", "")
}

/// Adds a file and a directory of mode 000, each with a copy elsewhere. Adds the groups that root
/// finds to `groups`.
fn without_rights(tree: TreeBuilder, groups: &mut Groups) -> (TreeBuilder, Groups) {
    let others = groups.clone();
    groups.insert(group(&[&b"locked file"[..], b"open copy 1"]));
    groups.insert(group(&[&b"locked dir/file"[..], b"open copy 2"]));
    let tree = tree
        .file("locked file", "locked 1   \n")
        .file("open copy 1", "locked 1   \n")
        .mode("locked file", 0)
        .file("locked dir/file", "locked 2   \n")
        .file("open copy 2", "locked 2   \n")
        .mode("locked dir", 0);
    (tree, others)
}

fn group(paths: &[impl PathBytes]) -> BTreeSet<Vec<u8>> {
    paths.iter().map(|path| path.path_bytes().to_vec()).collect()
}
