//! Junctions and symbolic links of Windows on a mounted NTFS.
//!
//! They are reparse points: directories with a tag and data. ntfs-3g shows them as symbolic links,
//! and accepts them through an extended attribute. Their targets are absolute paths with a drive
//! letter, as Windows stores them.
//!
//! The layout of the data is that of `REPARSE_DATA_BUFFER`, [MS-FSCC] sections 2.1.2.4 and 2.1.2.5.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;

use rustix::fs::{XattrFlags, lsetxattr};

use super::{ATTEMPTS, PAUSE};

/// The attribute through which ntfs-3g reads and writes the reparse data of a file.
const ATTRIBUTE: &str = "system.ntfs_reparse_data";
/// `IO_REPARSE_TAG_MOUNT_POINT`, the tag of junctions.
const JUNCTION: u32 = 0xA000_0003;
/// `IO_REPARSE_TAG_SYMLINK`.
const SYMBOLIC_LINK: u32 = 0xA000_000C;

/// A junction or symbolic link of Windows, to make with [`make_reparse_points`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReparsePoint {
    path: PathBuf,
    data: Vec<u8>,
}

impl ReparsePoint {
    /// Describes the junction `path`, which points to the directory `target`, such as `C:\Users`.
    ///
    /// # Panics
    ///
    /// Panics if `target` is longer than 16,000 characters.
    pub fn junction(path: impl Into<PathBuf>, target: &str) -> Self {
        Self { path: path.into(), data: data(JUNCTION, &[], target) }
    }

    /// Describes the symbolic link `path`, which points to the directory `target`, such as
    /// `C:\ProgramData`.
    ///
    /// # Panics
    ///
    /// Same as [`ReparsePoint::junction`].
    pub fn symlink(path: impl Into<PathBuf>, target: &str) -> Self {
        // The flags are 0: the target is absolute.
        Self { path: path.into(), data: data(SYMBOLIC_LINK, &[0; 4], target) }
    }
}

/// Makes reparse points and their missing parents on an NTFS that is mounted with ntfs-3g. Returns
/// when the kernel shows all of them as symbolic links.
///
/// # Errors
///
/// One of the paths exists, or is not on such an NTFS.
pub fn make_reparse_points(points: &[ReparsePoint]) -> io::Result<()> {
    for point in points {
        if let Some(parent) = point.path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::create_dir(&point.path)?;
        lsetxattr(&point.path, ATTRIBUTE, &point.data, XattrFlags::empty())?;
    }
    points.iter().try_for_each(|point| wait_for_link(&point.path))
}

/// Waits until the kernel has noticed that the directory became a link. The first request after the
/// change fails with `EIO`.
fn wait_for_link(path: &Path) -> io::Result<()> {
    for _ in 0..4 * ATTEMPTS {
        if fs::symlink_metadata(path).is_ok_and(|status| status.is_symlink()) {
            return Ok(());
        }
        thread::sleep(PAUSE);
    }
    Err(io::Error::other(format!("{} is not shown as a link", path.display())))
}

/// Returns the reparse data: the tag, the length of the rest, the offsets and lengths of two names,
/// and the names. Windows follows the substitute name and displays the print name.
fn data(tag: u32, flags: &[u8], target: &str) -> Vec<u8> {
    let substitute = utf16(&format!("\\??\\{target}"));
    let print = utf16(target);
    let numbers = [0, substitute.len(), substitute.len() + 2, print.len()];
    let mut rest: Vec<u8> = numbers.into_iter().flat_map(short).collect();
    rest.extend_from_slice(flags);
    for name in [substitute, print] {
        rest.extend(name);
        rest.extend([0; 2]);
    }
    let mut data = tag.to_le_bytes().to_vec();
    data.extend(short(rest.len()));
    data.extend([0; 2]);
    data.extend(rest);
    data
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn short(number: usize) -> [u8; 2] {
    u16::try_from(number).expect("the target of a test's junction is short").to_le_bytes()
}
