//! Reads files and their copies, and decides which files certainly have their content elsewhere.
//!
//! The catalog only remembers that files were equal. A [`Claim`] names the files whose content must
//! not be lost and the copies that are supposed to preserve it. A file counts as copied under three
//! conditions:
//!
//! - The file and a copy have the same bytes and the same length, read through descriptors that
//!   stay open.
//! - Neither file has changed since the scan.
//! - If the scan recorded a digest, the bytes still match it.
//!
//! Copies are tried one at a time: the next copy is read only if the previous ones failed the
//! check. A copy is read side by side with all files of its claim, so each file is read only once
//! unless a check fails.
//!
//! This module does not look for copies that are not in a claim. Files with shared extents are
//! compared too, because this module verifies the data that the disk returns.

use std::cmp::Reverse;
use std::io;
use std::sync::atomic::Ordering::Relaxed;

use content::{CompareOptions, EqualFiles, ReadError, ReadFailure, partition};
use fsops::{File, Op, is_gone};
use runtime::{Interrupted, Stage};
use walk::{FileId, Problem, Reason};

use crate::validate::{Expected, Finding, compare};
use crate::work::Work;
use crate::worker::Worker;

/// Files that are equal according to the catalog, with one name for each inode.
#[derive(Clone, Debug, Default)]
pub struct Claim {
    /// The files whose content must exist elsewhere.
    pub files: Vec<FileId>,
    /// The files that may serve as copies, in the order in which to try them.
    pub copies: Vec<FileId>,
}

/// The result for one file of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It equals a copy.
    Copied,
    /// Its bytes are the scanned ones, as far as lop can tell, but no copy has the same bytes.
    Alone,
    /// Like [`Verdict::Alone`], but a copy changed or is gone, so its current content is unknown.
    Undecided,
    /// Its metadata is unchanged since the scan, but its bytes have changed.
    Damaged,
    /// It cannot be read.
    Unreadable,
    /// It has changed since the scan, or is gone.
    Changed,
}

/// The results for all claims.
#[derive(Debug, Default)]
pub struct Confirmed {
    /// The verdict on each file of a claim, in no particular order.
    pub verdicts: Vec<(FileId, Verdict)>,
    /// Files and copies that are damaged or unreadable, sorted by path.
    pub problems: Vec<Problem>,
}

/// Reads the files of all claims, and as many copies as needed to decide whether each file has one.
///
/// Calls `found` for each damaged or unreadable file or copy as soon as it is known.
///
/// # Errors
///
/// Fails only with [`Interrupted`], if the user asked to stop. Nothing on disk has changed.
pub fn confirm(
    work: &Work<'_>,
    claims: &[Claim],
    found: &(dyn Fn(FileId, Finding) + Sync),
) -> Result<Confirmed, Interrupted> {
    let progress = work.progress;
    progress.enter(Stage::Compare);
    let bytes = |claim: &Claim| {
        let size = claim.files.first().map_or(0, |&file| work.tree.file(file).size);
        size.saturating_mul(claim.files.len() as u64 + 1)
    };
    for claim in claims {
        progress.files_total.fetch_add(claim.files.len() as u64, Relaxed);
        progress.bytes_total.fetch_add(bytes(claim), Relaxed);
    }
    let first = |(number, claim): (u32, &Claim)| Some((number, *claim.files.first()?));
    let mut pieces: Vec<(u32, FileId)> = (0..).zip(claims).filter_map(first).collect();
    // Large claims come first, so that no thread is left with a large claim at the end. The others
    // follow in tree order.
    pieces.sort_by_key(|&(number, file)| {
        (Reverse(bytes(&claims[number as usize]) / LARGE_CLAIM_BYTES), file)
    });
    let (lists, _) =
        work.on_threads(&pieces, 4, |worker, out: &mut Confirmed, &(number, file)| {
            let claim = &claims[number as usize];
            let check = ClaimCheck {
                size: work.tree.file(file).size,
                expected: Expected::of(work.fingerprints, file),
                copies: claim.copies.clone(),
                has_unknown_copy: false,
                unread: bytes(claim),
                worker,
                found,
                out,
            };
            check.run(&claim.files)
        })?;
    let mut all = Confirmed::default();
    for list in lists {
        all.verdicts.extend(list.verdicts);
        all.problems.extend(list.problems);
    }
    all.problems.sort_by(|a, b| a.path.cmp(&b.path));
    // A file may be a copy in several claims.
    all.problems.dedup_by(|a, b| a.path == b.path);
    Ok(all)
}

