//! Compares an entry in the destination with the entry of the same name in the source.
//!
//! Differences that the destination cannot represent are ignored. Times are compared as the destination's file system
//! would store them. Owners and permissions are compared only if the file system supports them.

use content::{CompareOptions, partition};
use fsops::{Dir, Kind, Op, Stat};

use crate::engine::dir_cache::Side;
use crate::engine::entry::Entry;
use crate::engine::worker::Worker;
use crate::model::metadata_support::MetadataSupport;
use crate::model::settled::{Failure, destination};
use wire::Differences;

impl Worker<'_> {
    /// Compares the source entry, whose metadata is `stat`, with the destination entry, whose metadata is `now`.
    pub(crate) fn compare(
        &mut self,
        entry: Entry<'_>,
        stat: &Stat,
        now: &Stat,
    ) -> Result<Differences, Failure> {
        let mut differences = self.compare_metadata(entry.dir.node.support(), stat, now);
        if differences.kind {
            return Ok(differences);
        }
        let node = &entry.dir.node;
        differences.time = differences.time && self.time_differs(node, stat.mtime, now);
        let to = self.open(Side::Destination, &entry.dir.node);
        let to = to.map_err(destination(Op::Open))?;
        differences.content |= match stat.kind {
            Kind::Symlink => {
                self.source.symlink_target(self, entry)?
                    != to.read_symlink(entry.name).map_err(destination(Op::Read))?
            }
            Kind::File
                if self.job.options.checksum && !differences.content && self.source.is_local() =>
            {
                self.source_content_differs(entry, &to, stat.size)?
            }
            _ => false,
        };
        let recreate = differences.content || differences.time && stat.kind == Kind::File;
        if !recreate {
            let wanted = self.source_attributes(entry)?;
            let now = to.child_xattrs(entry.name).map_err(destination(Op::Read))?;
            differences.xattrs = wanted.differ(&self.job.privileges, node.support(), now);
        }
        Ok(differences)
    }

    /// Compares only the metadata, as far as the destination supports it.
    pub(crate) fn compare_metadata(
        &self,
        support: MetadataSupport,
        stat: &Stat,
        now: &Stat,
    ) -> Differences {
        let privileges = &self.job.privileges;
        let kind = stat.mode & 0o170_000 != now.mode & 0o170_000;
        let owner = (now.uid, now.gid);
        let mode = privileges.mode(support, owner, stat);
        Differences {
            kind,
            content: stat.kind == Kind::File && stat.size != now.size
                || stat.kind == Kind::Device && stat.special != now.special,
            time: stat.mtime != now.mtime,
            mode: stat.kind != Kind::Symlink && mode.is_some_and(|mode| mode != now.mode & 0o7777),
            owner: privileges.owner(support, owner, stat).is_some(),
            ..Differences::default()
        }
    }

    /// Reads a file in the source and in the destination. Returns whether the contents differ.
    pub(crate) fn source_content_differs(
        &mut self,
        entry: Entry<'_>,
        to: &Dir,
        size: u64,
    ) -> Result<bool, Failure> {
        if size == 0 {
            return Ok(false);
        }
        let one = self.open_source_file(entry)?;
        let other = to.open_regular(entry.name).map_err(destination(Op::Open))?;
        self.contents_differ(&one, &other, size)
    }

    /// Returns true if the first `size` bytes of two files differ, or if one of the files cannot be read.
    pub(crate) fn contents_differ(
        &mut self,
        one: &fsops::File,
        other: &fsops::File,
        size: u64,
    ) -> Result<bool, Failure> {
        let traits = CompareOptions { sparse: true, digest: false, quantum: 1 << 20 };
        let files = [one, other];
        let (parts, failures) =
            partition(&files, size, traits, &mut self.scratch, self.job.progress)
                .map_err(|_| Failure::Stopped)?;
        Ok(!failures.is_empty() || !parts.iter().any(|part| part.members.len() == 2))
    }
}
