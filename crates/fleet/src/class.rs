//! The inodes of one size, and which of them are copies.

use export::{InodeKey, StoredDigest};

/// The kind of a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum DigestKind {
    None,
    Md5,
    Blake3,
}

/// An inode of a host.
///
/// Inodes are ordered by size, head, digest and host; those without a head or a digest come first. The
/// flags are apart from the values, because a row is then smaller and is compared faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Inode {
    /// Length in bytes.
    pub size: u64,
    has_head: bool,
    head: i64,
    digest_kind: DigestKind,
    /// The bytes of the digest, filled up with zeros.
    digest: [u8; 32],
    /// The number of its host.
    pub host: u32,
}

impl Inode {
    pub(crate) fn new(host: u32, key: &InodeKey) -> Inode {
        let digest_kind = match key.digest {
            None => DigestKind::None,
            Some(StoredDigest::Md5(_)) => DigestKind::Md5,
            Some(StoredDigest::Blake3(_)) => DigestKind::Blake3,
        };
        let mut digest = [0; 32];
        let bytes = key.digest.as_ref().map_or(&[][..], StoredDigest::bytes);
        digest[..bytes.len()].copy_from_slice(bytes);
        Inode {
            size: key.size,
            has_head: key.head.is_some(),
            head: key.head.unwrap_or(0),
            digest_kind,
            digest,
            host,
        }
    }

    /// Returns the head, possibly keyed.
    pub fn head(&self) -> Option<i64> {
        self.has_head.then_some(self.head)
    }

    /// Returns the digest, if it is known.
    pub fn digest(&self) -> Option<StoredDigest> {
        match self.digest_kind {
            DigestKind::None => None,
            DigestKind::Md5 => StoredDigest::of(&self.digest[..16]),
            DigestKind::Blake3 => Some(StoredDigest::Blake3(self.digest)),
        }
    }

    fn has_digest(&self) -> bool {
        self.digest_kind != DigestKind::None
    }

    /// Returns whether two inodes have the same digest, or none.
    fn has_digest_of(&self, other: &Inode) -> bool {
        (self.digest_kind, &self.digest) == (other.digest_kind, &other.digest)
    }
}

/// Whether a file exists on another host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elsewhere {
    /// Another host has a file with the same digest.
    Copied,
    /// No file of another host can be equal: all have another size, head or digest.
    Nowhere,
    /// Another host has a file that may be equal, but the two have not been compared.
    Unknown,
}

/// All inodes of one size.
#[derive(Debug)]
pub struct Class<'a> {
    /// Inodes with the same digest follow each other, sorted by host.
    inodes: &'a [Inode],
    /// The hosts that have each head. Empty if all inodes are on one host.
    heads: Vec<Head>,
}

/// The hosts of the inodes with a head, or of those without one.
#[derive(Clone, Copy, Debug)]
struct Head {
    value: Option<i64>,
    all: Hosts,
    /// The hosts of those inodes that have no digest of a kind, for each kind.
    without_md5: Hosts,
    without_blake3: Hosts,
}

/// The hosts of some inodes, as far as it matters whether a certain host is the only one.
#[derive(Clone, Copy, Debug, Default)]
struct Hosts(Option<(u32, u32)>);

impl Hosts {
    fn add(&mut self, Hosts(other): Hosts) {
        self.0 = match (self.0, other) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (one, other) => one.or(other),
        };
    }

    fn of<'i>(inodes: impl IntoIterator<Item = &'i Inode>) -> Hosts {
        inodes.into_iter().fold(Hosts::default(), |mut hosts, inode| {
            hosts.add(Hosts(Some((inode.host, inode.host))));
            hosts
        })
    }

    /// Returns whether a host other than `host` has one of the inodes.
    fn has_other(self, host: u32) -> bool {
        self.0.is_some_and(|(least, most)| least != host || most != host)
    }
}

impl<'a> Class<'a> {
    /// Returns the class of `inodes`, which have one size and are sorted by head, digest and host.
    /// May sort them in another way. Inodes with the same digest have the same head, as far as they
    /// have one.
    pub(crate) fn new(inodes: &'a mut [Inode]) -> Class<'a> {
        let first = inodes[0].host;
        let is_on_one_host = inodes.iter().all(|inode| inode.host == first);
        let heads = if is_on_one_host { Vec::new() } else { heads(inodes) };
        // The head of a file that changed shortly before a scan is not kept, but its digest is.
        let has_only_digest = |inode: &Inode| !inode.has_head && inode.has_digest();
        if inodes.iter().take_while(|inode| !inode.has_head).any(has_only_digest) {
            inodes.sort_by_key(|inode| (inode.digest_kind, inode.digest, inode.host));
        }
        Class { inodes, heads }
    }

    /// Returns the inodes of each digest, sorted by host.
    pub fn contents(&self) -> impl Iterator<Item = &'a [Inode]> {
        let digested = self.inodes.chunk_by(Inode::has_digest_of);
        digested.filter(|inodes| inodes[0].has_digest())
    }

    /// Calls `each` for every inode, with whether another host has a copy of it.
    pub fn each_elsewhere(&self, mut each: impl FnMut(&Inode, Elsewhere)) {
        for inodes in self.inodes.chunk_by(Inode::has_digest_of) {
            let is_digested = inodes[0].has_digest();
            let is_copied = is_digested && inodes.iter().any(|inode| inode.host != inodes[0].host);
            for inode in inodes {
                let elsewhere = match () {
                    () if is_copied => Elsewhere::Copied,
                    () if self.may_be_elsewhere(inode) => Elsewhere::Unknown,
                    () => Elsewhere::Nowhere,
                };
                each(inode, elsewhere);
            }
        }
    }

