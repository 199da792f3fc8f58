//! Makes chosen calls fail, so that tests can see what a bad disk would do.
//!
//! Compiled in with the feature `faults` only. A rule names the operation and the end of the file
//! name it applies to; every matching call fails until the rules are cleared.

use std::io;
use std::sync::RwLock;

use crate::Op;

/// One call that is to fail.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Which call.
    pub op: Op,
    /// On names that end in these bytes.
    pub name_suffix: Vec<u8>,
    /// With this error number, such as `libc::EIO`.
    pub errno: i32,
}

static FAULTS: RwLock<Vec<Fault>> = RwLock::new(Vec::new());

/// Replaces all rules by `faults`.
///
/// # Panics
///
/// If a thread panicked while it changed the rules.
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
