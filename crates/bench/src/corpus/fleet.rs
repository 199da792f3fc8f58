//! The exports of many hosts, which have many contents in common.
//!
//! The rows are random, but the crate `export` writes the tables and the manifests, so they are sorted,
//! compressed and hashed like those of `lop export`. 60 % of the inodes of each host have a content from
//! a pool that all hosts share, and a digest. The others are unlike all other files, and have only a
//! head. Contents at the beginning of the pool are more popular: the position is proportional to the
//! square of a uniform number.

use std::path::Path;

use catalog::{FileRow, FileState, StoredContent};
use content::{Digest, Head};
use export::{Names, Options, export_rows};
use runtime::Progress;

use super::dice::{Dice, word};
use super::plan::Counts;
use crate::Failure;

/// The version of the rows. It MUST change with the rows, so that stores are made again.
pub(super) const VERSION: &str = "1";

/// Number of rows in the exports of the race.
pub(super) const ROWS: u64 = 100_000_000;

/// Smallest number of rows of a host, unless the rows do not suffice for the smallest number of hosts.
const LEAST_ROWS: u64 = 10_000;
const FEWEST_HOSTS: u64 = 4;
const MOST_HOSTS: u64 = 100;

/// The share of the inodes whose content is in the pool.
const POOLED: f64 = 0.6;
/// The number of contents in the pool, for each row of all hosts.
const POOL: f64 = 0.2;

/// The median of the sizes in bytes, and the number of doublings in one standard deviation: those of a
/// log-normal distribution with mu 9.48 and sigma 2.46, which fits the files of desktop computers.
const MEDIAN_SIZE: f64 = 13_095.0;
const DOUBLINGS: f64 = 3.55;

/// The size of a block of the file systems, in bytes.
const BLOCK: u64 = 4_096;

/// The first modification of a file and the range of modifications, in nanoseconds.
const OLDEST_NS: i64 = 1_500_000_000_000_000_000;
const AGES_NS: u64 = 280_000_000_000_000_000;
/// The time of the exports, in milliseconds.
const EXPORTED_MS: i64 = 1_790_000_000_000;

/// Writes the exports of all hosts to `root`. The scale multiplies the sizes of files.
pub(super) fn make(root: &Path, rows: u64, scale: f64, seed: u64) -> Result<Counts, Failure> {
    let mut fleet = Fleet { seed, scale, used: vec![0; part(rows, POOL)], bytes: 0 };
    let hosts = (rows / LEAST_ROWS).clamp(FEWEST_HOSTS, MOST_HOSTS);
    for host in 0..hosts {
        let of_host = rows / hosts + u64::from(host < rows % hosts);
        fleet.export(host, of_host, root)?;
    }
    Ok(fleet.counts(rows))
}

/// The exports that are being made.
struct Fleet {
    seed: u64,
    scale: f64,
    /// The number of inodes with each content of the pool.
    used: Vec<u32>,
    bytes: u64,
}

impl Fleet {
    /// Writes the export of one host with this number of inodes.
    fn export(&mut self, host: u64, rows: u64, root: &Path) -> Result<(), Failure> {
        let mut dice = Dice::new(word(self.seed, host));
        let positions: Vec<Option<usize>> = (0..rows).map(|_| self.position(&mut dice)).collect();
        let mut pooled: Vec<usize> = positions.iter().copied().flatten().collect();
        pooled.sort_unstable();
        let contents: Vec<(usize, StoredContent)> = (1..)
            .zip(pooled.chunk_by(|a, b| a == b))
            .map(|(id, equal)| (equal[0], self.content(id, equal[0], equal.len())))
            .collect();
        let files = (0..).zip(&positions).map(|(number, position): (u64, _)| {
            // Contents outside the pool follow it, and no two inodes have the same.
            let lone = self.used.len() as u64 + (host << 32 | number);
            let made = self.made(position.map_or(lone, |position| position as u64));
            let find = |position| contents.binary_search_by_key(&position, |known| known.0).ok();
            let mtime_ns = OLDEST_NS + dice.below(AGES_NS).cast_signed();
            FileRow {
                volume: 1,
                // Inode numbers have gaps, because files are deleted.
                inode: number * 16 + dice.below(16),
                size: made.size,
                mtime_ns,
                ctime_ns: mtime_ns + 1_000,
                head: Some(made.head),
                allocated: made.size.next_multiple_of(BLOCK),
                content: position.and_then(find).map(|at| contents[at].1.id),
                state: FileState::Known,
            }
        });
        let mut bytes = 0;
        let files = files.inspect(|file| bytes += file.size);
        let options = Options {
            host: format!("host{host:03}"),
            names: Names::None,
            key: None,
            created_ms: EXPORTED_MS,
            replaces: false,
        };
        let contents = contents.iter().map(|(_, content)| content);
        export_rows(contents, files, root, &options, &Progress::default())
            .map_err(|e| Failure::at(root, e))?;
        self.bytes += bytes;
        for position in pooled {
            self.used[position] += 1;
        }
        Ok(())
    }

