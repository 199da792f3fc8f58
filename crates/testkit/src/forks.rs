//! Forks one at a time, and none while a test keeps files to itself; what is started heeds signals.
//!
//! From a fork until the child's exec, the child has every file that is open here, also those that are
//! open for writing; what is open for writing elsewhere is left alone by what is tested.

use std::io;
use std::process::{Child, Command};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use crate::signals::heed_in_children;

/// Held for writing while a process is forked.
static FORKS: RwLock<()> = RwLock::new(());

/// Keeps testkit from forking this process until what is returned is dropped.
///
/// Who holds it must not start anything itself.
pub fn without_forks() -> RwLockReadGuard<'static, ()> {
    FORKS.read().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a command when nobody minds; it has been executed when this returns.
///
/// # Errors
///
/// When it cannot be started.
pub fn spawn(command: &mut Command) -> io::Result<Child> {
    heed_in_children();
    let _alone = FORKS.write().unwrap_or_else(PoisonError::into_inner);
    command.spawn()
}
