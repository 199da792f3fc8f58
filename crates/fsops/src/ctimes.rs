//! Which file systems report real status change times.
//!
//! Those of this machine do. Some FUSE and network file systems have none and report something else, such as the
//! modification time (sshfs). An unknown file system counts as one without them.

use std::collections::HashSet;

use crate::{Mounts, Volume};

/// The kinds of network file systems that report real status change times: NFS has them (RFC 1813).
const REAL: [&[u8]; 2] = [b"nfs", b"nfs4"];

/// The kinds that pass on the times of other file systems, which may have none (a mergerfs with a branch on sshfs).
const PASSED_ON: [&[u8]; 2] = [b"fuse.mergerfs", b"virtiofs"];

/// The mounted file systems that report real status change times. [`Ctimes::read`] takes a snapshot of the mount table.
#[derive(Debug)]
pub struct Ctimes {
    real: HashSet<u64>,
    passed_on: HashSet<u64>,
}

impl Ctimes {
    /// Reads the table of mounts. Without one, only file systems of this machine are known.
    pub fn read() -> Ctimes {
        let mounts = Mounts::read();
        Ctimes { real: mounts.devices_of(&REAL), passed_on: mounts.devices_of(&PASSED_ON) }
    }

    /// Returns whether the status change times of files on this device, which belongs to `volume`, are certainly real.
    pub fn are_real(&self, volume: &Volume, device: u64) -> bool {
        volume.is_local(device) || self.real.contains(&device)
    }

    /// Returns whether they are real, unless the file system shows another one that has none.
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
