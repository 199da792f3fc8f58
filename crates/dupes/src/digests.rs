//! Computes digests that no comparison needed: for files with a unique size or prefix, and for
//! files that turned out to be different before they were read to the end.

use content::Digest;
use runtime::Interrupted;
use walk::{FileId, Problem};

use crate::contents::known_digest;
use crate::holes::has_holes_over;
use crate::prefilter::read_order::{MIN_BATCH_BYTES, ReadRequest, ReadTarget};
use crate::prefilter::reading::read;
use crate::sets::Sets;
use crate::validate::inodes;
use crate::work::Work;

/// Files with more bytes of holes than this get no digest, because hashing that many bytes takes a
/// quarter of an hour.
const MAX_HOLE_BYTES: u64 = 1 << 40;

/// The result of computing digests.
#[derive(Debug, Default)]
pub struct Digested {
    /// Files that could not be read.
    pub problems: Vec<Problem>,
    /// Number of inodes that got no digest because of their holes.
    pub hollow: u64,
}

/// Computes and records the digests of walked files that are `wanted` and whose content has no
/// digest yet. Reads each inode once, however many names it has.
///
/// Call this after all comparisons: a file without a content counts as unique.
///
/// # Errors
///
/// Fails only with [`Interrupted`], if the user asked to stop. Digests that are already recorded
/// stay.
pub fn digest(work: &Work<'_>, wanted: impl Fn(FileId) -> bool) -> Result<Digested, Interrupted> {
    let inodes = inodes(work.tree);
    let mut digested = Digested::default();
    let is_wanted = |names: &[FileId]| {
        let file = names[0];
        work.tree.file(file).size > 0
            && !work.fingerprints.dropped(file.0)
            && known_digest(work.fingerprints, file).is_none()
            && names.iter().any(|&name| wanted(name) && !work.tree.is_remembered(name))
    };
    let mut batch = Vec::new();
    let mut bytes = 0u64;
    for (number, names) in (0u32..).zip(inodes.iter()) {
        if !is_wanted(names.files) {
            continue;
        }
        let file = names.files[0];
        if has_holes_over(work, file, MAX_HOLE_BYTES) {
            digested.hollow += 1;
            continue;
        }
        batch.push((number, file));
        bytes = bytes.saturating_add(work.tree.file(file).size);
        if bytes >= MIN_BATCH_BYTES {
            read_batch(work, &inodes, &std::mem::take(&mut batch), &mut digested)?;
            bytes = 0;
        }
    }
    read_batch(work, &inodes, &batch, &mut digested)?;
    Ok(digested)
}

/// Reads a batch of files, each given with its inode number, and records the digest of each inode
/// for all of its names.
fn read_batch(
    work: &Work<'_>,
    inodes: &Sets<()>,
    batch: &[(u32, FileId)],
    digested: &mut Digested,
) -> Result<(), Interrupted> {
    let (progress, fingerprints) = (work.progress, work.fingerprints);
    for &(_, file) in batch {
        work.expect(&[file], work.tree.file(file).size);
    }
    let whole = [ReadTarget::WHOLE];
    let requests = batch.iter().map(|&(_, file)| ReadRequest { file, target: 0 }).collect();
    let (prefixes, problems) = read(work, &whole, requests)?;
    digested.problems.extend(problems);
    for &(number, file) in batch {
        let names = inodes.get(number as usize).files;
        let read = prefixes.binary_search_by_key(&file, |&(file, _)| file);
        if let Ok(at) = read {
            work.done([file].into_iter(), work.tree.file(file).size);
            let content =
                fingerprints.content(file.0).unwrap_or_else(|| fingerprints.new_content(None));
            fingerprints.set_digest(content, Digest::from(prefixes[at].1));
            fingerprints.set_content(file.0, content);
        }
        progress.relieve_memory();
        for &name in &names[1..] {
            fingerprints.copy(file.0, name.0);
        }
    }
    Ok(())
}
