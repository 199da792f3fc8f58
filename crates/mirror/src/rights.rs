//! What this process may set on files, and what it therefore has to leave alone.

use fsops::{Stat, Xattr};

/// What the process may do.
#[derive(Clone, Debug)]
pub(crate) struct Rights {
    user: u32,
    groups: Vec<u32>,
    umask: u32,
}

/// The owner and group that a file is to get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) user: Option<u32>,
    pub(crate) group: u32,
}

impl Rights {
    pub(crate) fn of_process() -> Rights {
        Rights { user: fsops::effective_user(), groups: fsops::groups(), umask: fsops::umask() }
    }

    pub(crate) fn is_root(&self) -> bool {
        self.user == 0
    }

    /// Returns which owner a file that has the owner `now` is to get to be like `wanted`, if another.
    ///
    /// Only root gives files away; everybody else can choose among their groups.
    pub(crate) fn owner(&self, now: (u32, u32), wanted: &Stat) -> Option<Owner> {
        let user = Some(wanted.uid).filter(|&uid| self.is_root() && uid != now.0);
        let may = self.is_root() || self.groups.contains(&wanted.gid);
        let group = if may { wanted.gid } else { now.1 };
        (user.is_some() || group != now.1).then_some(Owner { user, group })
    }

    /// Returns the permissions that a file of the owner `now` may have to be like `wanted`: the rights of
    /// another owner are not for this one.
    pub(crate) fn mode(&self, now: (u32, u32), wanted: &Stat) -> u32 {
        let mode = wanted.mode & 0o7777;
        let owner = self.owner(now, wanted);
        let user = owner.and_then(|owner| owner.user).unwrap_or(now.0);
        let group = owner.map_or(now.1, |owner| owner.group);
        let user_bits = if user == wanted.uid { 0 } else { 0o4000 };
        let group_bits = if group == wanted.gid { 0 } else { 0o2000 };
        mode & !user_bits & !group_bits
    }

    /// Returns the permissions that a new file gets when it is made with `mode`.
    pub(crate) fn of_new(&self, mode: u32) -> u32 {
        mode & 0o777 & !self.umask
    }

    /// Keeps those attributes that can be set.
    pub(crate) fn settable(&self, mut xattrs: Vec<Xattr>) -> Vec<Xattr> {
        if !self.is_root() {
            let is_own = |name: &[u8]| name.starts_with(b"user.") || name.starts_with(b"system.");
            xattrs.retain(|(name, _)| is_own(name));
        }
        xattrs
    }
}

#[cfg(test)]
mod tests {
    use fsops::Stat;

    use super::{Owner, Rights};

    fn like(uid: u32, gid: u32, mode: u32) -> Stat {
        let stat = Stat::of_path(std::path::Path::new("/")).expect("there is a root");
        Stat { uid, gid, mode, ..stat }
    }

    #[test]
    fn root_gives_files_away_and_others_do_not() {
        let root = Rights { user: 0, groups: vec![0], umask: 0o022 };
        let wanted = like(7, 8, 0o6755);
        assert_eq!(root.owner((0, 0), &wanted), Some(Owner { user: Some(7), group: 8 }));
        assert_eq!(root.owner((7, 8), &wanted), None);
        assert_eq!(root.mode((0, 0), &wanted), 0o6755);
        let user = Rights { user: 5, groups: vec![5, 8], umask: 0o022 };
        assert_eq!(user.owner((5, 5), &wanted), Some(Owner { user: None, group: 8 }));
        assert_eq!(user.mode((5, 5), &wanted), 0o2755);
        assert_eq!(user.owner((5, 5), &like(7, 9, 0o6755)), None);
        assert_eq!(user.mode((5, 5), &like(7, 9, 0o6755)), 0o755);
    }
}
