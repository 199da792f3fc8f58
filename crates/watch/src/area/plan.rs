//! Determines the areas to watch from the roots and the mount table.

use std::io;

use fsops::{DirLocation, FileKey, MountPoint, Mounts};

use crate::paths::{is_at_or_below, open_dir};

/// Types of file systems that another host or a program provides. Their files can change without
/// this kernel noticing, and they may not respond.
const REMOTE: [&[u8]; 21] = [
    b"9p",
    b"afs",
    b"beegfs",
    b"ceph",
    b"cifs",
    b"coda",
    b"fuse",
    b"gfs2",
    b"gpfs",
    b"hostfs",
    b"lustre",
    b"ncpfs",
    b"nfs",
    b"nfs4",
    b"ocfs2",
    b"orangefs",
    b"prl_fs",
    b"smb3",
    b"vboxsf",
    b"virtiofs",
    b"vmhgfs",
];

/// An area to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Planned {
    /// The absolute path.
    pub(crate) path: Vec<u8>,
    /// The id of its mount.
    pub(crate) mount: u64,
    /// The identity of its top directory, or `None` if [`Plan::make`] did not access the directory or failed to access
    /// it.
    pub(crate) key: Option<FileKey>,
    /// The identity of its file system, as in `fsops::Volume`.
    pub(crate) fsid: u64,
    /// The location of its top directory on the file system, by which bind mounts of the same directories are
    /// recognised.
    pub(crate) location: Option<DirLocation>,
    /// The type of the file system, as messages show it.
    pub(crate) kind: String,
    /// The reason why the watcher cannot watch the area, or `None` if it can.
    pub(crate) obstacle: Option<String>,
}

impl Planned {
    /// Returns whether this area and another one show the same directories.
    pub(crate) fn overlaps(&self, other: &Planned) -> bool {
        let locations = self.location.as_ref().zip(other.location.as_ref());
        locations.is_some_and(|(here, there)| here.is_below(there) || there.is_below(here))
    }
}

/// All areas to watch.
pub(crate) struct Plan(pub(crate) Vec<Planned>);

impl Plan {
    /// Reads the mount table, and accesses the roots and the mounts below them, except for file
    /// systems that may not respond and pseudo file systems.
    pub(crate) fn make(roots: &[Vec<u8>]) -> Plan {
        let mounts = Mounts::read();
        let mut all: Vec<Planned> = Vec::new();
        for root in roots {
            let Some(mount) = mounts.mount_at(root) else { continue };
            all.extend(planned(root, &mount, &mounts, true));
            for mount in mounts.mounts_below(root) {
                all.extend(planned(mount.path, &mount, &mounts, false));
            }
        }
        all.sort_by(|a, b| a.path.cmp(&b.path));
        all.dedup_by(|a, b| a.path == b.path);
        // A root below another one on the same mount belongs to the area of that root. If both were areas, a directory
        // could be in two areas.
        let mut areas: Vec<Planned> = Vec::new();
        for planned in all {
            let contains = |area: &Planned| {
                area.mount == planned.mount && is_at_or_below(&area.path, &planned.path)
            };
            if !areas.iter().any(contains) {
                areas.push(planned);
            }
        }
        Plan(areas)
    }
}

/// Returns the area at a path, or `None` for a mount that a scan does not enter.
fn planned(path: &[u8], mount: &MountPoint<'_>, mounts: &Mounts, is_root: bool) -> Option<Planned> {
    let found = Planned {
        path: path.to_vec(),
        mount: mount.id,
        key: None,
        fsid: 0,
        location: mounts.location(path),
        kind: String::from_utf8_lossy(mount.kind).into_owned(),
        obstacle: None,
    };
    if found.kind == "autofs" {
        // Accessing the path would mount its file system.
        let obstacle = "its file system is not mounted".to_owned();
        return is_root.then_some(Planned { obstacle: Some(obstacle), ..found });
    }
    if is_remote(found.kind.as_bytes()) {
        let obstacle = "its files can change without the kernel noticing".to_owned();
        return Some(Planned { obstacle: Some(obstacle), ..found });
    }
    let opened = open_dir(path).and_then(|dir| Ok((dir.stat()?, dir.volume()?)));
    match opened {
        Ok((_, volume)) if volume.is_synthetic() && !is_root => None,
        Ok((_, volume)) if volume.is_synthetic() => {
            let obstacle = "the kernel generates its files when they are read".to_owned();
            Some(Planned { obstacle: Some(obstacle), ..found })
        }
        Ok((stat, volume)) => Some(Planned { key: Some(stat.key()), fsid: volume.fsid, ..found }),
        Err(error) => Some(Planned { obstacle: Some(obstacle(&error)), ..found }),
    }
}

/// Returns the reason why the watcher cannot open a directory.
fn obstacle(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ELOOP) => "a symbolic link has replaced a directory of its path".to_owned(),
        _ => fsops::io_text(error),
    }
}

/// Returns whether another host or a program may provide a file system of this type. FUSE on a block
/// device (`fuseblk`) is local.
fn is_remote(kind: &[u8]) -> bool {
    REMOTE.contains(&kind) || kind.starts_with(b"fuse.")
}

#[cfg(test)]
mod tests {
    use testkit::TreeBuilder;

    use super::{Plan, is_remote};

    #[test]
    fn network_file_systems_are_remote() {
        for kind in ["nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "fuse.mergerfs", "9p", "fuse"] {
            assert!(is_remote(kind.as_bytes()), "{kind}");
        }
        for kind in ["vboxsf", "vmhgfs", "fuse.vmhgfs-fuse", "prl_fs", "gpfs", "hostfs"] {
            assert!(is_remote(kind.as_bytes()), "{kind}");
        }
        for kind in ["ext4", "xfs", "btrfs", "tmpfs", "fuseblk", "overlay", "vfat", "zfs"] {
            assert!(!is_remote(kind.as_bytes()), "{kind}");
        }
    }

    #[test]
    fn roots_below_other_roots_are_parts_of_their_areas() {
        let tree = TreeBuilder::new().dir("r/a/b").dir("ra").make_in_memory();
        let path = |name: &str| tree.path().join(name).into_os_string().into_encoded_bytes();
        let Plan(all) = Plan::make(&["r/a/b", "ra", "r", "r/a/b"].map(path));
        let paths: Vec<_> = all.into_iter().map(|area| area.path).collect();
        assert_eq!(paths, ["r", "ra"].map(path));
    }

    #[test]
    fn pseudo_file_systems_are_planned_only_as_roots() {
        let Plan(all) = Plan::make(&[b"/".to_vec()]);
        assert!(all.iter().any(|area| area.path == b"/" && area.obstacle.is_none()));
        assert!(!all.iter().any(|area| area.path == b"/proc"));
        let Plan(proc) = Plan::make(&[b"/proc".to_vec()]);
        assert!(proc.iter().any(|area| area.path == b"/proc" && area.obstacle.is_some()));
    }
}
