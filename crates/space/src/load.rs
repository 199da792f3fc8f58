//! Reads a catalog with several threads.
//!
//! Each thread has its own connection, and all connections see the same snapshot of the catalog. The
//! directories are divided into many ranges of ids, because some ranges have far more files than
//! others.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::ScopedJoinHandle;

use catalog::{Catalog, Error};

use crate::build::{Builder, Dirs, Files};
use crate::space::Space;

/// Maximum number of threads. One thread does the rest of the work, which takes about as long as
/// four threads take to read the files.
const MAX_THREADS: usize = 4;
/// Number of ranges for each thread.
const RANGES_PER_THREAD: i64 = 16;
/// The row id of the root directory.
const ROOT: i64 = 1;

impl Space {
    /// Computes the sizes of all directories in a catalog. Does not access the files.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn load(catalog: &Catalog) -> Result<Space, Error> {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let mut connections = catalog.snapshots(threads.min(MAX_THREADS))?;
        let (builder, ranges) = read_rest(&mut connections)?;
        let next = AtomicUsize::new(0);
        let results: Vec<Result<_, Error>> = std::thread::scope(|scope| {
            let reader = |connection| {
                let (builder, ranges, next) = (&builder, &ranges, &next);
                scope.spawn(move || read_files(&connection, builder, ranges, next))
            };
            let threads: Vec<_> = connections.into_iter().map(reader).collect();
            threads.into_iter().map(join).collect()
        });
        let mut parts = Vec::new();
        for result in results {
            parts.extend(result?);
        }
        // The order of files decides about single bytes of the result, so it must not depend on the
        // threads.
        parts.sort_unstable_by_key(|(at, _)| *at);
        let parts: Vec<Files> = parts.into_iter().map(|(_, part)| part).collect();
        match parts.iter().map(|part| part.orphans).sum() {
            0 => Ok(builder.finish(parts)),
            files => Err(Error::Orphans { path: catalog.path().into(), dirs: 0, files }),
        }
    }
}

/// Returns the result of a thread, or continues its panic.
fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Reads everything but the files. Returns the ranges into which the files are divided.
fn read_rest(connections: &mut Vec<Catalog>) -> Result<(Builder, Vec<Range<i64>>), Error> {
    let other = if connections.len() > 1 { connections.pop() } else { None };
    let (dirs, contents) = std::thread::scope(|scope| {
        let thread = other.map(|other| scope.spawn(move || (read_contents(&other), other)));
        let dirs = read_dirs(&connections[0]);
        let contents = match thread.map(join) {
            Some((contents, other)) => {
                connections.push(other);
                contents
            }
            None => read_contents(&connections[0]),
        };
        (dirs, contents)
    });
    let (dirs, last) = dirs?;
    Ok((Builder::new(&dirs, &contents?), ranges(last, connections.len())))
}

/// Returns the directories and the greatest of their ids.
fn read_dirs(catalog: &Catalog) -> Result<(Dirs, i64), Error> {
    let (mut dirs, mut last) = (Dirs::new(ROOT), ROOT);
    catalog.each_dir_row(|id, parent, name| {
        last = last.max(id);
        dirs.push(id, parent, name);
    })?;
    Ok((dirs, last))
}

/// Returns the id and the reclaimable bytes of each content with reclaimable bytes.
fn read_contents(catalog: &Catalog) -> Result<Vec<(i64, u64)>, Error> {
    let mut contents = Vec::new();
    catalog.each_content_row(|id, content| {
        if content.reclaimable > 0 {
            contents.push((id, content.reclaimable));
        }
    })?;
    Ok(contents)
}

/// Divides the ids up to `last`.
fn ranges(last: i64, threads: usize) -> Vec<Range<i64>> {
    let count = i64::try_from(threads).unwrap_or(1) * RANGES_PER_THREAD;
    let length = last / count + 1;
    let starts = std::iter::successors(Some(0i64), |start| start.checked_add(length));
    let starts = starts.take_while(|start| *start <= last);
    // Files in directories beyond the last one belong to no directory. The last range finds them.
    starts
        .map(|start| start..if start > last - length { i64::MAX } else { start + length })
        .collect()
}

/// Reads the files of the ranges that no other thread has taken.
fn read_files(
    connection: &Catalog,
    builder: &Builder,
    ranges: &[Range<i64>],
    next: &AtomicUsize,
) -> Result<Vec<(usize, Files)>, Error> {
    let mut parts = Vec::new();
    loop {
        let at = next.fetch_add(1, Relaxed);
        let Some(range) = ranges.get(at) else { return Ok(parts) };
        let mut part = builder.part();
        connection.each_space_row(range.clone(), |dir, row| part.add(dir, &row))?;
        parts.push((at, part.finish()));
    }
}
