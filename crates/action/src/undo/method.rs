//! Determines how a file can be restored, without changing anything. Both an undo and its preview
//! use this module.

use std::collections::HashMap;
use std::ffi::CStr;
use std::io;

use fsops::{Dir, File, FileKey, Kind as Entry, Op, Stat};

use crate::error::{Error, Reason};
use crate::journal::identity::is_kept_file;
use crate::journal::identity::{
    has_size_and_time_of, is_same_inode, is_unchanged, substitute_in_place,
};
use crate::journal::ids::staged_name;
use crate::journal::locate::IntentLocator;
use crate::journal::record::Intent;
use crate::journal::replay::{LoggedIntent, Replay};
use crate::plan::kind::Kind;
use crate::staging::dir::Staging;
use crate::staging::name_swap::NameSwap;

/// A way to restore a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoreMethod {
    /// The file already has its name.
    InPlace,
    /// The file is moved back from the staging directory.
    MoveBack,
    /// The name becomes a hard link to another name of the file.
    Link {
        /// The path of that other name.
        to: Vec<u8>,
    },
    /// The name gets a copy of the kept file.
    Copy {
        /// The path of the kept file.
        from: Vec<u8>,
    },
}

/// A preview of how an undo would restore a file.
#[derive(Debug)]
pub struct FilePreview {
    /// The former path of the file.
    pub path: Vec<u8>,
    /// Whether the entry is a directory, which would be restored with everything in it.
    pub is_tree: bool,
    /// The method, or the reason why the file cannot be restored.
    pub method: Result<RestoreMethod, Reason>,
}

/// Determines how files can be restored.
pub(crate) struct Finder<'p> {
    replay: &'p Replay,
    pub(crate) locator: IntentLocator<'p>,
    /// A current path and inode of each former file, by its former identity.
    pub(crate) back: HashMap<FileKey, (Vec<u8>, u64)>,
}

