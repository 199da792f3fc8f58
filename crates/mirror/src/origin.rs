//! What is known of a name in the source: asked of the file system, or told with the listing if the source is on
//! another host.

use std::io::{Error, ErrorKind};

use fsops::{Op, Stat, Xattr};

use crate::held::Side;
use crate::name::{Failure, Name};
use crate::outcome::Reason;
use crate::worker::Worker;

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
    pub(crate) fn source_xattrs(&mut self, name: Name<'_>) -> Result<Vec<Xattr>, Failure> {
        if let Some(record) = name.record {
            return Ok(self.job.rights.settable(record.xattrs.clone()));
        }
        let dir = self.open(Side::Source, &name.site.node);
        let xattrs = dir.and_then(|dir| dir.child_xattrs(name.name));
        let xattrs = xattrs.map_err(|e| self.source_failure(Op::Read, e))?;
        Ok(self.job.rights.settable(xattrs))
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
    pub(crate) fn source_file(&mut self, name: Name<'_>) -> Result<fsops::File, Failure> {
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
