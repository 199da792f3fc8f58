//! An inode in a listing, with its names in the listed directory.

use std::borrow::Cow;
use std::ffi::CStr;

use fsops::{Dir, Kind, Stat};
use wire::{ContentHint, FileListEntry, InodeMetadata, Item, Loss, Meta, Op};

use crate::engine::batch::Batch;
use crate::hardlinks::birth::BirthClock;
use crate::model::attributes::Attributes;
use crate::remote::sender::loss_of;

/// An inode and its names in a batch.
pub(crate) struct ListedInode {
    pub(crate) info: InodeInfo,
    /// The indices of the names in the batch.
    pub(crate) names: Vec<usize>,
}

pub(crate) enum InodeInfo {
    Dir(u64),
    Other(Box<OtherInode>, Option<ContentHint>),
}

/// An inode that is not a directory.
pub(crate) struct OtherInode {
    pub(crate) meta: Meta,
    pub(crate) attributes: Attributes,
    /// The target of a symbolic link.
    pub(crate) target: Vec<u8>,
}

impl ListedInode {
    pub(crate) fn record<'g>(&'g self, batch: &'g Batch) -> FileListEntry<'g> {
        let names = self.names.iter().map(|&index| batch.get(index).name.to_bytes()).collect();
        let mut content = None;
        let item = match &self.info {
            InodeInfo::Dir(number) => Item::Dir(*number),
            InodeInfo::Other(inode, hint) => {
                let OtherInode { meta, attributes, target } = &**inode;
                content = hint.as_ref().map(Cow::Borrowed);
                Item::Other(facts_of(*meta, attributes), target)
            }
        };
        FileListEntry { item, names, content }
    }

    /// Drops all attributes except ACLs. Returns false for directories and on repeated calls.
    pub(crate) fn keep_only_acls(&mut self, dir: &Dir, batch: &Batch) -> bool {
        let (InodeInfo::Other(inode, _), Some(&index)) = (&mut self.info, self.names.first())
        else {
            return false;
        };
        let acls = dir.child_acls(batch.get(index).name);
        let had_more = !inode.attributes.is_partial();
        inode.attributes = Attributes::new(acls.unwrap_or_default(), true);
        had_more
    }

    pub(crate) fn bytes(&self, batch: &Batch) -> usize {
        let names: usize =
            self.names.iter().map(|&index| batch.get(index).name.to_bytes().len() + 1).sum();
        let facts = match &self.info {
            InodeInfo::Dir(_) => 0,
            InodeInfo::Other(inode, hint) => {
                let values =
                    inode.attributes.all().iter().map(|(name, value)| name.len() + value.len());
                let hint = hint.as_ref().map_or(0, |hint| hint.digest.len() + hint.also.len());
                values.sum::<usize>() + inode.target.len() + 48 + hint
            }
        };
        names + facts
    }
}

/// Reads the metadata of an entry without reading file content.
pub(crate) fn inspect(
    dir: &Dir,
    name: &CStr,
    clock: &BirthClock,
) -> Result<(Stat, Attributes, Vec<u8>), Loss> {
    let stat = clock.stat_child(dir, name).map_err(|e| loss_of(Op::Stat, &e))?;
    if stat.kind == Kind::Dir {
        return Ok((stat, Attributes::default(), Vec::new()));
    }
    let read = |e| loss_of(Op::Read, &e);
    let attributes = Attributes::read(dir.child_xattrs(name), || dir.child_acls(name));
    let attributes = attributes.map_err(read)?;
    let target = match stat.kind {
        Kind::Symlink => dir.read_symlink(name).map_err(read)?,
        _ => Vec::new(),
    };
    Ok((stat, attributes, target))
}

pub(crate) fn facts_of(meta: Meta, attributes: &Attributes) -> InodeMetadata<'_> {
    let xattrs = attributes.all().iter().map(|(name, value)| (&name[..], &value[..])).collect();
    InodeMetadata { meta, xattrs, partial: attributes.is_partial() }
}
