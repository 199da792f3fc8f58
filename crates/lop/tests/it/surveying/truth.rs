//! The truth about the files of several hosts, and the answers of their exports, both by definition.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use export::{Fleet, InodeKey, StoredDigest};

use crate::surveying::hosts::{Hosts, Totals};

/// The number of bytes of a head.
const HEAD: u16 = 8192;

/// Whether a file is on another host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Elsewhere {
    /// It is; its digest.
    Copied(StoredDigest),
    /// It is not.
    Nowhere,
    /// It has not been compared.
    Unknown,
}

/// The answer for each inode of a host, by all its absolute names.
pub(super) type Answers = BTreeMap<Vec<Vec<u8>>, Elsewhere>;

/// An inode on disk.
struct OnDisk {
    inode: u64,
    names: Vec<Vec<u8>>,
    bytes: Vec<u8>,
}

impl OnDisk {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn head(&self) -> &[u8] {
        &self.bytes[..self.bytes.len().min(HEAD.into())]
    }
}

/// Returns the inodes of a host that have at least `min_size` bytes and are not empty.
fn on_disk(fleet: &Hosts, host: usize, min_size: u64) -> Vec<OnDisk> {
    let mut names: BTreeMap<u64, Vec<Vec<u8>>> = BTreeMap::new();
    add_names(&fleet.hosts[host].work(), &mut names);
    let read = |(inode, mut names): (u64, Vec<Vec<u8>>)| {
        names.sort();
        let path = std::ffi::OsStr::from_bytes(&names[0]);
        OnDisk { inode, bytes: fs::read(path).expect("readable"), names }
    };
    names.into_iter().map(read).filter(|file| file.size() >= min_size.max(1)).collect()
}

fn add_names(dir: &Path, names: &mut BTreeMap<u64, Vec<Vec<u8>>>) {
    for entry in fs::read_dir(dir).expect("listed") {
        let path = entry.expect("an entry").path();
        let metadata = fs::symlink_metadata(&path).expect("metadata");
        if metadata.is_dir() {
            add_names(&path, names);
        } else if metadata.is_file() {
            names.entry(metadata.ino()).or_default().push(path.as_os_str().as_bytes().to_vec());
        }
    }
}

/// Returns for each host what is true of its files, found by comparing bytes.
pub(super) fn true_answers(fleet: &Hosts, min_size: u64) -> Vec<Answers> {
    let hosts: Vec<Vec<OnDisk>> =
        (0..fleet.hosts.len()).map(|host| on_disk(fleet, host, min_size)).collect();
    let answer = |host: usize, file: &OnDisk| {
        let mut others = hosts.iter().enumerate().filter(|(other, _)| *other != host);
        if others.any(|(_, files)| files.iter().any(|other| other.bytes == file.bytes)) {
            Elsewhere::Copied(StoredDigest::Blake3(*blake3::hash(&file.bytes).as_bytes()))
        } else {
            Elsewhere::Nowhere
        }
    };
    let answers = |(host, files): (usize, &Vec<OnDisk>)| {
        files.iter().map(|file| (file.names.clone(), answer(host, file))).collect()
    };
    hosts.iter().enumerate().map(answers).collect()
}

/// Returns what a host has to read in a survey: the heads of files whose size another host has, and all
/// of those whose size and head another host has, except for what its catalog has already.
pub(super) fn needed(fleet: &Hosts, host: usize, min_size: u64) -> Totals {
    let others = (0..fleet.hosts.len()).filter(|other| *other != host);
    let others: Vec<OnDisk> = others.flat_map(|other| on_disk(fleet, other, min_size)).collect();
    let sizes: BTreeSet<u64> = others.iter().map(OnDisk::size).collect();
    let heads: BTreeSet<(u64, &[u8])> =
        others.iter().map(|file| (file.size(), file.head())).collect();
    let known = known(fleet, host);
    let mut needed = Totals::default();
    for file in on_disk(fleet, host, min_size) {
        let size = file.size();
        let (has_head, has_digest) = known[&file.inode];
        let needs_head = !has_head && sizes.contains(&size);
        // The head of a small file is all of it.
        let is_whole_at_once = needs_head && size <= HEAD.into();
        let needs_all = !has_digest && heads.contains(&(size, file.head()));
        if is_whole_at_once || needs_all {
            needed.files += 1;
            needed.bytes += size;
        }
        if needs_head && !is_whole_at_once {
            needed.heads += 1;
            needed.bytes += u64::from(HEAD);
        }
    }
    needed
}

