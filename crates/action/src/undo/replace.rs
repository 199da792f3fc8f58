//! The last step of an undo: moves a link or copy to the name of its file.
//!
//! Links and copies are made in the staging directory. They reach the disk before they get their
//! names, so that a crash leaves either the old file or the new one. A file that loses its last
//! name in this step was compared with its substitute, under leases on both files.
//!
//! The leases are taken before it is known whether a comparison is needed, because they also prove
//! which status changes are lop's own. For this reason, this module does not use
//! [`crate::run::compare::equal_under_leases`].

use std::io;

use fsops::{File, Op, Stat};
use runtime::Interrupted;

use crate::error::Reason;
use crate::journal::identity::{has_size_and_time_of_kept, undo_substitute_of};
use crate::run::compare::equal;
use crate::staging::name_swap::{NameSwap, Substitute};
use crate::statuses::Leased;
use crate::undo::state::{PreparedSubstitute, Undo};

impl Undo<'_> {
    /// Moves a substitute to its name, and records the resulting status change times.
    pub(crate) fn put(&mut self, ready: &PreparedSubstitute<'_>) -> Result<(), Reason> {
        let names = ready.names();
        let file = ready.staging.dir.open_file(&names.temp).ok();
        // The file that the substitute replaces: a link to the kept file, or the copy that
        // `separate` made.
        let there = match ready.there {
            Some(Substitute::Link(_) | Substitute::Copy { .. }) => {
                ready.dir.open_file(&ready.name).ok()
            }
            _ => None,
        };
        let [leased, leased_there] =
            [&file, &there].map(|file| file.as_ref().and_then(Leased::new));
        let was = leased_there.as_ref().map(Leased::before);
        let hold =
            || [&leased, &leased_there].iter().all(|it| it.as_ref().is_some_and(Leased::holds));
        let loses_last_name = match &ready.there {
            Some(Substitute::Copy { .. }) => true,
            Some(Substitute::Link(_)) => was.is_some_and(|was| was.links < 2),
            _ => false,
        };
        if loses_last_name {
            let size = was.map_or(0, |was| was.size);
            let compared = self.compare([&file, &there], size);
            // The substitute is still private, so it can be removed without a trace.
            compared.and_then(|()| unwritten(&hold)).inspect_err(|_| names.remove_temp())?;
        }
        let is_untouched = || leased.as_ref().is_some_and(Leased::holds);
        move_in(ready, &names, &is_untouched, |taken| match &ready.there {
            _ if loses_last_name => unwritten(&hold),
            // Meanwhile, the link has become the last name of its file, and that file was not
            // compared.
            Some(Substitute::Link(_)) if taken.links < 2 => Err(Reason::Changed),
            _ => Ok(()),
        })?;
        self.record_status(ready.logged.intent.n, leased);
        if let Some((before, after)) = leased_there.map(Leased::end) {
            self.undone.statuses.record(&before, after);
        }
        Ok(())
    }

    /// Checks that a file equals its substitute byte by byte before the file loses its last name.
    fn compare(&mut self, files: [&Option<File>; 2], size: u64) -> Result<(), Reason> {
        let [Some(file), Some(there)] = files else { return Err(Reason::NameTaken) };
        match equal(file, there, size, &mut self.scratch, &self.meter.uncounted()) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Reason::NameTaken),
            Err(Interrupted) => Err(Reason::stopped()),
        }
    }
}

/// Fails with [`Reason::OpenForWriting`] unless all leases hold.
fn unwritten(hold: &dyn Fn() -> bool) -> Result<(), Reason> {
    hold().then_some(()).ok_or(Reason::OpenForWriting)
}

/// Moves a link or copy from the staging directory to its name. If the file system can exchange
/// names, the name exists at all times.
///
/// Removes the replaced file only if `may_go` returns `Ok`. Otherwise rolls back, and removes the
/// link or copy only if `is_untouched` returns true.
fn move_in(
    ready: &PreparedSubstitute<'_>,
    names: &NameSwap<'_>,
    is_untouched: &dyn Fn() -> bool,
    may_go: impl FnOnce(&Stat) -> Result<(), Reason>,
) -> Result<(), Reason> {
    let staging = names.staging;
    let moved = match &ready.there {
        None => staging.dir.move_new(&names.temp, names.dir, names.name),
        // The new name in the staging directory may be used by another entry later. The substitute
        // is identified by its metadata after this point.
        Some(_) => staging.dir.move_new(&names.temp, &staging.dir, &names.new),
    };
    if let Err(source) = moved {
        names.remove_temp();
        return Err(match source.kind() {
            io::ErrorKind::AlreadyExists => Reason::NameTaken,
            _ => Reason::Failed { op: Op::Rename, source },
        });
    }
    let Some(there) = &ready.there else { return Ok(()) };
    let intent = &ready.logged.intent;
    let swapped = names.swap().and_then(|taken| {
        // The link may have become the last name of the kept file. The link is not removed if
        // another program has written to the file.
        let is_whole =
            !matches!(there, Substitute::Link(_)) || has_size_and_time_of_kept(intent, &taken.stat);
        if !is_whole || !names.is_expected(&taken, there) {
            return Err(Reason::NameTaken);
        }
        may_go(&taken.stat)?;
        names.remove(&taken)
    });
    swapped.or_else(|reason| {
        let made = undo_substitute_of(intent, ready.inode, staging);
        names.roll_back_if(&made, is_untouched).and(Err(reason))
    })
}
