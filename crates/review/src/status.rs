//! The state of a group.

/// The state of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// No decision is about the group. It is not in the plan.
    #[default]
    Undecided,
    /// The user decided to leave the group as it is.
    Left,
    /// A decision determines which files stay and which are removed.
    Decided,
    /// A decision is about the group but cannot be followed. The group counts as undecided.
    Void,
}
