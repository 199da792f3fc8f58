//! Reads the metadata of names in the source. If the source is on another host, the metadata comes from the listing.

use std::io::{Error, ErrorKind};

use fsops::{File, Op, Stat};
use wire::ContentHint;

use crate::engine::dir_cache::Side;
use crate::engine::entry::Entry;
use crate::engine::worker::Worker;
use crate::model::attributes::Attributes;
use crate::model::content::ContentHints;
use crate::model::reason::Reason;
use crate::model::settled::Failure;

impl Worker<'_> {
    /// Returns the metadata of a name in the source.
    pub(crate) fn source_stat(&mut self, entry: Entry<'_>) -> Result<Stat, Failure> {
        if let Some(remote) = entry.remote {
            return Ok(remote.stat);
        }
        let dir = self.open(Side::Source, &entry.dir.node);
        let stat = dir.and_then(|dir| dir.stat_child(entry.name));
        stat.map_err(|e| self.source_failure(Op::Stat, e))
    }

    /// Returns those attributes of a source entry that can be set on a copy.
    pub(crate) fn source_attributes(&mut self, entry: Entry<'_>) -> Result<Attributes, Failure> {
        if let Some(remote) = entry.remote {
            return Ok(self.usable(entry, remote.attributes.clone()));
        }
        let dir = self.open(Side::Source, &entry.dir.node);
        let attributes = dir.and_then(|dir| {
            Attributes::read(dir.child_xattrs(entry.name), || dir.child_acls(entry.name))
        });
        let attributes = attributes.map_err(|e| self.source_failure(Op::Read, e))?;
        Ok(self.usable(entry, attributes))
    }

    /// Returns those attributes of an open source file that can be set on a copy.
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

    /// Drops the attributes that cannot be set on a copy. If some attributes could not be read, reports the name once.
    fn usable(&mut self, entry: Entry<'_>, attributes: Attributes) -> Attributes {
        if attributes.is_partial()
            && self.partial_attributes.replace(entry.id()) != Some(entry.id())
        {
            self.fail(&entry.dir.node, entry.name.to_bytes(), Reason::Attributes);
        }
        attributes.settable(&self.job.privileges, entry.dir.node.support())
    }

    /// Returns the target of a symbolic link in the source.
    pub(crate) fn source_target(&mut self, entry: Entry<'_>) -> Result<Vec<u8>, Failure> {
        if let Some(remote) = entry.remote {
            return Ok(remote.target.clone());
        }
        let dir = self.open(Side::Source, &entry.dir.node);
        let target = dir.and_then(|dir| dir.read_symlink(entry.name));
        target.map_err(|e| self.source_failure(Op::Read, e))
    }

    /// Opens a source file on this host.
    pub(crate) fn open_source_file(&mut self, entry: Entry<'_>) -> Result<File, Failure> {
        let dir = self.open(Side::Source, &entry.dir.node);
        let file = dir.and_then(|dir| dir.open_file_quietly(entry.name));
        file.map_err(|e| self.source_failure(Op::Open, e))
    }

    /// Returns the failure for an error in the source. Counts the entry as vanished if it does not exist.
    pub(crate) fn source_failure(&mut self, op: Op, source: Error) -> Failure {
        if source.kind() == ErrorKind::NotFound {
            self.outcome.counts.vanished += 1;
            return Failure::Vanished;
        }
        Failure::Failed(Reason::Source { op, source })
    }
}

/// Returns the facts about a source file's content that an earlier scan recorded.
pub(crate) fn source_hint(
    hints: &dyn ContentHints,
    entry: Entry<'_>,
    stat: &Stat,
) -> Option<ContentHint> {
    match entry.remote {
        Some(remote) => remote.hint.as_deref().cloned(),
        None => hints.of_source(&entry.dir.node.path(), entry.name.to_bytes(), stat),
    }
}
