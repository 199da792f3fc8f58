//! What is known of a name in the source: asked of the file system, or told with the listing if the source is on
//! another host.

use std::io::{Error, ErrorKind};

use fsops::{File, Op, Stat};

use crate::engine::dir_cache::Side;
use crate::engine::entry::Name;
use crate::engine::worker::Worker;
use crate::model::attributes::Attributes;
use crate::model::reason::Reason;
use crate::model::settled::Failure;

impl Worker<'_> {
    /// Returns the metadata of a name in the source.
    pub(crate) fn source_stat(&mut self, name: Name<'_>) -> Result<Stat, Failure> {
        if let Some(record) = name.record {
            return Ok(record.stat);
        }
        let dir = self.open(Side::Source, &name.site.node);
        let stat = dir.and_then(|dir| dir.stat_child(name.name));
        stat.map_err(|e| self.source_failure(Op::Stat, e))
    }

    /// Returns those attributes of a name in the source that can be set.
    pub(crate) fn source_attributes(&mut self, name: Name<'_>) -> Result<Attributes, Failure> {
        if let Some(record) = name.record {
            return Ok(self.usable(name, record.attributes.clone()));
        }
        let dir = self.open(Side::Source, &name.site.node);
        let attributes = dir.and_then(|dir| {
            Attributes::read(dir.child_xattrs(name.name), || dir.child_acls(name.name))
        });
        let attributes = attributes.map_err(|e| self.source_failure(Op::Read, e))?;
        Ok(self.usable(name, attributes))
    }

    /// Returns those attributes of an open file of the source that can be set.
    pub(crate) fn file_attributes(
        &mut self,
        name: Name<'_>,
        file: &File,
    ) -> Result<Attributes, Failure> {
        let acls = || self.open(Side::Source, &name.site.node)?.child_acls(name.name);
        let attributes = Attributes::read(file.xattrs(), acls);
        let attributes = attributes.map_err(|e| self.source_failure(Op::Read, e))?;
        Ok(self.usable(name, attributes))
    }

    /// Keeps what can be set, and notes once if there are others that could not be read.
    fn usable(&mut self, name: Name<'_>, attributes: Attributes) -> Attributes {
        if attributes.is_partial() && self.in_part.replace(name.id()) != Some(name.id()) {
            self.fail(&name.site.node, name.name.to_bytes(), Reason::Attributes);
        }
        attributes.settable(&self.job.rights, name.site.node.keeps())
    }

    /// Returns what a symbolic link of the source is to.
    pub(crate) fn source_target(&mut self, name: Name<'_>) -> Result<Vec<u8>, Failure> {
        if let Some(record) = name.record {
            return Ok(record.target.clone());
        }
        let dir = self.open(Side::Source, &name.site.node);
        let target = dir.and_then(|dir| dir.read_symlink(name.name));
        target.map_err(|e| self.source_failure(Op::Read, e))
    }

    /// Opens a file of the source, which is on this host.
    pub(crate) fn source_file(&mut self, name: Name<'_>) -> Result<File, Failure> {
        let dir = self.open(Side::Source, &name.site.node);
        let file = dir.and_then(|dir| dir.open_file_quietly(name.name));
        file.map_err(|e| self.source_failure(Op::Open, e))
    }

    /// Returns how a call on the source failed; what is gone is no failure.
    pub(crate) fn source_failure(&mut self, op: Op, source: Error) -> Failure {
        if source.kind() == ErrorKind::NotFound {
            self.outcome.vanished += 1;
            return None;
        }
        Some(Reason::Source { op, source })
    }
}