/// Claims with more bytes than this come first.
const LARGE_CLAIM_BYTES: u64 = 8 * 1024 * 1024;

/// An open file of a claim, or an open copy.
struct Opened {
    id: FileId,
    file: File,
    is_copy: bool,
}

/// The check of one claim.
struct ClaimCheck<'t, 'a> {
    worker: &'t mut Worker<'a>,
    size: u64,
    expected: Expected,
    /// Copies that have not failed a check.
    copies: Vec<FileId>,
    /// True if the current content of a copy is unknown.
    has_unknown_copy: bool,
    /// Number of bytes that were planned for this claim and have not been used up by reads.
    unread: u64,
    found: &'t (dyn Fn(FileId, Finding) + Sync),
    out: &'t mut Confirmed,
}

impl ClaimCheck<'_, '_> {
    /// Determines the verdict on each of `files`.
    fn run(mut self, files: &[FileId]) -> Result<(), Interrupted> {
        let most = self.worker.work.options.open_files.max(2) - 1;
        for files in files.chunks(most) {
            let mut pending: Vec<Opened> =
                files.iter().filter_map(|&file| self.open(file, false)).collect();
            let mut at = 0;
            while !pending.is_empty()
                && let Some(copy) = self.next_copy(at)
            {
                let id = copy.id;
                pending.push(copy);
                pending = self.round(pending)?;
                // A copy that failed the check has been removed from the list.
                at += usize::from(self.copies.get(at) == Some(&id));
            }
            let unknown = if self.has_unknown_copy { Verdict::Undecided } else { Verdict::Alone };
            for file in pending {
                self.decide_alone(&file, [unknown; 2])?;
            }
        }
        self.worker.work.progress.bytes_done.fetch_add(self.unread, Relaxed);
        Ok(())
    }

    /// Opens the first copy at or after index `at` that can be opened.
    fn next_copy(&mut self, at: usize) -> Option<Opened> {
        while let Some(&copy) = self.copies.get(at) {
            let open = self.open(copy, true);
            if open.is_some() {
                return open;
            }
        }
        None
    }

    fn open(&mut self, id: FileId, is_copy: bool) -> Option<Opened> {
        match self.worker.opener.open(id) {
            Ok(file) => {
                self.worker.work.progress.opened.fetch_add(1, Relaxed);
                Some(Opened { id, file, is_copy })
            }
            Err(error) if is_gone(&error) => {
                self.note(id, is_copy, Verdict::Changed);
                None
            }
            Err(source) => {
                self.note_unreadable(id, is_copy, Op::Open, source);
                None
            }
        }
    }

    /// Compares files side by side with a copy, the last of `open`. Returns the files that still
    /// have no verdict.
    fn round(&mut self, open: Vec<Opened>) -> Result<Vec<Opened>, Interrupted> {
        let (mut parts, failures) = self.compare(&open)?;
        for ReadFailure { member, error } in failures {
            self.decide_unread(&open[member], error)?;
        }
        // If the copy could be read, the part that contains the copy now comes first.
        parts.sort_by_key(|part| Reverse(part.members.last().copied()));
        let (mut pending, mut proven) = (Vec::new(), false);
        let mut open: Vec<Option<Opened>> = open.into_iter().map(Some).collect();
        for EqualFiles { members, digest } in parts {
            let sound = self.expected.digest.zip(digest).map(|(scanned, now)| scanned == now);
            let mut files: Vec<Opened> =
                members.into_iter().filter_map(|member| open[member].take()).collect();
            let copy = files.pop_if(|file| file.is_copy);
            let holds = match &copy {
                Some(copy) => self.decide_copy(copy, &files, sound)? == Verdict::Copied,
                None => false,
            };
            proven |= holds && (sound == Some(true) || files.is_empty());
            for file in files {
                if holds {
                    self.decide(&file, Verdict::Copied);
                } else if proven || sound == Some(false) {
                    // If `proven`, the copy has the scanned bytes, so these files are the ones that
                    // have changed.
                    self.decide(&file, Verdict::Damaged);
                } else {
                    pending.push(file);
                }
            }
        }
        Ok(pending)
    }

    /// Decides whether to trust a copy that is identical to `files`. `sound` tells whether the
    /// files still have the bytes seen by the scan, if that is known.
    fn decide_copy(
        &mut self,
        copy: &Opened,
        files: &[Opened],
        sound: Option<bool>,
    ) -> Result<Verdict, Interrupted> {
        match sound {
            Some(false) => Ok(self.decide(copy, Verdict::Damaged)),
            // If it is unknown whether the file or the copy differs from the scan, the copy is not
            // trusted.
            None if files.is_empty() => {
                self.decide_alone(copy, [Verdict::Copied, Verdict::Damaged])
            }
            _ => Ok(self.decide(copy, Verdict::Copied)),
        }
    }

