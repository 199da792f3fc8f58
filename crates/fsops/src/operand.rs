//! Opens directories at paths that the user typed, without following another user's links.
//!
//! Another user who can create links in a parent directory, such as `/tmp`, could redirect the path
//! anywhere. lop therefore follows only links that belong to root or to the current user.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

use crate::credentials::effective_user;
use crate::dir::{DIR_FLAGS, Dir};
use crate::stat::{Kind, Stat};

/// Maximum number of links followed, as in the kernel (`MAXSYMLINKS`).
const MOST_LINKS: u32 = 40;

/// The reason why a directory was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OperandError {
    /// A system call failed.
    #[error(transparent)]
    Failed(#[from] io::Error),
    /// A component is another user's symbolic link.
    #[error("{} is a symbolic link of user {owner}", link.display())]
    Foreign {
        /// The path of the link.
        link: PathBuf,
        /// The user id of its owner.
        owner: u32,
    },
}

impl From<Errno> for OperandError {
    fn from(error: Errno) -> OperandError {
        OperandError::Failed(error.into())
    }
}

impl Dir {
    /// Opens the directory at `path` for reading. Follows only links that are owned by root or by
    /// the user who runs this process.
    ///
    /// # Errors
    ///
    /// Returns [`OperandError::Foreign`] for any other link, and [`OperandError::Failed`] if a
    /// system call fails.
    pub fn open_operand(path: &Path) -> Result<Dir, OperandError> {
        let dir = walk(path, effective_user())?;
        Ok(Dir::from(rustix::fs::openat(dir, c".", DIR_FLAGS, Mode::empty())?))
    }

    /// Like [`Dir::open_operand`], but also opens a directory that is not readable. Names in such a
    /// directory can be looked up but not listed.
    ///
    /// # Errors
    ///
    /// Same as for [`Dir::open_operand`].
    pub fn open_operand_for_search(path: &Path) -> Result<Dir, OperandError> {
        let dir = walk(path, effective_user())?;
        match rustix::fs::openat(&dir, c".", DIR_FLAGS, Mode::empty()) {
            Err(Errno::ACCESS) => Ok(Dir::from(dir)),
            opened => Ok(Dir::from(opened?)),
        }
    }
}

const FLAGS: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Resolves a path and returns an `O_PATH` descriptor.
fn walk(path: &Path, user: u32) -> Result<OwnedFd, OperandError> {
    let mut rest: Vec<OsString> = Vec::new();
    let mut links = 0;
    let mut come_to = PathBuf::new();
    let mut here = start(path, &mut rest)?;
    if path.is_absolute() {
        come_to.push("/");
    }
    while let Some(name) = rest.pop() {
        // With `O_DIRECTORY`, opening the name triggers an automount.
        let opened = rustix::fs::openat(&here, &name, FLAGS | OFlags::DIRECTORY, Mode::empty());
        let at = come_to.join(&name);
        match opened {
            Ok(dir) => {
                here = dir;
                come_to = at;
                continue;
            }
            Err(Errno::NOTDIR | Errno::LOOP) => {}
            Err(e) => return Err(e.into()),
        }
        let link = rustix::fs::openat(&here, &name, FLAGS, Mode::empty())?;
        let stat = Stat::of(&link, c"", AtFlags::EMPTY_PATH)?;
        if stat.kind != Kind::Symlink {
            return Err(Errno::NOTDIR.into());
        }
        if stat.uid != 0 && stat.uid != user {
            return Err(OperandError::Foreign { link: at, owner: stat.uid });
        }
        links += 1;
        if links > MOST_LINKS {
            return Err(Errno::LOOP.into());
        }
        let target = rustix::fs::readlinkat(&link, c"", Vec::new())?.into_bytes();
        let target = PathBuf::from(OsString::from_vec(target));
        if target.is_absolute() {
            here = start(&target, &mut rest)?;
            come_to = PathBuf::from("/");
        } else {
            push(&target, &mut rest);
        }
    }
    Ok(here)
}

/// Opens the directory that a path is relative to, and pushes the components of the path onto
/// `rest`.
fn start(path: &Path, rest: &mut Vec<OsString>) -> Result<OwnedFd, OperandError> {
    push(path, rest);
    let first = if path.is_absolute() { OsStr::new("/") } else { OsStr::new(".") };
    let flags = FLAGS | OFlags::DIRECTORY;
    Ok(rustix::fs::openat(CWD, first.as_bytes(), flags, Mode::empty())?)
}

fn push(path: &Path, rest: &mut Vec<OsString>) {
    let named = path.components().rev().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    rest.extend(named);
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{lchown, symlink};
    use std::path::Path;

    use super::{OperandError, walk};
    use crate::{Dir, effective_user};

    fn key(path: &Path) -> crate::FileKey {
        Dir::open(path).and_then(|dir| dir.stat()).expect("exists").key()
    }

    #[test]
    fn paths_resolve_as_in_the_kernel() {
        let temp = tempfile::tempdir().expect("a directory");
        let at = |name: &str| temp.path().join(name);
        let top = Dir::open(temp.path()).expect("exists");
        top.make_dir(c"a").expect("created");
        top.open_child(c"a").and_then(|a| a.make_dir(c"b")).expect("created");
        symlink("a/b", at("relative")).expect("created");
        symlink(at("a"), at("absolute")).expect("created");
        symlink("relative/../../a/./b", at("chain")).expect("created");
        symlink("loop", at("loop")).expect("created");
        for name in ["a", "a/b", "relative", "absolute/b", "chain", "absolute/b/..", "a//b/", "."] {
            let opened = Dir::open_operand(&at(name)).expect("opens");
            assert_eq!(opened.stat().expect("metadata").key(), key(&at(name)), "{name}");
        }
        for (name, errno) in [("loop", libc::ELOOP), ("none", libc::ENOENT)] {
            match Dir::open_operand(&at(name)) {
                Err(OperandError::Failed(e)) => assert_eq!(e.raw_os_error(), Some(errno), "{name}"),
                other => panic!("{name}: {other:?}"),
            }
        }
        top.create_file(c"file", 0o600).expect("created");
        assert!(matches!(Dir::open_operand(&at("file")), Err(OperandError::Failed(_))));
        let relative = walk(Path::new("."), effective_user()).expect("exists");
        assert_eq!(Dir::from(relative).stat().expect("metadata").key(), key(Path::new(".")));
    }

    #[test]
    fn links_of_other_users_are_not_followed() {
        let temp = tempfile::tempdir().expect("a directory");
        let at = |name: &str| temp.path().join(name);
        Dir::open(temp.path()).and_then(|top| top.make_dir(c"a")).expect("created");
        symlink("a", at("theirs")).expect("created");
        if lchown(at("theirs"), Some(4711), None).is_err() {
            // Only root can change the owner of a link to another user.
            return;
        }
        symlink("theirs", at("mine")).expect("created");
        for name in ["theirs", "mine", "theirs/.."] {
            match Dir::open_operand(&at(name)) {
                Err(OperandError::Foreign { link, owner: 4711 }) => assert_eq!(link, at("theirs")),
                other => panic!("{name}: {other:?}"),
            }
        }
        assert!(walk(&at("theirs"), 4711).is_ok());
    }
}
