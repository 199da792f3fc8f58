//! Opens the files of groups and prepares their intents. Refuses files that have changed since they
//! were planned.

use std::collections::HashMap;
use std::ffi::CString;
use std::io;
use std::rc::Rc;

use content::Digest;
use fsops::{Dir, File, FileKey, Kind as Entry, Op, Stat, Volume};
use walk::split_path;

use crate::error::{Error, Reason};
use crate::journal::json_bytes::JsonBytes;
use crate::journal::lines::Lines;
use crate::journal::record::{FormerMetadata, Intent, Record};
use crate::plan::kind::Kind;
use crate::plan::obstacle::{KeptLocation, check_not_own};
use crate::plan::relative_path::relative;
use crate::plan::target::{Group, Target, Version};
use crate::run::apply::Worker;
use crate::staging::dir::Staging;
use crate::staging::placement::StagingFailure;

/// An open file with its name.
pub(crate) struct OpenedFile<'g> {
    pub(crate) target: &'g Target,
    pub(crate) dir: Rc<Dir>,
    pub(crate) name: CString,
    pub(crate) file: File,
    pub(crate) volume: Volume,
    /// The metadata of the file when it was opened, or after lop's last change to it.
    pub(crate) stat: Stat,
}

/// An open file to act on.
pub(crate) struct Redundant<'g> {
    pub(crate) opened: OpenedFile<'g>,
    pub(crate) n: u64,
    pub(crate) staging: Option<Staging>,
    /// The target of the symbolic link that will replace the file.
    pub(crate) link: Option<Vec<u8>>,
    /// The digest that the comparison computed. `None` if the digest was already known or is not
    /// needed.
    pub(crate) digest: Option<Digest>,
}

/// Current metadata of inodes that the run changed in this group. Their status change times differ
/// from the planned ones.
pub(crate) type OwnChanges = HashMap<FileKey, Stat>;

