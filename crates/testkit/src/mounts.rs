//! Real file systems for tests: images on loop devices, tmpfs, and bind mounts. They are unmounted
//! on drop.
//!
//! All of this needs root and a kernel that permits mounts. Otherwise the reason is returned as
//! text, and the caller prints it with [`skipped`](crate::skipped).

mod reparse;
#[cfg(test)]
mod tests;
mod views;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::TEST_TIMEOUT;
use crate::process::{find_tool, run_tool};
use crate::temp::TempTree;

pub use reparse::{ReparsePoint, make_reparse_points};
pub use views::{Hung, View};

/// Maximum number of attempts to mount or unmount while the device or directory is busy.
const ATTEMPTS: u32 = 20;
/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(50);

/// A kind of file system that can be mounted for a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileSystem {
    /// ext4 on an image, with at most 65,000 links to an inode.
    Ext4,
    /// XFS on an image, with reflinks.
    Xfs,
    /// btrfs on an image, with reflinks.
    Btrfs,
    /// A file system in memory.
    Tmpfs,
    /// NTFS on an image, through FUSE. All files have the same owner and all permissions.
    Ntfs,
    /// Like [`Ntfs`](Self::Ntfs), but only root may read and write files.
    PrivateNtfs,
    /// exFAT on an image, through FUSE. Names that differ only in case are the same name, and links
    /// are not supported.
    ExFat,
}

impl FileSystem {
    /// Every kind that preserves all metadata, for tests that run on each of them.
    pub const ALL: [Self; 4] = [Self::Ext4, Self::Xfs, Self::Btrfs, Self::Tmpfs];

    /// Returns the name for `mount -t`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
            Self::Tmpfs => "tmpfs",
            Self::Ntfs | Self::PrivateNtfs => "ntfs-3g",
            Self::ExFat => "exfat-fuse",
        }
    }

    /// Returns the smallest size of an image in bytes. mkfs.xfs 6.1 refuses less than 300 MiB.
    fn least_bytes(self) -> u64 {
        match self {
            Self::Ext4 | Self::Ntfs | Self::PrivateNtfs | Self::ExFat => 16 << 20,
            Self::Xfs => 320 << 20,
            Self::Btrfs => 128 << 20,
            Self::Tmpfs => 1 << 20,
        }
    }

    /// Returns the mkfs command and its arguments before the image. It is empty for tmpfs.
    fn mkfs(self) -> &'static [&'static str] {
        match self {
            Self::Ext4 => &["mkfs.ext4", "-q", "-F"],
            Self::Xfs => &["mkfs.xfs", "-q", "-f"],
            Self::Btrfs => &["mkfs.btrfs", "-q", "-f"],
            Self::Tmpfs => &[],
            Self::ExFat => &["mkfs.exfat"],
            Self::Ntfs | Self::PrivateNtfs => &["mkfs.ntfs", "-q", "-F", "-Q"],
        }
    }

    /// Returns the mount options. Without `umask`, every user may read and write files on exFAT and
    /// NTFS.
    fn options(self) -> &'static str {
        if matches!(self, Self::ExFat | Self::PrivateNtfs) { "loop,umask=077" } else { "loop" }
    }
}

/// A mounted file system. Dropping this value unmounts the file system and removes its image.
#[derive(Debug)]
#[must_use = "dropping it unmounts it"]
pub struct Mount {
    point: PathBuf,
    /// The directory with the image and the mount point; `None` for a bind mount.
    home: Option<TempTree>,
}

impl Mount {
    /// Makes and mounts an empty file system of about `size_bytes` bytes, or of the minimum size if
    /// that is larger.
    ///
    /// # Errors
    ///
    /// The reason as text: this process is not root, mkfs is missing or fails, or mounting is not
    /// permitted.
    pub fn new(kind: FileSystem, size_bytes: u64) -> Result<Self, String> {
        Self::with_features(kind, size_bytes, &[])
    }

    /// Makes and mounts an empty file system with additional arguments for mkfs.
    ///
    /// # Errors
    ///
    /// Same as [`Mount::new`].
    pub fn with_features(
        kind: FileSystem,
        size_bytes: u64,
        features: &[&str],
    ) -> Result<Self, String> {
        needs_root()?;
        let home = TempTree::new();
        let (image, point) = (home.join("image"), home.join("mnt"));
        fs::create_dir(&point).map_err(|e| format!("no mount point: {e}"))?;
        let size_bytes = size_bytes.max(kind.least_bytes());
        if kind == FileSystem::Tmpfs {
            mount(&["-t", "tmpfs", "-o", &format!("size={size_bytes},mode=755"), "tmpfs"], &point)?;
        } else {
            make_image(kind, &image, size_bytes, features)?;
            let image = image.to_str().ok_or("the temporary directory's name is not UTF-8")?;
            mount(&["-t", kind.name(), "-o", kind.options(), image], &point)?;
        }
        // From here on, the guard unmounts the file system if an error occurs.
        let mount = Self { point, home: Some(home) };
        drop(fs::remove_dir(mount.point.join("lost+found")));
        Ok(mount)
    }

    /// Mounts the file system of an image on the directory `target`.
    ///
    /// # Errors
    ///
    /// The reason as text: this process is not root, or mounting is not permitted.
    pub fn image(image: impl AsRef<Path>, target: impl AsRef<Path>) -> Result<Self, String> {
        needs_root()?;
        let image = image.as_ref().to_str().ok_or("the image's name is not UTF-8")?;
        mount(&["-o", "loop", image], target.as_ref())?;
        Ok(Self { point: target.as_ref().to_path_buf(), home: None })
    }

