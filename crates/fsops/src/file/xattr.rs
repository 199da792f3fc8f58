//! Extended attributes, including POSIX ACLs.

use std::ffi::CStr;
use std::io;
use std::os::fd::BorrowedFd;

use rustix::fs::XattrFlags;
use rustix::io::Errno;

use super::File;

/// Name and value of an extended attribute.
pub type Xattr = (Vec<u8>, Vec<u8>);

/// Maximum size of an attribute's value on Linux, and of the list of attribute names
/// (`XATTR_SIZE_MAX`, `XATTR_LIST_MAX`).
const MOST: usize = 64 * 1024;

impl File {
    /// Returns the extended attributes that this process may see, sorted by name. The list is empty
    /// if the file system does not support attributes.
    ///
    /// # Errors
    ///
    /// Returns the error of `flistxattr(2)` or `fgetxattr(2)`.
    pub fn xattrs(&self) -> io::Result<Vec<Xattr>> {
        all(self.fd())
    }
}

/// Names of the attributes that store the ACL of a file or directory and the default ACL of a
/// directory.
const ACLS: [&CStr; 2] = [c"system.posix_acl_access", c"system.posix_acl_default"];

/// Returns true if an attribute is an ACL.
pub fn is_acl(name: &[u8]) -> bool {
    ACLS.iter().any(|acl| acl.to_bytes() == name)
}

/// Prefix of additional names under which XFS shows ACLs to root (`fs/xfs/xfs_xattr.c`).
const ACL_OF_XFS: &[u8] = b"trusted.SGI_ACL_";

/// The system calls that query attributes, either by descriptor or by path.
struct Ask<Q, L, G> {
    /// Returns the total length of all attribute names.
    length: Q,
    /// Lists the attribute names.
    list: L,
    /// Reads the value of an attribute.
    get: G,
}

pub(crate) fn all(fd: BorrowedFd<'_>) -> io::Result<Vec<Xattr>> {
    Ask {
        length: || rustix::fs::flistxattr_query(fd),
        list: |names: &mut [u8]| rustix::fs::flistxattr(fd, names),
        get: |name: &CStr, value: &mut [u8]| rustix::fs::fgetxattr(fd, name, value),
    }
    .all()
}

/// Returns the ACLs at a path. For a link, the list is empty.
pub(crate) fn acls_of_path(path: &CStr) -> io::Result<Vec<Xattr>> {
    let ask = Ask {
        length: || Ok(0),
        list: |_: &mut [u8]| Ok(0),
        get: |name: &CStr, value: &mut [u8]| rustix::fs::lgetxattr(path, name, value),
    };
    let mut acls = Vec::new();
    for name in ACLS {
        acls.extend(ask.value(name)?.map(|value| (name.to_bytes().to_vec(), value)));
    }
    Ok(acls)
}

/// Returns the attributes at a path. For a link, returns the attributes of the link itself.
pub(crate) fn all_of_path(path: &CStr) -> io::Result<Vec<Xattr>> {
    Ask {
        length: || rustix::fs::llistxattr_query(path),
        list: |names: &mut [u8]| rustix::fs::llistxattr(path, names),
        get: |name: &CStr, value: &mut [u8]| rustix::fs::lgetxattr(path, name, value),
    }
    .all()
}

impl<Q, L, G> Ask<Q, L, G>
where
    Q: Fn() -> Result<usize, Errno>,
    L: Fn(&mut [u8]) -> Result<usize, Errno>,
    G: Fn(&CStr, &mut [u8]) -> Result<usize, Errno>,
{
    fn all(&self) -> io::Result<Vec<Xattr>> {
        // Most files have no attributes, which is evident from the length of the list.
        match (self.length)() {
            Ok(0) | Err(Errno::OPNOTSUPP) => return Ok(Vec::new()),
            Ok(_) => {}
            Err(e) => return Err(e.into()),
        }
        let mut names = vec![0; MOST];
        let length = (self.list)(&mut names[..])?;
        let mut all = Vec::new();
        let names = names[..length].split_inclusive(|&b| b == 0);
        for name in names.filter(|name| !name.starts_with(ACL_OF_XFS)) {
            let name = CStr::from_bytes_with_nul(name).map_err(io::Error::other)?;
            // The attribute may have been removed after it was listed.
            if let Some(value) = self.value(name)? {
                all.push((name.to_bytes().to_vec(), value));
            }
        }
        all.sort_unstable();
        Ok(all)
    }

    /// Returns the value of an attribute, if it exists.
    fn value(&self, name: &CStr) -> io::Result<Option<Vec<u8>>> {
        let mut value = vec![0; MOST];
        match (self.get)(name, &mut value[..]) {
            Ok(length) => {
                value.truncate(length);
                value.shrink_to_fit();
                Ok(Some(value))
            }
            Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }
}

/// Returns true if attributes must be set or removed to get from `now` to `wanted`.
///
/// Labels that a security module (`SELinux`, Smack, IMA) has assigned are ignored if they occur
/// only in `now`.
pub fn xattrs_differ(now: &[Xattr], wanted: &[Xattr]) -> bool {
    now != wanted
        && (extraneous(now, wanted).next().is_some() || missing(now, wanted).next().is_some())
}

/// Returns the names of the attributes that must be removed.
fn extraneous<'a>(now: &'a [Xattr], wanted: &'a [Xattr]) -> impl Iterator<Item = &'a [u8]> {
    // File capabilities have the same prefix but are not labels.
    let is_label = |name: &[u8]| name.starts_with(b"security.") && name != b"security.capability";
    let is_wanted = |name: &[u8]| wanted.iter().any(|(wanted, _)| wanted == name);
    now.iter().map(|(name, _)| &name[..]).filter(move |name| !is_label(name) && !is_wanted(name))
}

/// Returns the attributes that must be set.
fn missing<'a>(now: &'a [Xattr], wanted: &'a [Xattr]) -> impl Iterator<Item = &'a Xattr> {
    wanted.iter().filter(|wanted| !now.contains(wanted))
}

/// Changes the attributes from `now` to `wanted`. If an attribute cannot be changed, the remaining
/// ones are still processed, and the first error is returned.
pub(crate) fn set(
    now: &[Xattr],
    wanted: &[Xattr],
    remove: impl Fn(&[u8]) -> Result<(), Errno>,
    set: impl Fn(&[u8], &[u8]) -> Result<(), Errno>,
) -> io::Result<()> {
    let is_acl = |name: &[u8]| name.starts_with(b"system.");
    let mut all = Ok(());
    // ACLs come last because they may revoke the right to set other attributes.
    for acls in [false, true] {
        let of_these = |name: &[u8]| is_acl(name) == acls;
        for name in extraneous(now, wanted).filter(|name| of_these(name)) {
            all = all.and(remove(name));
        }
        for (name, value) in missing(now, wanted).filter(|xattr| of_these(&xattr.0)) {
            all = all.and(set(name, value));
        }
    }
    Ok(all?)
}

pub(crate) fn set_on(fd: BorrowedFd<'_>, now: &[Xattr], wanted: &[Xattr]) -> io::Result<()> {
    set(
        now,
        wanted,
        |name| rustix::fs::fremovexattr(fd, name),
        |name, value| rustix::fs::fsetxattr(fd, name, value, XattrFlags::empty()),
    )
}
