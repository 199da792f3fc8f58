//! In what an entry of the destination differs from that of the source.

use content::{Manner, partition};
use fsops::{Dir, Kind, Op, Stat};

use crate::engine::dir_cache::Side;
use crate::engine::entry::Name;
use crate::engine::worker::Worker;
use crate::model::change::Differs;
use crate::model::metadata_support::Keeps;
use crate::model::settled::Failure;
use crate::model::settled::destination;

impl Worker<'_> {
    /// Compares what has a name on both sides.
    pub(crate) fn compare(
        &mut self,
        name: Name<'_>,
        stat: &Stat,
        now: &Stat,
    ) -> Result<Differs, Failure> {
        let mut differs = self.of_metadata(name.site.node.keeps(), stat, now);
        if differs.kind {
            return Ok(differs);
        }
        let node = &name.site.node;
        differs.time =
            differs.time && self.has_other_time(node, stat.mtime, (now.mtime, now.device));
        let to = self.open(Side::Destination, &name.site.node);
        let to = to.map_err(destination(Op::Open))?;
        differs.content |= match stat.kind {
            Kind::Symlink => {
                self.source_target(name)?
                    != to.read_symlink(name.name).map_err(destination(Op::Read))?
            }
            Kind::File
                if self.job.options.checksum && !differs.content && name.record.is_none() =>
            {
                self.reads_differently(name, &to, stat.size)?
            }
            _ => false,
        };
        let anew = differs.content || differs.time && stat.kind == Kind::File;
        if !anew {
            let wanted = self.source_attributes(name)?;
            let now = to.child_xattrs(name.name).map_err(destination(Op::Read))?;
            differs.xattrs = wanted.differ(&self.job.rights, node.keeps(), now);
        }
        Ok(differs)
    }

    /// Compares what metadata alone tell, of those that are kept.
    pub(crate) fn of_metadata(&self, keeps: Keeps, stat: &Stat, now: &Stat) -> Differs {
        let rights = &self.job.rights;
        let kind = stat.mode & 0o170_000 != now.mode & 0o170_000;
        let owner = (now.uid, now.gid);
        let mode = rights.mode(keeps, owner, stat);
        Differs {
            kind,
            content: stat.kind == Kind::File && stat.size != now.size
                || stat.kind == Kind::Device && stat.special != now.special,
            time: stat.mtime != now.mtime,
            mode: stat.kind != Kind::Symlink && mode.is_some_and(|mode| mode != now.mode & 0o7777),
            owner: rights.owner(keeps, owner, stat).is_some(),
            ..Differs::default()
        }
    }

    /// Reads a file on both sides.
    pub(crate) fn reads_differently(
        &mut self,
        name: Name<'_>,
        to: &Dir,
        size: u64,
    ) -> Result<bool, Failure> {
        if size == 0 {
            return Ok(false);
        }
        let one = self.source_file(name)?;
        let other = to.open_regular(name.name).map_err(destination(Op::Open))?;
        self.unlike(&one, &other, size)
    }

    /// Returns whether the first `size` bytes of two files differ, or one of them cannot be read.
    pub(crate) fn unlike(
        &mut self,
        one: &fsops::File,
        other: &fsops::File,
        size: u64,
    ) -> Result<bool, Failure> {
        let manner = Manner { sparse: true, digest: false, quantum: 1 << 20 };
        let files = [one, other];
        let (parts, failures) =
            partition(&files, size, manner, &mut self.scratch, self.job.progress)
                .map_err(|_| None)?;
        Ok(!failures.is_empty() || !parts.iter().any(|part| part.members.len() == 2))
    }
}