impl<'p> Finder<'p> {
    /// Creates a finder and looks up the remaining names of hard-linked files.
    ///
    /// # Errors
    ///
    /// Fails if an intent cannot be read from the journal.
    pub(crate) fn new(replay: &'p Replay) -> Result<Finder<'p>, Error> {
        let mut finder =
            Finder { replay, locator: IntentLocator::new(replay), back: HashMap::new() };
        for &n in replay.linked.keys() {
            finder.find_former(&replay.intent(n)?);
        }
        Ok(finder)
    }

    /// Calls `each` with a preview for the file of each intent in `todo`.
    ///
    /// # Errors
    ///
    /// Fails if an intent cannot be read from the journal. Nothing on disk changes.
    pub(crate) fn previews(
        mut self,
        todo: &[u64],
        mut each: impl FnMut(FilePreview),
    ) -> Result<(), Error> {
        let mut again: HashMap<FileKey, Vec<u8>> = HashMap::new();
        for &n in todo {
            let logged = self.replay.intent(n)?;
            let path = logged.intent.path.0.clone();
            let mut method = self.preview(&logged);
            if let (Some(key), Ok(RestoreMethod::Copy { .. })) =
                (self.replay.linked.get(&n), &method)
            {
                match again.get(key) {
                    Some(to) => method = Ok(RestoreMethod::Link { to: to.clone() }),
                    None => drop(again.insert(*key, path.clone())),
                }
            }
            each(FilePreview { path, is_tree: logged.intent.is_tree(), method });
        }
        Ok(())
    }

    fn preview(&mut self, logged: &LoggedIntent) -> Result<RestoreMethod, Reason> {
        let place = match self.locator.reach.parent_and_name(&logged.intent.path.0) {
            // Undo creates missing directories again.
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            place => Some(place.map_err(Reason::failed(Op::Open))?),
        };
        let staging = self.locator.staging(&logged.intent).map_err(Reason::failed(Op::Open))?;
        let place = place.as_ref().map(|(dir, name)| (&**dir, &**name));
        self.method(logged, place, staging.as_ref())
    }

    /// Returns how a file can be restored. `place` is the directory and the name of the file, if
    /// the directory exists. `staging` is the run's staging directory.
    pub(crate) fn method(
        &mut self,
        logged: &LoggedIntent,
        place: Option<(&Dir, &CStr)>,
        staging: Option<&Staging>,
    ) -> Result<RestoreMethod, Reason> {
        let intent = &logged.intent;
        let there = match place.map(|(dir, name)| dir.stat_child(name)) {
            Some(Err(source)) if source.kind() != io::ErrorKind::NotFound => {
                return Err(Reason::Failed { op: Op::Stat, source });
            }
            there => there.and_then(Result::ok),
        };
        let there = place.zip(there);
        let fsid = self.locator.fsid(intent);
        let is_itself =
            there.is_some_and(|((dir, _), now)| is_same_inode(&now, dir, &intent.was, fsid));
        if intent.kind.fills_quarantine() {
            let stored =
                staging.and_then(|store| store.dir.stat_child(&staged_name(intent.n)).ok());
            return match (stored, there) {
                (None, _) if is_itself => Ok(RestoreMethod::InPlace),
                (None, _) => Err(self.locator.not_in_staging(intent)),
                // A file that has both names is left over from an interrupted move.
                (Some(stored), Some((_, now))) if now.key() != stored.key() => {
                    Err(Reason::NameTaken)
                }
                (Some(_), _) => Ok(RestoreMethod::MoveBack),
            };
        }
        if self.staged_itself(intent, staging).is_some() {
            return Ok(RestoreMethod::MoveBack);
        }
        let is_back = |now: &Stat| {
            is_itself && has_size_and_time_of(&intent.was, now)
                || Some(now.inode) == logged.made && has_size_and_time_of(&intent.was, now)
        };
        if there.is_some_and(|(_, now)| is_back(&now)) {
            return Ok(RestoreMethod::InPlace);
        }
        if intent.kind == Kind::Separate {
            there.ok_or(Reason::NameGone)?;
            self.source(intent, place)?;
            return Ok(RestoreMethod::Link { to: intent.keep.0.clone() });
        }
        if let Some((place, now)) = there {
            substitute_in_place(logged, place, &now)?;
        }
        if let Some((to, _)) = self.back.get(&intent.was.key()) {
            return Ok(RestoreMethod::Link { to: to.clone() });
        }
        self.source(intent, place)?;
        Ok(RestoreMethod::Copy { from: intent.keep.0.clone() })
    }

    /// Returns the metadata of the file if the run removed it but it is still in the staging
    /// directory. A power failure can leave this state.
    pub(crate) fn staged_itself(&self, intent: &Intent, staging: Option<&Staging>) -> Option<Stat> {
        let staging = staging.filter(|_| intent.kind != Kind::Separate)?;
        let fsid = self.locator.fsid(intent);
        NameSwap::names_of(staging, intent.n).into_iter().find_map(|name| {
            let stat = staging.dir.stat_child(&name).ok()?;
            is_unchanged(&stat, &staging.dir, &intent.was, fsid).then_some(stat)
        })
    }

    /// Records where a hard-linked file can be found. Its name may be one that the run did not
    /// change, or one that was restored earlier.
    pub(crate) fn find_former(&mut self, logged: &LoggedIntent) {
        let Intent { was, path, .. } = &logged.intent;
        let Ok(now) = self.locator.reach.stat(&path.0) else { return };
        let is_former = was.has_inode_of(&now) || Some(now.inode) == logged.made;
        if is_former && has_size_and_time_of(was, &now) {
            self.back.insert(was.key(), (path.0.clone(), now.inode));
        }
    }

    /// Opens a file with the content to restore. This is the kept file, or the link to it that the
    /// run made. If neither exists, it is a file of the same size that has the kept file's name
    /// now. In that case, the caller must compare the digest.
    pub(crate) fn source(
        &mut self,
        intent: &Intent,
        place: Option<(&Dir, &CStr)>,
    ) -> Result<(File, Stat), Reason> {
        let kept = self.locator.open_file(&intent.keep.0);
        let is_there = !matches!(&kept, Err(e) if e.kind() == io::ErrorKind::NotFound);
        let link = place.filter(|_| intent.kind == Kind::Hardlink);
        let link = link.map(|(dir, name)| dir.open_file(name));
        let open = link.into_iter().chain([kept]).filter_map(Result::ok);
        let mut open: Vec<(File, Stat)> =
            open.filter_map(|file| file.stat().map(|stat| (file, stat)).ok()).collect();
        let may_be = |(_, now): &(File, Stat)| {
            intent.digest.is_some() && now.kind == Entry::File && now.size == intent.kept.size
        };
        let kept = open.iter().position(|(_, now)| is_kept_file(intent, now));
        match kept.or_else(|| open.iter().position(may_be)) {
            Some(at) => Ok(open.swap_remove(at)),
            None if intent.elsewhere => Err(Reason::NamesElsewhere),
            None => Err(Reason::KeptLost { kept: intent.keep.0.clone(), is_there }),
        }
    }
}
