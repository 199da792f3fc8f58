//! A source on this host, and functions that read the metadata of source entries.

use std::io::{Error, ErrorKind};

use fsops::{File, Op, Stat};
use wire::{ContentHint, Differences};

use crate::engine::dir_cache::Side;
use crate::engine::entry::Entry;
use crate::engine::worker::Worker;
use crate::engine::worker::source::{ComparedFile, ContentComparison, Reuse, Source};
use crate::hardlinks::groups::Leader;
use crate::hardlinks::table::SourceInode;
use crate::model::attributes::Attributes;
use crate::model::content::ContentHints;
use crate::model::reason::Reason;
use crate::model::settled::{DestInode, Failure, Settled};
use crate::reuse::contents::Lookup;

/// A source on this host. It has no connection, so it keeps the defaults of the methods that deal with one.
pub(crate) struct LocalSource;

impl Source for LocalSource {
    fn is_local(&self) -> bool {
        true
    }

    fn stat(&self, worker: &mut Worker<'_>, entry: Entry<'_>) -> Result<Stat, Failure> {
        let dir = worker.open(Side::Source, &entry.dir.node);
        let stat = dir.and_then(|dir| worker.job.birth_clock.stat_child(&dir, entry.name));
        stat.map_err(|e| worker.source_failure(Op::Stat, e))
    }

    fn attributes(&self, worker: &mut Worker<'_>, entry: Entry<'_>) -> Result<Attributes, Failure> {
        let dir = worker.open(Side::Source, &entry.dir.node);
        let attributes = dir.and_then(|dir| {
            Attributes::read(dir.child_xattrs(entry.name), || dir.child_acls(entry.name))
        });
        attributes.map_err(|e| worker.source_failure(Op::Read, e))
    }

    fn symlink_target(
        &self,
        worker: &mut Worker<'_>,
        entry: Entry<'_>,
    ) -> Result<Vec<u8>, Failure> {
        let dir = worker.open(Side::Source, &entry.dir.node);
        let target = dir.and_then(|dir| dir.read_symlink(entry.name));
        target.map_err(|e| worker.source_failure(Op::Read, e))
    }

    fn content_hint(
        &self,
        hints: &dyn ContentHints,
        entry: Entry<'_>,
        stat: &Stat,
    ) -> Option<ContentHint> {
        hints.of_source(&entry.dir.node.path(), entry.name.to_bytes(), stat)
    }

    fn look_up_content(&self, _: &Worker<'_>, _: Entry<'_>, _: &Stat, _: [u8; 32]) -> Lookup {
        Lookup::Unknown
    }

    fn compare_file(
        &self,
        worker: &mut Worker<'_>,
        entry: Entry<'_>,
        with: ComparedFile<'_>,
    ) -> Result<ContentComparison, Failure> {
        let source = worker.open_source_file(entry)?;
        let differs = worker.contents_differ(&source, with.file, with.size)?;
        Ok(if differs { ContentComparison::Different } else { ContentComparison::Same })
    }

    fn create_file(
        &self,
        worker: &mut Worker<'_>,
        entry: Entry<'_>,
        stat: &Stat,
        replaces: Option<Differences>,
    ) -> Result<Settled, Failure> {
        let source = worker.open_source_file(entry)?;
        if worker.defer_copy(entry, &source, stat, replaces) {
            return Ok(Settled::Pending);
        }
        worker.copy(entry, &source, stat, replaces.is_some()).map(Settled::Done)
    }

    fn reuse_file(
        &self,
        worker: &mut Worker<'_>,
        entry: Entry<'_>,
        stat: &Stat,
        reuse: Reuse<'_>,
    ) -> Result<Option<Settled>, Failure> {
        worker.clone_or_adopt(entry, stat, &reuse)
    }

    fn copy_again(
        &self,
        worker: &mut Worker<'_>,
        entry: Entry<'_>,
        stat: &Stat,
        _: &Leader,
        _: SourceInode,
    ) -> Result<Option<DestInode>, Failure> {
        worker.copies_at_once = true;
        let settled = worker.create_or_update(entry, stat);
        worker.copies_at_once = false;
        worker.counted_bytes = 0;
        match settled? {
            Settled::Done(inode) => Ok(Some(inode)),
            Settled::Pending => Err(Failure::Stopped),
        }
    }

    fn add_dir(&self, _: &mut Worker<'_>, entry: Entry<'_>, inode: u64) {
        entry.dir.add_child(entry.name, inode, entry.dest);
    }

    fn count_missing_dir(&self, worker: &mut Worker<'_>, entry: Entry<'_>, _: u64) {
        worker.count_missing(&entry.dir.node.child_path(entry.name.to_bytes()));
    }
}

impl Worker<'_> {
    /// Returns the attributes of a source entry, limited to those that can be set on a copy.
    pub(crate) fn source_attributes(&mut self, entry: Entry<'_>) -> Result<Attributes, Failure> {
        let attributes = self.source.attributes(self, entry)?;
        Ok(self.usable(entry, attributes))
    }

    /// Returns the attributes of an open source file, limited to those that can be set on a copy.
    pub(crate) fn file_attributes(
        &mut self,
        entry: Entry<'_>,
        file: &File,
    ) -> Result<Attributes, Failure> {
        let acls = || self.open(Side::Source, &entry.dir.node)?.child_acls(entry.name);
        let attributes = Attributes::read(file.xattrs(), acls);
        let attributes = attributes.map_err(|e| self.source_failure(Op::Read, e))?;
        Ok(self.usable(entry, attributes))
    }

    /// Drops the attributes that cannot be set. If some attributes could not be read, reports this once per name.
    fn usable(&mut self, entry: Entry<'_>, attributes: Attributes) -> Attributes {
        if attributes.is_partial()
            && self.partial_attributes.replace(entry.id()) != Some(entry.id())
        {
            self.fail(&entry.dir.node, entry.name.to_bytes(), Reason::Attributes);
        }
        attributes.settable(&self.job.privileges, entry.dir.node.support())
    }

    /// Opens a source file on this host.
    pub(crate) fn open_source_file(&mut self, entry: Entry<'_>) -> Result<File, Failure> {
        let dir = self.open(Side::Source, &entry.dir.node);
        let file = dir.and_then(|dir| dir.open_file_quietly(entry.name));
        file.map_err(|e| self.source_failure(Op::Open, e))
    }

    /// Turns an error of a system call on the source into a failure. Counts the entry as vanished if it no longer
    /// exists.
    pub(crate) fn source_failure(&mut self, op: Op, source: Error) -> Failure {
        if source.kind() == ErrorKind::NotFound {
            self.outcome.counts.vanished += 1;
            return Failure::Vanished;
        }
        Failure::Failed(Reason::Source { op, source })
    }
}