    /// Chooses the content of an inode: a position in the pool, or `None` for a content of its own.
    fn position(&self, dice: &mut Dice) -> Option<usize> {
        let is_pooled = dice.unit() < POOLED;
        let unit = dice.unit();
        (is_pooled && !self.used.is_empty()).then(|| part(self.used.len() as u64, unit * unit))
    }

    /// Returns the row about a content of the pool that `inodes` inodes of a host have.
    fn content(&self, id: i64, position: usize, inodes: usize) -> StoredContent {
        let Made { size, digest, .. } = self.made(position as u64);
        let inodes = u32::try_from(inodes).expect("a host has fewer");
        let reclaimable = u64::from(inodes - 1) * size.next_multiple_of(BLOCK);
        StoredContent { id, size, digest: Some(digest), inodes, reclaimable }
    }

    /// Returns the size, the head and the digest of a content. They depend only on its number.
    fn made(&self, number: u64) -> Made {
        let mut dice = Dice::new(self.seed.wrapping_add(number));
        let size = file_size(&mut dice, self.scale);
        let head = Head(dice.bits().try_into().unwrap_or(std::num::NonZeroU64::MIN));
        let mut digest = [0; 32];
        for bytes in digest.chunks_exact_mut(8) {
            bytes.copy_from_slice(&dice.bits().to_le_bytes());
        }
        Made { size, head, digest: Digest(digest) }
    }

    /// Returns what is in the exports: each content of the pool with several inodes is a group.
    fn counts(&self, rows: u64) -> Counts {
        let groups = || self.used.iter().filter(|&&inodes| inodes > 1);
        Counts {
            names: rows,
            inodes: rows,
            bytes: self.bytes,
            in_groups: groups().map(|&inodes| u64::from(inodes)).sum(),
            groups: groups().count() as u64,
            ..Counts::default()
        }
    }
}

/// Returns the size of a file that is not empty, in bytes.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive")]
pub(super) fn file_size(dice: &mut Dice, scale: f64) -> u64 {
    (dice.size(MEDIAN_SIZE * scale, DOUBLINGS) as u64).max(1)
}

/// A content.
struct Made {
    size: u64,
    head: Head,
    digest: Digest,
}

/// Returns a part of a number. `share` is in 0..1.
#[expect(clippy::cast_precision_loss, reason = "far less than 2^53")]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "less than `of`")]
fn part(of: u64, share: f64) -> usize {
    (of as f64 * share) as usize
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use export::Fleet;

    use super::make;

    #[test]
    fn the_counts_are_those_of_the_exports() {
        let temp = testkit::TempTree::new();
        let counts = make(temp.path(), 4_001, 1.0, 7).expect("made");
        let fleet = Fleet::newest(temp.path()).expect("exports");
        let rows: Vec<u64> = fleet.exports.iter().map(|export| export.rows("inodes")).collect();
        assert_eq!(rows, [1_001, 1_000, 1_000, 1_000]);
        let (mut contents, mut bytes) = (BTreeMap::new(), 0);
        for export in &fleet.exports {
            export
                .each_inode(None, |inode| {
                    bytes += inode.size;
                    if let Some(digest) = inode.digest {
                        *contents.entry(digest).or_insert(0) += 1;
                    }
                })
                .expect("rows");
        }
        contents.retain(|_, inodes| *inodes > 1);
        assert_eq!((counts.inodes, counts.bytes), (4_001, bytes));
        assert_eq!(counts.groups, contents.len() as u64);
        assert_eq!(counts.in_groups, contents.values().sum::<u64>());
        assert!(counts.groups > 300 && counts.in_groups > 2_000, "{counts:?}");
    }

    #[test]
    fn the_same_seed_makes_the_same_exports() {
        let [one, other] = [1, 2].map(|_| {
            let temp = testkit::TempTree::new();
            make(temp.path(), 100, 1.0, 7).expect("made");
            let fleet = Fleet::newest(temp.path()).expect("exports");
            let files = fleet.exports.iter().flat_map(export::Stored::all_files);
            files.map(|(_, file)| (file.bytes, file.blake3)).collect::<Vec<_>>()
        });
        assert_eq!(one, other);
        assert!(one.len() > 4, "several hosts");
    }
}
