//! Compares files with their remembered copies. Users may delete files based on the result, so all bytes are compared.
//!
//! The caller selects the content numbers to check and decides which files are inside the directory and which are
//! outside. Damaged and unreadable files are marked in the catalog as soon as they are found, and are reported on
//! standard error.

use runtime::Mutex;
use std::collections::{HashMap, HashSet};

use catalog::{Catalog, Mark, Rows};
use content::ContentId;
use dupes::{Claim, State, Verdict};
use fsops::FileKey;
use serde::Serialize;
use walk::FileId;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::problems;
use crate::quantity::{count, counted, size};
use crate::questions::aliases::Distinct;
use crate::questions::damage_marks::{state_after, with_marker};
use crate::questions::knowledge::Knowledge;
use crate::questions::live::Live;
use crate::questions::location::Location;
use crate::questions::work::{files, work_on};
use crate::settings::Settings;

/// The files that count as copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counting {
    /// Only files outside the directory.
    Outside,
    /// Files inside and outside the directory.
    Anywhere,
}

/// The result of reading files and their copies.
pub(crate) struct Verified {
    verdicts: HashMap<FileKey, Verdict>,
    /// Number of damaged or unreadable files for each content number.
    bad: HashMap<i64, u64>,
    bad_copies: u64,
    /// True if all damaged and unreadable files were marked in the catalog.
    marked: bool,
}

impl Verified {
    /// For each content number in `contents`, compares the files inside the directory with their copies. `place`
    /// returns the location of an absolute path. A file that also has a name outside the directory is not read and has
    /// no verdict.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read, or on an interrupt.
    pub(crate) fn read(
        catalog: &Catalog,
        contents: &HashSet<i64>,
        counting: Counting,
        distinct: &Distinct,
        place: impl FnMut(&[u8]) -> Location,
        settings: &Settings,
    ) -> Result<Verified, CommandError> {
        let mut live = Live::check(catalog.load(Rows::Having(contents))?, settings)?;
        if counting == Counting::Anywhere {
            live.mark_aliases(distinct);
        }
        let claims = claims(&live, counting, place);
        // A claim has no copies if the last copy changed after the catalog was queried.
        let (claims, lost): (Vec<Claim>, Vec<Claim>) =
            claims.into_iter().partition(|claim| !claim.copies.is_empty());
        let (tree, fingerprints) = (&live.loaded.tree, &live.loaded.fingerprints);
        let bad = Mutex::new(HashSet::new());
        let (confirmed, marked) = work_on(tree, fingerprints, settings, |work| {
            with_marker(settings, |marks| {
                dupes::confirm(work, &claims, &|file, finding| {
                    bad.lock().insert(file);
                    let mark = state_after(live.loaded.state(file), finding);
                    // Sending fails only if the other thread has panicked.
                    let _taken = mark.map(|state| marks.send(Mark::of(tree, file, state)));
                })
            })
        })?;
        problems::print(&confirmed.problems, settings);
        let bad = bad.into_inner();
        let is_bad = |(_, verdict): &&(FileId, Verdict)| {
            matches!(verdict, Verdict::Damaged | Verdict::Unreadable)
        };
        let bad_files = confirmed.verdicts.iter().filter(is_bad).count();
        let mut bad_by_content = HashMap::new();
        for content in bad.iter().filter_map(|file| fingerprints.content(file.0)) {
            *bad_by_content.entry(live.loaded.number(content)).or_default() += 1;
        }
        let lost =
            lost.iter().flat_map(|claim| &claim.files).map(|&file| (file, Verdict::Undecided));
        let verdicts = confirmed.verdicts.into_iter().chain(lost);
        let verdicts = verdicts.map(|(file, verdict)| (tree.key(file), verdict));
        Ok(Verified {
            verdicts: verdicts.collect(),
            bad: bad_by_content,
            bad_copies: (bad.len() - bad_files) as u64,
            marked,
        })
    }

    /// Returns the verdict on a file inside the directory, or [`Verdict::Changed`] if the file was not read.
    pub(crate) fn verdict(&self, file: FileKey) -> Verdict {
        self.verdicts.get(&file).copied().unwrap_or(Verdict::Changed)
    }

