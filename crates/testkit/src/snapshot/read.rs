//! Reads a tree of any depth through descriptors, one directory at a time.
//!
//! It climbs through `..` as [`remove`](crate::remove) does, so that depth does not cost
//! descriptors, and checks that it returned to the same directory.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, lgetxattr, llistxattr, major, minor,
    openat, readlinkat, statat,
};
use rustix::io::Errno;

use super::{Entry, Kind};
use crate::oracle::sha256_of;

/// Maximum size of the attribute list of a file, and of one value (`XATTR_LIST_MAX` and
/// `XATTR_SIZE_MAX` in `linux/limits.h`).
const MAX_XATTR_BYTES: usize = 64 * 1024;

/// Device and inode.
type Identity = (u64, u64);
type Entries = BTreeMap<Vec<u8>, Entry>;

/// A directory on the path from the root to the one being read.
struct Level {
    identity: Identity,
    /// The length of the path of this directory.
    path_len: usize,
    /// Subdirectories that remain to be read, the last one first.
    pending: Vec<CString>,
}

/// The entries found so far.
struct Reading<'a> {
    leave_out: &'a dyn Fn(&[u8]) -> bool,
    entries: Entries,
    smallest: BTreeMap<Identity, Vec<u8>>,
    identities: Vec<(Vec<u8>, Identity)>,
}

/// Returns the entries at and below `root`.
pub(super) fn read(root: &Path, leave_out: &dyn Fn(&[u8]) -> bool) -> io::Result<Entries> {
    let smallest = BTreeMap::new();
    let mut reading =
        Reading { leave_out, entries: Entries::new(), smallest, identities: Vec::new() };
    let mut dir = open_in(CWD, root, OFlags::DIRECTORY)?;
    let mut path = Vec::new();
    let first = fstat(&dir)?;
    let (_, unread) = (reading.add(&dir, c".", &path, &first)?, list(&dir));
    let mut levels = vec![reading.level(&dir, &path, &first, unread)?];
    while let Some(level) = levels.last_mut() {
        path.truncate(level.path_len);
        if let Some(name) = level.pending.pop() {
            extend(&mut path, &name);
            let before = statat(&dir, &name, AtFlags::SYMLINK_NOFOLLOW)?;
            match enter(&dir, &name) {
                Ok(child) => dir = child,
                Err(e) => {
                    reading.unread(&path, &e)?;
                    continue;
                }
            }
            let now = fstat(&dir)?;
            same(identity(&before), identity(&now), &path)?;
            let names = list(&dir);
            levels.push(reading.level(&dir, &path, &now, names)?);
        } else if let (Some(_), Some(above)) = (levels.pop(), levels.last()) {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            dir = openat(&dir, c"..", flags, Mode::empty())?;
            same(above.identity, identity(&fstat(&dir)?), &path)?;
        }
    }
    Ok(reading.finish())
}

impl Reading<'_> {
    /// Adds everything in a directory and returns its subdirectories.
    fn level(
        &mut self,
        dir: &OwnedFd,
        path: &[u8],
        stat: &Stat,
        names: io::Result<Vec<CString>>,
    ) -> io::Result<Level> {
        let mut pending = Vec::new();
        let names = match names {
            Ok(names) => names,
            Err(e) => {
                self.unread(path, &e)?;
                Vec::new()
            }
        };
        for name in names {
            let mut below = path.to_vec();
            extend(&mut below, &name);
            if (self.leave_out)(&below) {
                continue;
            }
            let stat = statat(dir, &name, AtFlags::SYMLINK_NOFOLLOW)?;
            if self.add(dir, &name, &below, &stat)? {
                pending.push(name);
            }
        }
        pending.reverse();
        Ok(Level { identity: identity(stat), path_len: path.len(), pending })
    }

    /// Adds one entry. Returns whether it is a directory.
    fn add(&mut self, dir: &OwnedFd, name: &CStr, path: &[u8], stat: &Stat) -> io::Result<bool> {
        let kind = kind(dir, name, stat)?;
        let is_dir = kind == Kind::Dir;
        let mut entry = Entry {
            mode: stat.st_mode & 0o7777,
            uid: stat.st_uid,
            gid: stat.st_gid,
            size_bytes: u64::try_from(stat.st_size).unwrap_or_default(),
            mtime_ns: i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec),
            xattrs: xattrs(dir, name)?,
            sha256: None,
            unread: None,
            same_as: path.to_vec(),
            links: stat.st_nlink,
            kind,
        };
        if entry.kind == Kind::File {
            match digest(dir, name, path, stat) {
                Ok(digest) => entry.sha256 = Some(digest),
                Err(e) if lacks_rights(&e) => entry.unread = Some(e.to_string()),
                Err(e) => return Err(e),
            }
        }
        if !is_dir {
            let identity = identity(stat);
            self.identities.push((path.to_vec(), identity));
            let smallest = self.smallest.entry(identity).or_insert_with(|| path.to_vec());
            if path < smallest.as_slice() {
                *smallest = path.to_vec();
            }
        }
        self.entries.insert(path.to_vec(), entry);
        Ok(is_dir)
    }

    /// Records that a directory cannot be read for lack of permission.
    fn unread(&mut self, path: &[u8], error: &io::Error) -> io::Result<()> {
        if !lacks_rights(error) {
            return Err(io::Error::new(error.kind(), format!("{}: {error}", path.escape_ascii())));
        }
        if let Some(entry) = self.entries.get_mut(path) {
            entry.unread = Some(error.to_string());
        }
        Ok(())
    }

    fn finish(mut self) -> Entries {
        for (path, identity) in self.identities {
            if let Some(entry) = self.entries.get_mut(&path) {
                entry.same_as.clone_from(&self.smallest[&identity]);
            }
        }
        self.entries
    }
}