impl Worker<'_> {
    /// Opens the files of a group and adds their intents to the pending lines of the journal.
    /// Refuses files that cannot be acted on. Returns `None` if the kept file is refused.
    pub(crate) fn open_group<'g>(
        &mut self,
        group: &'g Group,
        others: &'g [Target],
        ours: &OwnChanges,
    ) -> Result<Option<(OpenedFile<'g>, Vec<Redundant<'g>>)>, Error> {
        let kept = match self.open(&group.keep, ours) {
            Ok(kept) => kept,
            Err(reason) => {
                for other in others {
                    self.refuse(&other.path, None, reason.of_kept());
                }
                return Ok(None);
            }
        };
        let elsewhere = group.others.last().is_some_and(|last| last.path == group.keep.path);
        let mut redundant = Vec::with_capacity(others.len());
        for other in others {
            match self.open_redundant(&kept, other, group.digest, elsewhere, ours) {
                Ok(open) => redundant.push(open),
                Err(StagingFailure::File(reason)) => self.refuse(&other.path, None, reason),
                Err(StagingFailure::Run(error)) => return Err(error),
            }
        }
        Ok(Some((kept, redundant)))
    }

    /// Opens a file and checks that it has not changed since it was planned.
    fn open<'g>(
        &mut self,
        target: &'g Target,
        ours: &OwnChanges,
    ) -> Result<OpenedFile<'g>, Reason> {
        let failed = Reason::failed(Op::Open);
        let (dir, name) = self.reach.parent_and_name(&target.path).map_err(&failed)?;
        check_not_own(&self.shared.options.own, &dir, &target.path)?;
        let file = dir.open_file(&name).map_err(&failed)?;
        let stat = file.stat().map_err(Reason::failed(Op::Stat))?;
        let known = ours.get(&stat.key()).is_some_and(|known| known.same_version(&stat));
        if stat.kind != Entry::File || !(known || Version::from(&stat) == target.version) {
            return Err(Reason::Changed);
        }
        let volume = self.volume(&file, stat.device).map_err(Reason::failed(Op::Stat))?;
        Ok(OpenedFile { target, dir, name, file, volume, stat })
    }

    fn open_redundant<'g>(
        &mut self,
        kept: &OpenedFile<'_>,
        target: &'g Target,
        digest: Option<Digest>,
        elsewhere: bool,
        ours: &OwnChanges,
    ) -> Result<Redundant<'g>, StagingFailure> {
        let here = StagingFailure::File;
        let opened = self.open(target, ours).map_err(here)?;
        let kind = self.shared.options.kind;
        let is_same = opened.stat.key() == kept.stat.key();
        match kind {
            Kind::Separate if is_same && opened.stat.links > 1 => {}
            Kind::Separate => return Err(here(Reason::NotHardLinked)),
            _ if is_same => return Err(here(Reason::IsKeptFile)),
            // Files of different sizes cannot be equal, even if the caller says that they are.
            _ if opened.stat.size != kept.stat.size => return Err(here(Reason::Differs)),
            _ => {}
        }
        let kept_location =
            KeptLocation { path: &kept.target.path, stat: &kept.stat, volume: kept.volume };
        let distinct = &self.shared.options.distinct;
        kept_location.check(kind, &opened.stat, Some(opened.volume), distinct).map_err(here)?;
        // A file in quarantine keeps its inode and its times. The other kinds need a time that an
        // undo can restore.
        let made_anew = kind.changes_names() && !kind.fills_quarantine();
        if made_anew && matches!(opened.stat.mtime_ns(), i64::MIN | i64::MAX) {
            return Err(here(Reason::TimeOutOfRange));
        }
        let staging = if kind.changes_names() { Some(self.staging(&opened)?) } else { None };
        let synced = self.sync(kept).and_then(|()| self.sync(&opened));
        synced.map_err(|e| here(Reason::Failed { op: Op::Sync, source: e }))?;
        let link = (kind == Kind::Symlink)
            .then(|| relative(split_path(&target.path).0, &kept.target.path));
        let xattrs = opened.file.xattrs().map_err(Reason::failed(Op::Stat)).map_err(here)?;
        let known = if opened.stat.size == 0 { Some(Digest::of(b"")) } else { digest };
        let n = self.shared.journal.number();
        let will = Record::Will(Box::new(Intent {
            n,
            kind,
            path: JsonBytes(target.path.clone()),
            keep: JsonBytes(kept.target.path.clone()),
            store: staging.as_ref().map(|staging| staging.number),
            link: link.clone().map(JsonBytes),
            elsewhere,
            was: FormerMetadata::new(&opened.stat, xattrs),
            kept: (&kept.stat).into(),
            kept_fsid: kept.volume.fsid,
            digest: known,
            swept: None,
        }));
        self.lines.push(&will);
        if let (Kind::Quarantine, Some(staging)) = (kind, &staging) {
            let pending = self.manifest_lines.entry(staging.number);
            let (_, lines) = pending.or_insert_with(|| (staging.clone(), Lines::default()));
            lines.push(&will);
        }
        Ok(Redundant { opened, n, staging, link, digest: None })
    }

    fn staging(&mut self, opened: &OpenedFile<'_>) -> Result<Staging, StagingFailure> {
        let Worker { shared, reach, stagings, .. } = self;
        let dir_path = split_path(&opened.target.path).0;
        stagings.staging(shared.staging_dirs, &opened.stat, dir_path, reach, shared.journal)
    }

    /// Ensures that a file's content is on the disk before its duplicates are removed.
    fn sync(&self, opened: &OpenedFile<'_>) -> io::Result<()> {
        if !self.shared.options.kind.changes_names() {
            return Ok(());
        }
        self.shared.staging_dirs.sync(opened.stat.device, &opened.dir)
    }
}

impl OpenedFile<'_> {
    /// Returns whether the kernel itself maintains the file's metadata.
    pub(crate) fn is_local(&self) -> bool {
        self.volume.is_local(self.stat.device)
    }
}
