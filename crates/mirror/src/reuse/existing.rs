//! Has a file be made of content that the destination has already: of a file that was renamed in the source, or that
//! the source has twice.
//!
//! Where that may be is a hint and no more. What is found there is compared with the source's file: byte by byte on
//! one host, by BLAKE3 of what both are now on two. It is cloned where the file system can do that. Else a file that
//! is to go is given its new name, and of another one a copy is made, if that spares the connection its bytes.
//! Only files below the destination are looked at.

use std::ffi::CString;
use std::rc::Rc;
use std::sync::Arc;

use fsops::{Dir, File, Kind, Op, Stat};
use wire::Have;

use crate::engine::dir_cache::Side;
use crate::engine::entry::Name;
use crate::engine::task::Arrived;
use crate::engine::worker::Worker;
use crate::model::change::Differs;
use crate::model::change::Made;
use crate::model::change::What;
use crate::model::content::Elsewhere;
use crate::model::content::Holder;
use crate::model::content::SMALLEST;
use crate::model::selection::takes;
use crate::model::settled::Failure;
use crate::model::settled::Settled;
use crate::model::settled::destination;
use crate::model::temp_name::is_part;
use crate::reconcile::copy::Filled;
use crate::reconcile::copy::Making;
use crate::reconcile::copy_bytes::Proof;
use crate::remote::receiver::pending::Asked;
use crate::remote::receiver::pending::Basis;
use crate::reuse::contents::Needed;

/// Files that are looked at in search of one content.
const TRIED: usize = 4;

/// A file that was found where a content may be.
struct Found {
    dir: Rc<Dir>,
    name: CString,
    file: File,
    stat: Stat,
}

