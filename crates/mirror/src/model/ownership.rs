//! The owners, permissions and attributes that this process can set on a file.
//!
//! Only root can change the owner of a file. Other users can only change the group, to one of their own groups. The
//! set-user-ID bit is copied only if the copy has the same owner as the source file, and the set-group-ID bit only if
//! it has the same group.

use fsops::{Stat, Xattr, is_acl};

use crate::model::metadata_support::MetadataSupport;

/// The privileges of this process.
#[derive(Clone, Debug)]
pub(crate) struct Privileges {
    user: u32,
    groups: Vec<u32>,
    umask: u32,
}

/// The owner and group to set on a file.
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

    /// Returns the owner and group to set on a file that belongs to `now`, so that they match `wanted` as far as
    /// possible. Returns `None` if nothing should be changed, in particular if `support` has no owners.
    ///
    /// Only root can change the owner. Other users can change the group to one of their own groups.
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

    /// Returns an owner other than `now` that this process can set on a file.
    pub(crate) fn another_owner(&self, now: (u32, u32)) -> Option<Owner> {
        let other = |id| if id == 1 { 2 } else { 1 };
        if self.is_root() {
            return Some(Owner { user: Some(other(now.0)), group: other(now.1) });
        }
        let group = self.groups.iter().copied().find(|&group| group != now.1)?;
        Some(Owner { user: None, group })
    }

    /// Returns the permissions to set on a file that belongs to `now`, based on `wanted`. Returns `None` if the file
    /// system stores no permissions. Set-id bits are dropped if the file cannot get the owner that they were meant
    /// for. They are also dropped if the file system stores no owners, because the real owner is unknown in that case.
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

    /// Returns the permissions of a new file that is created with `mode`, after the umask is applied.
    pub(crate) fn mode_of_new(&self, mode: u32) -> u32 {
        mode & 0o777 & !self.umask
    }

    /// Drops the attributes that this process cannot set. Drops ACLs as well if the file system stores no permissions.
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

    /// Returns the permissions of a file that still belongs to `now` after the run tried to change its owner.
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

/// Returns a closure that removes the set-id bits from permissions if changing the owner failed. Those bits were meant
/// for another owner.
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
    fn only_root_can_change_owners() {
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
    fn unsupported_metadata_is_not_set() {
        let root = Privileges { user: 0, groups: vec![0], umask: 0o022 };
        let wanted = like(7, 8, 0o6755);
        let no_owners = MetadataSupport { owners: false, ..MetadataSupport::ALL };
        assert_eq!(root.owner(no_owners, (0, 0), &wanted), None);
        // Without owners, the set-id bits would act for a user who is not the owner of the source file.
        assert_eq!(root.mode(no_owners, (0, 0), &wanted), Some(0o755));
        assert_eq!(
            root.mode(MetadataSupport { modes: false, ..MetadataSupport::ALL }, (0, 0), &wanted),
            None
        );
        // The bits are dropped even if the mount happens to report the right owner.
        assert_eq!(root.mode(no_owners, (7, 8), &wanted), Some(0o755));
        assert_eq!(
            (mode_after_chown(true)(0o6755), mode_after_chown(false)(0o6755)),
            (0o755, 0o6755)
        );
        assert_eq!(root.final_mode(MetadataSupport::ALL, (0, 8), &wanted), Some(0o755));
        assert_eq!(root.final_mode(MetadataSupport::ALL, (7, 8), &wanted), Some(0o6755));
    }
}
