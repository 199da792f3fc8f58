//! Which file systems report real status change times.
//!
//! Those of this machine do. Some FUSE and network file systems have none and report something else, such as the
//! modification time (sshfs). An unknown file system counts as one without them.

use std::collections::HashSet;

use crate::{Mounts, Volume};

/// The kinds of network file systems that report real status change times: NFS has them (RFC 1813). FUSE file systems may
/// show another one that has none, such as a mergerfs with a branch on sshfs.
const KINDS: [&[u8]; 2] = [b"nfs", b"nfs4"];

/// The file systems that report real status change times, as they were mounted when the table of mounts was read.
#[derive(Debug)]
pub struct Ctimes {
    devices: HashSet<u64>,
}

impl Ctimes {
    /// Reads the table of mounts. Without one, only file systems of this machine are known.
    pub fn read() -> Ctimes {
        Ctimes { devices: Mounts::read().devices_of(&KINDS) }
    }

    /// Returns whether the status change times of files on this device, which belongs to `volume`, are real.
    pub fn are_real(&self, volume: &Volume, device: u64) -> bool {
        volume.is_local(device) || self.devices.contains(&device)
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
        let ctimes = Ctimes { devices: [70].into() };
        // A device with a major number is a disk, whatever is on it.
        assert!(ctimes.are_real(&proc, 8 << 32));
        assert!(ctimes.are_real(&proc, 70));
        assert!(!ctimes.are_real(&proc, 71));
    }
}