    /// Groups open files by their bytes.
    fn compare(
        &mut self,
        open: &[Opened],
    ) -> Result<(Vec<EqualFiles>, Vec<ReadFailure>), Interrupted> {
        self.begin_to_read(self.size.saturating_mul(open.len() as u64));
        let files: Vec<&File> = open.iter().map(|one| &one.file).collect();
        let work = self.worker.work;
        let options = CompareOptions {
            sparse: files.iter().any(|file| file.stat().is_ok_and(|s| s.allocated < s.size)),
            digest: self.expected.digest.is_some(),
            quantum: work.disk(open[0].id).quantum(),
        };
        partition(&files, self.size, options, &mut self.worker.scratch, work.progress)
    }

    /// Reads a file that is not identical to any other file. The verdict is `sound` if the file's
    /// digest matches the scan, and `unknown` if the scan recorded no digest.
    fn decide_alone(
        &mut self,
        one: &Opened,
        [sound, unknown]: [Verdict; 2],
    ) -> Result<Verdict, Interrupted> {
        if self.expected == Expected::default() {
            return Ok(self.decide(one, unknown));
        }
        let bytes = self.expected.bytes(self.size);
        self.begin_to_read(bytes);
        let read = compare(self.worker, &one.file, self.size, self.expected);
        if self.expected.digest.is_none() {
            // Only a read of the whole file counts toward the byte total; a read of the head does
            // not.
            self.worker.work.progress.bytes_done.fetch_add(bytes, Relaxed);
        }
        match read {
            Ok(true) if self.expected.digest.is_some() => Ok(self.decide(one, sound)),
            Ok(true) => Ok(self.decide(one, unknown)),
            Ok(false) => Ok(self.decide(one, Verdict::Damaged)),
            Err(error) => self.decide_unread(one, error),
        }
    }

    fn decide_unread(&mut self, one: &Opened, error: ReadError) -> Result<Verdict, Interrupted> {
        match error {
            ReadError::Interrupted(stop) => Err(stop),
            ReadError::Short => Ok(self.decide(one, Verdict::Damaged)),
            ReadError::Io(source) => {
                Ok(self.note_unreadable(one.id, one.is_copy, Op::Read, source))
            }
        }
    }

    /// Records the verdict on a file that was read, or [`Verdict::Changed`] if the file changed
    /// since the scan. Returns the recorded verdict.
    fn decide(&mut self, one: &Opened, verdict: Verdict) -> Verdict {
        let tree = self.worker.work.tree;
        let unchanged = one.file.stat().is_ok_and(|now| tree.unchanged(one.id, &now))
            && one.file.ends_at(self.size).is_ok_and(|ends| ends);
        let verdict = if unchanged { verdict } else { Verdict::Changed };
        if verdict == Verdict::Damaged {
            (self.found)(one.id, Finding::Differing);
            self.add_problem(one.id, Reason::Damaged);
        }
        self.note(one.id, one.is_copy, verdict)
    }

    fn note_unreadable(&mut self, id: FileId, is_copy: bool, op: Op, source: io::Error) -> Verdict {
        (self.found)(id, Finding::Unreadable);
        self.add_problem(id, Reason::Failed { op, source });
        self.note(id, is_copy, Verdict::Unreadable)
    }

    fn add_problem(&mut self, id: FileId, reason: Reason) {
        self.out.problems.push(Problem { path: self.worker.work.tree.path(id), reason });
    }

    /// Records a verdict. Removes a copy that failed the check from the list.
    fn note(&mut self, id: FileId, is_copy: bool, verdict: Verdict) -> Verdict {
        if !is_copy {
            self.worker.work.progress.files_done.fetch_add(1, Relaxed);
            self.out.verdicts.push((id, verdict));
        } else if verdict != Verdict::Copied {
            self.copies.retain(|&copy| copy != id);
            self.has_unknown_copy |= verdict == Verdict::Changed;
        }
        verdict
    }

    /// Accounts for a read of `bytes` bytes before it starts. Bytes beyond those planned for the
    /// claim are added to the progress total.
    fn begin_to_read(&mut self, bytes: u64) {
        let planned = bytes.min(self.unread);
        self.unread -= planned;
        self.worker.work.progress.bytes_total.fetch_add(bytes - planned, Relaxed);
    }
}
