//! Splits classes without holding their files open.
//!
//! | module | what it does |
//! |---|---|
//! | `first_reads` | decides what to read of each class first |
//! | `by_head` | splits classes by the heads of their files |
//! | `by_key` | decides small files by content keys |
//! | `by_prefix` | splits sets by the BLAKE3 of increasingly long prefixes |
//! | `reading`, `read_order` | read heads, keys and prefixes, in disk order on seek-bound disks |

mod by_head;
mod by_key;
mod by_prefix;
mod first_reads;
pub(crate) mod read_order;
pub(crate) mod reading;

use std::sync::atomic::Ordering::Relaxed;

use runtime::{Interrupted, Stage};
use walk::Problem;

use crate::classes::{Classes, SameSize};
use crate::prefilter::by_head::Splitter;
use crate::prefilter::first_reads::FirstReads;
use crate::prefilter::read_order::{PrefixTarget, ReadTarget, SEEK_BOUND_PREFIX_BYTES};
use crate::prefilter::reading::read;
use crate::work::Work;

/// The result of the prefilter: the sets that remain to be compared.
pub(crate) struct Prefiltered {
    /// Sets of inodes that may be identical, with one name for each inode. All files of a set can
    /// be open at once.
    pub(crate) sets: SameSize,
    /// Number of inodes that had to be read.
    pub(crate) unknown: u64,
    pub(crate) problems: Vec<Problem>,
}

/// Splits the classes as far as possible without comparing files side by side.
///
/// # Errors
///
/// Fails only with [`Interrupted`], if the user asked to stop.
pub(crate) fn run(work: &Work<'_>, classes: &Classes) -> Result<Prefiltered, Interrupted> {
    let FirstReads { requests, by_head, mut sets, unknown } = first_reads::find(work, classes)?;
    let first = PrefixTarget { before: None, to: SEEK_BOUND_PREFIX_BYTES };
    work.progress.heads_total.store(requests.len() as u64, Relaxed);
    work.progress.enter(Stage::Heads);
    let targets = [ReadTarget::Head, ReadTarget::Prefix(first)];
    let (prefixes, mut problems) = read(work, &targets, requests)?;
    work.progress.enter(Stage::Compare);
    let mut split = by_head::split(work, classes, &by_head)?;
    drop(by_head);
    problems.extend(by_key::split(work, &split.keyed)?);
    by_prefix::split(work, &mut split, &prefixes, &mut problems)?;
    let Splitter { sets: further, .. } = split;
    sets.append(further);
    Ok(Prefiltered { sets, unknown, problems })
}
