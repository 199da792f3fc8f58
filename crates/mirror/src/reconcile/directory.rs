//! Starts the work on a directory: opens it in the source, opens or creates it in the destination, and lists the
//! destination's entries.
//!
//! A new directory is created under a temporary name, and only its owner has access to it.
//! [`crate::reconcile::finish_dir`] gives it its final name and metadata.

use std::io::{Error, ErrorKind};
use std::rc::Rc;
use std::sync::Arc;

use fsops::{Dir, Kind, Op, Stat, Volume, Xattr};
use wire::LeftOut;

use crate::engine::dest_listing::{DestEntry, DestListing};
use crate::engine::dir_cache::Side;
use crate::engine::dir_state::{DirState, DirTraits};
use crate::engine::worker::Worker;
use crate::model::attributes::Attributes;
use crate::model::dir_node::{
    CHANGED, DRY_RUN_ONLY, DirMetadata, DirNode, EXISTS, HAS_TEMP_NAME, REPLACES_OTHER,
};
use crate::model::metadata_support::MetadataSupport;
use crate::model::reason::Reason;
use crate::model::settled::{Failure, destination};
use crate::remote::receiver::connection::BufferSpace;
use crate::remote::receiver::session::SourceDir;

/// Permission bits of the owner. Without them, no entries can be created in a directory.
pub(crate) const OWNER_ACCESS: u32 = 0o700;

