//! Which owners, permissions and attributes this process can set on a file.
//!
//! Only root can give files away; other users can choose among their groups. Set-id bits are never set for another
//! owner than that of the source.

use fsops::{Stat, Xattr, is_acl};

use crate::model::metadata_support::MetadataSupport;

/// What this process may set.
#[derive(Clone, Debug)]
pub(crate) struct Privileges {
    user: u32,
    groups: Vec<u32>,
    umask: u32,
}

/// The owner and group that a file should get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) user: Option<u32>,
    pub(crate) group: u32,
}

impl Privileges {
    pub(crate) fn of_process() -> Privileges {
        Privileges { user: fsops::effective_user(), groups: fsops::groups(), umask: fsops::umask() }
    }

    pub(crate) fn user(&self) -> u32 {
        self.user
    }

    pub(crate) fn is_root(&self) -> bool {
        self.user == 0
    }

    /// Returns the owner to give to a file that has the owner `now`, so that it is like `wanted`. Returns `None` if the
    /// owner should stay, as it always does where `support` keeps no owners.
    ///
    /// Only root can give files away; everybody else can choose among their groups.
    pub(crate) fn owner(
        &self,
        support: MetadataSupport,
        now: (u32, u32),
        wanted: &Stat,
    ) -> Option<Owner> {
        if !support.owners {
            return None;
        }
        let user = Some(wanted.uid).filter(|&uid| self.is_root() && uid != now.0);
        let may = self.is_root() || self.groups.contains(&wanted.gid);
        let group = if may { wanted.gid } else { now.1 };
        (user.is_some() || group != now.1).then_some(Owner { user, group })
    }

    /// Returns an owner that this process can give to a file of the owner `now`.
    pub(crate) fn another_owner(&self, now: (u32, u32)) -> Option<Owner> {
        let other = |id| if id == 1 { 2 } else { 1 };
        if self.is_root() {
            return Some(Owner { user: Some(other(now.0)), group: other(now.1) });
        }
        let group = self.groups.iter().copied().find(|&group| group != now.1)?;
        Some(Owner { user: None, group })
    }

    /// Returns the permissions for a file of the owner `now` that should be like `wanted`, or `None` where permissions
    /// are not kept. Set-id bits are dropped if the file cannot get the owner they belong to, and where owners are not
    /// kept, because the real owner is unknown there.
    pub(crate) fn mode(
        &self,
        support: MetadataSupport,
        now: (u32, u32),
        wanted: &Stat,
    ) -> Option<u32> {
        if !support.modes {
            return None;
        }
        let mode = wanted.mode & 0o7777;
        if !support.owners {
            return Some(mode & !SET_ID_BITS);
        }
        let owner = self.owner(support, now, wanted);
        let user = owner.and_then(|owner| owner.user).unwrap_or(now.0);
        let group = owner.map_or(now.1, |owner| owner.group);
        let user_bits = if user == wanted.uid { 0 } else { 0o4000 };
        let group_bits = if group == wanted.gid { 0 } else { 0o2000 };
        Some(mode & !user_bits & !group_bits)
    }

    /// Returns the permissions of a new file that is created with `mode`.
    pub(crate) fn mode_of_new(&self, mode: u32) -> u32 {
        mode & 0o777 & !self.umask
    }

    /// Drops the attributes that this process cannot set, and ACLs where permissions are not kept.
    pub(crate) fn settable(&self, support: MetadataSupport, mut xattrs: Vec<Xattr>) -> Vec<Xattr> {
        if !support.modes {
            xattrs.retain(|(name, _)| !is_acl(name));
        }
        if !self.is_root() {
            let is_own = |name: &[u8]| name.starts_with(b"user.") || name.starts_with(b"system.");
            xattrs.retain(|(name, _)| is_own(name));
        }
        xattrs
    }

    /// Returns the permissions of a file with the owner `now`, after the run tried to give it away.
    pub(crate) fn final_mode(
        &self,
        support: MetadataSupport,
        now: (u32, u32),
        wanted: &Stat,
    ) -> Option<u32> {
        let failed = self.owner(support, now, wanted).is_some();
        self.mode(support, now, wanted).map(mode_after_chown(failed))
    }
}

/// Returns a closure that removes the set-id bits from permissions if giving the file away failed: they were meant for
/// another owner.
pub(crate) fn mode_after_chown(failed: bool) -> impl Fn(u32) -> u32 {
    move |mode| if failed { mode & !SET_ID_BITS } else { mode }
}

const SET_ID_BITS: u32 = 0o6000;

#[cfg(test)]
mod tests {
    use fsops::Stat;

    use super::{Owner, Privileges, mode_after_chown};
    use crate::model::metadata_support::MetadataSupport;

    fn like(uid: u32, gid: u32, mode: u32) -> Stat {
        let stat = Stat::of_path(std::path::Path::new("/")).expect("there is a root");
        Stat { uid, gid, mode, ..stat }
    }

    #[test]
    fn root_gives_files_away_and_others_do_not() {
        let root = Privileges { user: 0, groups: vec![0], umask: 0o022 };
        let wanted = like(7, 8, 0o6755);
        assert_eq!(
            root.owner(MetadataSupport::ALL, (0, 0), &wanted),
            Some(Owner { user: Some(7), group: 8 })
        );
        assert_eq!(root.owner(MetadataSupport::ALL, (7, 8), &wanted), None);
        assert_eq!(root.mode(MetadataSupport::ALL, (0, 0), &wanted), Some(0o6755));
        let user = Privileges { user: 5, groups: vec![5, 8], umask: 0o022 };
        assert_eq!(
            user.owner(MetadataSupport::ALL, (5, 5), &wanted),
            Some(Owner { user: None, group: 8 })
        );
        assert_eq!(user.mode(MetadataSupport::ALL, (5, 5), &wanted), Some(0o2755));
        assert_eq!(user.owner(MetadataSupport::ALL, (5, 5), &like(7, 9, 0o6755)), None);
        assert_eq!(user.mode(MetadataSupport::ALL, (5, 5), &like(7, 9, 0o6755)), Some(0o755));
    }

    #[test]
    fn metadata_that_is_not_kept_is_not_set() {
        let root = Privileges { user: 0, groups: vec![0], umask: 0o022 };
        let wanted = like(7, 8, 0o6755);
        let no_owners = MetadataSupport { owners: false, ..MetadataSupport::ALL };
        assert_eq!(root.owner(no_owners, (0, 0), &wanted), None);
        // The set-id bits would be those of another user.
        assert_eq!(root.mode(no_owners, (0, 0), &wanted), Some(0o755));
        assert_eq!(
            root.mode(MetadataSupport { modes: false, ..MetadataSupport::ALL }, (0, 0), &wanted),
            None
        );
        // They are not set either if the mount reports the right owner.
        assert_eq!(root.mode(no_owners, (7, 8), &wanted), Some(0o755));
        assert_eq!(
            (mode_after_chown(true)(0o6755), mode_after_chown(false)(0o6755)),
            (0o755, 0o6755)
        );
        assert_eq!(root.final_mode(MetadataSupport::ALL, (0, 8), &wanted), Some(0o755));
        assert_eq!(root.final_mode(MetadataSupport::ALL, (7, 8), &wanted), Some(0o6755));
    }
}
