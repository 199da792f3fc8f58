//! Carries out a batch of groups: opens the files, writes the intents, compares, and acts.
//!
//! Before a name changes ([`super::act`]), all of the following must be true:
//!
//! - The file and the kept file are open and have not changed since they were planned.
//! - The intent is on the disk.
//! - The two files are equal byte by byte.
//! - No program has them open for writing, as far as leases show.
//!
//! The entry that was taken out is checked once more before it is removed.

use std::collections::BTreeMap;
use std::io;

use content::{CompareOptions, Digest, partition};
use fsops::{File, Lease, Op, Stat};
use runtime::Interrupted;

use crate::error::{Error, Reason, clone_io_error};
use crate::journal::record::Record;
use crate::plan::kind::{Amount, Kind, MAX_COMPARED_AT_ONCE};
use crate::plan::target::{Group, Target, Version};
use crate::run::act::same_bytes;
use crate::run::apply::Worker;
use crate::run::open::{OpenedFile, OwnChanges, Redundant};
use crate::run::outcome::{ChangedFile, Fault, Suspect};

impl Worker<'_> {
    /// Carries out a batch.
    ///
    /// # Errors
    ///
    /// See [`crate::Error`]. Every action that was started is either done or rolled back, or its intent stays open.
    pub(crate) fn batch(&mut self, groups: &[Group]) -> Result<(), Error> {
        let most = self.shared.options.open_files.max(2);
        let mut ours: Vec<OwnChanges> = groups.iter().map(|_| OwnChanges::new()).collect();
        let (mut chunk, mut files) = (Vec::new(), 0);
        for (at, group) in groups.iter().enumerate() {
            for others in group.others.chunks(most - 1) {
                if files + others.len() + 1 > most && files > 0 {
                    self.chunk(&std::mem::take(&mut chunk), &mut ours)?;
                    files = 0;
                }
                files += others.len() + 1;
                chunk.push((at, group, others));
            }
        }
        self.chunk(&chunk, &mut ours)
    }

    /// Carries out parts of groups whose files can all be open at once. Each part has the index of
    /// its group.
    fn chunk(
        &mut self,
        parts: &[(usize, &Group, &[Target])],
        ours: &mut [OwnChanges],
    ) -> Result<(), Error> {
        self.shared.progress.check()?;
        let mut open = Vec::with_capacity(parts.len());
        for &(at, group, others) in parts {
            open.push((at, self.open_group(group, others, &ours[at])?));
        }
        let groups = open.iter().filter_map(|(_, group)| group.as_ref());
        self.prefetch(groups.flat_map(|(kept, redundant)| {
            let redundant = redundant.iter().map(|one| &one.opened);
            std::iter::once(kept).chain(redundant).map(|opened| (&opened.file, opened.stat.size))
        }));
        self.flush_lines(true)?;
        let failed = self.write_manifests();
        if !failed.is_empty() {
            for (_, redundant) in open.iter_mut().filter_map(|(_, group)| group.as_mut()) {
                self.refuse_unlisted(redundant, &failed);
            }
        }
        for ((at, group), (_, planned, others)) in open.into_iter().zip(parts) {
            if let Some((keep, redundant)) = group {
                self.verify_and_act(keep, redundant, planned.digest, &mut ours[at])?;
            }
            let kind = self.shared.options.kind;
            self.meter.complete(Amount::of(kind, planned.keep.version.size, others.len()));
        }
        self.restore_times();
        self.flush_lines(false)
    }

    /// Refuses files whose staging directory has a manifest that could not be written.
    fn refuse_unlisted(
        &mut self,
        redundant: &mut Vec<Redundant<'_>>,
        failed: &BTreeMap<u32, io::Error>,
    ) {
        redundant.retain(|one| {
            let error = one.staging.as_ref().and_then(|staging| failed.get(&staging.number));
            if let Some(error) = error {
                let reason = Reason::Failed { op: Op::Write, source: clone_io_error(error) };
                self.refuse(&one.opened.target.path, Some(one.n), reason);
            }
            error.is_none()
        });
    }

    /// Compares the files of a group and acts on those that equal the kept file.
    fn verify_and_act(
        &mut self,
        mut kept: OpenedFile<'_>,
        mut redundant: Vec<Redundant<'_>>,
        digest: Option<Digest>,
        ours: &mut OwnChanges,
    ) -> Result<(), Error> {
        while !redundant.is_empty() {
            let rest = redundant.split_off(redundant.len().min(MAX_COMPARED_AT_ONCE));
            let some = std::mem::replace(&mut redundant, rest);
            let equal = self.equal(&kept, some, digest.is_none())?;
            // These records must come before any change of names. After a kill, only the journal
            // shows which files were equal.
            if self.shared.options.kind.is_undone_by_copy() {
                for &Redundant { n, digest, .. } in &equal {
                    self.lines.push(&Record::Equal { n, digest });
                }
                self.flush_lines(false)?;
            }
            self.act_on(&mut kept, equal, ours);
        }
        if ours.contains_key(&kept.stat.key()) {
            let tag = kept.target.tag;
            self.outcome.changed.push(ChangedFile { tag, is_there: true, unshared: 0 });
        }
        Ok(())
    }

    /// Returns the files that equal the kept file byte by byte. For reflinks, the kernel compares
    /// the files instead.
    ///
    /// If `unknown` is true, the digest of the files is not known yet. It is then computed if an
    /// undo needs it to verify that the kept file has not changed.
    fn equal<'g>(
        &mut self,
        kept: &OpenedFile<'_>,
        redundant: Vec<Redundant<'g>>,
        unknown: bool,
    ) -> Result<Vec<Redundant<'g>>, Interrupted> {
        if matches!(self.shared.options.kind, Kind::Reflink | Kind::Separate) {
            return Ok(redundant);
        }
        let digest = unknown && self.shared.options.kind.is_undone_by_copy();
        let (mut verdicts, found) = self.compare(kept, &redundant, digest)?;
        self.outcome.suspects.extend(suspects(kept, &redundant, &verdicts));
        let of_kept = verdicts[0].as_ref().map(Reason::of_kept);
        let mut equal = Vec::with_capacity(redundant.len());
        for (one, verdict) in redundant.into_iter().zip(verdicts.drain(1..)) {
            match of_kept.as_ref().map(Reason::of_kept).or(verdict) {
                None => equal.push(Redundant { digest: found, ..one }),
                Some(reason) => self.refuse(&one.opened.target.path, Some(one.n), reason),
            }
        }
        Ok(equal)
    }

    /// Compares files with the kept file, each to its end. Returns one verdict per file, starting
    /// with the kept file. A verdict is the reason why the file is not equal, or `None` if it is
    /// equal. If `digest` is true, also returns the digest of the equal files.
    fn compare(
        &mut self,
        kept: &OpenedFile<'_>,
        redundant: &[Redundant<'_>],
        digest: bool,
    ) -> Result<(Vec<Option<Reason>>, Option<Digest>), Interrupted> {
        let all = || std::iter::once(kept).chain(redundant.iter().map(|one| &one.opened));
        let files: Vec<&File> = all().map(|opened| &opened.file).collect();
        let size = kept.stat.size;
        let mut verdicts: Vec<Option<Reason>> = files.iter().map(|_| None).collect();
        let mut found = None;
        if size > 0 {
            let sparse = all().any(|opened| opened.stat.allocated < opened.stat.size);
            let compare_options = CompareOptions { sparse, digest, quantum: self.disk.quantum() };
            let progress = self.shared.progress;
            let (parts, failures) =
                partition(&files, size, compare_options, &mut self.scratch, progress)?;
            self.meter.add_counted(size.saturating_mul(files.len() as u64));
            let equal = parts.iter().find(|part| part.members.contains(&0));
            found = equal.and_then(|part| part.digest);
            for (member, verdict) in verdicts.iter_mut().enumerate() {
                let is_equal = equal.is_some_and(|part| part.members.contains(&member));
                *verdict = (!is_equal).then_some(Reason::Differs);
            }
            for failure in failures {
                verdicts[failure.member] = Some(failure.error.into());
            }
        }
        for (file, verdict) in files.iter().zip(&mut verdicts) {
            if verdict.is_none() {
                *verdict = check_end(file, size).err();
            }
        }
        Ok((verdicts, found))
    }

    /// Acts on files that were just found equal to the kept file.
    fn act_on(
        &mut self,
        kept: &mut OpenedFile<'_>,
        equal: Vec<Redundant<'_>>,
        ours: &mut OwnChanges,
    ) {
        // Reflinks need no lease, because the kernel blocks writes while it makes the files share
        // extents.
        let names = self.shared.options.kind.changes_names();
        let lease = names.then(|| kept.file.take_lease());
        let is_leased = matches!(lease, Some(Lease::LeaseGuard(_)));
        let ready = match (&lease, kept.file.stat()) {
            (Some(Lease::Written), _) => Err(Reason::KeptOpenForWriting),
            (_, Err(source)) => Err(Reason::KeptFailed { op: Op::Stat, source }),
            (_, Ok(now)) if !now.same_version(&kept.stat) => Err(Reason::KeptChanged),
            _ => Ok(()),
        };
        for one in equal {
            if !is_leased && !self.is_unchanged_since_last_action(kept) {
                self.outcome.statuses.mark_unknown(kept.stat.key());
            }
            let acted = match &ready {
                Ok(()) => self.act(&one, kept, ours),
                Err(reason) => Err(reason.of_kept()),
            };
            match acted {
                Ok((freed, ctime_ns)) => {
                    self.outcome.done += 1;
                    self.outcome.freed += freed;
                    self.lines.push(&Record::Did { n: one.n, freed, ctime_ns });
                    self.record_changes(&kept.file, &mut kept.stat, &one, freed, ours);
                }
                Err(Reason::IsKeptFile) => {
                    // The file turned out to be the kept file. Taking it out and moving it back has
                    // changed its status change time.
                    let back = kept.file.stat_uncached().ok();
                    kept.stat =
                        back.filter(|stat| same_bytes(stat, &kept.stat)).unwrap_or(kept.stat);
                    self.outcome.already += 1;
                    self.lines.push(&Record::Same { n: one.n });
                }
                Err(reason) => {
                    // For reflinks, the kernel compares the files, so a difference is found only
                    // here.
                    if matches!(
                        (self.shared.options.kind, &reason),
                        (Kind::Reflink, Reason::Differs)
                    ) {
                        let verdicts = [None, Some(Reason::Differs)];
                        let found = suspects(kept, std::slice::from_ref(&one), &verdicts);
                        self.outcome.suspects.extend(found);
                    }
                    self.refuse(&one.opened.target.path, Some(one.n), reason);
                }
            }
        }
        // The lease must still be held here, because a writer that waits for the lease can write as
        // soon as it is released. Without a lease (FUSE), any program may have written between an
        // action and the check after it.
        let is_open = !is_leased && changes_kept(self.shared.options.kind);
        if is_open || lease.as_ref().is_some_and(|lease| !lease.holds()) {
            self.outcome.statuses.mark_unknown(kept.stat.key());
        }
    }

    /// Returns whether the kept file is unchanged since the last action. Always returns true if the
    /// action does not change the kept file's status.
    fn is_unchanged_since_last_action(&self, kept: &OpenedFile<'_>) -> bool {
        !changes_kept(self.shared.options.kind)
            || kept.file.stat_uncached().is_ok_and(|still| still.same_version(&kept.stat))
    }

    /// Records the new metadata of the files after an action.
    fn record_changes(
        &mut self,
        kept: &File,
        kept_stat: &mut Stat,
        one: &Redundant<'_>,
        freed: u64,
        ours: &mut OwnChanges,
    ) {
        let kind = self.shared.options.kind;
        // The next action may concern another name of this file. If a program wrote to the file
        // meanwhile, its content is no longer the compared content, and the new metadata is not
        // recorded.
        if one.opened.stat.links > 1
            && let Ok(stat) = one.opened.file.stat()
            && stat.same_content(&one.opened.stat)
        {
            ours.insert(stat.key(), stat);
        }
        // The file may have been copied to get another name (overlayfs), and may be a different
        // inode now.
        if changes_kept(kind) {
            let stat = kept.stat_uncached().ok();
            self.outcome.statuses.record(kept_stat, stat);
            if let Some(stat) = stat.filter(|stat| same_bytes(stat, kept_stat)) {
                ours.insert(stat.key(), stat);
                *kept_stat = stat;
            }
        }
        self.outcome.changed.push(ChangedFile {
            tag: one.opened.target.tag,
            is_there: matches!(kind, Kind::Hardlink | Kind::Reflink | Kind::Separate),
            unshared: if kind == Kind::Reflink { freed } else { 0 },
        });
    }
}

