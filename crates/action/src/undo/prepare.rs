//! Prepares the restoration of one file. If the file still exists, it is moved back immediately.
//! Otherwise a substitute for it is made in the staging directory.

use std::io;

use fsops::Op;

use crate::error::Reason;
use crate::journal::identity::{substitute_in_place, substitute_of};
use crate::journal::locate::IntentLocation;
use crate::journal::replay::LoggedIntent;
use crate::plan::kind::Kind;
use crate::recover::finish_separate;
use crate::staging::name_swap::{NameSwap, Substitute};
use crate::statuses::Leased;
use crate::sweep::is_in_a_tree;
use crate::undo::method::RestoreMethod;
use crate::undo::state::{Preparation, PreparedSubstitute, Undo};

impl Undo<'_> {
    /// Restores a file immediately if possible. Otherwise makes a link or copy for it.
    pub(crate) fn prepare<'b>(
        &mut self,
        logged: &'b LoggedIntent,
    ) -> Result<Preparation<'b>, Reason> {
        let intent = &logged.intent;
        // Creating the missing parent directories would take the name of the tree.
        if is_in_a_tree(&self.trees_left, &intent.path.0) {
            return Err(Reason::InLeftTree);
        }
        let location =
            self.finder.locator.locate_or_create(intent).map_err(Reason::failed(Op::Open))?;
        if let (Kind::Separate, Some(staging)) = (intent.kind, &location.staging) {
            // The entry in the staging directory is either another name of the file, or a copy that
            // never got its final name.
            let names = NameSwap::for_action(&location.dir, &location.name, staging, intent.n);
            let _undecided = finish_separate(&self.finder.locator, intent, &location, &names);
        }
        let entry = (&*location.dir, &*location.name);
        match self.finder.method(logged, Some(entry), location.staging.as_ref())? {
            RestoreMethod::InPlace => {}
            RestoreMethod::MoveBack => self.move_back(logged, &location)?,
            RestoreMethod::Link { .. } | RestoreMethod::Copy { .. } => {
                return self.make(logged, location).map(Preparation::Prepared);
            }
        }
        Ok(Preparation::Restored(location.dir))
    }

    /// Moves a file from the staging directory back to its name.
    pub(crate) fn move_back(
        &mut self,
        logged: &LoggedIntent,
        location: &IntentLocation,
    ) -> Result<(), Reason> {
        let intent = &logged.intent;
        let staging = location.staging.as_ref().ok_or(Reason::StagingUnknown)?;
        let names = NameSwap::for_action(&location.dir, &location.name, staging, intent.n);
        if let Some(file) = self.finder.staged_itself(intent, Some(staging))
            && !intent.kind.fills_quarantine()
        {
            return names.roll_back(&substitute_of(logged, file.device));
        }
        // A sweep records no status change times, so there is no chain of them to continue.
        let is_swept = intent.kind == Kind::Sweep;
        let file = if is_swept { None } else { staging.dir.open_file(&names.new).ok() };
        let leased = file.as_ref().and_then(Leased::new);
        match staging.dir.move_new(&names.new, &location.dir, &location.name) {
            Ok(()) => {
                self.record_status(intent.n, leased);
                Ok(())
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                Err(self.finder.locator.not_in_staging(intent))
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                let stat = Reason::failed(Op::Stat);
                let here = staging.dir.stat_child(&names.new).map_err(&stat)?;
                let there = location.dir.stat_child(&location.name).map_err(&stat)?;
                // The file has both names if a move in two steps was interrupted.
                if here.key() != there.key() {
                    return Err(Reason::NameTaken);
                }
                staging.dir.remove_name(&names.new).map_err(Reason::failed(Op::Remove))
            }
            Err(source) => Err(Reason::Failed { op: Op::Rename, source }),
        }
    }

    /// Makes the substitute for a file, which is a link or a copy.
    pub(crate) fn make<'b>(
        &mut self,
        logged: &'b LoggedIntent,
        location: IntentLocation,
    ) -> Result<PreparedSubstitute<'b>, Reason> {
        let intent = &logged.intent;
        let there = match location.dir.stat_child(&location.name) {
            Ok(there) => Some(there),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(source) => return Err(Reason::Failed { op: Op::Stat, source }),
        };
        let there = match (intent.kind, there) {
            (Kind::Separate, there) => Some(Substitute::copy(&there.ok_or(Reason::NameGone)?)),
            (_, Some(now)) => {
                Some(substitute_in_place(logged, (&location.dir, &location.name), &now)?)
            }
            (_, None) => None,
        };
        let IntentLocation { dir, name, staging } = location;
        let staging = if let Some(staging) = staging {
            staging
        } else {
            // The run removed the staging directory when it was empty.
            let restored = self.finder.locator.restore_staging(intent);
            restored.map_err(Reason::failed(Op::Create))?.ok_or(Reason::StagingUnknown)?
        };
        let names = NameSwap::for_undo(&dir, &name, &staging, intent.n);
        // A failed undo may have left an unfinished substitute.
        names.remove_temp();
        let (inode, has_owner) = if intent.kind == Kind::Separate {
            (self.link_again(intent, &names)?, true)
        } else if let Some(inode) = self.link_to_former(intent, &names)? {
            (inode, true)
        } else {
            self.copy(intent, &names)?
        };
        Ok(PreparedSubstitute { logged, dir, name, staging, inode, there, has_owner })
    }
}
