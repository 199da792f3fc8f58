//! The answer for each inode of one host.

use std::collections::HashMap;

use export::InodeKey;

use crate::class::{Class, Elsewhere, Inode};
use crate::compare::Tally;

/// Whether the inodes of one host are also on another one.
///
/// Inodes of a host with the same size, head and digest have the same answer, which is therefore stored
/// once.
#[derive(Clone, Debug)]
pub struct Answers {
    host: u32,
    answers: HashMap<Inode, Elsewhere>,
}

impl Answers {
    /// Returns an empty table for the host with a number.
    pub fn new(host: u32) -> Answers {
        Answers { host, answers: HashMap::new() }
    }

    /// Returns the answer for an inode of the host; `None` if the inode was not compared.
    pub fn of(&self, inode: &InodeKey) -> Option<Elsewhere> {
        self.answers.get(&Inode::new(self.host, inode)).copied()
    }
}

impl Tally for Answers {
    fn add(&mut self, class: &Class<'_>) {
        class.each_elsewhere(|inode, elsewhere| {
            if inode.host == self.host {
                self.answers.insert(*inode, elsewhere);
            }
        });
    }

    fn merge(&mut self, other: Answers) {
        self.answers.extend(other.answers);
    }
}
