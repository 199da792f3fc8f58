//! Removes directory trees from quarantine with the engine of `lop purge`.
//!
//! `action` decides which trees are removed, and checks that each is the one that a run moved. The
//! engine follows no links and enters no mounts.

use std::sync::Arc;

use action::Reason;
use action::quarantine::QuarantinedTree;
use fsops::Op;
use purge::{Guard, Operation, Options, Outcome, Selection};
use runtime::{Interrupted, Progress, Stage, Throttle};

use crate::commands::purge::guard;
use crate::settings::{Resources, Settings};

/// Removes directory trees.
pub(crate) struct TreeRemover<'a> {
    guard: Guard,
    options: Options,
    progress: &'a Progress,
}

impl<'a> TreeRemover<'a> {
    /// Creates a remover that counts the removed entries in `progress`.
    pub(crate) fn new(settings: &Settings, progress: &'a Progress) -> TreeRemover<'a> {
        let guard = guard(settings);
        let resources = Resources::automatic();
        let options = Options {
            operation: Operation::Remove,
            selection: Selection::default(),
            keep_root: false,
            // Caches often contain directories without write permission.
            adds_permissions: true,
            cross_mounts: false,
            guarded: guard.keys(),
            threads: resources.threads,
            open_dirs: resources.tree_dirs(),
            disks: resources.disks,
            throttle: Arc::new(Throttle::new(None)),
        };
        TreeRemover { guard, options, progress }
    }

    /// Removes a tree.
    ///
    /// # Errors
    ///
    /// The reason why the tree could not be removed completely.
    pub(crate) fn remove(&self, tree: &QuarantinedTree) -> Result<(), Reason> {
        let failed = |op| move |source| Reason::Failed { op, source };
        let parent = tree.dir.open_below_same_mount(b".").map_err(failed(Op::Open))?;
        let target = self.guard.check_in(Arc::new(parent), &tree.at, &tree.at);
        let target = target.map_err(|refusal| Reason::Remains { why: refusal.to_string() })?;
        let (outcome, ended) = purge::purge(&[target], &self.options, self.progress, None);
        self.progress.enter(Stage::Act);
        if let Err(Interrupted) = ended {
            return Err(failed(Op::Remove)(std::io::ErrorKind::Interrupted.into()));
        }
        rest(&outcome).map_or(Ok(()), |why| Err(Reason::Remains { why }))
    }
}

/// Describes the entries that could not be removed. Returns `None` if there are none.
fn rest(outcome: &Outcome) -> Option<String> {
    if outcome.failed == 0 {
        return None;
    }
    let first = outcome
        .problems
        .first()
        .map(|problem| format!("{} {}", String::from_utf8_lossy(&problem.path), problem.reason));
    let others = outcome.failed - u64::from(first.is_some());
    let more = (others > 0).then(|| format!("{others} more entries"));
    Some(first.into_iter().chain(more).collect::<Vec<_>>().join(", and "))
}
