//! Reads the inodes of all hosts, one pass after the other.
//!
//! Each row group is read once, in the pass with its first bucket. Its rows in later buckets wait there
//! for their passes, whose rows include them.

use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use export::{Error, InodeFile, InodeGroup, Stored};
use runtime::{Mutex, Progress};

use crate::class::{Class, Inode};
use crate::order::each_size;
use crate::passes::{BUCKETS, passes};

/// Memory for a row, in bytes. The list of a bucket doubles when it is full.
const ROW_BYTES: u64 = 2 * size_of::<Inode>() as u64;

/// Options of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Memory for the inodes of a pass, in bytes. A single bucket may need more.
    pub memory: u64,
    /// Number of threads.
    pub threads: usize,
    /// Smallest size of the inodes that are compared, in bytes; at least 1, because empty files have
    /// no content.
    pub min_size: u64,
}

/// Sums up classes of inodes. Each thread has a tally of its own; they are merged at the end.
pub trait Tally: Send {
    /// Adds all inodes of one size.
    fn add(&mut self, class: &Class<'_>);

    /// Adds the sums of another tally.
    fn merge(&mut self, other: Self);
}

/// An export, or a part of its inodes.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The export.
    pub export: &'a Stored,
    /// The inodes that are compared.
    pub inodes: Selection<'a>,
}

/// Some of the inodes of an export, by their numbers.
#[derive(Clone, Copy, Debug)]
pub enum Selection<'a> {
    /// All inodes.
    All,
    /// These inodes.
    Only(&'a HashSet<i64>),
    /// All inodes but these.
    Except(&'a HashSet<i64>),
}

impl Selection<'_> {
    /// Returns whether the numbers of the inodes matter.
    fn needs_ids(self) -> bool {
        match self {
            Selection::All => false,
            Selection::Only(_) => true,
            Selection::Except(inodes) => !inodes.is_empty(),
        }
    }

    /// Returns whether an inode is selected.
    pub fn has(self, inode: i64) -> bool {
        match self {
            Selection::All => true,
            Selection::Only(inodes) => inodes.contains(&inode),
            Selection::Except(inodes) => !inodes.contains(&inode),
        }
    }
}

impl<'a> Part<'a> {
    /// Returns all inodes of an export.
    pub fn whole(export: &'a Stored) -> Part<'a> {
        Part { export, inodes: Selection::All }
    }
}

/// A file of the table `inodes`, and the number of its part.
struct Source<'a> {
    host: u32,
    inodes: Selection<'a>,
    file: InodeFile,
    groups: Vec<InodeGroup>,
}

/// Passes all inodes of the parts to tallies, those of one size together. Each part counts as a host,
/// and its number is its index. Returns the tallies, merged.
///
/// # Errors
///
/// Fails if an export cannot be read or is damaged, or if the user asked to stop.
///
/// # Panics
///
/// Panics if there are more than 2^32 parts.
pub fn compare<T: Tally>(
    parts: &[Part<'_>],
    options: &Options,
    tally: impl Fn() -> T,
    progress: &Progress,
) -> Result<T, Error> {
    let mut sources = Vec::new();
    for (host, part) in (0..).zip(parts) {
        for file in part.export.files("inodes") {
            let file = InodeFile::open(&file.path)?;
            sources.push(Source { host, inodes: part.inodes, groups: file.groups(), file });
        }
    }
    let groups: Vec<InodeGroup> = sources.iter().flat_map(|source| source.groups.clone()).collect();
    let mut tallies: Vec<T> = (0..options.threads.max(1)).map(|_| tally()).collect();
    let buckets: Buckets = (0..BUCKETS).map(|_| Mutex::new(Vec::new())).collect();
    for pass in passes(&groups, (options.memory / ROW_BYTES).max(1)) {
        read(&sources, &pass, options, &buckets, progress)?;
        let of_pass = usize::from(*pass.start())..=usize::from(*pass.end());
        add(&buckets[of_pass], &mut tallies, progress)?;
    }
    let mut tallies = tallies.into_iter();
    let mut all = tallies.next().expect("at least one thread");
    tallies.for_each(|tally| all.merge(tally));
    Ok(all)
}

/// The inodes of each bucket.
type Buckets = Vec<Mutex<Vec<Inode>>>;

/// Reads the row groups that begin in a pass, several files at the same time.
fn read(
    sources: &[Source<'_>],
    pass: &RangeInclusive<u8>,
    options: &Options,
    buckets: &Buckets,
    progress: &Progress,
) -> Result<(), Error> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<(), Error> {
        while let Some(source) = sources.get(next.fetch_add(1, Relaxed)) {
            progress.check()?;
            read_source(source, pass, options.min_size.max(1), buckets)?;
        }
        Ok(())
    };
    on_threads(options.threads, |_| work())
}

fn read_source(
    source: &Source<'_>,
    pass: &RangeInclusive<u8>,
    min_size: u64,
    buckets: &Buckets,
) -> Result<(), Error> {
    let begins = |group: &InodeGroup| pass.contains(group.buckets.start());
    let wanted = source.groups.iter().enumerate().filter(|(_, group)| begins(group));
    for (number, _) in wanted {
        let mut run: Vec<Inode> = Vec::new();
        let mut bucket = *pass.start();
        source.file.each_key(number, source.inodes.needs_ids(), |key| {
            let is_left_out = !source.inodes.has(key.inode_id);
            // Only a damaged group has rows before its first bucket.
            if key.size < min_size || key.bucket < *pass.start() || is_left_out {
                return;
            }
            // The rows of a bucket follow each other, so that a bucket is locked only once.
            if key.bucket != bucket {
                flush(&mut run, &buckets[usize::from(bucket)]);
                bucket = key.bucket;
            }
            run.push(Inode::new(source.host, &key));
        })?;
        flush(&mut run, &buckets[usize::from(bucket)]);
    }
    Ok(())
}

fn flush(run: &mut Vec<Inode>, bucket: &Mutex<Vec<Inode>>) {
    if !run.is_empty() {
        bucket.lock().append(run);
    }
}

/// Adds the inodes of some buckets to the tallies, one tally per thread.
fn add<T: Tally>(
    buckets: &[Mutex<Vec<Inode>>],
    tallies: &mut [T],
    progress: &Progress,
) -> Result<(), Error> {
    let next = AtomicUsize::new(0);
    let threads = tallies.len();
    let tallies: Vec<Mutex<&mut T>> = tallies.iter_mut().map(Mutex::new).collect();
    on_threads(threads, |thread| {
        let mut tally = tallies[thread].lock();
        while let Some(bucket) = buckets.get(next.fetch_add(1, Relaxed)) {
            progress.check()?;
            let inodes = std::mem::take(&mut *bucket.lock());
            each_size(&inodes, |of_size| tally.add(&Class::new(of_size)));
        }
        Ok(())
    })
}

/// Runs `work` on several threads, each with its number. Returns the first error.
fn on_threads(
    threads: usize,
    work: impl Fn(usize) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> =
            (0..threads.max(1)).map(|number| scope.spawn(move || work(number))).collect();
        let joined = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        joined.collect::<Result<Vec<()>, Error>>().map(|_| ())
    })
}
