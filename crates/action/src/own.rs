//! Files that no run acts on: the catalog in use, its journals, and files in quarantine. A run that removed them could
//! not be undone, or would keep another run from being undone.

use fsops::{Dir, Op};
use walk::{Own, STORE_PREFIX, split};

use crate::error::Reason;

/// Fails if a file is one of these. `path` is absolute, and `dir` is the directory that it leads to.
///
/// # Errors
///
/// [`Reason::Own`], [`Reason::InStore`], or the reason why `dir` has no metadata.
pub fn check_not_own(own: &Own, dir: &Dir, path: &[u8]) -> Result<(), Reason> {
    // Where no directory could be made, a store is a single file.
    let mut names = path.split(|&byte| byte == b'/');
    if names.any(|name| name.starts_with(STORE_PREFIX.as_bytes())) {
        return Err(Reason::InStore);
    }
    let dir = dir.stat().map_err(Reason::failed(Op::Stat))?.key();
    if own.has(dir, split(path).1) { Err(Reason::Own) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use fsops::Dir;
    use testkit::TreeBuilder;
    use walk::Own;

    use super::check_not_own;
    use crate::error::Reason;

    #[test]
    fn files_in_folders_of_quarantine_and_by_themselves_are_in_quarantine() {
        let tree = TreeBuilder::new().dir("d/.lop-quarantine-0/run").make_temp();
        let check = |dir: &str, name: &str| {
            let path = tree.join(dir);
            let opened = Dir::open(&path).expect("is there");
            check_not_own(&Own::default(), &opened, path.join(name).as_os_str().as_bytes())
        };
        assert!(matches!(check("d/.lop-quarantine-0/run", "1"), Err(Reason::InStore)));
        assert!(matches!(check("d", ".lop-quarantine-0-run-7"), Err(Reason::InStore)));
        assert!(check("d", "file").is_ok());
    }
}
