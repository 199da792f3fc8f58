//! Splits large classes without holding their files open: by head, then by BLAKE3 of prefixes.

use std::collections::HashMap;

use content::{Digest, Facts, digest_prefix, head_length, read_head};
use fsops::Interrupted;
use walk::{FileId, Problem};

use crate::classes::{Classes, inodes};
use crate::parallel::Work;

/// Classes of up to this many files are compared side by side without reading heads first.
///
/// Classes of two are mostly true duplicates, so that a second open is saved for most of them;
/// the larger a class, the more of it is chance, and heads are read in the order of the tree,
/// which is kinder to every cache. Measured on /usr and a home folder: 2 to 4 are alike, 1 and 8
/// are slower.
const SIDE_BY_SIDE: usize = 3;

/// Each round of prefixes is this many times longer than the one before, so that all rounds
/// together read at most 1/7 more than the last.
const GROWTH: u64 = 8;

/// What is left to compare.
pub(crate) struct Sifted {
    /// Sets of inodes (by one name each) that may be equal, each at most as large as can be held
    /// open.
    pub(crate) sets: Vec<Vec<FileId>>,
    /// How many inodes had to be looked at.
    pub(crate) unknown: u64,
    pub(crate) problems: Vec<Problem>,
}

/// Splits the classes as far as that goes without comparing files side by side.
pub(crate) fn run(work: &Work<'_>, classes: &Classes) -> Result<Sifted, Interrupted> {
    let mut sifted = Sifted { sets: Vec::new(), unknown: 0, problems: Vec::new() };
    let (mut heads_of, mut fresh) = (Vec::new(), Vec::new());
    let mut members: Vec<FileId> = Vec::new();
    for index in 0..classes.len() {
        members.clear();
        members.extend(inodes(work.tree, classes.get(index)).map(|names| names[0]));
        if members.len() < 2 {
            continue;
        }
        let size = work.tree.file(members[0]).size;
        let known = fresh.len();
        if size == 0 {
            // Equal without a read.
            fresh.extend(members.iter().filter(|f| work.facts.content(f.0).is_none()));
        } else {
            fresh.extend(members.iter().filter(|f| work.facts.head(f.0).is_none()));
        }
        let new = fresh.len() - known;
        sifted.unknown += new as u64;
        work.expect(&members, size);
        let few = members.len() <= SIDE_BY_SIDE.min(work.options.open_files)
            && members.iter().all(|f| work.facts.content(f.0).is_none());
        if new > 0 && (size == 0 || few) {
            fresh.truncate(known);
            sifted.sets.push(members.clone());
        } else {
            heads_of.push(index);
        }
    }
    sifted.problems = read_heads(work, fresh)?;
    let mut large = Vec::new();
    for index in heads_of {
        let files = inodes(work.tree, classes.get(index)).map(|names| names[0]);
        split_by_head(work, files, &mut sifted.sets, &mut large);
    }
    by_digest(work, large, &mut sifted)?;
    Ok(sifted)
}

fn read_heads(work: &Work<'_>, mut files: Vec<FileId>) -> Result<Vec<Problem>, Interrupted> {
    files.sort_unstable();
    let worker_facts = work.facts;
    let (_, problems) = work.on_threads(&files, 64, |worker, (): &mut (), &id| {
        let size = worker.work.tree.file(id).size;
        // Whether the file is still what the walk saw is not asked here: what is eliminated claims
        // nothing, and what is not is read again and then asked.
        worker.read_unchecked(id, |file, scratch, watch| {
            worker_facts.set_head(id.0, read_head(file, size, scratch, watch)?);
            Ok(())
        })
    })?;
    Ok(problems)
}

/// A set too large to compare side by side, or one with a digest to compare with, and the prefix
/// it is to be split by next.
struct Large {
    files: Vec<FileId>,
    prefix: u64,
}

/// Splits one class by heads and leaves out what is decided.
fn split_by_head(
    work: &Work<'_>,
    class: impl Iterator<Item = FileId>,
    sets: &mut Vec<Vec<FileId>>,
    large: &mut Vec<Large>,
) {
    let (tree, facts) = (work.tree, work.facts);
    let mut files: Vec<_> = class.filter_map(|f| facts.head(f.0).map(|h| (h, f))).collect();
    files.sort_unstable();
    for run in files.chunk_by(|a, b| a.0 == b.0) {
        let size = tree.file(run[0].1).size;
        match undecided(facts, run.iter().map(|&(_, f)| f)) {
            Some(files) => sort_out(work, files, size, sets, large),
            None => work.done(run.iter().map(|&(_, f)| f), size),
        }
    }
}

