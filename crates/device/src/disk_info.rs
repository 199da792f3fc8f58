//! Finds the physical disk of a file system and the kernel's description of it.
//!
//! # Platform behavior
//!
//! `/sys/dev/block/MAJOR:MINOR` is a link to the directory of a block device
//! (Documentation/ABI/testing/sysfs-block). The directory of a partition is inside that of its
//! disk. Device-mapper and md devices list their components in `slaves`. The backing file of a loop
//! device is in `loop/backing_file`. File systems with an anonymous device number (btrfs,
//! overlayfs, NFS, FUSE) have no entry in `/sys/dev/block`. For these file systems,
//! `/proc/self/mountinfo` lists the mount source, which is a block device only for btrfs.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The kernel's description of a physical disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskInfo {
    /// Name of the disk in `/sys/block`, or the device number if there is no block device.
    pub name: String,
    /// Whether the kernel reports the disk as rotational. `None` if the kernel reports nothing.
    pub rotates: Option<bool>,
}

/// Maximum depth of nested devices to resolve.
const DEPTH: u32 = 8;

impl DiskInfo {
    /// Returns the disk that holds the device with this number (encoded as in
    /// [`fsops::Stat::device`]).
    pub fn of(number: u64) -> DiskInfo {
        DiskInfo::within(number, DEPTH).unwrap_or_else(|| DiskInfo {
            name: format!("{}:{}", number >> 32, number & u64::from(u32::MAX)),
            rotates: None,
        })
    }

    fn within(number: u64, depth: u32) -> Option<DiskInfo> {
        let numbers = format!("{}:{}", number >> 32, number & u64::from(u32::MAX));
        let entry = Path::new("/sys/dev/block").join(&numbers);
        match fs::canonicalize(&entry) {
            Ok(block) => Some(DiskInfo::at(&block, depth)),
            Err(_) => DiskInfo::within(source(&numbers)?, depth.checked_sub(1)?),
        }
    }

    /// Returns the disk of the block device whose directory in `/sys` is `block`.
    fn at(block: &Path, depth: u32) -> DiskInfo {
        let whole = if block.join("partition").exists() {
            block.parent().unwrap_or(block).to_owned()
        } else {
            block.to_owned()
        };
        let rotational = fs::read_to_string(whole.join("queue/rotational"));
        let rotates = rotational.ok().map(|text| text.trim() == "1");
        let name = depth.checked_sub(1).and_then(|depth| below(&whole, depth));
        let own = || whole.file_name().unwrap_or_default().to_string_lossy().into_owned();
        DiskInfo { name: name.unwrap_or_else(own), rotates }
    }
}

/// Returns the name of the disk that a stacked device is built on, or `None` for other devices.
///
/// A stacked device that spans several disks is represented by the disk whose name sorts first. All
/// volumes on the same set of disks therefore count as one disk.
fn below(block: &Path, depth: u32) -> Option<String> {
    let slaves = fs::read_dir(block.join("slaves")).into_iter().flatten().flatten();
    let slave = slaves.filter_map(|slave| fs::canonicalize(slave.path()).ok()).min();
    if let Some(slave) = slave {
        return Some(DiskInfo::at(&slave, depth).name);
    }
    let file = fs::read_to_string(block.join("loop/backing_file")).ok()?;
    let file = fs::metadata(file.trim_end_matches('\n')).ok()?;
    DiskInfo::within(packed(file.dev()), depth).map(|info| info.name)
}

/// Looks up the mount source of a file system with an anonymous device number. Returns the device
/// number of the source, if the source is a device.
fn source(numbers: &str) -> Option<u64> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let line = mounts.lines().find(|line| line.split(' ').nth(2) == Some(numbers))?;
    // The file system type and the mount source follow a single hyphen (proc_pid_mountinfo(5)).
    let source = line.split(" - ").nth(1)?.split(' ').nth(1)?;
    let device = fs::metadata(PathBuf::from(source)).ok()?;
    (device.rdev() != 0).then(|| packed(device.rdev()))
}

/// Converts a `dev_t` to the encoding of [`fsops::Stat::device`].
fn packed(device: u64) -> u64 {
    u64::from(rustix::fs::major(device)) << 32 | u64::from(rustix::fs::minor(device))
}

#[cfg(test)]
mod tests {
    use super::DiskInfo;

    #[test]
    fn disks_without_a_block_device_are_named_by_number() {
        let proc = fsops::Stat::of_path("/proc/self".as_ref()).expect("metadata");
        let disk = DiskInfo::of(proc.device);
        assert_eq!(disk.rotates, None);
        assert!(disk.name.starts_with("0:"), "{disk:?}");
    }

    #[test]
    fn partitions_resolve_to_their_disk() {
        for entry in std::fs::read_dir("/sys/class/block").expect("a listing").flatten() {
            let path = std::fs::canonicalize(entry.path()).expect("a device");
            if path.join("partition").exists() {
                let disk = DiskInfo::at(&path, 0);
                let parent = path.parent().and_then(|p| p.file_name()).expect("a disk");
                assert_eq!(disk.name, parent.to_string_lossy());
            }
        }
    }
}
