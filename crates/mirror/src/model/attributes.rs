//! The extended attributes that a copy should have. These are the attributes of the source that could be read and that
//! the destination can store.
//!
//! If the list of attributes is too long to read, or if the entry cannot be read, its ACLs are still known. In that
//! case only the ACLs are compared and set, so that a permission revoked in the source is also revoked on the copy.
//! The other attributes of the copy stay.

use std::io;

use fsops::{Xattr, is_acl, xattrs_differ};

use crate::model::metadata_support::MetadataSupport;
use crate::model::ownership::Privileges;

/// The extended attributes that an entry should have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attributes {
    all: Vec<Xattr>,
    /// True if `all` holds only the ACLs.
    is_partial: bool,
}

impl Attributes {
    pub(crate) fn new(all: Vec<Xattr>, is_partial: bool) -> Attributes {
        Attributes { all, is_partial }
    }

    /// Keeps the attributes that were read, or reads only the ACLs if there are too many attributes to list.
    ///
    /// # Errors
    ///
    /// Fails if neither the attributes nor the ACLs could be read.
    pub(crate) fn read(
        all: io::Result<Vec<Xattr>>,
        acls: impl FnOnce() -> io::Result<Vec<Xattr>>,
    ) -> io::Result<Attributes> {
        match all {
            Err(e) if e.raw_os_error() == Some(libc::E2BIG) => Ok(Attributes::new(acls()?, true)),
            all => Ok(Attributes::new(all?, false)),
        }
    }

    /// Returns the known attributes.
    pub(crate) fn all(&self) -> &[Xattr] {
        &self.all
    }

    /// Returns true if the entry may have attributes that could not be read.
    pub(crate) fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// Drops the attributes that this process cannot set or that the file system does not keep according to `support`.
    pub(crate) fn settable(self, privileges: &Privileges, support: MetadataSupport) -> Attributes {
        let Attributes { all, is_partial } = self;
        Attributes { all: privileges.settable(support, all), is_partial }
    }

    /// Filters the attributes of a copy, and returns those that can be compared with this set.
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

    /// Returns true if the attributes `now` of a copy differ from this set.
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
    fn only_known_attributes_are_compared() {
        let privileges = Privileges::of_process();
        let differ = |wanted: &Attributes, support, now: &[&str]| {
            wanted.clone().settable(&privileges, support).differ(&privileges, support, named(now))
        };
        let whole = Attributes::new(named(&[ACL]), false);
        let part = Attributes::new(named(&[ACL]), true);
        let all = MetadataSupport::ALL;
        assert!(differ(&whole, all, &[ACL, "user.a"]) && !differ(&part, all, &[ACL, "user.a"]));
        assert!(differ(&whole, all, &[]) && differ(&part, all, &["user.a"]));
        // ACLs are permissions, so they are ignored on a file system that keeps no permissions.
        let no_modes = MetadataSupport { modes: false, ..all };
        assert!(!differ(&whole, no_modes, &[]) && differ(&whole, no_modes, &["user.a"]));
    }
}
