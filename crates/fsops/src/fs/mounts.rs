//! The mount table, which maps each path to a file system and a directory on it.
//!
//! With a bind mount, a directory can have a second, unrelated path. The mount table
//! (`/proc/self/mountinfo`, `proc_pid_mountinfo(5)`) lists the file system of each mount, and which
//! of its directories is mounted. With this information, both paths can be resolved to the same
//! location.

use std::collections::{BTreeMap, HashSet};

/// Maximum number of times to read a mount table that keeps changing.
const MAX_READS: usize = 16;

/// A snapshot of this process's mount table.
#[derive(Debug, Default)]
pub struct Mounts(Vec<Mount>);

#[derive(Debug)]
struct Mount {
    id: u64,
    device: Vec<u8>,
    root: Vec<u8>,
    point: Vec<u8>,
    kind: Vec<u8>,
    /// Path of its block device, unless the file system is read-only.
    writable_device: Option<Vec<u8>>,
    /// Path of the directory that a FUSE file system shows, or `None` if its mount source is not a
    /// directory.
    shows: Option<Vec<u8>>,
}

/// Location of a directory: its file system, and its path relative to the root of that file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirLocation {
    device: Vec<u8>,
    path: Vec<u8>,
}

/// One mount, as the mount table describes it. Reading it does not access the file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MountPoint<'a> {
    /// The id of the mount. The kernel uses an id again after the mount is gone.
    pub id: u64,
    /// The absolute path on which it is mounted.
    pub path: &'a [u8],
    /// The type of the file system, such as `ext4` or `fuse.sshfs`.
    pub kind: &'a [u8],
}

impl DirLocation {
    /// Returns true if this is `other` or a directory below it.
    pub fn is_below(&self, other: &DirLocation) -> bool {
        self.device == other.device && below(&other.path, &self.path).is_some()
    }
}

/// Returns the kernel's boot id, or an empty string if it cannot be read. Two processes with the
/// same boot id see the same device numbers.
pub fn boot_id() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_string()
}

impl Mounts {
    /// Reads the mount table. If it cannot be read, returns an empty table.
    ///
    /// The kernel returns the table in pieces, and a change between two pieces can hide a mount. Therefore the table is
    /// read until it is the same twice in a row.
    pub fn read() -> Mounts {
        let read = || std::fs::read("/proc/self/mountinfo").unwrap_or_default();
        let mut table = read();
        for _ in 0..MAX_READS {
            let before = std::mem::replace(&mut table, read());
            if before == table {
                break;
            }
        }
        Mounts::parse(&table)
    }

    fn parse(table: &[u8]) -> Mounts {
        let mount = |line: &[u8]| {
            let mut fields = line.split(|&b| b == b' ');
            let id = str::from_utf8(fields.next()?).ok()?.parse().ok()?;
            let mut fields = fields.skip(1);
            let device = fields.next()?.to_vec();
            let (root, point) = (unescaped(fields.next()?), unescaped(fields.next()?));
            // A hyphen ends the optional fields.
            let mut rest = fields.skip_while(|field| *field != b"-").skip(1);
            let (kind, source) = (rest.next()?.to_vec(), rest.next().unwrap_or_default());
            let is_fuse = kind == b"fuse" || kind.starts_with(b"fuse.");
            let is_device = source.starts_with(b"/dev/");
            let is_dir = source.starts_with(b"/") && !is_device;
            let shows = (is_fuse && is_dir).then(|| unescaped(source));
            // The options of the file system, which may differ from those of the mount.
            let is_writable = rest.next().is_some_and(|o| o == b"rw" || o.starts_with(b"rw,"));
            let writable_device = (is_device && is_writable).then(|| unescaped(source));
            Some(Mount { id, device, root, point, kind, writable_device, shows })
        };
        Mounts(table.split(|&b| b == b'\n').filter_map(mount).collect())
    }

    /// Returns the location of a path. The path must be absolute and contain no symbolic links.
    pub fn location(&self, path: &[u8]) -> Option<DirLocation> {
        let (mount, rest) = self.mount_of(path)?;
        Some(DirLocation { device: mount.device.clone(), path: joined(&mount.root, rest) })
    }

    /// Returns the location of the directory that is shown at a path, if the path is on a FUSE file
    /// system whose mount source is a directory, such as bindfs. The path must be absolute and
    /// contain no symbolic links.
    pub fn location_shown(&self, path: &[u8]) -> Option<DirLocation> {
        let (mount, rest) = self.mount_of(path)?;
        self.location(&joined(&joined(mount.shows.as_ref()?, mount.root.strip_prefix(b"/")?), rest))
    }

