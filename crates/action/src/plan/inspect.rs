//! Opens the files of a plan to check properties that require an open file: extended attributes,
//! shared extents, and obstacles to the action.
//!
//! [`Inspector`] serves previews. A run does not rely on it and checks every file again.

use fsops::{File, Op, Stat, Volume, Xattr};
use walk::{OwnFiles, PathOpener};

use crate::error::{Reason, Refusal};
use crate::plan::decide::{KeepReason, Member, Plan};
use crate::plan::kind::Kind;
use crate::plan::obstacle::{KeptLocation, check_not_own, has_nothing_to_share};
use crate::plan::saved::SavedGroup;
use crate::plan::target::{Target, Version};

/// Opens the files of plans and adds their properties to the plans.
#[derive(Debug)]
pub struct Inspector {
    reach: PathOpener,
    distinct: Vec<Vec<u8>>,
    own: OwnFiles,
}

/// The properties of an open file.
struct InspectedFile {
    stat: Stat,
    volume: Volume,
    file: File,
    xattrs: Vec<Xattr>,
}

impl Inspector {
    /// Creates an inspector that keeps at most `open_dirs` directories open. See
    /// [`ApplyOptions`](crate::run::ApplyOptions) for `distinct` and `own`.
    pub fn new(open_dirs: usize, distinct: Vec<Vec<u8>>, own: OwnFiles) -> Inspector {
        Inspector { reach: PathOpener::new(open_dirs), distinct, own }
    }

    /// Returns the plan for the unchanged files of a saved group. Files that have changed are added
    /// to `refused`, because a run would leave them alone.
    pub fn saved_plan(
        &mut self,
        SavedGroup { group, why }: SavedGroup,
        refused: &mut Vec<Refusal>,
    ) -> Option<Plan> {
        let keep = self.member(group.keep);
        let mut others = Vec::with_capacity(group.others.len());
        for target in group.others {
            let path = target.path.clone();
            match (&keep, self.member(target)) {
                (Ok(_), Ok(member)) => others.push(member),
                (Ok(_), Err(reason)) => refused.push(Refusal { path, reason }),
                (Err(reason), _) => refused.push(Refusal { path, reason: reason.of_kept() }),
            }
        }
        let keep = keep.ok().filter(|_| !others.is_empty())?;
        let why = if why.is_empty() { KeepReason::First } else { KeepReason::Rule(why) };
        Some(Plan { keep, why, stay: Vec::new(), others, digest: group.digest })
    }

    fn member(&mut self, target: Target) -> Result<Member, Reason> {
        let (dir, name) =
            self.reach.parent_and_name(&target.path).map_err(Reason::failed(Op::Stat))?;
        check_not_own(&self.own, &dir, &target.path)?;
        let stat = dir.stat_child(&name).map_err(Reason::failed(Op::Stat))?;
        if Version::from(&stat) != target.version {
            return Err(Reason::Changed);
        }
        Ok(Member::new(target, stat))
    }

    /// Completes a plan, and drops the files that a run would not act on. Dropped files are added
    /// to `refused`, except those that already share all their extents. A file that cannot be
    /// opened stays in the plan, and the run will report it.
    pub fn plan(&mut self, mut plan: Plan, kind: Kind, refused: &mut Vec<Refusal>) -> Option<Plan> {
        let Some(kept) = self.inspect(&plan.keep) else { return Some(plan) };
        let path = plan.keep.target.path.clone();
        let kept_location = KeptLocation { path: &path, stat: &kept.stat, volume: kept.volume };
        plan.others.retain_mut(|other| {
            let inspected = self.inspect(other);
            let volume = inspected.as_ref().map(|inspected| inspected.volume);
            if let Err(reason) = kept_location.check(kind, &other.stat, volume, &self.distinct) {
                refused.push(Refusal { path: other.target.path.clone(), reason });
                return false;
            }
            let Some(inspected) = inspected else { return true };
            let file = &inspected.file;
            if kind == Kind::Reflink && has_nothing_to_share(file, &kept.file) {
                return false;
            }
            other.frees_nothing = inspected.volume.can_share_extents() && file.frees_no_space();
            other.other_xattrs = kind.loses_metadata() && inspected.xattrs != kept.xattrs;
            true
        });
        (!plan.others.is_empty()).then_some(plan)
    }

    fn inspect(&mut self, member: &Member) -> Option<InspectedFile> {
        let (dir, name) = self.reach.parent_and_name(&member.target.path).ok()?;
        let file = dir.open_file(&name).ok()?;
        let (stat, volume) = (file.stat().ok()?, file.volume().ok()?);
        Some(InspectedFile { stat, volume, xattrs: file.xattrs().ok()?, file })
    }
}
