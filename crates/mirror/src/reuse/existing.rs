//! Creates files from content that the destination already has, for example because a file was renamed or duplicated in
//! the source.
//!
//! Each hint names a candidate: a file that may have the content. A candidate is always compared with the source
//! file: byte by byte on one host, and by the BLAKE3 digests of both files' current content on two hosts. The candidate
//! is cloned if the file system supports clones. Otherwise, a candidate that is about to be deleted gets the new name,
//! and other candidates are copied if this avoids a transfer. Only files in the destination are considered.

use std::ffi::CString;
use std::rc::Rc;
use std::sync::Arc;

use fsops::{File, Kind, Op, Stat};

use crate::engine::dir_cache::Side;
use crate::engine::entry::Entry;
use crate::engine::task::SameContent;
use crate::engine::worker::Worker;
use crate::engine::worker::source::Reuse;
use crate::model::change::CreatedEntry;
use crate::model::content::{ContentCandidate, ContentHolder, FoundFile, MIN_REUSED_BYTES};
use crate::model::selection::{is_selected_path, split_path};
use crate::model::settled::{DestInode, Failure, Settled, destination};
use crate::reconcile::copy::{CopiedContent, NewCopy};
use crate::reconcile::copy_bytes::Proof;
use crate::remote::receiver::dispatch::ReceivedContent;
use crate::remote::receiver::pending::Basis;
use crate::remote::receiver::session::Session;
use crate::reuse::contents::Lookup;
use wire::{Action, Differences};

/// Maximum number of candidates to examine for a file.
const MAX_CANDIDATES: usize = 4;

