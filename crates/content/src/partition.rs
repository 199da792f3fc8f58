//! Splits open files of one size into sets of identical files.
//!
//! The files of a set are read side by side, chunk by chunk. After each chunk, the set is split
//! into sets of files with equal chunks. A set of one file is finished and is not read any further.
//! The files of a final set are identical, byte by byte. The digest of a set is computed from one
//! of its files as it is read. Apart from probes, each byte is read at most once.
//!
//! Holes that all files of a set have in common are neither read nor compared.
//!
//! # Probes
//!
//! Large files with equal first bytes, such as disk images, databases and films, often differ
//! everywhere else or only near the end. A few pages at distant offsets are therefore compared
//! before the whole files.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use fsops::File;
use runtime::{Interrupted, Progress};

use crate::digest::Digest;
use crate::scratch::{PIECE_ALIGNMENT, Scratch};
use crate::{ReadError, read_exact};

/// Number of bytes read per round, for all files of a set together. The data is small enough to
/// stay in the processor's cache until it is compared.
///
/// Measured on pairs of 128 MiB files in a warm cache with two threads: rounds of 2 MiB took twice
/// as long, and rounds of 128 KiB took a tenth longer.
const ROUND: usize = 512 * 1024;
/// Minimum and maximum number of bytes read per file and round.
const CHUNK: Range<usize> = 16 * 1024..256 * 1024;
/// Maximum number of bytes to hash per set within holes that all files of the set have in common.
/// Sets with larger holes get no digest, as hashing the zeros of a 1 TB hole would take minutes.
/// The files of such sets are still proven equal.
const HOLE_DIGEST_LIMIT: u64 = 1 << 30;

/// Size of a probe in bytes: one page.
const PROBE: u64 = 4096;

/// Maximum number of probes. More probes found few further differences.
const MOST_PROBES: u64 = 8;

/// Options for [`partition()`].
#[derive(Clone, Copy, Debug)]
pub struct CompareOptions {
    /// Whether to skip holes that all files have in common.
    pub sparse: bool,
    /// Whether to compute the digests of identical files.
    pub digest: bool,
    /// Number of bytes that can be read sequentially in the time that one random access takes. It
    /// limits the number of probes, so that all of them together take at most a tenth of the time
    /// needed to read the whole files.
    pub quantum: u64,
}

impl CompareOptions {
    /// Returns the offsets to probe in files of `size` bytes. The offsets are the end, the middle,
    /// the middles of both halves, and so on.
    fn probes(&self, size: u64) -> impl Iterator<Item = u64> + use<> {
        let number = (size / self.quantum.max(PROBE) / 10).min(MOST_PROBES);
        let last = size.saturating_sub(PROBE);
        let inner = (1..=MOST_PROBES).map(move |n| {
            // 1/2, 1/4, 3/4, 1/8, 3/8, ...
            let halves = 1 << (u64::BITS - 1 - n.leading_zeros());
            let part = 2 * (n - halves) + 1;
            u64::try_from(u128::from(size) * u128::from(part) / u128::from(2 * halves))
                .unwrap_or(last)
        });
        let number = usize::try_from(number).unwrap_or(0);
        std::iter::once(last).chain(inner).take(number)
    }
}

/// A set of files that are identical, byte by byte. Files are identified by their index in the list
/// passed by the caller.
#[derive(Debug, PartialEq, Eq)]
pub struct EqualFiles {
    /// The files, in ascending order. Never empty.
    pub members: Vec<usize>,
    /// Digest of the files. `None` for a single file, and for files with more than 1 GiB of common
    /// holes.
    pub digest: Option<Digest>,
}

/// A file that could not be read to its end.
#[derive(Debug)]
pub struct ReadFailure {
    /// Index of the file in the list passed by the caller.
    pub member: usize,
    /// Reason for the failure.
    pub error: ReadError,
}