fn extend(path: &mut Vec<u8>, name: &CStr) {
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name.to_bytes());
}

/// Opens an entry for reading, without changing the access time if that is permitted.
fn open_in(
    dir: impl AsFd,
    name: impl rustix::path::Arg + Copy,
    flags: OFlags,
) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    match openat(&dir, name, flags | OFlags::NOATIME, Mode::empty()) {
        Err(Errno::PERM) => Ok(openat(&dir, name, flags, Mode::empty())?),
        opened => Ok(opened?),
    }
}

/// Opens a directory that may be searched, so that `..` leads back out of it.
fn enter(parent: &OwnedFd, name: &CStr) -> io::Result<OwnedFd> {
    let dir = open_in(parent, name, OFlags::DIRECTORY | OFlags::NOFOLLOW)?;
    statat(&dir, c".", AtFlags::empty())?;
    Ok(dir)
}

/// Returns the names in a directory, sorted.
fn list(dir: &OwnedFd) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::new(open_in(dir, c".", OFlags::DIRECTORY)?)? {
        let name = entry?.file_name().to_owned();
        if name.as_c_str() != c"." && name.as_c_str() != c".." {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn kind(dir: &OwnedFd, name: &CStr, stat: &Stat) -> io::Result<Kind> {
    let device = (major(stat.st_rdev), minor(stat.st_rdev));
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Dir,
        FileType::Symlink => Kind::Symlink(readlinkat(dir, name, Vec::new())?.into_bytes()),
        FileType::Fifo => Kind::Fifo,
        FileType::Socket => Kind::Socket,
        FileType::CharacterDevice => Kind::CharDevice(device.0, device.1),
        FileType::BlockDevice => Kind::BlockDevice(device.0, device.1),
        FileType::Unknown => return Err(io::Error::other("an entry of no known kind")),
    })
}

/// Reads the attributes of an entry through the descriptor of its directory. A link is not
/// followed.
fn xattrs(dir: &OwnedFd, name: &CStr) -> io::Result<BTreeMap<Vec<u8>, Option<Vec<u8>>>> {
    let mut path = format!("/proc/thread-self/fd/{}/", dir.as_raw_fd()).into_bytes();
    path.extend_from_slice(name.to_bytes());
    let mut buffer = vec![0; MAX_XATTR_BYTES];
    let len = match llistxattr(path.as_slice(), buffer.as_mut_slice()) {
        Ok(len) => len,
        Err(Errno::OPNOTSUPP | Errno::ACCESS | Errno::PERM) => 0,
        Err(e) => return Err(e.into()),
    };
    let names: Vec<Vec<u8>> = buffer[..len]
        .split(|&byte| byte == 0)
        .filter(|name| !name.is_empty())
        .map(<[u8]>::to_vec)
        .collect();
    let mut found = BTreeMap::new();
    for name in names {
        let value = match lgetxattr(path.as_slice(), name.as_slice(), buffer.as_mut_slice()) {
            Ok(len) => Some(buffer[..len].to_vec()),
            Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::ACCESS | Errno::PERM) => None,
            Err(e) => return Err(e.into()),
        };
        found.insert(name, value);
    }
    Ok(found)
}

fn digest(dir: &OwnedFd, name: &CStr, path: &[u8], stat: &Stat) -> io::Result<[u8; 32]> {
    let file = open_in(dir, name, OFlags::NOFOLLOW)?;
    same(identity(stat), identity(&fstat(&file)?), path)?;
    sha256_of(File::from(file))
}

fn same(before: Identity, now: Identity, path: &[u8]) -> io::Result<()> {
    if before == now {
        return Ok(());
    }
    Err(io::Error::other(format!("it changes meanwhile, near {}", path.escape_ascii())))
}

fn identity(stat: &Stat) -> Identity {
    (stat.st_dev, stat.st_ino)
}

fn lacks_rights(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}
