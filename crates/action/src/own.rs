//! Files that no run acts on, whatever names them: those of the catalog in use and its journals, and files in
//! quarantine. A run that removed them would take away the way back of another one, or its own.

use fsops::{Dir, Op};
use walk::{Own, STORE_PREFIX, split};

use crate::error::Reason;

/// Fails if the file at an absolute path, in the directory `dir`, is one of these.
///
/// # Errors
///
/// [`Reason::Own`], [`Reason::InStore`], or that the directory cannot be looked at.
pub fn check_not_own(own: &Own, dir: &Dir, path: &[u8]) -> Result<(), Reason> {
    let (above, name) = split(path);
    let mut dirs = above.split(|&byte| byte == b'/');
    if dirs.any(|dir| dir.starts_with(STORE_PREFIX.as_bytes())) {
        return Err(Reason::InStore);
    }
    let dir = dir.stat().map_err(Reason::failed(Op::Stat))?.key();
    if own.has(dir, name) { Err(Reason::Own) } else { Ok(()) }
}
