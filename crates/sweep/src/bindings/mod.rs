//! Binds the variables of rules to the directories of a target.
//!
//! One variable may be bound to many directories: each profile has its `{local}`, and `Windows.old`
//! has profiles of its own. This replaces the rewriting of rules for each generation and language.
//! No binding leads through a link, and no directory is bound to one variable twice.

use fsops::FileKey;

use crate::rule::variable::Variable;

/// The directories of one target that have a role.
#[derive(Clone, Debug, Default)]
pub struct Bindings {
    /// The operating systems that were found, the outermost first.
    pub systems: Vec<System>,
    /// The home directories that were found.
    pub profiles: Vec<Profile>,
    /// The directories and their roles, in the order of [`Variable`].
    pub bound: Vec<Binding>,
    /// Whether names on the target are compared without regard to case.
    pub folds: bool,
    /// Remarks for the user, such as a registry hive that could not be read.
    pub remarks: Vec<String>,
}

/// A directory that is bound to a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The variable.
    pub variable: Variable,
    /// The path relative to the target, without slashes at either end. Empty for the target itself.
    pub path: Vec<u8>,
    /// The identity of the directory.
    pub key: FileKey,
    /// The index in [`Bindings::profiles`] of the profile that the directory belongs to.
    pub profile: Option<usize>,
}

/// An operating system on a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct System {
    /// The path of its root relative to the target. Empty for the target itself.
    pub path: Vec<u8>,
    /// The name to display, such as `Windows 10` or `Windows XP (de)`.
    pub name: String,
    /// Whether this system is running at the moment.
    pub is_live: bool,
}

/// A home directory on a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The path relative to the target. Empty for the target itself.
    pub path: Vec<u8>,
    /// The index in [`Bindings::systems`] of the system that the profile belongs to.
    pub system: Option<usize>,
}

impl Bindings {
    /// Returns the directories that are bound to a variable.
    pub fn of(&self, variable: Variable) -> impl Iterator<Item = &Binding> {
        self.bound.iter().filter(move |binding| binding.variable == variable)
    }
}
