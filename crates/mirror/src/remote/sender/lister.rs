//! The file lister. It lists the tree depth first, as far ahead as the receiver's credit allows.

use std::ffi::CStr;
use std::io::{Error, ErrorKind};
use std::rc::Rc;
use std::sync::Arc;

use fsops::{Dir, DirBuffer, Kind, Stat};
use wire::{
    ConnectionError, ContentHint, EnteredDir, FileList, FromSender, LeftOut, Loss, Meta, Op,
};

use crate::engine::batch::Batch;
use crate::engine::dir_cache::{DirCache, Side};
use crate::model::attributes::Attributes;
use crate::model::content::MIN_REUSED_BYTES;
use crate::model::dir_node::DirNode;
use crate::remote::sender::listed_inode::{InodeInfo, ListedInode, OtherInode, facts_of, inspect};
use crate::remote::sender::{SendJob, SentListing, loss_of, meta_of};

/// The size of names and attributes at which a listing is sent. This size makes the overhead per
/// message negligible, but still gives the receiver work early.
const MAX_LISTING_BYTES: usize = 32 << 10;

/// The thread that lists the tree.
pub(crate) struct FileLister<'s, 'a> {
    sending: &'s SendJob<'a>,
    dir_cache: DirCache,
    listing: DirBuffer,
    /// A stack of numbered directories to list. The last element is listed next.
    pending_dirs: Vec<(u64, Arc<DirNode>)>,
    last_number: u64,
    devices: Vec<u64>,
}

/// A directory that is being listed.
struct ListedDir {
    number: u64,
    node: Arc<DirNode>,
    dir: Rc<Dir>,
    device: u16,
    /// True if names with the same inode number refer to the same file.
    lists_inodes: bool,
    /// True if the kernel generates file content on each read, as in `/proc`.
    is_synthetic: bool,
}

impl<'s, 'a> FileLister<'s, 'a> {
    pub(crate) fn new(sending: &'s SendJob<'a>) -> FileLister<'s, 'a> {
        FileLister {
            sending,
            dir_cache: DirCache::new(sending.options.open_dirs),
            listing: DirBuffer::default(),
            pending_dirs: vec![(0, DirNode::top())],
            last_number: 0,
            devices: Vec::new(),
        }
    }

    pub(crate) fn run(mut self) -> Result<(), ConnectionError> {
        while let Some((number, node)) = self.pending_dirs.pop() {
            if self.sending.is_over() {
                return Err(ConnectionError::Stopped);
            }
            match self.enter(number, &node) {
                Ok(Some(listed)) => self.list(&listed)?,
                Ok(None) => {
                    let left = FromSender::Leave { dir: number, whole: false };
                    self.sending.out.send(&left, &[])?;
                }
                Err(Ok(loss)) => {
                    // The root existed when the run began, so a missing root is a failure.
                    let gone = Loss::Failed(Op::Open, wire::Error(libc::ENOENT));
                    let is_top = number == 0 && loss == Loss::Vanished;
                    let loss = if is_top { gone } else { loss };
                    self.sending.out.send(&FromSender::Closed { dir: number, loss }, &[])?;
                }
                Err(Err(broken)) => return Err(broken),
            }
            self.dir_cache.close(&node);
        }
        self.sending.out.flush()
    }

    /// Opens and announces a directory. Returns `None` if its entries are not sent.
    fn enter(
        &mut self,
        number: u64,
        node: &Arc<DirNode>,
    ) -> Result<Option<ListedDir>, Result<Loss, ConnectionError>> {
        let failed = |op| move |e: std::io::Error| Ok(loss_of(op, &e));
        let source = self.sending.source;
        let dir = match open_source_dir(&mut self.dir_cache, &source.top.dir, node) {
            Err(e) if e.kind() == ErrorKind::PermissionDenied && number > 0 => {
                self.announce_unreadable(number, node, &e)?;
                return Ok(None);
            }
            dir => dir.map_err(failed(Op::Open))?,
        };
        let stat = dir.stat().map_err(failed(Op::Stat))?;
        if self.sending.not_into == Some(stat.key()) {
            return Err(Ok(Loss::LeftOut(LeftOut::Destination)));
        }
        let attributes = Attributes::read(dir.xattrs(), || dir.acls()).map_err(failed(Op::Read))?;
        let volume = dir.volume().map_err(failed(Op::Stat))?;
        let device = self.device(&stat);
        let is_entered = source.enters(self.sending.options, &stat, &volume);
        let meta = meta_of(&stat, device);
        if self.announce_dir(number, meta, &attributes, is_entered)?.is_none() {
            // The attributes do not fit into a message, so send only the ACLs.
            let acls = Attributes::new(dir.acls().map_err(failed(Op::Read))?, true);
            self.announce_dir(number, meta, &acls, is_entered)?.ok_or(Ok(too_large()))?;
        }
        if let Some(why) = source.left_out_dir(&volume) {
            let loss = Loss::LeftOut(why);
            let left_out = FromSender::Failed { dir: number, name: b"", loss };
            self.sending.out.send(&left_out, &[]).map_err(Err)?;
        }
        let node = Arc::clone(node);
        Ok(is_entered.then_some(ListedDir {
            number,
            node,
            dir,
            device,
            lists_inodes: volume.lists_inodes() && !source.mounts_below,
            is_synthetic: volume.is_synthetic(),
        }))
    }

