//! The time to insert numbers into Bloom filters of many sizes, for `docs/design/scanning.md`.
//!
//! [`record`] measures the filter of a scan and other layouts, [`write()`] keeps the figures as CSV
//! files, and the pages draw them against the sizes of the processor's caches. The idea is from
//! Jyri Virkki, "Bloom filter vs. CPU cache" (virkki.com, 2013), who plots the time of ten million
//! inserts against the size of a filter.
//!
//! Every insert adds a different number, so a filter that reports a number as seen is wrong.

mod caches;
mod filters;

use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use testkit::dice::{GAMMA, mix};

use crate::Failure;
use crate::record::{read_rows, write_rows};
use crate::stats::{float, spread};

pub use caches::{Cache, OF_FIRST_PROCESSOR, read as read_caches};
use filters::{Blocked, Classic, Filter};

/// The number of inserts that the article counts.
pub const INSERTS: u64 = 10_000_000;
/// Number of measurements of each filter. The filters take turns.
pub const ROUNDS: u32 = 5;
/// Binary logarithms of the sizes of the filters in bits: 8 KiB to 1 GiB.
pub const SIZES: RangeInclusive<u32> = 16..=33;

/// A layout of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// The filter that a scan uses, `dupes::BloomFilter`: three bits in one word.
    Scan,
    /// One bit for each number.
    #[serde(rename = "classic-1")]
    Classic1,
    /// A classic Bloom filter with four hashes.
    #[serde(rename = "classic-4")]
    Classic4,
    /// A blocked Bloom filter: four bits in one cache line.
    #[serde(rename = "blocked-4")]
    Blocked4,
}

/// All layouts.
pub const LAYOUTS: [Layout; 4] =
    [Layout::Scan, Layout::Classic1, Layout::Classic4, Layout::Blocked4];

/// The time of an insert into a filter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The layout of the filter.
    pub layout: Layout,
    /// The size of the filter in bytes.
    pub bytes: u64,
    /// The median time of an insert in nanoseconds, including the generation of the number.
    pub median_ns: f64,
    /// The shortest time in any round.
    pub min_ns: f64,
    /// The longest time in any round.
    pub max_ns: f64,
    /// Number of new numbers whose bits were all set already.
    pub false_positives: u64,
}

/// Everything that the graph shows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Graph {
    /// The times, by layout and then by size.
    pub figures: Vec<Figure>,
    /// The data caches of the processor.
    pub caches: Vec<Cache>,
}

/// Measures all layouts in all sizes, given as binary logarithms of bits, each in several rounds.
///
/// # Panics
///
/// If there are no rounds.
pub fn record(sizes: &RangeInclusive<u32>, inserts: u64, rounds: u32) -> Vec<Figure> {
    let pairs = LAYOUTS.iter().flat_map(|&layout| sizes.clone().map(move |size| (layout, size)));
    let mut runs: Vec<(Layout, u32, u64, Vec<f64>)> =
        pairs.map(|(layout, size)| (layout, size, 0, Vec::new())).collect();
    for _ in 0..rounds {
        for (layout, size, false_positives, times) in &mut runs {
            let ns;
            (ns, *false_positives) = measure(*layout, *size, inserts);
            times.push(ns);
        }
    }
    let figure = |(layout, size, false_positives, times): (_, u32, _, _)| {
        let ns = spread(times).expect("a round");
        Figure {
            layout,
            bytes: 1 << (size - 3),
            median_ns: ns.median,
            min_ns: ns.min,
            max_ns: ns.max,
            false_positives,
        }
    };
    runs.into_iter().map(figure).collect()
}

/// Returns the nanoseconds of an insert into a new filter, and the number of false positives.
fn measure(layout: Layout, log2_bits: u32, inserts: u64) -> (f64, u64) {
    match layout {
        Layout::Scan => fill(&dupes::BloomFilter::new(log2_bits), inserts),
        Layout::Classic1 => fill(&Classic::<1>::new(log2_bits), inserts),
        Layout::Classic4 => fill(&Classic::<4>::new(log2_bits), inserts),
        Layout::Blocked4 => fill(&Blocked::<4>::new(log2_bits), inserts),
    }
}

/// Adds different numbers to a filter. `SplitMix64` never repeats a number. Generating a number takes
/// about as long as inserting it into a filter that fits into L1.
fn fill(filter: &impl Filter, inserts: u64) -> (f64, u64) {
    let mut seen = 0;
    let start = processor_ns();
    for nth in 1..=inserts {
        seen += u64::from(filter.insert(mix(nth.wrapping_mul(GAMMA))));
    }
    (float(processor_ns() - start) / float(inserts), seen)
}

/// Returns the nanoseconds for which this thread has run. Unlike the time of day, this clock stands
/// still while other programs have the processor.
fn processor_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let part = |part: i64| u64::try_from(part).unwrap_or(0);
    part(time.tv_sec) * 1_000_000_000 + part(time.tv_nsec)
}

/// Writes the graph to files below `root/benchsuite/filter`, and returns that folder.
///
/// # Errors
///
/// A file cannot be written.
pub fn write(root: &Path, graph: &Graph) -> Result<PathBuf, Failure> {
    let folder = folder(root);
    fs::create_dir_all(&folder).map_err(|e| Failure::at(&folder, e))?;
    write_rows(&folder.join("inserts.csv"), &graph.figures)?;
    write_rows(&folder.join("caches.csv"), &graph.caches)?;
    Ok(folder)
}

/// Reads the graph below `root`, if there is one.
///
/// # Errors
///
/// A file cannot be read.
pub fn read(root: &Path) -> Result<Option<Graph>, Failure> {
    let folder = folder(root);
    if !folder.exists() {
        return Ok(None);
    }
    let figures = read_rows(&folder.join("inserts.csv"))?;
    Ok(Some(Graph { figures, caches: read_rows(&folder.join("caches.csv"))? }))
}

fn folder(root: &Path) -> PathBuf {
    root.join("benchsuite/filter")
}

#[cfg(test)]
mod tests;
