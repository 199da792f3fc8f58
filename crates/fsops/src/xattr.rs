//! Extended attributes of open files, POSIX ACLs among them.

use std::ffi::CStr;
use std::io;
use std::os::fd::BorrowedFd;

use rustix::io::Errno;

use crate::file::File;
use crate::written::Xattr;

/// Most that an attribute's value, or the list of names, can have on Linux (`XATTR_SIZE_MAX`).
const MOST: usize = 64 * 1024;

impl File {
    /// Returns the extended attributes that this process may see, by name; none where the file system
    /// has none.
    pub fn xattrs(&self) -> io::Result<Vec<Xattr>> {
        all(self.fd())
    }
}

pub(crate) fn all(fd: BorrowedFd<'_>) -> io::Result<Vec<Xattr>> {
    // Most files have none, and then the size is all there is to ask for.
    match rustix::fs::flistxattr_query(fd) {
        Ok(0) | Err(Errno::OPNOTSUPP) => return Ok(Vec::new()),
        Ok(_) => {}
        Err(e) => return Err(e.into()),
    }
    let mut names = vec![0; MOST];
    let length = rustix::fs::flistxattr(fd, &mut names[..])?;
    let mut all = Vec::new();
    for name in names[..length].split_inclusive(|&b| b == 0) {
        let name = CStr::from_bytes_with_nul(name).map_err(io::Error::other)?;
        // One that was removed meanwhile is none.
        if let Some(value) = get(fd, name)? {
            all.push((name.to_bytes().to_vec(), value));
        }
    }
    all.sort_unstable();
    Ok(all)
}

/// Returns the value of an attribute, if there is one.
fn get(fd: BorrowedFd<'_>, name: &CStr) -> io::Result<Option<Vec<u8>>> {
    let mut value = vec![0; MOST];
    match rustix::fs::fgetxattr(fd, name, &mut value[..]) {
        Ok(length) => {
            value.truncate(length);
            Ok(Some(value))
        }
        Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(None),
        Err(e) => Err(e.into()),
    }
}
