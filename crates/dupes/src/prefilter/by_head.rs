//! Splits classes by the heads of their files.

use std::collections::HashMap;

use content::{Fingerprints, Head, head_length};
use runtime::Interrupted;
use walk::FileId;

use crate::classes::{CLASSES_PER_STEP, Classes, SameSize, inodes};
use crate::parallel::DiskItem;
use crate::prefilter::first_reads::ClassToSplit;
use crate::prefilter::read_order::{PrefixTarget, SEEK_BOUND_PREFIX_BYTES, next_length};
use crate::sets::Sets;
use crate::work::Work;

/// Sets that cannot be compared side by side yet, each with the target of its next read. Each of
/// these sets has too many files, has files that are far apart on a seek-bound disk, or has a file
/// with a known digest.
pub(super) type LargeSets = Sets<PrefixTarget>;

/// The parts of classes that still have to be decided.
#[derive(Default)]
pub(super) struct Splitter {
    /// Sets to compare side by side.
    pub(super) sets: SameSize,
    /// Sets to split by content keys.
    pub(super) keyed: SameSize,
    /// Sets to split further by prefixes.
    pub(super) large: LargeSets,
    /// The files of the class that is being split, and whether their content is known.
    files: Vec<(Head, FileId, bool)>,
}

impl DiskItem for ClassToSplit {
    fn file(&self) -> FileId {
        self.first
    }
}

/// Splits classes by heads and leaves out the files that need no further comparison.
pub(super) fn split(
    work: &Work<'_>,
    classes: &Classes,
    by_head: &[ClassToSplit],
) -> Result<Splitter, Interrupted> {
    let (lists, _) =
        work.on_threads(by_head, CLASSES_PER_STEP, |_, splitter: &mut Splitter, to_split| {
            let class = classes.get(to_split.class as usize);
            let files = inodes(work, class).map(|names| names[0]);
            splitter.class(work, files, class.size, to_split.seek_bound);
            Ok(())
        })?;
    let mut all = Splitter::default();
    for list in lists {
        all.sets.append(list.sets);
        all.keyed.append(list.keyed);
        all.large.append(list.large);
    }
    Ok(all)
}

impl Splitter {
    /// Splits one class.
    fn class(
        &mut self,
        work: &Work<'_>,
        class: impl Iterator<Item = FileId>,
        size: u64,
        seek_bound: bool,
    ) {
        let fingerprints = work.fingerprints;
        let known = |f: FileId| fingerprints.content(f.0).is_some();
        let mut files = std::mem::take(&mut self.files);
        files.clear();
        // Known contents are looked up in file order. In head order, each lookup would be far from
        // the previous one.
        files.extend(class.filter_map(|f| fingerprints.head(f.0).map(|h| (h, f, known(f)))));
        work.progress.sort(&mut files);
        let mut decided = 0;
        for run in files.chunk_by(|a, b| a.0 == b.0) {
            match undecided(fingerprints, run) {
                Some(undecided) => self.add(work, &undecided, size, seek_bound),
                None => decided += run.iter().filter(|(.., known)| !known).count() as u64,
            }
        }
        let read = if seek_bound { SEEK_BOUND_PREFIX_BYTES.min(size) } else { 0 };
        work.decided(decided, size - read);
        self.files = files;
    }

    /// Adds files with the same head to the sets, depending on how they are compared next.
    fn add(&mut self, work: &Work<'_>, undecided: &Undecided, size: u64, seek_bound: bool) {
        let Undecided { files, has_known, has_digest } = undecided;
        let to = if seek_bound {
            // Files without a known content have already been read up to this length.
            SEEK_BOUND_PREFIX_BYTES.min(size)
        } else if *has_digest {
            size
        } else if !has_known && work.keys_for(size).is_some() {
            self.keyed.push(files, size);
            return;
        } else if files.len() > work.options.open_files {
            next_length(head_length(size), size)
        } else {
            self.sets.push(files, size);
            return;
        };
        self.large.push(files, PrefixTarget { before: None, to });
    }
}

/// Files with the same head that still have to be compared.
struct Undecided {
    /// The files without a known content, and one file for each known content.
    files: Vec<FileId>,
    /// True if the content of any of these files is known.
    has_known: bool,
    /// True if the digest of any of these files is known.
    has_digest: bool,
}

/// Returns the files in `run` that have to be compared, or `None` if there are none. The files in
/// `run` have the same head. The flag of each file tells whether its content is known.
fn undecided(fingerprints: &Fingerprints, run: &[(Head, FileId, bool)]) -> Option<Undecided> {
    if run.len() < 2 {
        return None;
    }
    let mut known = HashMap::new();
    for &(_, file, _) in run.iter().filter(|(.., known)| *known) {
        if let Some(content) = fingerprints.content(file.0) {
            known.entry(content).or_insert(file);
        }
    }
    let new = run.iter().filter(|(.., known)| !known).map(|&(_, file, _)| file);
    let mut files: Vec<FileId> = new.collect();
    if files.is_empty() || files.len() + known.len() < 2 {
        return None;
    }
    let has_known = !known.is_empty();
    let has_digest = known.keys().any(|&content| fingerprints.digest(content).is_some());
    files.extend(known.into_values());
    files.sort_unstable();
    Some(Undecided { files, has_known, has_digest })
}
