//! What a plan can say of files only after they were opened: extended attributes, and whether others
//! have their disk space too.

use fsops::{File, Op, Volume, Xattr};
use walk::Reach;

use crate::error::{Reason, Refusal};
use crate::kind::Kind;
use crate::plan::{Member, Plan, Why};
use crate::saved::SavedGroup;
use crate::target::{Target, Version};

/// Opens the files of plans, to show what is to be said about them.
#[derive(Debug)]
pub struct Looks {
    reach: Reach,
}

impl Looks {
    /// Returns one that keeps at most `open_dirs` directories open.
    pub fn new(open_dirs: usize) -> Looks {
        Looks { reach: Reach::new(open_dirs) }
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
        let stat = self.reach.stat(&target.path).map_err(Reason::failed(Op::Stat))?;
        if Version::from(&stat) != target.version {
            return Err(Reason::Changed);
        }
        Ok(Member::new(target, stat))
    }

    /// Finds out what is to be said about the files of a plan that go. Of one that cannot be opened
    /// nothing is said now; it will be when it is acted on.
    pub fn at(&mut self, plan: &mut Plan, kind: Kind) {
        let Some((_, kept)) = self.look(&plan.keep) else { return };
        for other in &mut plan.others {
            if let Some((shares, xattrs)) = self.look(other) {
                other.shares_all = shares;
                other.other_xattrs = kind.loses_metadata() && xattrs != kept;
            }
        }
    }

    /// Returns whether a file shares all its extents, and its attributes.
    fn look(&mut self, member: &Member) -> Option<(bool, Vec<Xattr>)> {
        let (dir, name) = self.reach.site(&member.target.path).ok()?;
        let file: File = dir.open_file(&name).ok()?;
        let can_share = dir.volume().is_ok_and(|volume: Volume| volume.can_share_extents());
        Some((can_share && file.shared_layout().is_some(), file.xattrs().ok()?))
    }
}
