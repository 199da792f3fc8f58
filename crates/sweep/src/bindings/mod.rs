//! Binds the variables of rules to the directories of a target.
//!
//! One variable may be bound to many directories: each profile has its `{local}`, and `Windows.old`
//! has profiles of its own. Therefore, one rule covers many generations and languages.
//! No binding leads through a link, and no directory is bound to one variable twice.
//!
//! | module | contents |
//! |---|---|
//! | `windows` | Windows systems and their profiles, each `Windows.old` included |
//! | `profile`, `names` | the directories of a Windows profile, by generation and language |
//! | `unix` | Linux and macOS systems and home directories |
//! | `lookup` | finds directories without following links |
//! | `binder` | collects the bindings |

mod binder;
mod lookup;
mod names;
mod profile;
mod unix;
mod windows;

use std::io;

use fsops::{Dir, FileKey};

use self::binder::Binder;
use crate::rule::variable::Variable;

/// Facts about a target that only the caller knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// Paths of home directories relative to the target, without links, for example from the
    /// `passwd` file of the running system. An empty path means that the target itself is one.
    pub homes: Vec<Vec<u8>>,
    /// Whether the target is `/` of the running system.
    pub is_live_root: bool,
}

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
    /// Remarks for the user, such as a home directory that could not be read.
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

/// How often a variable is bound, for a preview.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BindingCount {
    /// The variable.
    pub variable: Variable,
    /// The number of directories.
    pub directories: usize,
    /// The number of profiles that these directories belong to.
    pub profiles: usize,
    /// The number of these profiles that belong to a system in a `Windows.old`.
    pub old_profiles: usize,
}

/// Finds the directories of a target and their roles.
///
/// Only directories on the mount of the target are bound. A directory that cannot be read, or that
/// another file system is mounted on, leads to a remark.
///
/// # Errors
///
/// Returns the error of `fstatfs(2)` or `statx(2)` if the target itself cannot be examined.
pub fn bind(target: &Dir, context: &Context) -> io::Result<Bindings> {
    let device = target.stat()?.device;
    let stores_windows_names = target.volume()?.stores_windows_names(device);
    let mut binder = Binder::new(target, context);
    binder.bind(Variable::Top, b"", None);
    let has_windows = windows::bind(&mut binder);
    let is_unix_root = unix::bind(&mut binder);
    let is_profile = !has_windows && binder.lookup.listing(b"").has_user_hive;
    if is_profile {
        if let Some(index) = binder.add_profile(b"", None) {
            profile::bind(&mut binder, b"", index);
        }
    } else if !has_windows && !is_unix_root {
        unix::bind_target_as_home(&mut binder);
    }
    Ok(binder.finish(has_windows || is_profile || stores_windows_names))
}

impl Bindings {
    /// Returns how often each bound variable is bound, in the order of [`Variable`].
    pub fn counts(&self) -> Vec<BindingCount> {
        let counts = Variable::ALL.into_iter().map(|variable| self.count(variable));
        counts.filter(|count| count.directories > 0).collect()
    }

    fn count(&self, variable: Variable) -> BindingCount {
        let mut profiles: Vec<usize> = self.of(variable).filter_map(|b| b.profile).collect();
        profiles.sort_unstable();
        profiles.dedup();
        // A system that is not at the top of the target is in a `Windows.old`.
        let is_old = |profile: &&usize| {
            let system = self.profiles[**profile].system.map(|system| &self.systems[system]);
            system.is_some_and(|system| !system.path.is_empty())
        };
        BindingCount {
            variable,
            directories: self.of(variable).count(),
            profiles: profiles.len(),
            old_profiles: profiles.iter().filter(is_old).count(),
        }
    }

    /// Returns the directories that are bound to a variable.
    pub fn of(&self, variable: Variable) -> impl Iterator<Item = &Binding> {
        self.bound.iter().filter(move |binding| binding.variable == variable)
    }
}
