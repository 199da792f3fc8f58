//! Creates a described tree on disk.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, Timespec, Timestamps, UTIME_OMIT, XattrFlags, lsetxattr, makedev,
    mknodat, utimensat,
};

use super::{Attributes, Made, Node, TreeBuilder};
use crate::content::Content;
use crate::deep;

pub(super) fn make(tree: &TreeBuilder, root: &Path) -> Made {
    let mut made = Made { root: root.to_path_buf(), skipped: Vec::new() };
    check(root, "make the root", fs::create_dir_all(root));
    for (relative, node) in &tree.nodes {
        let path = root.join(relative);
        if let Some(parent) = path.parent() {
            check(parent, "make the parents", fs::create_dir_all(parent));
        }
        match make_node(root, &path, node) {
            Err(e) if matches!(node, Node::Device { .. }) && lacks_rights(&e) => {
                made.skipped.push(relative.clone());
            }
            result => check(&path, "make", result),
        }
    }
    let mut attributes: Vec<_> = tree.attributes.iter().collect();
    attributes.sort_by_key(|(relative, _)| std::cmp::Reverse(relative.components().count()));
    for (relative, attributes) in attributes.into_iter().filter(|(p, _)| !made.skipped.contains(p))
    {
        let path = root.join(relative);
        check(&path, "set the attributes of", set_attributes(&path, attributes));
    }
    made
}

fn make_node(root: &Path, path: &Path, node: &Node) -> io::Result<()> {
    match node {
        Node::Dir => fs::create_dir_all(path),
        Node::File(content) => make_file(path, content),
        Node::HardLink { original } => fs::hard_link(root.join(original), path),
        Node::Symlink { target } => symlink(target, path),
        Node::Special(kind) => make_special(path, *kind, 0),
        Node::Device { kind, major, minor } => make_special(path, *kind, makedev(*major, *minor)),
        Node::DeepChain { levels, name, content } => deep::make_chain(root, *levels, name, content),
    }
}

fn make_file(path: &Path, content: &Content) -> io::Result<()> {
    let file: File = OpenOptions::new().write(true).create_new(true).open(path)?;
    content.write_to(&file)
}

fn make_special(path: &Path, kind: FileType, device: u64) -> io::Result<()> {
    Ok(mknodat(CWD, path, kind, Mode::from_raw_mode(0o644), device)?)
}

/// Sets the owner before the mode, because a change of owner clears the set-id bits.
fn set_attributes(path: &Path, attributes: &Attributes) -> io::Result<()> {
    if let Some((uid, gid)) = attributes.owner {
        lchown(path, Some(uid), Some(gid))?;
    }
    for (name, value) in &attributes.xattrs {
        lsetxattr(path, name.as_str(), value, XattrFlags::empty())?;
    }
    if let Some((tv_sec, nanoseconds)) = attributes.mtime {
        let times = Timestamps {
            last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
            last_modification: Timespec { tv_sec, tv_nsec: nanoseconds.into() },
        };
        utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?;
    }
    if let Some(mode) = attributes.mode {
        fs::set_permissions(path, Permissions::from_mode(mode))?;
    }
    Ok(())
}

fn lacks_rights(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

#[track_caller]
fn check(path: &Path, action: &str, result: io::Result<()>) {
    if let Err(e) = result {
        panic!("the test's tree: cannot {action} {}: {e}", path.display());
    }
}