impl Worker<'_> {
    /// Opens a directory in the source, and opens or creates it in the destination. Returns `None` if the directory is
    /// the destination itself, or if it has disappeared.
    pub(crate) fn start_dir(
        &mut self,
        node: &Arc<DirNode>,
    ) -> Result<Option<Arc<DirState>>, Reason> {
        let Some(top) = &self.job.roots.source else { return Ok(None) };
        let source = |op| move |source| Reason::Source { op, source };
        let from = match self.open(Side::Source, node) {
            Err(e) if e.kind() == ErrorKind::NotFound && node.parent().is_some() => {
                self.outcome.counts.vanished += 1;
                return Ok(None);
            }
            Err(e) if e.kind() == ErrorKind::PermissionDenied && node.parent().is_some() => {
                return self.start_unreadable(node, e).map(Some);
            }
            from => from.map_err(source(Op::Open))?,
        };
        let stat = from.stat().map_err(source(Op::Stat))?;
        let volume = self.job.volume(&from, stat.device).map_err(source(Op::Stat))?;
        if self.job.roots.is_destination(&from, &stat, &volume) {
            self.outcome.leave_out(LeftOut::Destination, || node.path());
            return Ok(None);
        }
        let attributes = Attributes::read(from.xattrs(), || from.acls());
        let attributes = attributes.map_err(source(Op::Read))?;
        if let Some(why) = top.left_out_dir(&volume) {
            self.outcome.leave_out(why, || node.path());
        }
        let is_entered = top.enters(self.job.options, &stat, &volume);
        let traits = DirTraits {
            source_device: self.job.link_groups.device(stat.device),
            lists_inodes: volume.lists_inodes() && !top.mounts_below,
            is_synthetic: volume.is_synthetic(),
            ..DirTraits::default()
        };
        self.start_at(
            node,
            SourceDir { stat, attributes, is_listed: is_entered, space: BufferSpace::default() },
            traits,
            Some(volume),
        )
        .map(Some)
    }

    /// Starts a source directory that cannot be read. The destination's directory gets the owner, permissions and ACLs
    /// of the source directory, and keeps its own entries.
    fn start_unreadable(
        &mut self,
        node: &Arc<DirNode>,
        refused: Error,
    ) -> Result<Arc<DirState>, Reason> {
        let source = |op| move |source| Reason::Source { op, source };
        let Some(parent) = node.parent() else { return Err(source(Op::Open)(refused)) };
        let above = self.open(Side::Source, parent).map_err(source(Op::Open))?;
        let stat = above.stat_child(node.name()).map_err(source(Op::Stat))?;
        if stat.kind != Kind::Dir {
            return Err(source(Op::Open)(refused));
        }
        let acls = above.child_acls(node.name()).map_err(source(Op::Read))?;
        self.outcome.counts.unread_dirs += 1;
        self.fail(node, b"", source(Op::Open)(refused));
        let attributes = Attributes::new(acls, true);
        let entered =
            SourceDir { stat, attributes, is_listed: false, space: BufferSpace::default() };
        self.start_at(node, entered, DirTraits::default(), None)
    }

    /// Starts a directory whose source is on another host.
    pub(crate) fn start_remote(
        &mut self,
        node: &Arc<DirNode>,
        entered: SourceDir,
    ) -> Result<Arc<DirState>, Reason> {
        let device = u16::try_from(entered.stat.device).expect("listings have 16 bits for it");
        self.start_at(
            node,
            entered,
            DirTraits { source_device: device, ..DirTraits::default() },
            None,
        )
    }

    /// Opens or creates a directory in the destination, and lists it.
    fn start_at(
        &mut self,
        node: &Arc<DirNode>,
        entered: SourceDir,
        mut traits: DirTraits,
        volume: Option<Volume>,
    ) -> Result<Arc<DirState>, Reason> {
        let SourceDir { stat, attributes, is_listed: is_entered, space: _space } = entered;
        let failed = |failure: Failure| failure.into_reason().unwrap_or(Reason::Changed);
        let to = self.start_dest(node, &mut traits).map_err(failed)?;
        let mut dest_listing = DestListing::default();
        let (mut dest, mut dest_xattrs, mut support) = (None, None, MetadataSupport::ALL);
        if let Some(to) = to {
            let now = to.stat().map_err(destination(Op::Stat)).map_err(failed)?;
            let dest_volume = self.job.volume(&to, now.device);
            let dest_volume = dest_volume.map_err(destination(Op::Stat)).map_err(failed)?;
            traits.dest_lists_inodes = dest_volume.lists_inodes();
            traits.max_links = dest_volume.most_links().unwrap_or(u32::MAX);
            traits.can_clone =
                volume.is_some_and(|volume| volume.shares_extents_with(&dest_volume));
            traits.inherits_acl = !self.job.options.dry_run && to.hands_down_acl();
            if !traits.is_unpublished {
                let listed = DestListing::list(&to, self.list_buffer());
                dest_listing = listed.map_err(destination(Op::List)).map_err(failed)?;
                dest_xattrs = self.add_owner_access(&to, node, &now).map_err(failed)?;
            }
            support = self.support(node, &dest_volume, now.device);
            dest = Some(now);
        }
        if attributes.is_partial() && is_entered {
            self.fail(node, b"", Reason::Attributes);
        }
        let attributes = attributes.settable(&self.job.privileges, support);
        node.set_metadata(DirMetadata {
            stat,
            attributes,
            dest_stat: dest,
            dest_xattrs,
            support,
            is_entered,
        });
        Ok(DirState::new(Arc::clone(node), dest_listing, traits))
    }

    /// Opens a directory in the destination, or creates it under a temporary name.
    fn start_dest(
        &mut self,
        node: &Arc<DirNode>,
        traits: &mut DirTraits,
    ) -> Result<Option<Rc<Dir>>, Failure> {
        if node.is(DRY_RUN_ONLY) {
            return Ok(None);
        }
        if node.is(EXISTS) {
            let opened = match self.open(Side::Destination, node) {
                Err(e) if e.kind() == ErrorKind::PermissionDenied => self.open_unreadable(node, e),
                opened => opened,
            };
            return opened.map(Some).map_err(destination(Op::Open));
        }
        if self.job.options.dry_run {
            node.set(DRY_RUN_ONLY);
            return Ok(None);
        }
        let Some(parent) = node.parent() else { return Ok(None) };
        let above = self.open(Side::Destination, parent).map_err(destination(Op::Open))?;
        // Creating a directory changes its parent, even if the new directory is discarded later.
        parent.set(CHANGED);
        match above.make_private_dir(&self.job.temp_names.of(node.name())) {
            Ok(()) => traits.is_unpublished = true,
            // The directory exists if this run has adopted it from a killed run.
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(destination(Op::Create)(e)),
        }
        node.set(HAS_TEMP_NAME | CHANGED);
        self.open(Side::Destination, node).map(Some).map_err(destination(Op::Open))
    }

    /// Grants the owner access to a directory in the destination, and then opens it.
    fn open_unreadable(&mut self, node: &Arc<DirNode>, refused: Error) -> std::io::Result<Rc<Dir>> {
        let Some(parent) = node.parent() else { return Err(refused) };
        if self.job.options.dry_run {
            return Err(refused);
        }
        let above = self.open(Side::Destination, parent)?;
        let now = above.stat_child(node.name())?;
        above.set_child_mode(node.name(), now.mode | OWNER_ACCESS)?;
        node.set(CHANGED);
        self.open(Side::Destination, node)
    }

    /// Grants the owner access to a directory until `Job::set_final_metadata` sets its final permissions. If
    /// permissions were changed, returns the attributes that the directory had before.
    fn add_owner_access(
        &self,
        to: &Dir,
        node: &DirNode,
        now: &Stat,
    ) -> Result<Option<Vec<Xattr>>, Failure> {
        if self.job.privileges.is_root()
            || self.job.options.dry_run
            || now.mode & OWNER_ACCESS == OWNER_ACCESS
        {
            return Ok(None);
        }
        node.set(CHANGED);
        let xattrs = to.xattrs().map_err(destination(Op::Read))?;
        to.set_mode(now.mode | OWNER_ACCESS).map_err(destination(Op::SetMode))?;
        Ok(Some(xattrs))
    }

    /// Gives up on a directory that could not be started.
    pub(crate) fn abandon(&mut self, node: &Arc<DirNode>) {
        self.discard_temp_dir(node);
        self.dir_cache.close(node);
        self.release(node);
    }

    /// Schedules the removal of a directory that did not get its final name.
    pub(crate) fn discard_temp_dir(&self, node: &Arc<DirNode>) {
        if let Some(parent) = node.parent().filter(|_| node.is(HAS_TEMP_NAME)) {
            self.job.extraneous().add_leftover(parent, &self.job.temp_names.of(node.name()));
        }
    }
}

/// Returns the initial state of a subdirectory of `parent`. `dest` is the destination's entry of the same name.
pub(crate) fn child_state(parent: &DirNode, dest: Option<DestEntry>) -> u8 {
    let imagined = if parent.is(DRY_RUN_ONLY) { DRY_RUN_ONLY } else { 0 };
    match dest {
        None => imagined,
        Some(dest) if dest.kind == Kind::Dir => EXISTS,
        Some(_) => imagined | REPLACES_OTHER,
    }
}