/// Returns whether an action changes the status of the kept file by adding or removing one of its
/// names.
fn changes_kept(kind: Kind) -> bool {
    matches!(kind, Kind::Hardlink | Kind::Separate)
}

/// Checks that a file has no bytes after the first `size`.
fn check_end(file: &File, size: u64) -> Result<(), Reason> {
    match file.ends_at(size) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Reason::Changed),
        Err(source) => Err(Reason::Failed { op: Op::Read, source }),
    }
}

/// Returns the suspects among the kept file and the files compared with it. `verdicts` says why
/// each file is not equal, starting with the kept file.
fn suspects(
    kept: &OpenedFile<'_>,
    redundant: &[Redundant<'_>],
    verdicts: &[Option<Reason>],
) -> Vec<Suspect> {
    let differs = |verdict: &Option<Reason>| matches!(verdict, Some(Reason::Differs));
    let is_agreed = verdicts.first().is_some_and(Option::is_none)
        && verdicts.iter().skip(1).any(Option::is_none);
    let is_unclear = !is_agreed && verdicts.iter().any(differs);
    let fault = |at: usize, verdict: &Option<Reason>| match verdict {
        Some(Reason::Failed { .. }) => Some(Fault::Unreadable),
        Some(Reason::Differs) if is_agreed => Some(Fault::Differs),
        Some(Reason::Differs) => Some(Fault::Unclear),
        None if at == 0 && is_unclear => Some(Fault::Unclear),
        _ => None,
    };
    let all = std::iter::once(kept).chain(redundant.iter().map(|one| &one.opened));
    let found = all.zip(verdicts).enumerate().filter_map(|(at, (opened, verdict))| {
        let (path, version) = (opened.target.path.clone(), Version::from(&opened.stat));
        fault(at, verdict).map(|fault| Suspect { path, version, fault })
    });
    found.collect()
}