    /// Mounts the directory `source` a second time on the directory `target`.
    ///
    /// # Errors
    ///
    /// The reason as text: this process is not root, or mounting is not permitted.
    pub fn bind(source: impl AsRef<Path>, target: impl AsRef<Path>) -> Result<Self, String> {
        needs_root()?;
        let source = source.as_ref().to_str().ok_or("the source's name is not UTF-8")?;
        mount(&["--bind", source], target.as_ref())?;
        Ok(Self { point: target.as_ref().to_path_buf(), home: None })
    }

    /// Simulates a power failure, which loses everything that was not yet written to the disk.
    /// Mounts the file system again afterwards.
    ///
    /// Works for ext4 and XFS. No file of the file system may be open.
    ///
    /// # Errors
    ///
    /// The reason as text: `xfs_io` (from xfsprogs) is not installed, or a mount failed.
    pub fn fail_power(&self) -> Result<(), String> {
        let image = self.home.as_ref().ok_or("there is no image")?.join("image");
        let image = image.to_str().ok_or("the temporary directory's name is not UTF-8")?;
        tool(&["xfs_io", "-x", "-c", "shutdown"], &self.point)?;
        tool(&["umount"], &self.point)?;
        mount(&["-o", "loop", image], &self.point)
    }

    /// Returns the mount point. The directory is empty at first, unless this is a bind mount.
    pub fn path(&self) -> &Path {
        &self.point
    }

    /// Mounts again with other options, such as `ro`.
    ///
    /// # Errors
    ///
    /// The message of mount.
    pub fn remount(&self, options: &str) -> Result<(), String> {
        mount(&["-o", &format!("remount,{options}")], &self.point)
    }
}

/// A temporarily unmounted file system on an image. Dropping this mounts it again.
#[derive(Debug)]
#[must_use = "dropping it mounts the file system again"]
pub struct Away<'a>(&'a Mount, PathBuf);

impl Mount {
    /// Unmounts a file system on an image temporarily. Its mount point remains as an empty
    /// directory. Retries while the file system is busy.
    ///
    /// # Errors
    ///
    /// The reason as text, for example that the file system is not on an image.
    pub fn away(&self) -> Result<Away<'_>, String> {
        let home = self.home.as_ref().ok_or("a bind mount has no image")?;
        unmount(&self.point)?;
        Ok(Away(self, home.join("image")))
    }
}

impl Drop for Away<'_> {
    #[expect(clippy::print_stderr, reason = "a drop cannot fail, but what it leaves must be known")]
    fn drop(&mut self) {
        let image = self.1.to_str().unwrap_or_default();
        if let Err(reason) = mount(&["-o", "loop", image], &self.0.point) {
            eprintln!("testkit: {image} is not mounted again: {reason}");
        }
    }
}

impl AsRef<Path> for Mount {
    fn as_ref(&self) -> &Path {
        &self.point
    }
}

impl Drop for Mount {
    #[expect(clippy::print_stderr, reason = "a drop cannot fail, but what it leaves must be known")]
    fn drop(&mut self) {
        if unmount(&self.point).is_ok() {
            return;
        }
        if let Err(reason) = tool(&["umount", "--lazy"], &self.point) {
            eprintln!("testkit: {} stays mounted: {reason}", self.point.display());
        }
    }
}

fn needs_root() -> Result<(), String> {
    if crate::is_root() { Ok(()) } else { Err("only root can mount".to_owned()) }
}

fn make_image(
    kind: FileSystem,
    image: &Path,
    size_bytes: u64,
    features: &[&str],
) -> Result<(), String> {
    let sized = File::create(image).and_then(|file| file.set_len(size_bytes));
    sized.map_err(|e| format!("no image of {size_bytes} bytes: {e}"))?;
    tool(&[kind.mkfs(), features].concat(), image)
}

/// Mounts a file system. Retries if other tests have taken all loop devices.
fn mount(args: &[&str], point: &Path) -> Result<(), String> {
    let command = [&["mount"], args].concat();
    let mut result = tool(&command, point);
    for _ in 0..ATTEMPTS {
        if !result.as_ref().is_err_and(|reason| reason.contains("loop device")) {
            break;
        }
        thread::sleep(PAUSE);
        result = tool(&command, point);
    }
    result
}

/// Unmounts a file system. Retries, because it may be busy for a moment.
fn unmount(point: &Path) -> Result<(), String> {
    let mut result = tool(&["umount"], point);
    for _ in 1..ATTEMPTS {
        if result.is_ok() {
            break;
        }
        thread::sleep(PAUSE);
        result = tool(&["umount"], point);
    }
    result
}

/// Runs a tool with its arguments, followed by the path `last`. If it fails, its standard error is
/// returned.
fn tool(command: &[&str], last: &Path) -> Result<(), String> {
    let (name, args) = command.split_first().expect("a tool to run");
    let program = find_tool(name).ok_or_else(|| format!("{name} is not installed"))?;
    let finished = run_tool(Command::new(program).args(args).arg(last), TEST_TIMEOUT);
    if finished.status.success() {
        return Ok(());
    }
    Err(format!("{name} failed, {}", finished.account()))
}
