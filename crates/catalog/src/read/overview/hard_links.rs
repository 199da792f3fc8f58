//! Counts a file with several names once, in the lowest directory that contains all of its names, as
//! `lop space` does.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use super::{NameRow, Tallies};
use crate::error::Error;
use crate::tables::dirs::Dirs;

/// The values that are equal for all names of a file: file system, inode number, size, and
/// modification time.
pub(super) type Identity = (i64, i64, i64, i64);

/// Hashes of the identities of all names, 8 bytes for each name.
pub(super) struct Identities {
    hasher: RandomState,
    hashes: Vec<u64>,
}

impl Identities {
    pub(super) fn new() -> Identities {
        Identities { hasher: RandomState::new(), hashes: Vec::new() }
    }

    pub(super) fn add(&mut self, identity: &Identity) {
        self.hashes.push(self.hasher.hash_one(identity));
    }

    /// Returns the identities that occurred more than once, and possibly a few others.
    fn repeated(mut self) -> Repeated {
        self.hashes.sort_unstable();
        let same = self.hashes.chunk_by(|a, b| a == b).filter(|same| same.len() > 1);
        Repeated { hashes: same.map(|same| same[0]).collect(), hasher: self.hasher }
    }
}

struct Repeated {
    hasher: RandomState,
    hashes: HashSet<u64>,
}

impl Repeated {
    fn may_have(&self, identity: &Identity) -> bool {
        self.hashes.contains(&self.hasher.hash_one(identity))
    }
}

/// Corrects tallies that count every name. `each_name` reads all names again, but is called only if
/// there are hard links.
pub(super) fn count_once(
    tallies: &mut Tallies,
    identities: Identities,
    dirs: &Dirs,
    each_name: impl FnOnce(&mut dyn FnMut(NameRow)) -> Result<(), Error>,
) -> Result<(), Error> {
    let repeated = identities.repeated();
    if repeated.hashes.is_empty() {
        return Ok(());
    }
    let mut files: HashMap<Identity, NameRow> = HashMap::new();
    each_name(&mut |name| {
        if !repeated.may_have(&name.identity) {
            return;
        }
        if let Some(tally) = tallies.get_mut(&name.key()) {
            tally.subtract(name.tally);
        }
        let file = files.entry(name.identity).or_insert(name);
        file.dir = dirs.common(file.dir, name.dir);
    })?;
    for file in files.into_values() {
        tallies.entry(file.key()).or_default().add(file.tally);
    }
    Ok(())
}