impl Worker<'_> {
    /// Returns whether a file of the source is one of which to look what the destination has.
    pub(crate) fn may_reuse(&self, name: Name<'_>, stat: &Stat) -> bool {
        let wanted = self.job.options.memory.is_some() && !self.imagines(name.site);
        wanted && stat.kind == Kind::File && stat.size >= SMALLEST
    }

    /// Makes a file of content that the destination has, or begins to; nothing if there is none that is known.
    pub(crate) fn reuse(
        &mut self,
        name: Name<'_>,
        stat: &Stat,
        instead: Option<Differs>,
    ) -> Result<Option<Settled>, Failure> {
        // A clone of the source takes no more.
        if !self.may_reuse(name, stat) || name.record.is_none() && name.site.manner.clones {
            return Ok(None);
        }
        let Some(memory) = self.job.options.memory.clone() else { return Ok(None) };
        let hint = match name.record {
            Some(record) => record.hint.as_deref().cloned(),
            None => memory.of_source(&name.site.node.path(), name.name.to_bytes(), stat),
        };
        let digest = hint.as_ref().map(|hint| hint.digest);
        let mut holders = Vec::new();
        if let Some(digest) = digest.filter(|_| name.record.is_some()) {
            // Names of one file wait for each other already.
            match self.job.contents.need(digest, name, stat.links < 2) {
                Needed::Here(holder) => holders.push(holder),
                Needed::Waits => return Ok(Some(Settled::Asked)),
                Needed::Nowhere => {}
            }
        }
        let also = hint.map(|hint| hint.also).filter(|also| !also.is_empty());
        let known = memory.in_destination(name.name.to_bytes(), stat, digest.as_ref());
        let mut paths: Vec<Vec<u8>> = known.into_iter().chain(also).collect();
        let path = name.site.node.child_path(name.name.to_bytes());
        // Of a directory that was renamed, files are what they were.
        paths.sort_by_cached_key(|other| std::cmp::Reverse(common_end(&path, other)));
        holders.extend(paths.into_iter().map(Holder::Below));
        for holder in holders.into_iter().take(TRIED) {
            let Some(found) = self.find(&holder, stat.size) else { continue };
            let settled = if name.record.is_some() {
                self.ask_whether_found(name, instead, (holder, found), digest)?
            } else {
                self.reuse_here(name, stat, instead, &holder, &found)?
            };
            if settled.is_some() {
                return Ok(settled);
            }
        }
        Ok(None)
    }

    /// Notes that a file of another host is at the destination, or is not.
    pub(crate) fn note_content(&mut self, name: Name<'_>, is_there: bool) {
        let Some(hint) = name.record.and_then(|record| record.hint.as_deref()) else { return };
        if self.job.options.memory.is_none() {
            return;
        }
        let holder = || {
            let called = name.called_there(&self.job.parts);
            Holder::Mirrored(Arc::clone(&name.site.node), called)
        };
        let waiters = self.job.contents.settle(hint.digest, is_there.then(holder));
        self.later.extend(waiters);
    }

    /// Opens a file where a content may be, if there is one of that size.
    fn find(&mut self, holder: &Holder, size: u64) -> Option<Found> {
        let (dir, name) = match holder {
            Holder::Mirrored(node, name) => {
                (self.open(Side::Destination, node).ok()?, name.clone())
            }
            Holder::Below(path) => {
                let top = &self.job.roots.destination.as_ref()?.dir;
                let (dir, name) = split(path)?;
                let dir = if dir.is_empty() { top.open_child(c".") } else { top.open_below(dir) };
                (Rc::new(dir.ok()?), CString::new(name).ok()?)
            }
        };
        let file = dir.open_regular(&name).ok()?;
        let stat = file.stat().ok()?;
        let fits = stat.kind == Kind::File && stat.size == size;
        fits.then_some(Found { dir, name, file, stat })
    }

    /// Opens the file again that a digest was sent of, if that has not changed.
    pub(crate) fn find_again(&mut self, elsewhere: &Elsewhere) -> Option<File> {
        self.find_same(elsewhere).map(|found| found.file)
    }

    fn find_same(&mut self, elsewhere: &Elsewhere) -> Option<Found> {
        let found = self.find(&elsewhere.holder, elsewhere.stat.size)?;
        found.stat.same_content(&elsewhere.stat).then_some(found)
    }

    /// Asks whether a file of another host is like one that was found.
    fn ask_whether_found(
        &mut self,
        name: Name<'_>,
        instead: Option<Differs>,
        (holder, found): (Holder, Found),
        wanted: Option<[u8; 32]>,
    ) -> Result<Option<Settled>, Failure> {
        let length = found.stat.size;
        let Ok(digest) = self.digest(&found.file, length) else { return Ok(None) };
        if wanted.is_some_and(|wanted| wanted != digest) {
            return Ok(None);
        }
        let basis = Basis::Elsewhere(Box::new(Elsewhere { holder, stat: found.stat }));
        let have = Have { length, digest, only: false };
        self.ask(name, instead, Some(have), basis).map(Some)
    }

    /// Makes a file of one that was found, if that has the bytes of the source's, which is on this host.
    fn reuse_here(
        &mut self,
        name: Name<'_>,
        stat: &Stat,
        instead: Option<Differs>,
        holder: &Holder,
        found: &Found,
    ) -> Result<Option<Settled>, Failure> {
        let clones = self.clones(name, stat, instead, &found.file)?;
        if !clones && !self.may_take(name, stat, holder, found)? {
            return Ok(None);
        }
        let source = self.source_file(name)?;
        let inode = if clones {
            self.clone_found(name, stat, instead, (&found.file, &source))?
        } else if self.is_same_here(&source, &found.file, stat)? {
            self.take(name, found)?
        } else {
            None
        };
        let Some(inode) = inode else { return Ok(None) };
        self.note_reused(name, stat, holder);
        Ok(Some(Settled::Is(inode)))
    }

    /// Returns whether a file has the bytes of the source's, and that is what it was when it was listed.
    fn is_same_here(&mut self, source: &File, file: &File, stat: &Stat) -> Result<bool, Failure> {
        if self.unlike(source, file, stat.size)? {
            return Ok(false);
        }
        let now = source.stat().map_err(|e| self.source_failure(Op::Stat, e))?;
        Ok(now.same_version(stat))
    }

    /// Returns whether files of the destination can share extents: tries it once, with this one.
    fn clones(
        &mut self,
        name: Name<'_>,
        stat: &Stat,
        instead: Option<Differs>,
        file: &File,
    ) -> Result<bool, Failure> {
        if let Some(&known) = self.job.clones.get() {
            return Ok(known);
        }
        let making = self.begin_copy(name, stat, instead.is_some())?;
        let clones = making.new.clone_from(file);
        making.undo();
        Ok(*self.job.clones.get_or_init(|| matches!(clones, Ok(true))))
    }

    /// Makes a file share the extents of one that was found, if it is like the source's then.
    fn clone_found(
        &mut self,
        name: Name<'_>,
        stat: &Stat,
        instead: Option<Differs>,
        (file, source): (&File, &File),
    ) -> Result<Option<u64>, Failure> {
        let mut making = self.begin_copy(name, stat, instead.is_some())?;
        let ended = self.end_clone(name, &mut making, stat, (file, source));
        if !matches!(ended, Ok(Some(_))) {
            making.undo();
        }
        ended
    }

    fn end_clone(
        &mut self,
        name: Name<'_>,
        making: &mut Making,
        stat: &Stat,
        (file, source): (&File, &File),
    ) -> Result<Option<u64>, Failure> {
        if !making.new.clone_from(file).map_err(destination(Op::Write))? {
            return Ok(None);
        }
        let copy = making.new.reader().map_err(destination(Op::Open))?;
        let has_size = copy.stat().map_err(destination(Op::Stat))?.size == stat.size;
        if !has_size || !self.is_same_here(source, &copy, stat)? {
            return Ok(None);
        }
        let attributes = self.source_attributes(name)?;
        let proof = Proof::Original(source);
        let filled = Filled { stat: *stat, is_stable: true, attributes, proof };
        self.end_copy(name, making, filled).map(Some)
    }

    /// Returns whether a file that was found may get this name in addition to its own, which it then
    /// loses: if it is to be removed, and is in all as it is to be.
    fn may_take(
        &mut self,
        name: Name<'_>,
        stat: &Stat,
        holder: &Holder,
        found: &Found,
    ) -> Result<bool, Failure> {
        let options = self.job.options;
        let Holder::Below(path) = holder else { return Ok(false) };
        let dir = found.dir.stat().map_err(destination(Op::Stat))?.key();
        if options.own.has(dir, found.name.to_bytes()) {
            return Ok(false);
        }
        let goes = options.delete && options.max_delete.is_none() && is_taken(options, path);
        if !goes || options.verify || stat.links > 1 || found.stat.links > 1 {
            return Ok(false);
        }
        if self.of_metadata(name.site.node.keeps(), stat, &found.stat).at_all() {
            return Ok(false);
        }
        let wanted = self.source_attributes(name)?;
        let has = found.dir.child_xattrs(&found.name).map_err(destination(Op::Read))?;
        Ok(!wanted.differ(&self.job.rights, name.site.node.keeps(), has))
    }

    /// Gives a file that was found this name in addition to its own; nothing if it belongs to another file of the
    /// source, or is not there any more.
    fn take(&mut self, name: Name<'_>, found: &Found) -> Result<Option<u64>, Failure> {
        if !self.job.claimed.claim(found.stat.key()) {
            return Ok(None);
        }
        let to = self.open(Side::Destination, &name.site.node).map_err(destination(Op::Open))?;
        let part = self.job.parts.of(name.name);
        if to.link_name(&found.dir, &found.name, &part).is_err() {
            return Ok(None);
        }
        let is_it = to.stat_child(&part).is_ok_and(|now| now.same_content(&found.stat));
        let placed = if is_it {
            self.put_in_place(name, &to, &part, Some(found.stat.key())).map(|()| true)
        } else {
            Ok(false)
        };
        if !matches!(placed, Ok(true)) {
            let _left = to.remove_name(&part);
        }
        Ok(placed?.then_some(found.stat.inode))
    }

    /// Makes a file of the one that a digest was sent of, which is that of the source's; asks for all of it if that
    /// is not there any more.
    pub(crate) fn reuse_asked(&mut self, asked: &Asked, stat: &Stat, is_stable: bool) {
        let name = asked.name();
        let settled = match self.reuse_far(asked, stat, is_stable) {
            Ok(None) => self.ask_instead(asked),
            Ok(Some(inode)) => Ok(Settled::Is(inode)),
            Err(failure) => Err(failure),
        };
        self.conclude(name, &asked.listed(), settled);
        self.leave(&asked.waiter.shared.site);
    }

    fn reuse_far(
        &mut self,
        asked: &Asked,
        stat: &Stat,
        is_stable: bool,
    ) -> Result<Option<u64>, Failure> {
        let (Basis::Elsewhere(elsewhere), Some(have)) = (&asked.basis, asked.have) else {
            return Ok(None);
        };
        let name = asked.name();
        let Some(found) = self.find_same(elsewhere) else { return Ok(None) };
        let clones = self.clones(name, stat, asked.instead, &found.file)?;
        // A copy is digested once more; this is not.
        let is_sure = is_stable && found.stat.same_version(&elsewhere.stat);
        let mut inode = None;
        if !clones && is_sure && self.may_take(name, stat, &elsewhere.holder, &found)? {
            inode = self.take(name, &found)?;
        }
        if inode.is_none() {
            let mut making = self.begin_copy(name, stat, asked.instead.is_some())?;
            let filled = self.copy_beginning(&found.file, &making, &have);
            let ended = filled.and_then(|()| {
                self.end_far(name, &mut making, (*stat, is_stable, Some(have.digest)))
            });
            match ended {
                Ok(made) => inode = Some(made),
                Err(failure) => {
                    making.undo();
                    // Somebody wrote to it, or it is gone: the source has it still.
                    return if self.stopped() { Err(failure) } else { Ok(None) };
                }
            }
        }
        self.note_reused(name, stat, &elsewhere.holder);
        Ok(inode)
    }

    /// Leaves it to a worker to do that.
    pub(crate) fn leave_reuse(&mut self, asked: Asked, stat: Stat, is_stable: bool) {
        if let Some(far) = self.job.far.clone() {
            self.line_up(&far, Arrived::Like(Box::new((asked, stat, is_stable))));
        }
    }

    fn note_reused(&mut self, name: Name<'_>, stat: &Stat, holder: &Holder) {
        let to = Some(match holder {
            Holder::Below(path) => path.clone(),
            Holder::Mirrored(node, name) => node.child_path(name.as_bytes()),
        });
        let (kind, size, differs) = (Kind::File, stat.size, Differs::default());
        self.note(name, Made { what: What::Reused, kind, size, to, differs });
    }
}

/// Returns how many components two paths have in common at their ends.
fn common_end(one: &[u8], other: &[u8]) -> usize {
    let components = |path| <[u8]>::rsplit(path, |&b| b == b'/');
    components(one).zip(components(other)).take_while(|(one, other)| one == other).count()
}

/// Returns the directory and the name of a path below the top, if it is one.
fn split(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let is_plain = path.split(|&b| b == b'/').all(wire::is_name);
    let at = path.iter().rposition(|&b| b == b'/');
    is_plain.then(|| at.map_or((&b""[..], path), |at| (&path[..at], &path[at + 1..])))
}

/// Returns whether a file of the destination is removed if the source has it not.
fn is_taken(options: &crate::Options, path: &[u8]) -> bool {
    let mut ends = path.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(at, _)| at);
    let name_of = |path: &[u8]| split(path).map(|(_, name)| name.to_vec()).unwrap_or_default();
    let dirs_are = ends.all(|end| {
        let dir = &path[..end];
        takes(options, &name_of(dir), || dir.to_vec(), true)
    });
    let name = name_of(path);
    dirs_are && !is_part(&name) && takes(options, &name, || path.to_vec(), false)
}