/// Returns what has to be compared among files of one head: the new ones, and one file of each
/// content that is known; `None` if nothing has.
fn undecided(facts: &Facts, files: impl Iterator<Item = FileId>) -> Option<Vec<FileId>> {
    let (mut new, mut known) = (Vec::new(), HashMap::new());
    for file in files {
        match facts.content(file.0) {
            Some(content) => {
                known.entry(content).or_insert(file);
            }
            None => new.push(file),
        }
    }
    if new.is_empty() || new.len() + known.len() < 2 {
        return None;
    }
    new.extend(known.into_values());
    new.sort_unstable();
    Some(new)
}

/// Puts a set where it is compared next.
fn sort_out(
    work: &Work<'_>,
    files: Vec<FileId>,
    size: u64,
    sets: &mut Vec<Vec<FileId>>,
    large: &mut Vec<Large>,
) {
    let digest_known = files.iter().any(|&f| known_digest(work.facts, f).is_some());
    if digest_known {
        large.push(Large { files, prefix: size });
    } else if files.len() > work.options.open_files {
        large.push(Large { files, prefix: (head_length(size) * GROWTH).min(size) });
    } else {
        sets.push(files);
    }
}

fn known_digest(facts: &Facts, file: FileId) -> Option<Digest> {
    facts.content(file.0).and_then(|content| facts.digest(content))
}

/// Splits large sets by digests of growing prefixes until each is decided or small.
fn by_digest(
    work: &Work<'_>,
    mut large: Vec<Large>,
    sifted: &mut Sifted,
) -> Result<(), Interrupted> {
    while !large.is_empty() {
        let mut wanted: Vec<(FileId, u64)> =
            large.iter().flat_map(|set| set.files.iter().map(|&f| (f, set.prefix))).collect();
        wanted.retain(|&(f, prefix)| {
            prefix < work.tree.file(f).size || known_digest(work.facts, f).is_none()
        });
        wanted.sort_unstable();
        let (digests, problems) = digests(work, &wanted)?;
        sifted.problems.extend(problems);
        let mut next = Vec::new();
        for set in large {
            split_by_digest(work, &set, &digests, &mut sifted.sets, &mut next);
        }
        large = next;
    }
    Ok(())
}

type Digests = HashMap<FileId, Digest>;

fn digests(
    work: &Work<'_>,
    files: &[(FileId, u64)],
) -> Result<(Digests, Vec<Problem>), Interrupted> {
    let (lists, problems) =
        work.on_threads(files, 8, |worker, list: &mut Vec<_>, &(id, prefix)| {
            let digest = worker
                .read(id, |file, scratch, watch| digest_prefix(file, prefix, scratch, watch))?;
            list.extend(digest.map(|digest| (id, digest)));
            Ok(())
        })?;
    Ok((lists.into_iter().flatten().collect(), problems))
}

fn split_by_digest(
    work: &Work<'_>,
    set: &Large,
    digests: &Digests,
    sets: &mut Vec<Vec<FileId>>,
    large: &mut Vec<Large>,
) {
    let Some(&first) = set.files.first() else { return };
    let size = work.tree.file(first).size;
    let whole = set.prefix == size;
    let digest = |f: FileId| {
        let known = known_digest(work.facts, f).filter(|_| whole);
        known.or_else(|| digests.get(&f).copied())
    };
    let mut files: Vec<_> = set.files.iter().filter_map(|&f| digest(f).map(|d| (d, f))).collect();
    files.sort_unstable();
    for run in files.chunk_by(|a, b| a.0 == b.0) {
        let files: Vec<FileId> = run.iter().map(|&(_, f)| f).collect();
        if whole || files.len() == 1 {
            work.done(files.iter().copied(), size);
            settle(work.facts, &files, Some(run[0].0).filter(|_| whole));
        } else if files.len() > work.options.open_files {
            large.push(Large { files, prefix: set.prefix.saturating_mul(GROWTH).min(size) });
        } else {
            sets.push(files);
        }
    }
}

/// Notes that files of one size and head are equal to each other and unlike all others.
pub(crate) fn settle(facts: &Facts, files: &[FileId], digest: Option<Digest>) {
    let known = files.iter().find_map(|f| facts.content(f.0));
    let content = known.unwrap_or_else(|| facts.new_content(None));
    if let Some(digest) = digest {
        facts.set_digest(content, digest);
    }
    for file in files.iter().filter(|f| facts.content(f.0).is_none()) {
        facts.set_content(file.0, content);
    }
}
