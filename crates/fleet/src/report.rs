//! Sums for each host, and the contents that take the most space.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use export::StoredDigest;

use crate::class::{Class, Elsewhere, Inode};
use crate::compare::Tally;
use crate::matrix::Matrix;

/// Number and size of inodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copies {
    /// Number of inodes.
    pub inodes: u64,
    /// Their total size in bytes.
    pub bytes: u64,
}

impl Copies {
    fn add(&mut self, inodes: u64, bytes: u64) {
        self.inodes += inodes;
        self.bytes = self.bytes.saturating_add(bytes);
    }

    fn merge(&mut self, other: Copies) {
        self.add(other.inodes, other.bytes);
    }
}

/// The inodes of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostTotals {
    /// All inodes that were compared.
    pub all: Copies,
    /// Inodes that another host has, too.
    pub elsewhere: Copies,
    /// Inodes that exist on this host only.
    pub only_here: Copies,
    /// Inodes of which another host may have a copy; they have not been compared.
    pub unknown: Copies,
    /// Inodes that are identical to another one of this host. One of each content is not counted.
    pub redundant: Copies,
}

/// A content that several inodes have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TopContent {
    /// The bytes of all inodes but one.
    pub redundant_bytes: u64,
    /// Length in bytes.
    pub size: u64,
    /// The digest.
    pub digest: StoredDigest,
    /// Number of inodes.
    pub inodes: u64,
    /// Number of hosts.
    pub hosts: u32,
}

/// Sums over all hosts of a fleet: shared contents, redundant files, and the totals of each host.
#[derive(Clone, Debug)]
pub struct Report {
    /// Sums for each host, by its number.
    pub hosts: Vec<HostTotals>,
    /// Number of contents that several inodes have, and the inodes of all but one of each.
    pub groups: u64,
    /// The inodes of these contents, without one of each.
    pub redundant: Copies,
    /// Number of contents that several hosts have.
    pub shared_contents: u64,
    /// The bytes that each pair of hosts have in common.
    pub matrix: Matrix,
    top: BinaryHeap<Reverse<TopContent>>,
    most: usize,
    /// Reused for the hosts of a content.
    scratch: Vec<u32>,
}

impl Report {
    /// Returns an empty report about `hosts` hosts that lists `most` contents.
    pub fn new(hosts: usize, most: usize) -> Report {
        Report {
            hosts: vec![HostTotals::default(); hosts],
            groups: 0,
            redundant: Copies::default(),
            shared_contents: 0,
            matrix: Matrix::new(hosts),
            top: BinaryHeap::new(),
            most,
            scratch: Vec::new(),
        }
    }

    /// Returns the contents with the most redundant bytes, largest first.
    pub fn top(&self) -> Vec<TopContent> {
        let mut top: Vec<TopContent> = self.top.iter().map(|Reverse(content)| *content).collect();
        top.sort_unstable_by(|a, b| b.cmp(a));
        top
    }

    /// Adds a content that several inodes have.
    fn add_group(&mut self, inodes: &[Inode]) {
        let (size, Some(digest)) = (inodes[0].size, inodes[0].digest()) else { return };
        self.scratch.clear();
        for on_host in inodes.chunk_by(|a, b| a.host == b.host) {
            let redundant = on_host.len() as u64 - 1;
            let totals = &mut self.hosts[on_host[0].host as usize];
            totals.redundant.add(redundant, redundant.saturating_mul(size));
            self.scratch.push(on_host[0].host);
        }
        let redundant = inodes.len() as u64 - 1;
        let redundant_bytes = redundant.saturating_mul(size);
        self.groups += 1;
        self.redundant.add(redundant, redundant_bytes);
        let hosts = u32::try_from(self.scratch.len()).expect("as many as exports");
        if hosts > 1 {
            self.shared_contents += 1;
            self.matrix.add(&self.scratch, size);
        }
        self.note(TopContent { redundant_bytes, size, digest, inodes: redundant + 1, hosts });
    }

    fn note(&mut self, content: TopContent) {
        if self.top.len() == self.most
            && self.top.peek().is_none_or(|Reverse(least)| content <= *least)
        {
            return;
        }
        self.top.push(Reverse(content));
        if self.top.len() > self.most {
            self.top.pop();
        }
    }
}

impl Tally for Report {
    fn add(&mut self, class: &Class<'_>) {
        for inodes in class.contents().filter(|inodes| inodes.len() > 1) {
            self.add_group(inodes);
        }
        class.each_elsewhere(|inode, elsewhere| {
            let totals = &mut self.hosts[inode.host as usize];
            totals.all.add(1, inode.size);
            let of = match elsewhere {
                Elsewhere::Copied => &mut totals.elsewhere,
                Elsewhere::Nowhere => &mut totals.only_here,
                Elsewhere::Unknown => &mut totals.unknown,
            };
            of.add(1, inode.size);
        });
    }

    fn merge(&mut self, other: Report) {
        for (totals, more) in self.hosts.iter_mut().zip(other.hosts) {
            totals.all.merge(more.all);
            totals.elsewhere.merge(more.elsewhere);
            totals.only_here.merge(more.only_here);
            totals.unknown.merge(more.unknown);
            totals.redundant.merge(more.redundant);
        }
        self.groups += other.groups;
        self.redundant.merge(other.redundant);
        self.shared_contents += other.shared_contents;
        self.matrix.merge(other.matrix);
        self.matrix.settle();
        for Reverse(content) in other.top {
            self.note(content);
        }
    }
}
