//! Sums for each pair of hosts.

use std::collections::HashMap;

/// The bytes that each pair of hosts have in common.
///
/// Most contents are on few hosts, or on the same hosts as many others. Contents on many hosts are
/// therefore summed up for each set of hosts first, and added to the pairs later.
#[derive(Clone, Debug)]
pub struct Matrix {
    hosts: usize,
    /// For each host, the bytes shared with each host of a smaller number.
    shared: Vec<u64>,
    sets: HashMap<Box<[u32]>, u64>,
    /// Number of hosts in all sets together.
    members: usize,
}

/// Contents on more hosts than this are summed up by their set of hosts.
const MOST_DIRECT: usize = 8;

/// Number of hosts in all sets together that are kept before the sets are added to the pairs.
const MOST_MEMBERS: usize = 1 << 20;

impl Matrix {
    pub(crate) fn new(hosts: usize) -> Matrix {
        let pairs = hosts * hosts.saturating_sub(1) / 2;
        Matrix { hosts, shared: vec![0; pairs], sets: HashMap::new(), members: 0 }
    }

    /// Adds a content of `bytes` bytes that all of `hosts` have. `hosts` are in ascending order.
    pub(crate) fn add(&mut self, hosts: &[u32], bytes: u64) {
        if hosts.len() <= MOST_DIRECT {
            return self.add_pairs(hosts, bytes);
        }
        if let Some(sum) = self.sets.get_mut(hosts) {
            *sum = sum.saturating_add(bytes);
        } else {
            self.sets.insert(hosts.into(), bytes);
            self.members += hosts.len();
        }
        if self.members > MOST_MEMBERS {
            self.settle();
        }
    }

    /// Adds all sets of hosts to the pairs.
    pub(crate) fn settle(&mut self) {
        self.members = 0;
        for (hosts, bytes) in std::mem::take(&mut self.sets) {
            self.add_pairs(&hosts, bytes);
        }
    }

    fn add_pairs(&mut self, hosts: &[u32], bytes: u64) {
        for (at, &high) in hosts.iter().enumerate() {
            for &low in &hosts[..at] {
                let sum = &mut self.shared[index(low as usize, high as usize)];
                *sum = sum.saturating_add(bytes);
            }
        }
    }

    pub(crate) fn merge(&mut self, other: Matrix) {
        for (sum, more) in self.shared.iter_mut().zip(other.shared) {
            *sum = sum.saturating_add(more);
        }
        for (hosts, bytes) in other.sets {
            self.add(&hosts, bytes);
        }
    }

    /// Returns the bytes of the contents that two hosts have in common, each content counted once.
    pub fn shared(&self, one: usize, other: usize) -> u64 {
        let (low, high) = (one.min(other), one.max(other));
        if low == high || high >= self.hosts { 0 } else { self.shared[index(low, high)] }
    }
}

/// Returns the place of a pair of hosts.
fn index(low: usize, high: usize) -> usize {
    high * (high - 1) / 2 + low
}

#[cfg(test)]
mod tests {
    use super::Matrix;

    #[test]
    fn few_and_many_hosts_are_summed_up_in_the_same_way() {
        let mut matrix = Matrix::new(12);
        let all: Vec<u32> = (0..12).collect();
        matrix.add(&all, 5);
        matrix.add(&all, 7);
        matrix.add(&[2, 9], 100);
        let mut other = Matrix::new(12);
        other.add(&all, 1000);
        other.add(&[9, 11], 1);
        matrix.merge(other);
        matrix.settle();
        assert_eq!(matrix.shared(2, 9), 1112);
        assert_eq!(matrix.shared(9, 2), 1112);
        assert_eq!(matrix.shared(9, 11), 1013);
        assert_eq!(matrix.shared(0, 1), 1012);
        assert_eq!((matrix.shared(3, 3), matrix.shared(3, 12)), (0, 0));
    }
}
