//! Gives what was made under a temporary name its own, and takes over what a killed run has left.
//!
//! A name that the listing of the destination has not is given only if it is free. If it is not, the destination
//! has it under another spelling: it does not tell capitals apart, or normalises names. To replace that would lose
//! one of two files without a word.

use std::ffi::{CStr, CString};
use std::io::{self, ErrorKind};
use std::sync::Arc;

use fsops::{Dir, FileKey, Kind, Mark, Op};

use crate::engine::dir_cache::Side;
use crate::engine::dir_state::Site;
use crate::engine::entry::Name;
use crate::engine::worker::Worker;
use crate::model::dir_node::IMAGINED;
use crate::model::dir_node::Node;
use crate::model::reason::Reason;
use crate::model::settled::Failure;
use crate::model::settled::destination;

impl Worker<'_> {
    /// Renames `part` to its own name, unless it has to wait for that until a directory is gone which is in its way.
    /// `made` is what `part` has to be, if that is known.
    pub(crate) fn put_in_place(
        &mut self,
        name: Name<'_>,
        to: &Dir,
        part: &CStr,
        made: Option<FileKey>,
    ) -> Result<(), Failure> {
        is_still(to, part, made)?;
        if name.is_obstructed() {
            return Ok(());
        }
        if name.there.is_some() {
            return to.replace(part, name.name).map_err(destination(Op::Rename));
        }
        match to.rename_new(part, name.name) {
            Ok(()) => Ok(()),
            Err(e) if is_taken(&e) => {
                self.must_be_new(name.site, to, name.name)?;
                to.replace(part, name.name).map_err(destination(Op::Rename))
            }
            Err(e) => Err(destination(Op::Rename)(e)),
        }
    }

    /// Fails if the destination has a name in another spelling. What has it in this one, although the listing had
    /// not, somebody has made just now: that can be replaced, as it could be if it had been listed.
    pub(crate) fn must_be_new(
        &mut self,
        site: &Site,
        to: &Dir,
        name: &CStr,
    ) -> Result<(), Failure> {
        let Some(reason) = self.other_spelling(to, name)? else { return Ok(()) };
        if let Reason::Spelling { other: Some(other) } = &reason {
            // It stays: nobody can say which of the two it is.
            site.present.find(other);
        }
        Err(Some(reason))
    }

    /// Returns that a directory of the destination has a name in another spelling; nothing if it has it in this one,
    /// or not any more.
    pub(crate) fn other_spelling(
        &mut self,
        dir: &Dir,
        name: &CStr,
    ) -> Result<Option<Reason>, Failure> {
        let there = match dir.stat_child(name) {
            Ok(there) => there.key(),
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(destination(Op::Stat)(e)),
        };
        let mut names = Vec::new();
        // The one that is held was listed already.
        let listed = dir
            .open_child(c".")
            .and_then(|dir| dir.for_each(self.listing(), |item| names.push(item.name.to_owned())));
        listed.map_err(destination(Op::List))?;
        if names.iter().any(|listed| **listed == *name) {
            return Ok(None);
        }
        let is_it = |listed: &&CString| dir.stat_child(listed).is_ok_and(|it| it.key() == there);
        let folded = |name: &CStr| name.to_string_lossy().to_lowercase();
        let wanted = folded(name);
        // Through FUSE each spelling may have a number of its own.
        let alike = names.iter().find(|listed| folded(listed) == wanted);
        let other = alike.or_else(|| names.iter().find(is_it)).cloned();
        Ok(Some(Reason::Spelling { other }))
    }

    /// Fails if the destination has a name in another spelling, where that is worth a look before anything is made.
    pub(crate) fn must_be_free(&mut self, name: Name<'_>) -> Result<(), Failure> {
        let is_new = name.site.manner.direct || name.site.node.is(IMAGINED);
        if is_new || name.there.is_some() {
            return Ok(());
        }
        let to = self.open(Side::Destination, &name.site.node).map_err(destination(Op::Open))?;
        if to.stat_child(name.name).is_err() {
            return Ok(());
        }
        self.must_be_new(name.site, &to, name.name)
    }

    /// Returns how making something failed; `error` may say that the name is there in another spelling.
    pub(crate) fn not_made(
        &mut self,
        name: Name<'_>,
        to: &Dir,
        op: Op,
        error: io::Error,
    ) -> Failure {
        if is_taken(&error)
            && let Err(failure) = self.must_be_new(name.site, to, name.name)
        {
            return failure;
        }
        destination(op)(error)
    }

    /// Takes over the directory that a killed run has filled in part, if there is one for this name: from now on it
    /// has the temporary name of this run.
    pub(crate) fn take_over(&mut self, name: Name<'_>) {
        let Site { node, present, .. } = &**name.site;
        if name.is_obstructed() || self.imagines(name.site) || !present.has_parts() {
            return;
        }
        let Some(facts) = node.facts() else { return };
        let Ok(above) = self.open(Side::Destination, node) else { return };
        for (part, there) in present.parts_of(name.name) {
            if there.kind != Kind::Dir || self.is_anothers(node) {
                continue;
            }
            // Somebody else may have made it, where they may make things, to have it filled.
            let owners = [Some(self.job.rights.user()), facts.there.map(|there| there.uid)];
            let is_own = above.stat_child(part).is_ok_and(|stat| owners.contains(&Some(stat.uid)));
            if is_own && above.rename_new(part, &self.job.parts.of(name.name)).is_ok() {
                present.find(part);
                return;
            }
        }
    }

    /// Returns whether a directory of the destination is, or is in, one that another run mirrors to, so that
    /// temporary names in it may be that one's. Such a run is refused where it can be seen; who may not read the
    /// directories above its destination cannot be seen before.
    pub(crate) fn is_anothers(&mut self, node: &Arc<Node>) -> bool {
        let mut next = Some(node);
        while let Some(node) = next.filter(|node| node.parent().is_some()) {
            let dir = self.open(Side::Destination, node);
            if dir.is_ok_and(|dir| dir.is_marked(Mark::Destination)) {
                return true;
            }
            next = node.parent();
        }
        false
    }
}

/// Fails unless a temporary name is still that of what was made under it.
pub(crate) fn is_still(dir: &Dir, part: &CStr, made: Option<FileKey>) -> Result<(), Failure> {
    let Some(made) = made else { return Ok(()) };
    let is_it = dir.stat_child(part).is_ok_and(|now| now.key() == made);
    if is_it { Ok(()) } else { Err(Some(Reason::Displaced)) }
}

/// Returns whether a name could not be given as something has it.
pub(crate) fn is_taken(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty)
}