/// Returns, for each inode in the catalog of a host, whether it has a head and whether it has a digest.
fn known(fleet: &Hosts, host: usize) -> HashMap<u64, (bool, bool)> {
    let database = fleet.hosts[host].database();
    let sql = "SELECT inode, head IS NOT NULL, digest IS NOT NULL FROM file \
               LEFT JOIN content ON content.id = file.content";
    let mut query = database.prepare(sql).expect("a query");
    let rows = query.query_map([], |row| {
        Ok((row.get::<_, i64>(0)?.cast_unsigned(), (row.get(1)?, row.get(2)?)))
    });
    rows.expect("runs").map(|row| row.expect("a row")).collect()
}

/// Returns for each host what the newest exports say about its files.
pub(super) fn exported(folder: &Path, min_size: u64) -> Vec<Answers> {
    let fleet = Fleet::newest(folder).expect("exports");
    assert!(fleet.problems.is_empty(), "{:?}", fleet.problems);
    let mut hosts: Vec<Vec<InodeKey>> = Vec::new();
    for export in &fleet.exports {
        let mut inodes = Vec::new();
        export.each_inode(None, |inode| inodes.push(*inode)).expect("readable");
        inodes.retain(|inode| inode.size >= min_size.max(1));
        hosts.push(inodes);
    }
    let answers = |(host, export): (usize, &export::Stored)| {
        let ids: BTreeSet<i64> = hosts[host].iter().map(|inode| inode.inode_id).collect();
        let mut paths = export.paths(&ids).expect("names");
        let others: Vec<&InodeKey> = hosts
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != host)
            .flat_map(|(_, inodes)| inodes)
            .collect();
        let of = |inode: &InodeKey| {
            (paths.remove(&inode.inode_id).expect("names"), elsewhere(inode, &others))
        };
        hosts[host].iter().map(of).collect()
    };
    fleet.exports.iter().enumerate().map(answers).collect()
}

fn elsewhere(inode: &InodeKey, others: &[&InodeKey]) -> Elsewhere {
    if let Some(digest) = inode.digest
        && others.iter().any(|other| other.digest == Some(digest))
    {
        return Elsewhere::Copied(digest);
    }
    let may_be_equal = |other: &&&InodeKey| {
        let heads_differ = inode.head.zip(other.head).is_some_and(|(a, b)| a != b);
        let digests_differ = inode.digest.zip(other.digest).is_some_and(|(a, b)| a != b);
        other.size == inode.size && !heads_differ && !digests_differ
    };
    match others.iter().find(may_be_equal) {
        Some(_) => Elsewhere::Unknown,
        None => Elsewhere::Nowhere,
    }
}

/// Asserts that two lists of answers are the same.
#[track_caller]
pub(super) fn assert_same_answers(found: &[Answers], expected: &[Answers], when: &str) {
    assert_eq!(found.len(), expected.len(), "{when}");
    for (host, (found, expected)) in found.iter().zip(expected).enumerate() {
        let names: BTreeSet<&Vec<Vec<u8>>> = found.keys().chain(expected.keys()).collect();
        for name in names {
            let (found, expected) = (found.get(name), expected.get(name));
            let shown: Vec<_> = name.iter().map(|name| name.escape_ascii().to_string()).collect();
            assert!(found == expected, "{when}: h{host} {shown:?}: {found:?}, but {expected:?}");
        }
    }
}

/// Exports all hosts to a new folder, and asserts that the exports tell everything that is true.
#[track_caller]
pub(super) fn assert_all_known(fleet: &Hosts, folder: &str) {
    let answers = exported(&fleet.export(folder, None), 1);
    assert_same_answers(&answers, &true_answers(fleet, 1), folder);
}