    /// Returns whether another host has an inode that may be equal although neither digests nor heads
    /// show it. Two inodes with digests of the same kind are known to be equal or not.
    fn may_be_elsewhere(&self, inode: &Inode) -> bool {
        let candidates = |head: &Head| {
            let hosts = match inode.digest_kind {
                DigestKind::None => head.all,
                DigestKind::Md5 => head.without_md5,
                DigestKind::Blake3 => head.without_blake3,
            };
            hosts.has_other(inode.host)
        };
        match inode.head() {
            None => self.heads.iter().any(candidates),
            known => {
                let find = |head| self.heads.binary_search_by_key(&head, |head| head.value).ok();
                let compatible = [find(None), find(known)];
                compatible.into_iter().flatten().any(|at| candidates(&self.heads[at]))
            }
        }
    }
}

/// Returns the heads of inodes that are sorted by head.
fn heads(inodes: &[Inode]) -> Vec<Head> {
    let same_head = inodes.chunk_by(|a, b| a.head() == b.head());
    let head = |inodes: &[Inode]| Head {
        value: inodes[0].head(),
        all: Hosts::of(inodes),
        without_md5: Hosts::of(inodes.iter().filter(|of| of.digest_kind != DigestKind::Md5)),
        without_blake3: Hosts::of(inodes.iter().filter(|of| of.digest_kind != DigestKind::Blake3)),
    };
    same_head.map(head).collect()
}

#[cfg(test)]
mod tests {
    use super::Elsewhere::{Copied, Nowhere, Unknown};
    use super::{Class, Elsewhere, Inode, InodeKey, StoredDigest};

    /// Returns an inode with a head and a digest; 0 for none. A negative digest is one of the other kind.
    fn inode(host: u32, head: i64, digest: i8) -> Inode {
        let byte = digest.unsigned_abs();
        let digest = match digest {
            0 => None,
            1.. => Some(StoredDigest::Blake3([byte; 32])),
            _ => Some(StoredDigest::Md5([byte; 16])),
        };
        Inode::new(
            host,
            &InodeKey {
                inode_id: 0,
                bucket: 0,
                size: 9,
                head: (head != 0).then_some(head),
                digest,
            },
        )
    }

    /// Returns the answer for each inode, in the given order.
    fn answers(inodes: &[Inode]) -> Vec<Elsewhere> {
        let mut sorted = inodes.to_vec();
        sorted.sort();
        let mut found = Vec::new();
        Class::new(&mut sorted).each_elsewhere(|inode, elsewhere| found.push((*inode, elsewhere)));
        let answer =
            |inode: &Inode| found.iter().find(|(found, _)| found == inode).expect("found").1;
        inodes.iter().map(answer).collect()
    }

    /// The answer by definition: compares each pair.
    fn expected(inodes: &[Inode]) -> Vec<Elsewhere> {
        let differ = |a: Option<i64>, b: Option<i64>| a.zip(b).is_some_and(|(a, b)| a != b);
        let of = |one: &Inode| {
            let others = inodes.iter().filter(|other| other.host != one.host);
            let equal = |other: &&Inode| one.has_digest() && one.digest() == other.digest();
            let possible = |other: &&Inode| {
                let is_decided =
                    one.digest().zip(other.digest()).is_some_and(|(a, b)| a.is_of_kind(&b));
                !is_decided && !differ(one.head(), other.head())
            };
            match () {
                () if others.clone().any(|other| equal(&other)) => Copied,
                () if others.clone().any(|other| possible(&other)) => Unknown,
                () => Nowhere,
            }
        };
        inodes.iter().map(of).collect()
    }

    #[test]
    fn files_of_one_host_are_nowhere_else() {
        assert_eq!(answers(&[inode(1, 0, 0), inode(1, 5, 0), inode(1, 5, 1)]), [Nowhere; 3]);
    }

    #[test]
    fn heads_and_digests_decide_as_far_as_they_are_known() {
        let inodes = [inode(1, 5, 1), inode(2, 5, 1), inode(2, 6, 2), inode(3, 7, 0)];
        assert_eq!(answers(&inodes), [Copied, Copied, Nowhere, Nowhere]);
        assert_eq!(answers(&[inode(1, 5, 1), inode(2, 5, 0)]), [Unknown, Unknown]);
        assert_eq!(answers(&[inode(1, 5, 1), inode(2, 0, 1)]), [Copied, Copied]);
        assert_eq!(answers(&[inode(1, 5, 1), inode(2, 0, 0)]), [Unknown, Unknown]);
        // Digests of different kinds say nothing about each other.
        assert_eq!(answers(&[inode(1, 5, 1), inode(2, 0, -1)]), [Unknown, Unknown]);
        assert_eq!(answers(&[inode(1, 0, -1), inode(2, 0, -2)]), [Nowhere, Nowhere]);
        assert_eq!(answers(&[inode(1, 0, -1), inode(2, 0, -1)]), [Copied, Copied]);
    }

    #[test]
    fn all_small_classes_agree_with_the_definition() {
        // Each digest belongs to one head: two contents have the head 5, and one the head 6.
        let of_digest =
            [(5, 0), (6, 0), (5, 1), (5, 2), (6, 3), (0, 0), (0, 1), (0, 3), (0, -1), (0, -2)];
        let on_host = |host| of_digest.map(|(head, digest)| inode(host, head, digest));
        let kinds = [on_host(1), on_host(2), on_host(3)].concat();
        for &a in &kinds {
            for &b in &kinds {
                for &c in &kinds {
                    let inodes = [a, b, c];
                    assert_eq!(answers(&inodes), expected(&inodes), "{inodes:?}");
                }
            }
        }
    }
}
