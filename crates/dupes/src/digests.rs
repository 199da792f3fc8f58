//! Gives files a digest that comparing with others gave none: those that no other file has the size or the
//! beginning of, and those that were found unlike all others before they were read to their ends.

use content::Digest;
use runtime::Interrupted;
use walk::{FileId, Problem};

use crate::beginnings::read;
use crate::order::{Reach, Wanted};
use crate::parallel::Work;
use crate::sets::Sets;
use crate::sift::{BATCH, hollow, known_digest};
use crate::validate::inodes;

/// Holes beyond this are not put through a hash: it takes a quarter of an hour.
const HOLES: u64 = 1 << 40;

/// What came of giving files digests.
#[derive(Debug, Default)]
pub struct Digested {
    /// Files that could not be read.
    pub problems: Vec<Problem>,
    /// Inodes with so many holes that they were left without a digest.
    pub hollow: u64,
}

/// Reads those of the walk's files for which `wanted` says so and whose content has no digest, and
/// notes their digests. Each inode is read once, whatever names it has.
///
/// To be called when everything has been compared: a file without a content is then like no other.
///
/// # Errors
///
/// Only that the watch asked to stop. What was noted until then stays.
pub fn digest(work: &Work<'_>, wanted: impl Fn(FileId) -> bool) -> Result<Digested, Interrupted> {
    let inodes = inodes(work.tree);
    let mut digested = Digested::default();
    let is_wanted = |names: &[FileId]| {
        let file = names[0];
        work.tree.file(file).size > 0
            && !work.facts.dropped(file.0)
            && known_digest(work.facts, file).is_none()
            && names.iter().any(|&name| wanted(name) && !work.tree.is_remembered(name))
    };
    let mut batch = Vec::new();
    let mut bytes = 0u64;
    for (number, names) in (0u32..).zip(inodes.iter()) {
        if !is_wanted(names.files) {
            continue;
        }
        let file = names.files[0];
        if hollow(work, file, HOLES) {
            digested.hollow += 1;
            continue;
        }
        batch.push((number, file));
        bytes = bytes.saturating_add(work.tree.file(file).size);
        if bytes >= BATCH {
            read_batch(work, &inodes, &std::mem::take(&mut batch), &mut digested)?;
            bytes = 0;
        }
    }
    read_batch(work, &inodes, &batch, &mut digested)?;
    Ok(digested)
}

/// Reads files, given with the numbers of their inodes, and gives all names of each what came out.
fn read_batch(
    work: &Work<'_>,
    inodes: &Sets<()>,
    batch: &[(u32, FileId)],
    digested: &mut Digested,
) -> Result<(), Interrupted> {
    let (progress, facts) = (work.progress, work.facts);
    for &(_, file) in batch {
        work.expect(&[file], work.tree.file(file).size);
    }
    let whole = [Reach { before: None, to: u64::MAX }];
    let wanted = batch.iter().map(|&(_, file)| Wanted { file, reach: 0 }).collect();
    let (beginnings, problems) = read(work, &whole, wanted)?;
    digested.problems.extend(problems);
    for &(number, file) in batch {
        let names = inodes.get(number as usize).files;
        let read = beginnings.binary_search_by_key(&file, |&(file, _)| file);
        if let Ok(at) = read {
            work.done([file].into_iter(), work.tree.file(file).size);
            let content = facts.content(file.0).unwrap_or_else(|| facts.new_content(None));
            facts.set_digest(content, Digest::from(beginnings[at].1));
            facts.set_content(file.0, content);
        }
        progress.make_room();
        for &name in &names[1..] {
            facts.copy(file.0, name.0);
        }
    }
    Ok(())
}