    /// Returns the mount that a path is on, and the part of the path below the mount point.
    fn mount_of<'p>(&self, path: &'p [u8]) -> Option<(&Mount, &'p [u8])> {
        let mounts = self.0.iter().filter_map(|mount| Some((mount, below(&mount.point, path)?)));
        // If several mounts have the same mount point, the last one covers the others. `max_by_key`
        // returns the last maximum.
        mounts.max_by_key(|(mount, _)| mount.point.len())
    }

    /// Returns the mount that a path is on. The path must be absolute and contain no symbolic links.
    pub fn mount_at(&self, path: &[u8]) -> Option<MountPoint<'_>> {
        self.mount_of(path).map(|(mount, _)| mount.point())
    }

    /// Returns the path of the block device of the mount with an id, unless its file system is read-only.
    pub(crate) fn writable_device(&self, id: u64) -> Option<&[u8]> {
        self.0.iter().find(|mount| mount.id == id)?.writable_device.as_deref()
    }

    /// Returns the mounts below a path. If several mounts have the same mount point, only the one
    /// that covers the others is returned. The path must be absolute and contain no symbolic links.
    pub fn mounts_below(&self, path: &[u8]) -> Vec<MountPoint<'_>> {
        let mut latest: BTreeMap<&[u8], &Mount> = BTreeMap::new();
        for mount in &self.0 {
            if below(path, &mount.point).is_some_and(|rest| !rest.is_empty()) {
                latest.insert(&mount.point, mount);
            }
        }
        latest.into_values().map(Mount::point).collect()
    }

    /// Returns the device numbers of all mounted file systems whose type, such as `nfs4`, is in
    /// `kinds`.
    pub(crate) fn devices_of(&self, kinds: &[&[u8]]) -> HashSet<u64> {
        let mounts = self.0.iter().filter(|mount| kinds.contains(&&mount.kind[..]));
        mounts.filter_map(|mount| number(&mount.device)).collect()
    }

    /// Returns the mount points of file systems that will be mounted when they are first accessed.
    pub fn automounts(&self) -> impl Iterator<Item = &[u8]> {
        let is_covered =
            |at: usize, mount: &Mount| self.0[at + 1..].iter().any(|m| m.point == mount.point);
        let waiting = self.0.iter().enumerate().filter(|(_, mount)| mount.kind == b"autofs");
        waiting.filter(move |(at, mount)| !is_covered(*at, mount)).map(|(_, m)| &m.point[..])
    }

    /// Returns true if there are any mount points below a path. The path must be absolute and
    /// contain no symbolic links.
    pub fn any_below(&self, path: &[u8]) -> bool {
        self.points_below(path).next().is_some()
    }

    /// Returns the mount points below a path. The path must be absolute and contain no symbolic
    /// links.
    pub fn points_below(&self, path: &[u8]) -> impl Iterator<Item = &[u8]> {
        let is_below = move |point: &[u8]| below(path, point).is_some_and(|rest| !rest.is_empty());
        self.0.iter().map(|mount| &mount.point[..]).filter(move |point| is_below(point))
    }

    /// Returns the location of a path and the locations of all mounts at or below it. The path must
    /// be absolute and contain no symbolic links.
    pub fn locations_below(&self, path: &[u8]) -> Vec<DirLocation> {
        let inside = self.0.iter().filter(|mount| below(path, &mount.point).is_some());
        let inside = inside
            .map(|mount| DirLocation { device: mount.device.clone(), path: mount.root.clone() });
        inside.chain(self.location(path)).collect()
    }
}

impl Mount {
    fn point(&self) -> MountPoint<'_> {
        MountPoint { id: self.id, path: &self.point, kind: &self.kind }
    }
}

/// Converts `MAJOR:MINOR` to a device number, encoded as in [`FileKey`](crate::FileKey).
fn number(device: &[u8]) -> Option<u64> {
    let (major, minor) = str::from_utf8(device).ok()?.split_once(':')?;
    Some(major.parse::<u64>().ok()? << 32 | minor.parse::<u64>().ok()?)
}

/// Joins two paths.
fn joined(dir: &[u8], rest: &[u8]) -> Vec<u8> {
    let dir = dir.strip_suffix(b"/").unwrap_or(dir);
    let slash: &[u8] = if rest.is_empty() { b"" } else { b"/" };
    [dir, slash, rest].concat()
}

/// Returns the part of `path` that follows `dir`, or `None` if `path` is neither `dir` nor below
/// it. Both paths must be absolute.
fn below<'p>(dir: &[u8], path: &'p [u8]) -> Option<&'p [u8]> {
    let dir = dir.strip_suffix(b"/").unwrap_or(dir);
    let rest = path.strip_prefix(dir)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix(b"/") }
}

