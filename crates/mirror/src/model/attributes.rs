//! Extended attributes of something in the source: as far as they can be read, and count at the destination.
//!
//! Where there are more than can be listed, or what has them cannot be read, its ACLs are known all the same. Then
//! only these are compared and set, so that a revocation gets to the copy, and what else that has stays.

use std::io;

use fsops::{Xattr, is_acl, xattrs_differ};

use crate::model::metadata_support::MetadataSupport;
use crate::model::ownership::Privileges;

/// What something is to have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attributes {
    all: Vec<Xattr>,
    /// These are the ACLs alone.
    is_partial: bool,
}

impl Attributes {
    pub(crate) fn new(all: Vec<Xattr>, is_partial: bool) -> Attributes {
        Attributes { all, is_partial }
    }

    /// Takes what was read; if there were too many of them to be listed, the ACLs alone.
    ///
    /// # Errors
    ///
    /// Why neither could be read.
    pub(crate) fn read(
        all: io::Result<Vec<Xattr>>,
        acls: impl FnOnce() -> io::Result<Vec<Xattr>>,
    ) -> io::Result<Attributes> {
        match all {
            Err(e) if e.raw_os_error() == Some(libc::E2BIG) => Ok(Attributes::new(acls()?, true)),
            all => Ok(Attributes::new(all?, false)),
        }
    }

    /// Returns those that are known.
    pub(crate) fn all(&self) -> &[Xattr] {
        &self.all
    }

    /// Returns whether there are others, which are not known.
    pub(crate) fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// Keeps those that this process can set where `keeps` is kept.
    pub(crate) fn settable(self, privileges: &Privileges, support: MetadataSupport) -> Attributes {
        let Attributes { all, is_partial } = self;
        Attributes { all: privileges.settable(support, all), is_partial }
    }

    /// Returns those attributes of a copy that are to be compared with these, and changed to be like these.
    pub(crate) fn comparable(
        &self,
        privileges: &Privileges,
        support: MetadataSupport,
        now: Vec<Xattr>,
    ) -> Vec<Xattr> {
        let mut now = privileges.settable(support, now);
        if self.is_partial {
            now.retain(|(name, _)| is_acl(name));
        }
        now
    }

    /// Returns whether a copy that has the attributes `now` has others than these.
    pub(crate) fn differ(
        &self,
        privileges: &Privileges,
        support: MetadataSupport,
        now: Vec<Xattr>,
    ) -> bool {
        xattrs_differ(&self.comparable(privileges, support, now), &self.all)
    }
}

#[cfg(test)]
mod tests {
    use super::Attributes;
    use crate::model::metadata_support::MetadataSupport;
    use crate::model::ownership::Privileges;

    const ACL: &str = "system.posix_acl_access";

    fn named(names: &[&str]) -> Vec<fsops::Xattr> {
        names.iter().map(|name| (name.as_bytes().to_vec(), b"v".to_vec())).collect()
    }

    #[test]
    fn of_what_is_known_in_part_only_that_is_compared() {
        let privileges = Privileges::of_process();
        let differ = |wanted: &Attributes, support, now: &[&str]| {
            wanted.clone().settable(&privileges, support).differ(&privileges, support, named(now))
        };
        let whole = Attributes::new(named(&[ACL]), false);
        let part = Attributes::new(named(&[ACL]), true);
        let all = MetadataSupport::ALL;
        assert!(differ(&whole, all, &[ACL, "user.a"]) && !differ(&part, all, &[ACL, "user.a"]));
        assert!(differ(&whole, all, &[]) && differ(&part, all, &["user.a"]));
        // An ACL is a permission.
        let no_modes = MetadataSupport { modes: false, ..all };
        assert!(!differ(&whole, no_modes, &[]) && differ(&whole, no_modes, &["user.a"]));
    }
}