    /// Announces a directory. Returns `None` if the announcement does not fit into a message.
    fn announce_dir(
        &self,
        dir: u64,
        meta: Meta,
        attributes: &Attributes,
        is_entered: bool,
    ) -> Result<Option<()>, Result<Loss, ConnectionError>> {
        let facts = facts_of(meta, attributes);
        let enter = FromSender::Enter(EnteredDir { dir, facts, is_entered });
        let Ok(message) = wire::encode(&enter) else { return Ok(None) };
        self.sending.out.send_encoded(&message).map(Some).map_err(Err)
    }

    /// Tells the receiver that a directory cannot be read, and why.
    fn announce_unreadable(
        &mut self,
        number: u64,
        node: &Arc<DirNode>,
        refused: &Error,
    ) -> Result<(), Result<Loss, ConnectionError>> {
        let loss = loss_of(Op::Open, refused);
        let failed = |op| move |e: Error| Ok(loss_of(op, &e));
        let Some(parent) = node.parent() else { return Err(Ok(loss)) };
        let above = open_source_dir(&mut self.dir_cache, &self.sending.source.top.dir, parent);
        let above = above.map_err(failed(Op::Open))?;
        let stat = above.stat_child(node.name()).map_err(failed(Op::Stat))?;
        if stat.kind != Kind::Dir {
            return Err(Ok(loss));
        }
        let acls = above.child_acls(node.name()).map_err(failed(Op::Read))?;
        let meta = meta_of(&stat, self.device(&stat));
        self.announce_dir(number, meta, &Attributes::new(acls, true), false)?;
        let failed = FromSender::Failed { dir: number, name: b"", loss };
        self.sending.out.send(&failed, &[]).map_err(Err)
    }

    fn list(&mut self, listed: &ListedDir) -> Result<(), ConnectionError> {
        let mut left_out = Vec::new();
        let first = self.pending_dirs.len();
        let whole = loop {
            let leave_out = |why, name: &[u8]| left_out.push((why, name.to_vec()));
            let (options, listing) = (self.sending.options, &mut self.listing);
            let (batch, more) = Batch::fill(&listed.dir, &listed.node, options, listing, leave_out);
            for (why, name) in left_out.drain(..) {
                self.fail(listed, &name, Loss::LeftOut(why))?;
            }
            self.send_names(listed, &batch)?;
            match more {
                Ok(true) => {}
                Ok(false) => break true,
                Err(e) => {
                    self.fail(listed, b"", loss_of(Op::List, &e))?;
                    break false;
                }
            }
        };
        // The directories were added in inode order. Reverse them, because the last element is
        // listed first.
        self.pending_dirs[first..].reverse();
        self.sending.out.send(&FromSender::Leave { dir: listed.number, whole }, &[])
    }

    /// Sends names in as many listings as necessary.
    ///
    /// # Errors
    ///
    /// Fails if the connection is lost or the run is stopped. The receiver MUST NOT conclude that
    /// names missing from an incomplete listing do not exist.
    fn send_names(&mut self, listed: &ListedDir, batch: &Batch) -> Result<(), ConnectionError> {
        let mut next = 0;
        while next < batch.len() {
            let number = self.sending.reserve_listing()?;
            let mut groups = Vec::new();
            let mut bytes = 0;
            while next < batch.len() && bytes < MAX_LISTING_BYTES {
                let from = next;
                next = self.collect_inode(listed, batch, from, &mut groups)?;
                bytes += groups.last().map_or(0, |group: &ListedInode| group.bytes(batch));
            }
            self.send_listing(listed, batch, number, groups)?;
        }
        Ok(())
    }

