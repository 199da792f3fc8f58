//! File systems in image files, mounted through a loop device, with or without a simulated disk.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::Failure;
use crate::corpus::{Counts, Spec, seal};
use crate::hdd::{Disk, Settings, Usage};
use crate::scenario::Device;
use crate::store::Store;
use crate::system::tool;

/// Maximum number of attempts to unmount a busy file system, and the pause between them.
const ATTEMPTS: u32 = 50;
const PAUSE: Duration = Duration::from_millis(100);

/// A file that contains a file system.
#[derive(Debug, Clone)]
pub struct Image {
    path: PathBuf,
}

impl Image {
    /// Returns the image in an existing file.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Makes an empty file system with room for a tree of these counts, and some space to spare.
    ///
    /// # Errors
    ///
    /// The device is not a loop image, mkfs is missing or fails, or space runs out.
    pub fn make(path: &Path, device: Device, room: &Counts) -> Result<Self, Failure> {
        let inodes = (room.inodes + room.dirs + room.empty_or_other) * 5 / 4 + 10_000;
        // Reserves one block for the tail of each file, one for each directory, and space for a
        // journal.
        let bytes = room.bytes * 5 / 4 + inodes * 5_120 + room.names * 160 + (1 << 30);
        let file =
            File::create(path).and_then(|file| file.set_len(bytes.next_multiple_of(1 << 20)));
        file.map_err(|e| Failure::at(path, e))?;
        let inodes = inodes.to_string();
        let mkfs: &[&str] = match device {
            Device::Ext4 | Device::Hdd => {
                let now = "lazy_itable_init=0,lazy_journal_init=0";
                &["mkfs.ext4", "-q", "-F", "-m", "0", "-N", &inodes, "-E", now]
            }
            Device::Xfs => &["mkfs.xfs", "-q", "-f"],
            Device::Btrfs => &["mkfs.btrfs", "-q", "-f"],
            Device::AsIs => return Err(Failure::new("the machine's own disk needs no image")),
        };
        // mkfs.btrfs inspects every mounted file, and gives up if the FUSE server behind one of
        // them is about to end. This can happen with a simulated disk.
        let gone = |error: &Failure| error.to_string().contains("cannot check mount status");
        let mut result = tool(mkfs, &[path]);
        for _ in 0..20 {
            if !result.as_ref().is_err_and(gone) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(250));
            result = tool(mkfs, &[path]);
        }
        result.map(|_| Self::at(path))
    }

    /// Makes an image with a tree in its directory `tree`, unless the image exists.
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`make`](Self::make), or if the tree cannot be made.
    pub fn with_tree(spec: &Spec, path: &Path, device: Device) -> Result<(Self, Counts), Failure> {
        let key = format!("{}-{device:?}", spec.key()?);
        let counts = seal::once(path, &key, || {
            let room = spec.plan()?.map_or_else(Counts::default, |plan| plan.counts());
            let point = path.with_extension("mnt");
            let mounted = Self::make(path, device, &room)?.mount(&point, None)?;
            let counts = spec.make(&mounted.path().join("tree"))?;
            drop(mounted);
            drop(fs::remove_dir(point));
            Ok(counts)
        })?;
        Ok((Self::at(path), counts))
    }

    /// Returns the image of a tree in a store. Makes the image unless it exists.
    ///
    /// # Errors
    ///
    /// Same as [`with_tree`](Self::with_tree).
    pub fn of(spec: &Spec, device: Device, store: &Store) -> Result<(Self, Counts), Failure> {
        // The simulated disk uses an ordinary ext4 image as its backing file.
        let device = if device == Device::Hdd { Device::Ext4 } else { device };
        let name = format!("{}-{device:?}.img", spec.folder_name()).to_lowercase();
        Self::with_tree(spec, &store.join(&name), device)
    }

    /// Copies the image and preserves its holes.
    ///
    /// # Errors
    ///
    /// Space runs out. An incomplete copy may exist afterwards.
    pub(crate) fn copy(&self, to: &Path) -> Result<Self, Failure> {
        tool(&["cp", "--sparse=always", "--reflink=auto"], &[&self.path, to])?;
        Ok(Self::at(to))
    }

    /// Mounts the image on `point`, which is created if necessary. The mount uses a simulated disk
    /// if `hdd` has settings for one.
    ///
    /// # Errors
    ///
    /// This process is not root, no loop device is free, or FUSE is missing. Nothing stays mounted.
    pub fn mount(&self, point: &Path, hdd: Option<&Settings>) -> Result<Mounted, Failure> {
        fs::create_dir_all(point).map_err(|e| Failure::at(point, e))?;
        let (disk, source) = match hdd {
            None => (None, self.path.clone()),
            Some(settings) => {
                let front = point.with_extension("disk");
                fs::create_dir_all(&front).map_err(|e| Failure::at(&front, e))?;
                let disk = Disk::mount(&self.path, &front, settings)?;
                (Some(disk), front.join("disk"))
            }
        };
        if !tool(&["losetup", "--associated"], &[&source])?.is_empty() {
            return Err(Failure::at(&source, "is on a loop device already: an earlier race's?"));
        }
        let device = tool(&["losetup", "--direct-io=on", "--find", "--show"], &[&source])?;
        let mounted = Mounted { point: point.to_owned(), device: device.trim().to_owned(), disk };
        mounted.set_up_queue()?;
        tool(&["mount", "-o", "noatime", &mounted.device], &[point])?;
        Ok(mounted)
    }
}

