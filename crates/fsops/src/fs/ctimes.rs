//! Tells which file systems report real status change times (ctimes).
//!
//! Local file systems report real ctimes. Some FUSE and network file systems do not have ctimes and
//! report another time instead. For example, sshfs reports the modification time. Unknown file
//! systems are assumed not to have ctimes.

use std::collections::HashSet;

use crate::{Mounts, Volume};

/// Types of network file systems that report real ctimes. In NFS, ctimes are part of the protocol
/// (RFC 1813).
const REAL: [&[u8]; 2] = [b"nfs", b"nfs4"];

/// Types of file systems that pass on the ctimes of other file systems. These ctimes may not be
/// real, for example if a branch of mergerfs is on sshfs.
const PASSED_ON: [&[u8]; 2] = [b"fuse.mergerfs", b"virtiofs"];

/// The mounted file systems that report real ctimes, according to a snapshot of the mount table.
#[derive(Debug)]
pub struct Ctimes {
    real: HashSet<u64>,
    passed_on: HashSet<u64>,
}

impl Ctimes {
    /// Reads the mount table. Without a mount table, only local file systems are known to have real
    /// ctimes.
    pub fn read() -> Ctimes {
        let mounts = Mounts::read();
        Ctimes { real: mounts.devices_of(&REAL), passed_on: mounts.devices_of(&PASSED_ON) }
    }

    /// Returns true if files on `device`, which belongs to `volume`, are certain to have real
    /// ctimes.
    pub fn are_real(&self, volume: &Volume, device: u64) -> bool {
        volume.is_local(device) || self.real.contains(&device)
    }

    /// Returns true if [`Ctimes::are_real`] is true, or if the file system passes on the ctimes of
    /// another file system.
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
    fn local_and_known_file_systems_have_real_ctimes() {
        let proc = Dir::open(Path::new("/proc")).and_then(|dir| dir.volume()).expect("mounted");
        let ctimes = Ctimes { real: [70].into(), passed_on: [72].into() };
        // A device with a nonzero major number is a block device.
        assert!(ctimes.are_real(&proc, 8 << 32));
        assert!(ctimes.are_real(&proc, 70));
        assert!(!ctimes.are_likely(&proc, 71));
        assert!(ctimes.are_likely(&proc, 72) && !ctimes.are_real(&proc, 72));
    }
}