    /// Collects the names of the next inode. Returns the index of the first name after them.
    fn collect_inode(
        &mut self,
        listed: &ListedDir,
        batch: &Batch,
        from: usize,
        groups: &mut Vec<ListedInode>,
    ) -> Result<usize, ConnectionError> {
        let first = batch.get(from);
        let mut end = from + 1;
        let info = if first.is_dir {
            InodeInfo::Dir(self.add_dir(listed, first.name))
        } else {
            let looked_at = inspect(&listed.dir, first.name, &self.sending.birth_clock);
            let (stat, attributes, target) = match looked_at {
                Ok(looked_at) => looked_at,
                Err(loss) => {
                    self.fail(listed, first.name.to_bytes(), loss)?;
                    return Ok(end);
                }
            };
            // The entry was replaced by a directory after it was listed.
            if stat.kind == Kind::Dir {
                let number = self.add_dir(listed, first.name);
                groups.push(ListedInode { info: InodeInfo::Dir(number), names: vec![from] });
                return Ok(end);
            }
            if listed.is_synthetic && stat.kind == Kind::File && stat.size == 0 {
                self.fail(listed, first.name.to_bytes(), Loss::MadeUp)?;
                return Ok(end);
            }
            // Since the listing, another file may have got the inode number.
            let is_named = |index: &usize| {
                let next = batch.get(*index);
                let is_listed = stat.links > 1 && stat.inode == next.inode && !next.is_dir;
                is_listed && listed.dir.stat_child(next.name).is_ok_and(|now| now.same_file(&stat))
            };
            if listed.lists_inodes && stat.inode == first.inode {
                end += (end..batch.len()).take_while(is_named).take(MAX_LISTING_BYTES / 16).count();
            }
            let hint = self.hint(listed, first.name, &stat);
            InodeInfo::Other(
                Box::new(OtherInode { meta: meta_of(&stat, listed.device), attributes, target }),
                hint,
            )
        };
        groups.push(ListedInode { info, names: (from..end).collect() });
        Ok(end)
    }

    /// Returns the information about a file from an earlier scan, if the receiver reuses content.
    fn hint(&self, listed: &ListedDir, name: &CStr, stat: &Stat) -> Option<ContentHint> {
        let content_hints = self.sending.options.content_hints.as_ref()?;
        let wanted = stat.kind == Kind::File && stat.size >= MIN_REUSED_BYTES;
        wanted.then(|| content_hints.of_source(&listed.node.path(), name.to_bytes(), stat))?
    }

    /// Assigns a number to a directory and adds it to the directories to list.
    fn add_dir(&mut self, listed: &ListedDir, name: &CStr) -> u64 {
        self.last_number += 1;
        self.pending_dirs.push((self.last_number, DirNode::child(&listed.node, name, 0)));
        self.last_number
    }

    fn send_listing(
        &mut self,
        listed: &ListedDir,
        batch: &Batch,
        number: u64,
        mut groups: Vec<ListedInode>,
    ) -> Result<(), ConnectionError> {
        let message = loop {
            let records = groups.iter().map(|group| group.record(batch)).collect();
            let names = FileList { dir: listed.number, window: number, records };
            if let Ok(message) = wire::encode(&FromSender::Names(names)) {
                break message;
            }
            // The attributes of the last inode do not fit into a message, so keep only its ACLs.
            if groups.last_mut().is_some_and(|group| group.keep_only_acls(&listed.dir, batch)) {
                continue;
            }
            if let Some(group) = groups.pop() {
                for index in group.names {
                    self.fail(listed, batch.get(index).name.to_bytes(), too_large())?;
                }
            }
        };
        let mut listing =
            SentListing { node: Arc::clone(&listed.node), items: Vec::new(), bytes: Vec::new() };
        for group in &groups {
            for &index in &group.names {
                let at = walk::to_u32(listing.bytes.len());
                listing.items.push(at);
                listing.bytes.extend_from_slice(batch.get(index).name.to_bytes_with_nul());
            }
        }
        self.sending.register(number, listing, message.len());
        self.sending.out.send_encoded(&message)
    }

    fn fail(&self, listed: &ListedDir, name: &[u8], loss: Loss) -> Result<(), ConnectionError> {
        self.sending.out.send(&FromSender::Failed { dir: listed.number, name, loss }, &[])
    }

    /// Returns the small number that stands for a device in messages, assigning one if necessary.
    fn device(&mut self, stat: &Stat) -> u16 {
        let known = self.devices.iter().position(|&device| device == stat.device);
        let index = known.unwrap_or_else(|| {
            self.devices.push(stat.device);
            self.devices.len() - 1
        });
        u16::try_from(index).expect("fewer than 65,536 devices")
    }
}

/// Returns a source directory from the cache, or opens it.
pub(crate) fn open_source_dir(
    dir_cache: &mut DirCache,
    top: &Dir,
    node: &Arc<DirNode>,
) -> std::io::Result<Rc<Dir>> {
    if let Some(dir) = dir_cache.get(Side::Source, node) {
        return Ok(dir);
    }
    let dir = match node.parent() {
        None => top.open_child(c"."),
        Some(parent) => match dir_cache.get(Side::Source, parent) {
            Some(dir) => dir.open_child(node.name()),
            None => top.open_below(&node.path()),
        },
    };
    let dir = dir?;
    dir.list_quietly();
    Ok(dir_cache.put(Side::Source, node, dir))
}

/// Returns the [`Loss`] for an entry whose attributes do not fit into a message.
fn too_large() -> Loss {
    Loss::Failed(Op::Read, wire::Error(libc::E2BIG))
}