/// Decodes escape sequences such as `\040` in a field.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut at = 0;
    while let Some(&byte) = field.get(at) {
        let octal = field.get(at + 1..at + 4).filter(|_| byte == b'\\');
        let code =
            octal.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(code.unwrap_or(byte));
        at += if code.is_some() { 4 } else { 1 };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::Mounts;

    const TABLE: &[u8] = b"22 1 254:0 / / rw - ext4 /dev/vda rw\n\
        30 22 254:0 /data/photos /mnt/a\\040b rw - ext4 /dev/vda rw\n\
        31 22 7:1 / /data/disk rw - xfs /dev/loop1 rw\n\
        32 22 7:1 /sub /other rw - xfs /dev/loop1 rw\n\
        33 22 0:40 / /other rw - tmpfs tmpfs rw\n";

    #[test]
    fn two_paths_to_one_directory_have_one_location() {
        let mounts = Mounts::parse(TABLE);
        let place = |path: &str| mounts.location(path.as_bytes()).expect("a location");
        assert_eq!(place("/mnt/a b"), place("/data/photos"));
        assert_eq!(place("/mnt/a b/x"), place("/data/photos/x"));
        assert!(place("/mnt/a b/x").is_below(&place("/data")));
        assert!(!place("/data/photos2").is_below(&place("/mnt/a b")));
        assert!(place("/data/disk/x") != place("/x"));
        assert!(!place("/other/x").is_below(&place("/data/disk")), "another mount covers it");
        assert!(place("/data/photos").is_below(&place("/")));
    }

    #[test]
    fn locations_below_include_mounts() {
        let mounts = Mounts::parse(TABLE);
        let disk = mounts.location(b"/data/disk/sub/x").expect("a location");
        assert!(mounts.locations_below(b"/data").iter().any(|place| disk.is_below(place)));
        assert!(!mounts.locations_below(b"/mnt").iter().any(|place| disk.is_below(place)));
    }

    #[test]
    fn fuse_mount_resolves_to_the_directory_it_shows() {
        let table = b"1 0 254:0 / / rw - ext4 /dev/a rw\n\
            2 1 0:40 / /v rw - fuse /data/a\\040b rw\n\
            3 1 0:41 / /pool rw - fuse.mergerfs 1:2 rw\n\
            4 1 0:42 / /ntfs rw - fuseblk /dev/b rw\n";
        let mounts = Mounts::parse(table);
        assert_eq!(mounts.location_shown(b"/v/x"), mounts.location(b"/data/a b/x"));
        assert_eq!(mounts.location_shown(b"/v"), mounts.location(b"/data/a b"));
        for path in [&b"/pool/x"[..], b"/ntfs", b"/data"] {
            assert_eq!(mounts.location_shown(path), None);
        }
    }

    #[test]
    fn covered_automounts_are_not_listed() {
        let table = b"1 0 0:3 / / rw - ext4 /dev/a rw\n\
            2 1 0:4 / /nas rw,relatime shared:9 master:1 - autofs systemd-1 rw,fd=5,direct\n\
            3 1 0:5 / /mnt/b rw shared:8 - autofs systemd-1 rw,fd=6,direct\n\
            4 3 0:6 / /mnt/b rw - nfs host:/b rw\n";
        let mounts = Mounts::parse(table);
        assert_eq!(mounts.automounts().collect::<Vec<_>>(), [b"/nas"]);
    }

    #[test]
    fn mounts_below_a_path_are_listed_once() {
        let mounts = Mounts::parse(TABLE);
        let below: Vec<_> =
            mounts.mounts_below(b"/").iter().map(|mount| (mount.id, mount.path)).collect();
        let expected: [(u64, &[u8]); 3] = [(31, b"/data/disk"), (30, b"/mnt/a b"), (33, b"/other")];
        assert_eq!(below, expected);
        assert_eq!(mounts.mount_at(b"/data/disk/x").map(|mount| mount.kind), Some(&b"xfs"[..]));
        assert!(mounts.mounts_below(b"/data/disk").is_empty());
    }

    #[test]
    fn devices_are_found_by_file_system_type() {
        let table = b"1 0 0:70 / /pool rw - fuse.mergerfs a:b rw\n\
            2 1 3:71 / /far rw shared:9 - fuse.sshfs host: rw\n";
        let mounts = Mounts::parse(table);
        assert_eq!(mounts.devices_of(&[b"nfs", b"fuse.mergerfs"]), [70].into());
        assert_eq!(mounts.devices_of(&[b"fuse.sshfs"]), [(3 << 32) + 71].into());
    }

    #[test]
    fn mount_table_of_this_process_is_read() {
        if std::path::Path::new("/proc/self/mountinfo").exists() {
            assert!(Mounts::read().location(b"/").is_some());
        }
    }
}