/// Splits `count` files whose bytes are in memory into sets of identical files. `content(i)`
/// returns the bytes of the `i`-th file.
///
/// `same` is a cheap check that returns false if two files cannot be identical, for example because
/// their heads differ. If it returns true, the bytes are compared. If `digest` is true, the digest
/// of each set is computed.
pub fn partition_bytes<'a>(
    count: usize,
    digest: bool,
    same: impl Fn(usize, usize) -> bool,
    content: impl Fn(usize) -> &'a [u8],
) -> Vec<EqualFiles> {
    let mut parts: Vec<EqualFiles> = Vec::with_capacity(count);
    for i in 0..count {
        let equal = |part: &&mut EqualFiles| {
            let leader = part.members[0];
            same(leader, i) && content(leader) == content(i)
        };
        match parts.iter_mut().find(equal) {
            Some(part) => part.members.push(i),
            None => parts.push(EqualFiles { members: vec![i], digest: None }),
        }
    }
    for part in parts.iter_mut().filter(|p| digest && p.members.len() > 1) {
        part.digest = Some(Digest::of(content(part.members[0])));
    }
    parts
}

/// Splits open files of `size` bytes each into sets of identical files.
///
/// Every file appears either in exactly one set or in exactly one failure.
///
/// # Errors
///
/// Fails only if a stop was requested.
pub fn partition(
    files: &[&File],
    size: u64,
    options: CompareOptions,
    scratch: &mut Scratch,
    progress: &Progress,
) -> Result<(Vec<EqualFiles>, Vec<ReadFailure>), Interrupted> {
    let mut run = Run { files, size, options, progress, parts: Vec::new(), failures: Vec::new() };
    let mut sets = vec![Set {
        members: (0..files.len()).collect(),
        at: 0,
        hasher: options.digest.then(Box::default),
        hole_bytes: 0,
    }];
    for at in options.probes(size) {
        let split = sets.into_iter().flat_map(|set| run.probe(set, at, scratch)).collect();
        sets = split;
    }
    while let Some(set) = sets.pop() {
        progress.check()?;
        if let Some(set) = run.finish(set) {
            sets.extend(run.round(set, scratch));
        }
    }
    Ok((run.parts, run.failures))
}

/// Files with the same first `at` bytes.
struct Set {
    members: Vec<usize>,
    at: u64,
    /// Hash state after the first `at` bytes, or `None` if no digest will be computed.
    hasher: Option<Box<blake3::Hasher>>,
    hole_bytes: u64,
}

struct Run<'a> {
    files: &'a [&'a File],
    size: u64,
    options: CompareOptions,
    progress: &'a Progress,
    parts: Vec<EqualFiles>,
    failures: Vec<ReadFailure>,
}

