//! What a plan can say of files only after they were opened: extended attributes, whether others have their
//! disk space too, and whether anything can be done with them at all.

use fsops::{File, Op, Stat, Volume, Xattr};
use walk::{Own, Reach};

use crate::error::{Reason, Refusal};
use crate::plan::decide::{KeepReason, Member, Plan};
use crate::plan::kind::Kind;
use crate::plan::obstacle::{KeptLocation, check_not_own, has_nothing_to_share};
use crate::plan::saved::SavedGroup;
use crate::plan::target::{Target, Version};

/// Opens the files of plans, to show what is to be said about them.
#[derive(Debug)]
pub struct Inspector {
    reach: Reach,
    distinct: Vec<Vec<u8>>,
    own: Own,
}

/// A file that was looked at.
struct InspectedFile {
    stat: Stat,
    volume: Volume,
    file: File,
    xattrs: Vec<Xattr>,
}

impl Inspector {
    /// Keeps at most `open_dirs` directories open; [`ApplyOptions`](crate::How) describes `distinct` and `own`.
    pub fn new(open_dirs: usize, distinct: Vec<Vec<u8>>, own: Own) -> Inspector {
        Inspector { reach: Reach::new(open_dirs), distinct, own }
    }

    /// Returns the plan for those files of a saved group that are still what they were; the others, which
    /// would be left alone, go to `refused`.
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
        let (dir, name) = self.reach.site(&target.path).map_err(Reason::failed(Op::Stat))?;
        check_not_own(&self.own, &dir, &target.path)?;
        let stat = dir.stat_child(&name).map_err(Reason::failed(Op::Stat))?;
        if Version::from(&stat) != target.version {
            return Err(Reason::Changed);
        }
        Ok(Member::new(target, stat))
    }

    /// Finds out what is to be said about the files of a plan that go, and returns the plan for those that
    /// something can be done with: the others go to `refused`, but for those that there is no need to do anything
    /// with. Of one that cannot be opened nothing is said now; it will be when it is acted on.
    pub fn plan(&mut self, mut plan: Plan, kind: Kind, refused: &mut Vec<Refusal>) -> Option<Plan> {
        let Some(kept) = self.inspect(&plan.keep) else { return Some(plan) };
        let path = plan.keep.target.path.clone();
        let keeps = KeptLocation { path: &path, stat: &kept.stat, volume: kept.volume };
        plan.others.retain_mut(|other| {
            let inspected = self.inspect(other);
            let volume = inspected.as_ref().map(|inspected| inspected.volume);
            if let Err(reason) = keeps.check(kind, &other.stat, volume, &self.distinct) {
                refused.push(Refusal { path: other.target.path.clone(), reason });
                return false;
            }
            let Some(inspected) = inspected else { return true };
            let file = &inspected.file;
            if kind == Kind::Reflink && has_nothing_to_share(file, &kept.file) {
                return false;
            }
            other.frees_nothing =
                inspected.volume.can_share_extents() && file.has_no_space_of_its_own();
            other.other_xattrs = kind.loses_metadata() && inspected.xattrs != kept.xattrs;
            true
        });
        (!plan.others.is_empty()).then_some(plan)
    }

    fn inspect(&mut self, member: &Member) -> Option<InspectedFile> {
        let (dir, name) = self.reach.site(&member.target.path).ok()?;
        let file = dir.open_file(&name).ok()?;
        let (stat, volume) = (file.stat().ok()?, file.volume().ok()?);
        Some(InspectedFile { stat, volume, xattrs: file.xattrs().ok()?, file })
    }
}
