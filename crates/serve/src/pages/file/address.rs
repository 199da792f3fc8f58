//! The address of a file: the number of its group, its position in the group, and its version.
//!
//! After a change of the catalog, a number can refer to a different group and a position to a different
//! file. The version reveals this, so an old page never shows the wrong file.

use std::fmt;

use review::{Group, Member};
use serde::Deserialize;

use crate::hash::fnv1a;

/// The address of a file, shown as the part of the path after `/file/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Segments")]
pub(crate) struct Address {
    /// The number of the group.
    pub(super) number: i64,
    /// The position of the file in the group.
    pub(super) ordinal: u32,
    /// A hash of the path and of what the catalog remembers of the file.
    version: u64,
}

/// The segments of the path.
#[derive(Deserialize)]
struct Segments {
    number: i64,
    key: String,
}

impl Address {
    /// Returns the address of file `ordinal` of a group.
    pub(crate) fn of(group: &Group, ordinal: u32, member: &Member) -> Address {
        let numbers = [member.inode, group.size, member.mtime_ns.cast_unsigned()];
        let numbers = numbers.into_iter().flat_map(u64::to_le_bytes);
        let version = fnv1a(member.path.iter().copied().chain(numbers));
        Address { number: group.number, ordinal, version }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}-{:x}", self.number, self.ordinal, self.version)
    }
}

impl TryFrom<Segments> for Address {
    type Error = &'static str;

    fn try_from(Segments { number, key }: Segments) -> Result<Address, &'static str> {
        let parse = |(ordinal, version): (&str, &str)| {
            let (ordinal, version) =
                (ordinal.parse().ok()?, u64::from_str_radix(version, 16).ok()?);
            Some(Address { number, ordinal, version })
        };
        key.split_once('-').and_then(parse).ok_or("not the address of a file")
    }
}
