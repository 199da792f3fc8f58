//! What a plan can say of files only after they were opened: extended attributes, and whether others
//! have their disk space too.

use fsops::{File, Volume, Xattr};
use walk::Reach;

use crate::kind::Kind;
use crate::plan::{Member, Plan};

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
