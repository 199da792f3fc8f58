//! Makes the substitute for a file in the staging directory. The substitute is a link to a
//! remaining name of the former file, a copy of the kept file, or a link to the kept file.

use content::Digest;
use fsops::{Op, Stat, Time};

use crate::error::Reason;
use crate::journal::identity::has_size_and_time_of;
use crate::journal::identity::is_kept_file;
use crate::journal::record::{FormerMetadata, Intent};
use crate::plan::kind::Kind;
use crate::run::copy::CopyJob;
use crate::staging::name_swap::NameSwap;
use crate::statuses::Leased;
use crate::undo::state::Undo;

impl Undo<'_> {
    /// Makes a link to the former file if the file has another name. Returns the inode of the link,
    /// or `None` if there is no other name.
    pub(crate) fn link_to_former(
        &mut self,
        intent: &Intent,
        names: &NameSwap<'_>,
    ) -> Result<Option<u64>, Reason> {
        let was = &intent.was.version;
        let Some(&(ref path, inode)) = self.finder.back.get(&intent.was.key()) else {
            return Ok(None);
        };
        let Ok(file) = self.finder.locator.open_file(path) else { return Ok(None) };
        let is_former = |now: &Stat| now.inode == inode && now.size == was.size;
        let Some(leased) = Leased::new(&file).filter(|leased| is_former(leased.before())) else {
            return Ok(None);
        };
        let linked = names.staging.dir.link_file(&file, &names.temp);
        linked.map_err(Reason::failed(Op::Link))?;
        self.record_status(intent.n, Some(leased));
        Ok(Some(inode))
    }

    /// Makes a copy of the kept file with the former metadata. Returns the inode of the copy, and whether the copy
    /// has the former owner.
    pub(crate) fn copy(
        &mut self,
        intent: &Intent,
        names: &NameSwap<'_>,
    ) -> Result<(u64, bool), Reason> {
        let (source, was) = self.finder.source(intent, Some((names.dir, names.name)))?;
        let former = &intent.was;
        let like = Stat {
            size: former.version.size,
            atime: Time::from_ns(former.atime_ns),
            mtime: Time::from_ns(former.version.mtime_ns),
            mode: former.mode,
            uid: former.uid,
            gid: former.gid,
            ..was
        };
        let xattrs: Vec<fsops::Xattr> =
            former.xattrs.iter().map(|(name, value)| (name.0.clone(), value.0.clone())).collect();
        let digest = intent.digest.is_some();
        let copy = CopyJob { source: &source, like: &like, xattrs: &xattrs, digest };
        let copied = copy.make(names, &mut self.scratch, &self.meter).and_then(|made| {
            let now = source.stat().ok().filter(|now| now.same_content(&was));
            if !now.is_some_and(|now| is_content(intent, made.digest, (&was, &now))) {
                return Err(changed(intent));
            }
            let stat = made.file.stat().map_err(Reason::failed(Op::Stat))?;
            self.undone.statuses.record_made(&stat);
            Ok((stat.inode, made.has_owner))
        });
        if copied.is_err() {
            names.remove_temp();
        }
        copied
    }

    /// Makes a link to the kept file to replace the copy that `separate` made. [`Undo::put`]
    /// compares the copy with the kept file.
    pub(crate) fn link_again(
        &mut self,
        intent: &Intent,
        names: &NameSwap<'_>,
    ) -> Result<u64, Reason> {
        let (source, _) = self.finder.source(intent, Some((names.dir, names.name)))?;
        let own = names.dir.stat_child(names.name).map_err(Reason::failed(Op::Stat))?;
        let has_rights =
            |was: &FormerMetadata| (own.mode, own.uid, own.gid) == (was.mode, was.uid, was.gid);
        if !has_size_and_time_of(&intent.was, &own) || !has_rights(&intent.was) {
            return Err(Reason::NameTaken);
        }
        let leased = Leased::new(&source);
        let linked = names.staging.dir.link_file(&source, &names.temp);
        linked.map_err(Reason::failed(Op::Link))?;
        if let Some((before, after)) = leased.map(Leased::end) {
            self.undone.statuses.record(&before, after);
        }
        Ok(intent.kept.inode)
    }
}

fn changed(intent: &Intent) -> Reason {
    Reason::KeptLost { kept: intent.keep.0.clone(), is_there: true }
}

/// Returns whether the content with this digest is the content that the run compared. `was` and
/// `is` are the metadata of the file before and after reading.
fn is_content(intent: &Intent, digest: Option<Digest>, (was, is): (&Stat, &Stat)) -> bool {
    // An unchanged status change time is proof, because no program can set it. It differs if a link
    // to the kept file was made.
    let is_untouched = was.ctime_ns == intent.kept.ctime_ns && is.ctime_ns == was.ctime_ns;
    if is_kept_file(intent, was) && is_untouched {
        return true;
    }
    match (intent.digest, digest) {
        (Some(known), Some(found)) => known == found,
        // The name is a link to this file, so it already has this content.
        _ => intent.kind == Kind::Hardlink && is_kept_file(intent, was),
    }
}
