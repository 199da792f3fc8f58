//! Chains of directories whose full path far exceeds `PATH_MAX`, made and read through descriptors.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags, mkdirat, open, openat};

use crate::content::Content;
use crate::path_bytes::PathBytes;

/// The name of the file in the last directory of a deep chain.
pub const BOTTOM: &str = "bottom";

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Returns the path, relative to the tree's root, of the file at the bottom of a deep chain.
pub fn deep_path(levels: usize, name: impl PathBytes) -> Vec<u8> {
    let mut path = Vec::with_capacity(levels * (name.path_bytes().len() + 1) + BOTTOM.len());
    for _ in 0..levels {
        path.extend_from_slice(name.path_bytes());
        path.push(b'/');
    }
    path.extend_from_slice(BOTTOM.as_bytes());
    path
}

/// Opens `relative` below `root` for reading, component by component, without following links.
///
/// Works for paths of any length. At most two descriptors are open at a time.
///
/// # Errors
///
/// The error of `openat` for the first component that fails; `InvalidInput` for `..` and absolute
/// paths.
pub fn open_beneath(root: &Path, relative: impl PathBytes) -> io::Result<File> {
    let relative = relative.to_path();
    let mut names = relative.components().peekable();
    let mut dir = open_root(root)?;
    while let Some(component) = names.next() {
        let Component::Normal(name) = component else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        if names.peek().is_none() {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            return Ok(openat(&dir, name, flags, Mode::empty())?.into());
        }
        dir = openat(&dir, name, DIRECTORY, Mode::empty())?;
    }
    Ok(dir.into())
}

/// Makes the chain. See [`TreeBuilder::deep_chain`](crate::TreeBuilder::deep_chain).
pub(crate) fn make_chain(
    root: &Path,
    levels: usize,
    name: &[u8],
    content: &Content,
) -> io::Result<()> {
    let mut dir = open_root(root)?;
    for _ in 0..levels {
        mkdirat(&dir, name, Mode::from_raw_mode(0o777))?;
        dir = openat(&dir, name, DIRECTORY, Mode::empty())?;
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let bottom: File = openat(&dir, BOTTOM, flags, Mode::from_raw_mode(0o666))?.into();
    content.write_to(&bottom)
}

fn open_root(root: &Path) -> io::Result<OwnedFd> {
    Ok(open(root, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}
