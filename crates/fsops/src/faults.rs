//! Makes selected calls fail, so that tests can simulate a bad disk.
//!
//! This module exists only with the feature `faults`. A rule consists of an operation and a file
//! name suffix. Every call that matches a rule fails until the rules are replaced.
//!
//! Calls that change a file system are also counted, across all threads. A test can make any one of
//! these calls fail, or have the process killed just before it.

use std::cell::RefCell;
use std::io;
use std::sync::RwLock;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

use crate::Op;

/// A rule that makes a call fail.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The operation.
    pub op: Op,
    /// The rule applies to file names that end with this suffix.
    pub name_suffix: Vec<u8>,
    /// The error number, such as `libc::EIO`.
    pub errno: i32,
}

static FAULTS: RwLock<Vec<Fault>> = RwLock::new(Vec::new());

/// Replaces all rules with `faults`.
///
/// # Panics
///
/// Panics if another thread panicked while changing the rules.
pub fn inject(faults: Vec<Fault>) {
    *FAULTS.write().expect("fault rules poisoned") = faults;
}

pub(crate) fn check(op: Op, name: &[u8]) -> io::Result<()> {
    let faults = FAULTS.read().expect("fault rules poisoned");
    match faults.iter().find(|f| f.op == op && name.ends_with(&f.name_suffix)) {
        Some(fault) => Err(io::Error::from_raw_os_error(fault.errno)),
        None => Ok(()),
    }
}

/// What happens at the selected change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeFault {
    /// The change fails with this error number.
    Fail(i32),
    /// The process is killed (`SIGKILL`) just before the change.
    Kill,
}

static CHANGES: AtomicU64 = AtomicU64::new(0);
static STRUCK: AtomicU64 = AtomicU64::new(u64::MAX);
static BLOW: AtomicI64 = AtomicI64::new(0);

/// Counts the changes from this call on, starting at 0, and applies `blow` to the change with the
/// given number.
pub fn fault_at_change(number: u64, blow: ChangeFault) {
    let blow = match blow {
        ChangeFault::Fail(errno) => i64::from(errno),
        ChangeFault::Kill => 0,
    };
    BLOW.store(blow, Relaxed);
    CHANGES.store(0, Relaxed);
    STRUCK.store(number, Relaxed);
}

/// Returns the number of changes since the last call to [`fault_at_change`].
pub fn changes() -> u64 {
    CHANGES.load(Relaxed)
}

/// A callback, and the number of changes to skip before calling it.
type Meddler = (u64, Box<dyn FnOnce()>);

thread_local! {
    static MEDDLER: RefCell<Option<Meddler>> = const { RefCell::new(None) };
}

/// Counts the changes that this thread makes from now on, starting at 0, and calls `meddle` just
/// before the change with the given number. The callback simulates another process that interferes
/// between two steps.
pub fn before_change(number: u64, meddle: impl FnOnce() + 'static) {
    MEDDLER.set(Some((number, Box::new(meddle))));
}

/// Removes the callback. Returns true if it was called.
pub fn was_called() -> bool {
    MEDDLER.take().is_none()
}

fn meddle() {
    let due = MEDDLER.with_borrow_mut(|meddler| match meddler {
        Some((0, _)) => meddler.take().map(|(_, meddle)| meddle),
        Some((left, _)) => {
            *left -= 1;
            None
        }
        None => None,
    });
    if let Some(meddle) = due {
        meddle();
    }
}

pub(crate) fn change() -> io::Result<()> {
    meddle();
    if CHANGES.fetch_add(1, Relaxed) != STRUCK.load(Relaxed) {
        return Ok(());
    }
    match i32::try_from(BLOW.load(Relaxed)) {
        Ok(errno) if errno != 0 => Err(io::Error::from_raw_os_error(errno)),
        _ => die(),
    }
}

fn die() -> ! {
    let _sent =
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    loop {
        std::thread::park();
    }
}
