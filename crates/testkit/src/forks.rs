//! Serialises forks, and prevents them while a test keeps files open; resets signals of what it
//! starts.
//!
//! Between a fork and the child's exec, the child has a copy of every descriptor that is open here,
//! also of files that are open for writing. The program under test leaves files alone that another
//! process has open for writing.

use std::io;
use std::process::{Child, Command};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use crate::signals::heed_in_children;

/// Locked for writing while a process is forked.
static FORKS: RwLock<()> = RwLock::new(());

/// Prevents testkit from forking this process until the guard is dropped.
///
/// The holder of the guard must not start a process itself.
pub fn without_forks() -> RwLockReadGuard<'static, ()> {
    FORKS.read().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a command when no guard prevents it; the command has been executed when this returns.
///
/// # Errors
///
/// The command cannot be started.
pub fn spawn(command: &mut Command) -> io::Result<Child> {
    heed_in_children();
    let _alone = FORKS.write().unwrap_or_else(PoisonError::into_inner);
    command.spawn()
}
