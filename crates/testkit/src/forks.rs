//! Serialises forks, prevents them while a test keeps files open, and resets signals in new
//! processes.
//!
//! Between fork and exec, a child has a copy of every descriptor of this process, including those
//! of files that are open for writing. The program under test does not touch files that another
//! process has open for writing, so such a fork would change the result of a test.

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

/// Starts a command as soon as no guard prevents it. The command has been executed when this
/// returns.
///
/// # Errors
///
/// The command cannot be started.
pub fn spawn(command: &mut Command) -> io::Result<Child> {
    heed_in_children();
    let _alone = FORKS.write().unwrap_or_else(PoisonError::into_inner);
    command.spawn()
}