/// A mounted image. Dropping this value unmounts the image but keeps the file.
#[derive(Debug)]
#[must_use = "dropping it unmounts it"]
pub struct Mounted {
    point: PathBuf,
    device: String,
    /// Must be the last field, so that the disk is dropped after everything on top of it.
    disk: Option<Disk>,
}

impl Mounted {
    /// Returns the mount point.
    pub fn path(&self) -> &Path {
        &self.point
    }

    /// Returns the usage of the simulated disk, if there is one.
    pub fn usage(&self) -> Option<Usage> {
        self.disk.as_ref().map(Disk::usage)
    }

    /// Returns the simulated disk, if there is one.
    pub fn disk(&self) -> Option<&Disk> {
        self.disk.as_ref()
    }

    /// Unmounts the image and mounts it again, which discards all cached data of the image.
    ///
    /// # Errors
    ///
    /// The file system is busy.
    pub fn remount(&self) -> Result<(), Failure> {
        unmount(&self.point)?;
        tool(&["mount", "-o", "noatime", &self.device], &[&self.point]).map(drop)
    }

    /// Gives the loop device the settings of a hard disk or of an SSD. An earlier mount may have
    /// set up the same device for the other kind of disk.
    fn set_up_queue(&self) -> Result<(), Failure> {
        let name = self.device.trim_start_matches("/dev/");
        let queue = Path::new("/sys/block").join(name).join("queue");
        let (scheduler, rotates) =
            if self.disk.is_some() { ("mq-deadline", "1") } else { ("none", "0") };
        let settings =
            [("scheduler", scheduler), ("rotational", rotates), ("read_ahead_kb", "128")];
        for (setting, value) in settings {
            let path = queue.join(setting);
            fs::write(&path, value).map_err(|e| Failure::at(&path, e))?;
        }
        Ok(())
    }
}

impl Drop for Mounted {
    #[expect(clippy::print_stderr, reason = "a drop cannot fail, but what it leaves must be known")]
    fn drop(&mut self) {
        if let Some(disk) = &self.disk {
            // A disk that does not answer requests cannot be unmounted.
            disk.heal();
        }
        let mounted = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let detached = if mounted.lines().any(|line| line.starts_with(&format!("{} ", self.device)))
        {
            unmount(&self.point)
        } else {
            Ok(())
        };
        let detached = detached.and_then(|()| tool(&["losetup", "-d", &self.device], &[]));
        if let Err(reason) = detached {
            eprintln!("{} stays behind: {reason}", self.device);
        }
    }
}

fn unmount(point: &Path) -> Result<(), Failure> {
    let mut outcome = tool(&["umount"], &[point]);
    for _ in 0..ATTEMPTS {
        if outcome.is_ok() {
            break;
        }
        thread::sleep(PAUSE);
        outcome = tool(&["umount"], &[point]);
    }
    outcome.map(drop)
}

/// Empties the kernel's caches, so that the next read comes from the disk.
///
/// # Errors
///
/// This process is not root.
pub(crate) fn drop_caches() -> Result<(), Failure> {
    rustix::fs::sync();
    let path = Path::new("/proc/sys/vm/drop_caches");
    fs::write(path, "3").map_err(|e| Failure::at(path, e))
}
