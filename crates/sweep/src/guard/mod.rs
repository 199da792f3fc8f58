//! Guards: the checks that a rule must pass before it may take anything.
//!
//! A refused rule takes nothing and does not affect other rules.

use std::fmt;

/// A rule that a guard refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The index of the rule.
    pub rule: usize,
    /// The guard.
    pub guard: Guard,
    /// What the guard objects to, as a phrase: "reaches {profile}/Documents".
    pub reason: String,
}

/// The guards, with the numbers that the documentation uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Guard {
    /// A pattern is malformed or could lead out of its base directory.
    Syntax = 1,
    /// A pattern has too few literal characters.
    Narrow = 2,
    /// A pattern reaches protected entries.
    Protected = 3,
    /// The rule file is not trustworthy.
    RuleFile = 4,
    /// The rule takes too large a part of the target.
    Budget = 10,
}

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "guard {}", *self as u8)
    }
}
