//! Turns what is known of contents into groups, in an order that does not depend on threads.

use std::cmp::{Ordering, Reverse};

use content::{ContentId, Digest};
use fsops::Interrupted;
use walk::{FileId, Tree};

use crate::Found;
use crate::classes::{Classes, inodes};
use crate::parallel::Work;
use crate::storage;

/// Equal files.
#[derive(Clone, Debug)]
pub struct Group {
    /// Size of each, in bytes.
    pub size: u64,
    /// The content they share; `None` if all are names of one inode.
    pub content: Option<ContentId>,
    /// BLAKE3 of the content; `None` if all are names of one inode, or for a file with over a
    /// gigabyte of holes.
    pub digest: Option<Digest>,
    /// One name per inode (the first by path), or all names if names count; sorted by path.
    pub files: Vec<FileId>,
    /// How many inodes the files are.
    pub inodes: u32,
    /// Bytes that keeping a single copy would free: hard links, shared extents and holes free
    /// nothing.
    pub reclaimable: u64,
}

/// Fills `found` with the groups of the walk's files.
pub(crate) fn collect(
    work: &Work<'_>,
    classes: &Classes,
    found: &mut Found,
) -> Result<(), Interrupted> {
    let numbers: Vec<usize> = (0..classes.len()).collect();
    let (lists, _) = work.on_threads(&numbers, 64, |worker, out: &mut Collected, &index| {
        of_class(&worker.work, classes.get(index), out);
        Ok(())
    })?;
    for list in lists {
        found.groups.extend(list.groups);
        found.elsewhere += list.elsewhere;
    }
    storage::measure(work, &mut found.groups)?;
    let (mut a_path, mut b_path) = (Vec::new(), Vec::new());
    found.groups.sort_unstable_by(|a, b| {
        Reverse(a.reclaimable).cmp(&Reverse(b.reclaimable)).then_with(|| {
            work.tree.path_into(a.files[0], &mut a_path);
            work.tree.path_into(b.files[0], &mut b_path);
            a_path.cmp(&b_path)
        })
    });
    Ok(())
}

#[derive(Default)]
struct Collected {
    groups: Vec<Group>,
    elsewhere: u64,
}

/// An inode of a class: its content, or its own number for one that was not compared, and names.
type Inode<'a> = (Option<ContentId>, &'a [FileId]);

fn of_class(work: &Work<'_>, class: &[FileId], out: &mut Collected) {
    let (tree, facts) = (work.tree, work.facts);
    let mut by_content: Vec<Inode<'_>> = Vec::new();
    for names in inodes(tree, class) {
        let content = facts.content(names[0].0);
        spread(work, names);
        if content.is_some() {
            by_content.push((content, names));
        } else if work.options.hardlinks && names.len() > 1 {
            out.groups.extend(group(work, &[(None, names)]));
        }
    }
    by_content.sort_unstable_by_key(|&(content, names)| (content, names[0]));
    for equal in by_content.chunk_by(|a, b| a.0 == b.0) {
        let here = |inode: &&Inode<'_>| inode.1.iter().any(|&f| !tree.is_remembered(f));
        let walked: Vec<Inode<'_>> = equal.iter().filter(here).copied().collect();
        match group(work, &walked) {
            Some(group) => out.groups.push(group),
            None if walked.len() < equal.len() => out.elsewhere += walked.len() as u64,
            None => {}
        }
    }
}

/// Gives all names of an inode what is known of the one that was read.
fn spread(work: &Work<'_>, names: &[FileId]) {
    let (first, rest) = (names[0].0, &names[1..]);
    for name in rest {
        if work.facts.dropped(first) {
            work.facts.drop_file(name.0);
        } else if let Some(head) = work.facts.head(first) {
            work.facts.set_head(name.0, head);
            if let Some(content) = work.facts.content(first) {
                work.facts.set_content(name.0, content);
            }
        }
    }
}

/// Makes a group of equal inodes, or `None` if they are fewer than two files.
fn group(work: &Work<'_>, equal: &[Inode<'_>]) -> Option<Group> {
    let tree = work.tree;
    let mut files = Vec::with_capacity(equal.len());
    for (_, names) in equal {
        let mut walked: Vec<FileId> =
            names.iter().copied().filter(|&f| !tree.is_remembered(f)).collect();
        sort_by_path(tree, &mut walked);
        if !work.options.hardlinks {
            walked.truncate(1);
        }
        files.extend(walked);
    }
    if files.len() < 2 {
        return None;
    }
    sort_by_path(tree, &mut files);
    let size = tree.file(files[0]).size;
    Some(Group {
        size,
        content: equal[0].0,
        digest: equal[0].0.and_then(|content| work.facts.digest(content)),
        inodes: u32::try_from(equal.len()).unwrap_or(u32::MAX),
        reclaimable: size.saturating_mul(equal.len() as u64 - 1),
        files,
    })
}

/// Sorts files by the bytes of their paths.
fn sort_by_path(tree: &Tree, files: &mut [FileId]) {
    match files {
        [] | [_] => {}
        [a, b] => {
            if tree.path(*a).cmp(&tree.path(*b)) == Ordering::Greater {
                std::mem::swap(a, b);
            }
        }
        _ => files.sort_by_cached_key(|&f| tree.path(f)),
    }
}
