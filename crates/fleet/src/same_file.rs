//! Finds files that several exports contain, because their hosts share a file system.
//!
//! Two hosts may have scanned the same network share, or different parts of a large file system while
//! files moved or had hard links in both parts. Such a file exists only once, however many exports
//! contain it.

use std::collections::{BTreeMap, HashSet};

use export::Error;
use fsops::Volume;
use runtime::Progress;

use crate::compare::Part;

/// An inode of a shared file system. The order brings equal inodes together, the first part first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sighting {
    volume: u32,
    inode: u64,
    part: u32,
    inode_id: i64,
}

/// The number of each shared file system, for each part by the number that the volume has in its export.
type SharedVolumes = Vec<BTreeMap<i64, u32>>;

/// Returns, for each part, the numbers of those of its inodes that are the same files as inodes of an earlier
/// part. File systems are compared by their ids. A file system without an id counts as one of its own.
///
/// Uses about `memory` bytes, in addition to the result. If no file system is in two exports, reads
/// nothing.
///
/// # Errors
///
/// Fails if an export cannot be read or is damaged, or if the user asked to stop.
pub fn seen_before(
    parts: &[Part<'_>],
    memory: u64,
    progress: &Progress,
) -> Result<Vec<HashSet<i64>>, Error> {
    let shared = shared_volumes(parts);
    let mut seen = vec![HashSet::new(); parts.len()];
    let rows = parts.iter().zip(&shared).filter(|(_, volumes)| !volumes.is_empty());
    let rows: u64 = rows.map(|(part, _)| part.export.rows("inodes")).sum();
    let passes = (rows * size_of::<Sighting>() as u64).div_ceil(memory.max(1));
    for pass in 0..passes {
        let mut sightings = Vec::new();
        for ((number, part), volumes) in (0..).zip(parts).zip(&shared) {
            progress.check()?;
            if volumes.is_empty() {
                continue;
            }
            part.export.each_identity(|inode_id, volume_id, inode| {
                let volume = volumes.get(&volume_id).filter(|_| inode % passes == pass);
                if let Some(&volume) = volume.filter(|_| part.inodes.has(inode_id)) {
                    sightings.push(Sighting { volume, inode, part: number, inode_id });
                }
            })?;
        }
        sightings.sort_unstable();
        for same in sightings.chunk_by(|a, b| (a.volume, a.inode) == (b.volume, b.inode)) {
            for again in same.iter().filter(|sighting| sighting.part != same[0].part) {
                seen[again.part as usize].insert(again.inode_id);
            }
        }
    }
    Ok(seen)
}

/// Numbers the file systems that at least two parts contain.
fn shared_volumes(parts: &[Part<'_>]) -> SharedVolumes {
    let mut owners: BTreeMap<(u64, u64), HashSet<usize>> = BTreeMap::new();
    for (number, part) in parts.iter().enumerate() {
        for (_, volume) in part.export.volumes().filter(|(_, volume)| volume.fsid != 0) {
            owners.entry(key(volume)).or_default().insert(number);
        }
    }
    owners.retain(|_, parts| parts.len() > 1);
    let numbers: BTreeMap<(u64, u64), u32> = owners.into_keys().zip(0..).collect();
    let shared = |part: &Part<'_>| {
        let volumes = part.export.volumes();
        volumes.filter_map(|(id, volume)| Some((id, *numbers.get(&key(volume))?))).collect()
    };
    parts.iter().map(shared).collect()
}

fn key(volume: Volume) -> (u64, u64) {
    (volume.magic, volume.fsid)
}