    /// Returns the number of damaged or unreadable files with this content.
    pub(crate) fn bad_with(&self, content: i64) -> u64 {
        self.bad.get(&content).copied().unwrap_or(0)
    }

    /// Returns `answer`, or the code for a partial result if a mark could not be written.
    pub(crate) fn exit(&self, answer: Exit) -> Exit {
        answer.partial_if(!self.marked)
    }

    /// Returns the figures of the comparison. `sizes` contains the sizes of the files that have a copy.
    pub(crate) fn tally(&self, sizes: impl Iterator<Item = u64>) -> Tally {
        let none = Tally { verified: 0, verified_bytes: 0, bad_copies: self.bad_copies };
        sizes.fold(none, |tally, size| Tally {
            verified: tally.verified + 1,
            verified_bytes: tally.verified_bytes.saturating_add(size),
            ..tally
        })
    }
}

impl From<Verdict> for Knowledge {
    fn from(verdict: Verdict) -> Knowledge {
        match verdict {
            Verdict::Copied => Knowledge::Is(State::Same),
            Verdict::Alone => Knowledge::CopiesBad,
            Verdict::Undecided => Knowledge::CopiesChanged,
            Verdict::Damaged => Knowledge::Is(State::Damaged),
            Verdict::Unreadable => Knowledge::Is(State::Unreadable),
            Verdict::Changed => Knowledge::Is(State::Changed),
        }
    }
}

/// The figures of a comparison, as part of a summary.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct Tally {
    /// Number of files that are identical to one of their copies.
    verified: u64,
    /// Total size of these files.
    verified_bytes: u64,
    /// Number of copies that are damaged or unreadable.
    bad_copies: u64,
}

impl Tally {
    /// Returns the figures as lines to append to a summary.
    pub(crate) fn text(&self) -> String {
        let files = counted(self.verified, "file", "files");
        let mut text = format!("\n  {files} ({}) compared with a copy", size(self.verified_bytes));
        match self.bad_copies {
            0 => {}
            1 => text.push_str("\n  1 copy is damaged or unreadable and does not count"),
            n => {
                let copies =
                    format!("\n  {} copies are damaged or unreadable and do not count", count(n));
                text.push_str(&copies);
            }
        }
        text
    }
}

/// Returns a claim for each content number, with the inodes to read and their copies. The copies are sorted by path.
fn claims(live: &Live, counting: Counting, mut place: impl FnMut(&[u8]) -> Location) -> Vec<Claim> {
    let loaded = &live.loaded;
    let mut names: Vec<(ContentId, FileKey, Location, FileId)> = Vec::new();
    for file in files(&loaded.tree).into_iter().filter(|&file| live.state(file) == State::Same) {
        if let Some(content) = loaded.fingerprints.content(file.0) {
            let place = place(&loaded.tree.absolute_path(file));
            names.push((content, loaded.tree.key(file), place, file));
        }
    }
    names.sort_unstable();
    let mut claims = Vec::new();
    for equal in names.chunk_by(|a, b| a.0 == b.0) {
        let mut claim = Claim::default();
        for names in equal.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            // The names of an inode are sorted by location, and `Outside` comes first. A file that has a name outside
            // the directory survives if the directory is deleted, so it counts as a copy.
            match names[0] {
                (.., Location::Outside, file) => claim.copies.push(file),
                (.., Location::Inside, file) => claim.files.push(file),
                (.., Location::Alias | Location::Elsewhere, _) => {}
            }
        }
        claim.files.sort_unstable();
        claim.copies.sort_by_cached_key(|&file| loaded.tree.path(file));
        match counting {
            Counting::Anywhere if claim.files.len() > 1 => claims.extend(among_themselves(claim)),
            _ if claim.files.is_empty() => {}
            _ => claims.push(claim),
        }
    }
    claims
}

/// Splits a claim so that the files inside the directory also count as copies of each other.
fn among_themselves(Claim { mut files, copies }: Claim) -> [Claim; 2] {
    let first = vec![files.remove(0)];
    let others = |files: &[FileId]| [files, &copies].concat();
    let (of_first, of_rest) = (others(&files), others(&first));
    [Claim { files: first, copies: of_first }, Claim { files, copies: of_rest }]
}
