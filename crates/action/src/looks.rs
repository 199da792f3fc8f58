//! What a plan can say of files only after they were opened: extended attributes, whether others have their
//! disk space too, and whether anything can be done with them at all.

use fsops::{File, Op, Stat, Volume, Xattr};
use walk::{Own, Reach};

use crate::act::has_nothing_to_share;
use crate::error::{Reason, Refusal};
use crate::kind::Kind;
use crate::obstacle::Keeps;
use crate::own::check_not_own;
use crate::plan::{Member, Plan, Why};
use crate::saved::SavedGroup;
use crate::target::{Target, Version};

/// Opens the files of plans, to show what is to be said about them.
#[derive(Debug)]
pub struct Looks {
    reach: Reach,
    distinct: Vec<Vec<u8>>,
    own: Own,
}

/// A file that was looked at.
struct Looked {
    stat: Stat,
    volume: Volume,
    file: File,
    xattrs: Vec<Xattr>,
}

impl Looks {
    /// Keeps at most `open_dirs` directories open; [`How`](crate::How) describes `distinct` and `own`.
    pub fn new(open_dirs: usize, distinct: Vec<Vec<u8>>, own: Own) -> Looks {
        Looks { reach: Reach::new(open_dirs), distinct, own }
    }

    /// Returns the plan for those files of a saved group that are still what they were; the others, which
    /// would be left alone, go to `refused`.
    pub fn at_saved(
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
        let why = if why.is_empty() { Why::First } else { Why::Rule(why) };
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
    pub fn at(&mut self, mut plan: Plan, kind: Kind, refused: &mut Vec<Refusal>) -> Option<Plan> {
        let Some(kept) = self.look(&plan.keep) else { return Some(plan) };
        let path = plan.keep.target.path.clone();
        let keeps = Keeps { path: &path, stat: &kept.stat, volume: kept.volume };
        plan.others.retain_mut(|other| {
            let looked = self.look(other);
            let volume = looked.as_ref().map(|looked| looked.volume);
            if let Err(reason) = keeps.check(kind, &other.stat, volume, &self.distinct) {
                refused.push(Refusal { path: other.target.path.clone(), reason });
                return false;
            }
            let Some(looked) = looked else { return true };
            let file = &looked.file;
            if kind == Kind::Reflink && has_nothing_to_share(file, &kept.file) {
                return false;
            }
            other.frees_nothing =
                looked.volume.can_share_extents() && file.has_no_space_of_its_own();
            other.other_xattrs = kind.loses_metadata() && looked.xattrs != kept.xattrs;
            true
        });
        (!plan.others.is_empty()).then_some(plan)
    }

    fn look(&mut self, member: &Member) -> Option<Looked> {
        let (dir, name) = self.reach.site(&member.target.path).ok()?;
        let file = dir.open_file(&name).ok()?;
        let (stat, volume) = (file.stat().ok()?, file.volume().ok()?);
        Some(Looked { stat, volume, xattrs: file.xattrs().ok()?, file })
    }
}
