//! Computes the space that a removal would free. A file is counted only if all of its names would
//! be removed.

use fsops::{FileKey, Stat};

use crate::outcome::Outcome;

/// Names of files with several links. A name takes 32 bytes. The table can be spilled to a
/// temporary file.
#[derive(Debug, Default)]
pub(crate) struct Linked(Vec<(FileKey, u32, u64)>);

impl Linked {
    /// Adds a name that would be removed.
    pub(crate) fn note(&mut self, stat: &Stat, outcome: &mut Outcome) {
        if stat.links > 1 {
            self.0.push((stat.key(), stat.links, stat.allocated));
        } else {
            outcome.freed += stat.allocated;
        }
    }

    pub(crate) fn add(&mut self, mut other: Linked) {
        self.0.append(&mut other.0);
    }

    /// Adds the totals to `outcome`.
    pub(crate) fn settle(mut self, outcome: &mut Outcome) {
        self.0.sort_unstable();
        for names in self.0.chunk_by(|a, b| a.0 == b.0) {
            let (_, links, allocated) = names[0];
            if names.len() >= links as usize {
                outcome.freed += allocated;
            } else {
                outcome.linked += names.len() as u64;
            }
        }
    }
}
