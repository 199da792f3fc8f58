//! Tests of the filters, the measurement and the files of the graph.

use testkit::TempTree;
use testkit::dice::mix;

use super::filters::{Blocked, Classic, Filter};
use super::{Cache, Graph, LAYOUTS, Layout, measure, read, record, write};

fn assert_remembers(filter: &impl Filter) {
    (0..5_000).for_each(|n| {
        filter.insert(mix(n));
    });
    assert!((0..5_000).all(|n| filter.insert(mix(n))));
}

#[test]
fn a_number_that_was_added_is_always_found() {
    for log2_bits in [10, 13, 20] {
        assert_remembers(&dupes::BloomFilter::new(log2_bits));
        assert_remembers(&Classic::<1>::new(log2_bits));
        assert_remembers(&Classic::<4>::new(log2_bits));
        assert_remembers(&Blocked::<4>::new(log2_bits));
    }
}

/// Returns the expected number of false positives when each number sets `hashes` random bits in a
/// random block of `block_bits` bits.
fn expected(numbers: u32, log2_bits: u32, hashes: u32, block_bits: f64) -> f64 {
    let blocks = f64::from(1_u32 << log2_bits) / block_bits;
    let clear = (1.0 - 1.0 / block_bits).powf(hashes.into());
    let after = |added: u32| {
        // The numbers in a block have a Poisson distribution.
        let mean = f64::from(added) / blocks;
        let mut probability = (-mean).exp();
        let mut sum = 0.0;
        for in_block in 1..1_000 {
            probability *= mean / f64::from(in_block);
            sum += probability * (1.0 - clear.powi(in_block)).powf(hashes.into());
        }
        sum
    };
    (0..numbers).step_by(100).map(|added| 100.0 * after(added)).sum()
}

#[test]
fn false_positives_are_as_frequent_as_the_theory_says() {
    // A classic filter spreads bits over blocks of any size.
    let layouts = [
        (Layout::Scan, 3, 64.0),
        (Layout::Classic1, 1, 64.0),
        (Layout::Classic4, 4, 4096.0),
        (Layout::Blocked4, 4, 512.0),
    ];
    for (layout, hashes, block_bits) in layouts {
        let expected = expected(100_000, 20, hashes, block_bits);
        let (_, found) = measure(layout, 20, 100_000);
        let ratio = super::float(found) / expected;
        assert!((0.8..1.25).contains(&ratio), "{layout:?}: {found} instead of {expected}");
    }
}

#[test]
fn the_graph_is_read_as_it_was_written() {
    let temp = TempTree::new();
    assert_eq!(read(temp.path()).expect("no graph"), None);
    let figures = record(&(13..=14), 100, 3);
    assert_eq!(figures.len(), 2 * LAYOUTS.len());
    assert!(figures.iter().all(|figure| figure.min_ns <= figure.median_ns));
    let caches = vec![Cache { name: "L1d".into(), bytes: 49_152 }];
    let graph = Graph { figures, caches };
    write(temp.path(), &graph).expect("written");
    assert_eq!(read(temp.path()).expect("read"), Some(graph));
    // A machine without known caches leaves a file without rows.
    write(temp.path(), &Graph::default()).expect("written");
    assert_eq!(read(temp.path()).expect("read"), Some(Graph::default()));
}