impl Worker<'_> {
    /// Returns whether it is worthwhile to search the destination for the content of a file.
    pub(crate) fn may_reuse(&self, entry: Entry<'_>, stat: &Stat) -> bool {
        let wanted = self.job.options.content_hints.is_some() && !self.is_dry_run(entry.dir);
        wanted && stat.kind == Kind::File && stat.size >= MIN_REUSED_BYTES
    }

    /// Creates a file from content in the destination. Returns [`Settled::Pending`] if the content has to arrive or to
    /// be confirmed first, and `None` if the destination has no such content.
    pub(crate) fn reuse(
        &mut self,
        entry: Entry<'_>,
        stat: &Stat,
        replaces: Option<Differences>,
    ) -> Result<Option<Settled>, Failure> {
        // A clone of the source file takes no additional disk space either.
        if !self.may_reuse(entry, stat) || entry.dir.traits.can_clone {
            return Ok(None);
        }
        let Some(content_hints) = self.job.options.content_hints.clone() else { return Ok(None) };
        let hint = self.source.content_hint(&*content_hints, entry, stat);
        let digest = hint.as_ref().map(|hint| hint.digest);
        let mut holders = Vec::new();
        if let Some(digest) = digest {
            match self.source.look_up_content(self, entry, stat, digest) {
                Lookup::Found(holder) => holders.push(holder),
                Lookup::Pending => return Ok(Some(Settled::Pending)),
                Lookup::Unknown => {}
            }
        }
        let also = hint.map(|hint| hint.also).filter(|also| !also.is_empty());
        let known = content_hints.in_destination(entry.name.to_bytes(), stat, digest.as_ref());
        let mut paths: Vec<Vec<u8>> = known.into_iter().chain(also).collect();
        let path = entry.dir.node.child_path(entry.name.to_bytes());
        // When a directory is renamed, the ends of the paths below it stay the same. Candidates with the longest common
        // ending therefore come first.
        paths.sort_by_cached_key(|other| std::cmp::Reverse(common_suffix_len(&path, other)));
        holders.extend(paths.into_iter().map(ContentHolder::AtPath));
        for holder in holders.into_iter().take(MAX_CANDIDATES) {
            let Some(found) = self.open_holder(holder, stat.size) else { continue };
            let reuse = Reuse { found: &found, digest, replaces };
            let settled = self.source.reuse_file(self, entry, stat, reuse)?;
            if settled.is_some() {
                return Ok(settled);
            }
        }
        Ok(None)
    }

    /// Records whether a remote file was created in the destination, so that names that wait for its content can
    /// continue.
    pub(crate) fn note_content(&mut self, entry: Entry<'_>, is_there: bool) {
        let Some(hint) = entry.remote.and_then(|remote| remote.hint.as_deref()) else { return };
        if self.job.options.content_hints.is_none() {
            return;
        }
        let holder = || {
            let called = entry.provisional_name(&self.job.temp_names);
            ContentHolder::Mirrored(Arc::clone(&entry.dir.node), called)
        };
        let waiters = self.job.contents.resolve(hint.digest, is_there.then(holder));
        self.waiters.extend(waiters);
    }

    /// Opens a candidate if it has the right size.
    fn open_holder(&mut self, holder: ContentHolder, size: u64) -> Option<FoundFile> {
        let (dir, name) = match &holder {
            ContentHolder::Mirrored(node, name) => {
                (self.open(Side::Destination, node).ok()?, name.clone())
            }
            ContentHolder::AtPath(path) => {
                let top = &self.job.roots.destination.as_ref()?.dir;
                let (dir, name) = split_path(path)?;
                let dir = if dir.is_empty() { top.open_child(c".") } else { top.open_below(dir) };
                (Rc::new(dir.ok()?), CString::new(name).ok()?)
            }
        };
        let file = dir.open_regular(&name).ok()?;
        let stat = file.stat().ok()?;
        let fits = stat.kind == Kind::File && stat.size == size;
        fits.then_some(FoundFile { holder, dir, name, file, stat })
    }

    /// Reopens a candidate whose digest was sent, if the candidate has not changed since.
    pub(crate) fn reopen_candidate(&mut self, candidate: &ContentCandidate) -> Option<File> {
        self.find_unchanged(candidate).map(|found| found.file)
    }

    fn find_unchanged(&mut self, candidate: &ContentCandidate) -> Option<FoundFile> {
        let found = self.open_holder(candidate.holder.clone(), candidate.stat.size)?;
        found.stat.same_content(&candidate.stat).then_some(found)
    }

    /// Creates a file from a candidate, if the candidate has the same content as the source file on this host.
    pub(crate) fn clone_or_adopt(
        &mut self,
        entry: Entry<'_>,
        stat: &Stat,
        &Reuse { found, replaces, .. }: &Reuse<'_>,
    ) -> Result<Option<Settled>, Failure> {
        let supports_clones = self.supports_clones(entry, stat, replaces, &found.file)?;
        if !supports_clones && !self.may_adopt(entry, stat, found)? {
            return Ok(None);
        }
        let source = self.open_source_file(entry)?;
        let inode = if supports_clones {
            self.clone_file(entry, stat, replaces, &found.file, &source)?
        } else if self.is_unchanged_copy(&source, &found.file, stat)? {
            self.adopt(entry, found)?
        } else {
            None
        };
        let Some(inode) = inode else { return Ok(None) };
        self.record_reused(entry, stat, &found.holder);
        Ok(Some(Settled::Done(inode)))
    }

    /// Returns whether a file has the same content as the source file, and the source file has not changed since it was
    /// listed.
    fn is_unchanged_copy(
        &mut self,
        source: &File,
        file: &File,
        stat: &Stat,
    ) -> Result<bool, Failure> {
        if self.contents_differ(source, file, stat.size)? {
            return Ok(false);
        }
        let now = source.stat().map_err(|e| self.source_failure(Op::Stat, e))?;
        Ok(now.same_version(stat))
    }

    /// Returns whether files in the destination can share extents. The first call tries it with `file`.
    fn supports_clones(
        &mut self,
        entry: Entry<'_>,
        stat: &Stat,
        replaces: Option<Differences>,
        file: &File,
    ) -> Result<bool, Failure> {
        if let Some(&known) = self.job.dest_clones.get() {
            return Ok(known);
        }
        let new_copy = self.begin_copy(entry, stat, replaces.is_some())?;
        let cloned = new_copy.file.clone_from(file);
        new_copy.undo();
        Ok(*self.job.dest_clones.get_or_init(|| matches!(cloned, Ok(true))))
    }

    /// Clones a candidate, and keeps the clone if it has the same content as the source file.
    fn clone_file(
        &mut self,
        entry: Entry<'_>,
        stat: &Stat,
        replaces: Option<Differences>,
        file: &File,
        source: &File,
    ) -> Result<Option<DestInode>, Failure> {
        let mut new_copy = self.begin_copy(entry, stat, replaces.is_some())?;
        let ended = self.finish_clone(entry, &mut new_copy, stat, file, source);
        if !matches!(ended, Ok(Some(_))) {
            new_copy.undo();
        }
        ended
    }

    fn finish_clone(
        &mut self,
        entry: Entry<'_>,
        new_copy: &mut NewCopy,
        stat: &Stat,
        file: &File,
        source: &File,
    ) -> Result<Option<DestInode>, Failure> {
        if !new_copy.file.clone_from(file).map_err(destination(Op::Write))? {
            return Ok(None);
        }
        let copy = new_copy.file.reader().map_err(destination(Op::Open))?;
        let has_size = copy.stat().map_err(destination(Op::Stat))?.size == stat.size;
        if !has_size || !self.is_unchanged_copy(source, &copy, stat)? {
            return Ok(None);
        }
        let attributes = self.source_attributes(entry)?;
        let proof = Proof::Original(source);
        let filled = CopiedContent { stat: *stat, is_stable: true, attributes, proof };
        self.finish_copy(entry, new_copy, filled).map(Some)
    }

    /// Returns whether a candidate may get the new name in addition to its own, which is deleted later. The candidate
    /// must be extraneous, and its metadata must match that of the source file.
    fn may_adopt(
        &mut self,
        entry: Entry<'_>,
        stat: &Stat,
        found: &FoundFile,
    ) -> Result<bool, Failure> {
        let options = self.job.options;
        let ContentHolder::AtPath(path) = &found.holder else { return Ok(false) };
        let dir = found.dir.stat().map_err(destination(Op::Stat))?.key();
        if options.own.has(dir, found.name.to_bytes()) {
            return Ok(false);
        }
        let is_deleted =
            options.delete && options.max_delete.is_none() && is_selected_path(options, path);
        if !is_deleted || options.verify || stat.links > 1 || found.stat.links > 1 {
            return Ok(false);
        }
        if self.compare_metadata(entry.dir.node.support(), stat, &found.stat).any() {
            return Ok(false);
        }
        let wanted = self.source_attributes(entry)?;
        let has = found.dir.child_xattrs(&found.name).map_err(destination(Op::Read))?;
        Ok(!wanted.differ(&self.job.privileges, entry.dir.node.support(), has))
    }

    /// Gives a candidate the new name in addition to its own. Returns `None` if the candidate belongs to another source
    /// file or has disappeared.
    fn adopt(&mut self, entry: Entry<'_>, found: &FoundFile) -> Result<Option<DestInode>, Failure> {
        if !self.job.claimed_inodes.claim(found.stat.key()) {
            return Ok(None);
        }
        let to = self.open(Side::Destination, &entry.dir.node).map_err(destination(Op::Open))?;
        let temp = self.job.temp_names.of(entry.name);
        if to.link_name(&found.dir, &found.name, &temp).is_err() {
            return Ok(None);
        }
        let is_it = to.stat_child(&temp).is_ok_and(|now| now.same_content(&found.stat));
        let placed = if is_it {
            self.put_in_place(entry, &to, &temp, Some(found.stat.key())).map(|()| true)
        } else {
            Ok(false)
        };
        if !matches!(placed, Ok(true)) {
            let _left = to.remove_name(&temp);
        }
        Ok(placed?.then_some(DestInode::Known(found.stat.inode)))
    }

    /// Creates a file from a candidate whose digest the sender confirmed. Requests the whole content if the candidate
    /// is no longer available.
    pub(crate) fn reuse_requested(&mut self, session: &Session, same: &SameContent) {
        let SameContent { pending, .. } = same;
        let entry = pending.entry();
        let settled = match self.reuse_remote(same) {
            Ok(None) => Ok(self.request_whole(session, pending)),
            Ok(Some(inode)) => Ok(Settled::Done(inode)),
            Err(failure) => Err(failure),
        };
        self.conclude(entry, &pending.listed_stat(), settled);
        self.release_dir(&pending.waiter.shared.dir);
    }

    fn reuse_remote(&mut self, same: &SameContent) -> Result<Option<DestInode>, Failure> {
        let SameContent { pending, stat, is_stable } = same;
        let is_stable = *is_stable;
        let (Basis::Candidate(candidate), Some(have)) = (&pending.basis, pending.have) else {
            return Ok(None);
        };
        let entry = pending.entry();
        let Some(found) = self.find_unchanged(candidate) else { return Ok(None) };
        let supports_clones = self.supports_clones(entry, stat, pending.replaces, &found.file)?;
        // A hard link, unlike a copy, is not hashed again, so the candidate must be unchanged.
        let is_verified = is_stable && found.stat.same_version(&candidate.stat);
        let mut inode = None;
        if !supports_clones && is_verified && self.may_adopt(entry, stat, &found)? {
            inode = self.adopt(entry, &found)?;
        }
        if inode.is_none() {
            let mut new_copy = self.begin_copy(entry, stat, pending.replaces.is_some())?;
            let filled = self.copy_prefix(&found.file, &new_copy, &have);
            let ended = filled.and_then(|()| {
                self.finish_remote_copy(
                    entry,
                    &mut new_copy,
                    ReceivedContent { stat: *stat, is_stable, digest: Some(have.digest) },
                )
            });
            match ended {
                Ok(made) => inode = Some(made),
                Err(failure) => {
                    new_copy.undo();
                    // Another process changed or removed the candidate, but the source still has the content.
                    return if self.stopped() { Err(failure) } else { Ok(None) };
                }
            }
        }
        self.record_reused(entry, stat, &candidate.holder);
        Ok(inode)
    }

    fn record_reused(&mut self, entry: Entry<'_>, stat: &Stat, holder: &ContentHolder) {
        let to = Some(match holder {
            ContentHolder::AtPath(path) => path.clone(),
            ContentHolder::Mirrored(node, entry) => node.child_path(entry.as_bytes()),
        });
        let (kind, size, differences) = (Kind::File, stat.size, Differences::default());
        self.record_made(
            entry,
            CreatedEntry { action: Action::Reused, kind, size, to, differences },
        );
    }
}

/// Returns the number of trailing components that two paths have in common.
fn common_suffix_len(one: &[u8], other: &[u8]) -> usize {
    let components = |path| <[u8]>::rsplit(path, |&b| b == b'/');
    components(one).zip(components(other)).take_while(|(one, other)| one == other).count()
}
