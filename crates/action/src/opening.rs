//! Opens the files of groups and notes what is to be done with them. What is not what it was when that was
//! decided is left alone.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::io;
use std::rc::Rc;

use content::Digest;
use fsops::{Dir, File, FileKey, Kind as Entry, Op, Stat, Volume};
use walk::split;

use crate::apply::Worker;
use crate::error::{Error, Reason};
use crate::journal::{Former, Intent, Record};
use crate::kind::Kind;
use crate::lines::Lines;
use crate::name::Name;
use crate::obstacle::Keeps;
use crate::own::check_not_own;
use crate::staging::Staging;
use crate::store::NoStore;
use crate::target::{Group, Target, Version};
use crate::way::relative;

/// A file that is open, with its name.
pub(crate) struct Opened<'g> {
    pub(crate) target: &'g Target,
    pub(crate) dir: Rc<Dir>,
    pub(crate) name: CString,
    pub(crate) file: File,
    pub(crate) volume: Volume,
    /// What it was when it was opened, or after the last change of ours.
    pub(crate) stat: Stat,
}

/// A file that is to go.
pub(crate) struct Going<'g> {
    pub(crate) opened: Opened<'g>,
    pub(crate) n: u64,
    pub(crate) staging: Option<Staging>,
    /// What a symbolic link in its place has in it.
    pub(crate) link: Option<Vec<u8>>,
    /// The digest of its content, if the comparison found it out: nobody knew it before.
    pub(crate) digest: Option<Digest>,
}

/// Inodes that this group has changed, as they are now: their status change time is not what was
/// planned any more.
pub(crate) type Ours = HashMap<FileKey, Stat>;

impl Worker<'_> {
    /// Opens the files of a group and notes what is to be done.
    pub(crate) fn open_group<'g>(
        &mut self,
        group: &'g Group,
        others: &'g [Target],
        ours: &Ours,
    ) -> Result<Option<(Opened<'g>, Vec<Going<'g>>)>, Error> {
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
        let mut going = Vec::with_capacity(others.len());
        for other in others {
            match self.open_going(&kept, other, group.digest, elsewhere, ours) {
                Ok(open) => going.push(open),
                Err(NoStore::Here(reason)) => self.refuse(&other.path, None, reason),
                Err(NoStore::Anywhere(error)) => return Err(error),
            }
        }
        Ok(Some((kept, going)))
    }

    /// Opens a file and makes sure that it is what was planned.
    fn open<'g>(&mut self, target: &'g Target, ours: &Ours) -> Result<Opened<'g>, Reason> {
        let failed = Reason::failed(Op::Open);
        let (dir, name) = self.reach.site(&target.path).map_err(&failed)?;
        check_not_own(&self.shared.how.own, &dir, &target.path)?;
        let file = dir.open_file(&name).map_err(&failed)?;
        let stat = file.stat().map_err(Reason::failed(Op::Stat))?;
        let known = ours.get(&stat.key()).is_some_and(|known| known.same_version(&stat));
        if stat.kind != Entry::File || !(known || Version::from(&stat) == target.version) {
            return Err(Reason::Changed);
        }
        let volume = self.volume(&file, stat.device).map_err(Reason::failed(Op::Stat))?;
        Ok(Opened { target, dir, name, file, volume, stat })
    }

    fn open_going<'g>(
        &mut self,
        kept: &Opened<'_>,
        target: &'g Target,
        digest: Option<Digest>,
        elsewhere: bool,
        ours: &Ours,
    ) -> Result<Going<'g>, NoStore> {
        let here = NoStore::Here;
        let opened = self.open(target, ours).map_err(here)?;
        let kind = self.shared.how.kind;
        let is_same = opened.stat.key() == kept.stat.key();
        match kind {
            Kind::Separate if is_same && opened.stat.links > 1 => {}
            Kind::Separate => return Err(here(Reason::Alone)),
            _ if is_same => return Err(here(Reason::Same)),
            // Only what is equal to its last byte can be, whatever named the two as equal.
            _ if opened.stat.size != kept.stat.size => return Err(here(Reason::Differs)),
            _ => {}
        }
        let keeps = Keeps { path: &kept.target.path, stat: &kept.stat, volume: kept.volume };
        let distinct = &self.shared.how.distinct;
        keeps.check(kind, &opened.stat, Some(opened.volume), distinct).map_err(here)?;
        // A file in quarantine stays what it is.
        let made_anew = kind.changes_names() && kind != Kind::Quarantine;
        if made_anew && matches!(opened.stat.mtime_ns(), i64::MIN | i64::MAX) {
            return Err(here(Reason::Time));
        }
        let staging = if kind.changes_names() { Some(self.staging(&opened)?) } else { None };
        let synced = self.sync(kept).and_then(|()| self.sync(&opened));
        synced.map_err(|e| here(Reason::Failed { op: Op::Sync, source: e }))?;
        let link =
            (kind == Kind::Symlink).then(|| relative(split(&target.path).0, &kept.target.path));
        let xattrs = opened.file.xattrs().map_err(Reason::failed(Op::Stat)).map_err(here)?;
        let known = if opened.stat.size == 0 { Some(Digest::of(b"")) } else { digest };
        let n = self.shared.journal.number();
        let will = Record::Will(Box::new(Intent {
            n,
            kind,
            path: Name(target.path.clone()),
            keep: Name(kept.target.path.clone()),
            store: staging.as_ref().map(|staging| staging.number),
            link: link.clone().map(Name),
            elsewhere,
            was: Former::new(&opened.stat, xattrs),
            kept: (&kept.stat).into(),
            kept_fsid: kept.volume.fsid,
            digest: known,
        }));
        self.lines.push(&will);
        if let (Kind::Quarantine, Some(staging)) = (kind, &staging) {
            let told = self.told.entry(staging.number);
            let (_, lines) = told.or_insert_with(|| (staging.clone(), Lines::default()));
            lines.push(&will);
        }
        Ok(Going { opened, n, staging, link, digest: None })
    }

    fn staging(&mut self, opened: &Opened<'_>) -> Result<Staging, NoStore> {
        let Worker { shared, reach, used, .. } = self;
        let dir_path = split(&opened.target.path).0;
        used.staging(shared.stores, &opened.stat, dir_path, reach, shared.journal)
    }

    /// Has a file's bytes on the disk before anything that relies on them.
    fn sync(&self, opened: &Opened<'_>) -> io::Result<()> {
        if !self.shared.how.kind.changes_names() {
            return Ok(());
        }
        self.shared.stores.sync(opened.stat.device, &opened.dir)
    }
}

/// The kept file as actions see it.
#[derive(Clone, Copy)]
pub(crate) struct Kept<'k> {
    pub(crate) dir: &'k Dir,
    pub(crate) name: &'k CStr,
    pub(crate) file: &'k File,
    pub(crate) volume: &'k Volume,
    pub(crate) stat: &'k Stat,
}

impl Kept<'_> {
    /// Returns whether the kernel itself knows its metadata.
    pub(crate) fn is_local(&self) -> bool {
        self.volume.is_local(self.stat.device)
    }
}

impl Opened<'_> {
    pub(crate) fn as_kept(&self) -> Kept<'_> {
        let Opened { dir, name, file, volume, stat, .. } = self;
        Kept { dir, name, file, volume, stat }
    }
}
