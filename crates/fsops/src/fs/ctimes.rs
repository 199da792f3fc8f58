//! Finds out which file systems report real status change times (ctimes).
//!
//! Local file systems do. Some FUSE and network file systems have no ctime and report another time,
//! such as the modification time (sshfs). An unknown file system counts as one without ctimes.

use std::collections::HashSet;

use crate::{Mounts, Volume};

/// Types of network file systems that report real ctimes. NFS has them (RFC 1813).
const REAL: [&[u8]; 2] = [b"nfs", b"nfs4"];

/// Types that pass on the ctimes of other file systems, which may not be real (mergerfs with a
/// branch on sshfs).
const PASSED_ON: [&[u8]; 2] = [b"fuse.mergerfs", b"virtiofs"];

/// The mounted file systems that report real ctimes. [`Ctimes::read`] takes a snapshot of the mount
/// table.
#[derive(Debug)]
pub struct Ctimes {
    real: HashSet<u64>,
    passed_on: HashSet<u64>,
}

impl Ctimes {
    /// Reads the mount table. If there is none, only local file systems are known.
    pub fn read() -> Ctimes {
        let mounts = Mounts::read();
        Ctimes { real: mounts.devices_of(&REAL), passed_on: mounts.devices_of(&PASSED_ON) }
    }

    /// Returns whether files on this device, which belongs to `volume`, certainly have real ctimes.
    pub fn are_real(&self, volume: &Volume, device: u64) -> bool {
        volume.is_local(device) || self.real.contains(&device)
    }

    /// Returns whether they have real ctimes, unless the file system passes on those of another one
    /// that has none.
    pub fn are_likely(&self, volume: &Volume, device: u64) -> bool {
        self.are_real(volume, device) || self.passed_on.contains(&device)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Ctimes;
    use crate::Dir;

    #[test]
    fn file_systems_of_this_machine_and_known_kinds_have_real_ctimes() {
        let proc = Dir::open(Path::new("/proc")).and_then(|dir| dir.volume()).expect("is mounted");
        let ctimes = Ctimes { real: [70].into(), passed_on: [72].into() };
        // A device with a major number is a disk.
        assert!(ctimes.are_real(&proc, 8 << 32));
        assert!(ctimes.are_real(&proc, 70));
        assert!(!ctimes.are_likely(&proc, 71));
        assert!(ctimes.are_likely(&proc, 72) && !ctimes.are_real(&proc, 72));
    }
}