impl Run<'_> {
    /// Moves a finished set to the results. Returns the set if it is not finished.
    fn finish(&mut self, set: Set) -> Option<Set> {
        let alone = set.members.len() < 2;
        if !alone && set.at < self.size {
            return Some(set);
        }
        let left = (self.size - set.at).saturating_mul(set.members.len() as u64);
        self.progress.bytes_done.fetch_add(left, Relaxed);
        if !set.members.is_empty() {
            let digest = set.hasher.filter(|_| !alone).map(|h| h.finalize().into());
            self.parts.push(EqualFiles { members: set.members, digest });
        }
        None
    }

    /// Reads the next chunk of each file of a set and splits the set.
    fn round(&mut self, mut set: Set, scratch: &mut Scratch) -> Vec<Set> {
        if self.options.sparse && self.skip_common_hole(&mut set) {
            return vec![set];
        }
        let step = ROUND / set.members.len() / PIECE_ALIGNMENT * PIECE_ALIGNMENT;
        let step = step.clamp(CHUNK.start, CHUNK.end);
        let step = usize::try_from(self.size - set.at).map_or(step, |left| left.min(step));
        let read = self.read(&set, set.at, step, scratch);
        self.progress.bytes_done.fetch_add((step * read.len()) as u64, Relaxed);
        split(read, &set, step)
    }

    /// Splits a set by comparing the page at offset `at`, which is beyond the part already
    /// compared.
    fn probe(&mut self, set: Set, at: u64, scratch: &mut Scratch) -> Vec<Set> {
        if set.members.len() < 2 {
            return vec![set];
        }
        if self.options.sparse && self.common_hole(&set, at) >= at + PROBE {
            return vec![set];
        }
        let length = usize::try_from(PROBE.min(self.size - at)).unwrap_or(0);
        let read = self.read(&set, at, length, scratch);
        split(read, &set, 0)
    }

    /// Reads `length` bytes at offset `at` from each file of a set. A file that cannot be read is
    /// added to the failures, and its remaining bytes count as done.
    fn read<'s>(
        &mut self,
        set: &Set,
        at: u64,
        length: usize,
        scratch: &'s mut Scratch,
    ) -> Vec<(usize, &'s [u8])> {
        let chunks = scratch.pieces(set.members.len(), length);
        let mut read = Vec::with_capacity(set.members.len());
        for (&member, chunk) in set.members.iter().zip(chunks) {
            match read_exact(self.files[member], chunk, at, self.progress) {
                Ok(()) => read.push((member, &*chunk)),
                Err(error) => {
                    self.progress.bytes_done.fetch_add(self.size - set.at, Relaxed);
                    self.failures.push(ReadFailure { member, error });
                }
            }
        }
        read
    }

    /// Returns the end of the hole at offset `at` that all files of the set have in common. If
    /// there is no such hole, the result is at most `at`.
    fn common_hole(&self, set: &Set, at: u64) -> u64 {
        let mut end = self.size;
        for &member in &set.members {
            // A file whose holes cannot be queried is treated as having none.
            let data = self.files[member].next_data(at).unwrap_or(Some(at));
            end = end.min(data.unwrap_or(self.size));
            if end <= at {
                break;
            }
        }
        end
    }

    /// Skips a hole that all files of the set have in common. Returns true if there was such a
    /// hole.
    fn skip_common_hole(&mut self, set: &mut Set) -> bool {
        let end = self.common_hole(set, set.at);
        if end <= set.at {
            return false;
        }
        let hole = end - set.at;
        set.hole_bytes += hole;
        if set.hole_bytes > HOLE_DIGEST_LIMIT {
            set.hasher = None;
        } else if let Some(hasher) = &mut set.hasher {
            update_zeros(hasher, hole);
        }
        set.at = end;
        self.progress.bytes_done.fetch_add(hole.saturating_mul(set.members.len() as u64), Relaxed);
        true
    }
}

/// Splits a set by the chunks just read, and moves the offset of the new sets forward by `on`
/// bytes.
fn split(mut read: Vec<(usize, &[u8])>, set: &Set, on: usize) -> Vec<Set> {
    let mut sets = Vec::new();
    while let Some(&(_, leader)) = read.first() {
        let (same, other) = read.into_iter().partition(|(_, chunk)| *chunk == leader);
        let same: Vec<(usize, &[u8])> = same;
        read = other;
        let hasher = set.hasher.as_ref().filter(|_| same.len() > 1).map(|before| {
            let mut hasher = before.clone();
            hasher.update(&leader[..on]);
            hasher
        });
        sets.push(Set {
            members: same.iter().map(|&(member, _)| member).collect(),
            at: set.at + on as u64,
            hasher,
            hole_bytes: set.hole_bytes,
        });
    }
    sets
}

fn update_zeros(hasher: &mut blake3::Hasher, mut length: u64) {
    static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];
    while length > 0 {
        let step = usize::try_from(length).map_or(ZEROS.len(), |left| left.min(ZEROS.len()));
        hasher.update(&ZEROS[..step]);
        length -= step as u64;
    }
}
