//! Sums over a directory tree. A later run compares them to find out whether the tree has changed.
//!
//! The sums follow no links and enter no mounts, so they describe exactly what would be moved or
//! removed with the directory.

use std::ffi::CString;
use std::io;

use fsops::{Dir, DirBuffer, Kind, Stat};
use runtime::Progress;

/// Sums over everything below a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeSums {
    /// Number of entries that are not directories.
    pub files: u64,
    /// Number of directories, including the top.
    pub dirs: u64,
    /// The sum of the sizes of the files in bytes.
    pub size: u64,
    /// The latest modification time of an entry, including the top, in nanoseconds since the epoch.
    pub newest_ns: i64,
}

impl TreeSums {
    /// Computes the sums of a directory. Ends early if a stop is requested, so the caller must check
    /// for that.
    ///
    /// # Errors
    ///
    /// Returns the error of the first entry that cannot be examined. A mount point in the tree
    /// causes `EXDEV`.
    pub fn of(top: &Dir, progress: &Progress) -> io::Result<TreeSums> {
        let mut sums = TreeSums { newest_ns: i64::MIN, ..TreeSums::default() };
        for_each(top, progress, |stat| sums.add(stat))?;
        Ok(sums)
    }

    fn add(&mut self, stat: &Stat) {
        self.newest_ns = self.newest_ns.max(stat.mtime_ns());
        if stat.kind == Kind::Dir {
            self.dirs += 1;
        } else {
            self.files += 1;
            self.size = self.size.saturating_add(stat.size);
        }
    }
}

/// Returns whether a file was written, or a name was added or removed, in a directory or anywhere
/// below it since a time, in nanoseconds since the epoch. Ends early if a stop is requested, so the
/// caller must check for that.
///
/// The status change time of a file does not count by itself, because it changes when another name
/// of the file is removed.
///
/// # Errors
///
/// Same as for [`TreeSums::of`].
pub fn has_changed_since(top: &Dir, since_ns: i64, progress: &Progress) -> io::Result<bool> {
    let mut has_changed = false;
    for_each(top, progress, |stat| {
        let is_written = stat.kind == Kind::Dir || stat.mtime_ns() >= since_ns;
        has_changed |= is_written && stat.ctime_ns >= since_ns;
    })?;
    Ok(has_changed)
}

/// Calls `each` with the metadata of a directory and of every entry below it.
fn for_each(top: &Dir, progress: &Progress, mut each: impl FnMut(&Stat)) -> io::Result<()> {
    each(&top.stat()?);
    let mut buffer = DirBuffer::default();
    // Paths relative to the top. Keeping directories open would take too many descriptors.
    let mut pending = vec![Vec::new()];
    while let Some(path) = pending.pop() {
        if progress.poll_stop() {
            break;
        }
        let path_or_dot = if path.is_empty() { b".".as_slice() } else { &path };
        let dir = top.open_below_same_mount(path_or_dot)?;
        let mut names: Vec<CString> = Vec::new();
        dir.for_each(&mut buffer, |item| names.push(item.name.to_owned()))?;
        for name in names {
            let stat = dir.stat_child(&name)?;
            each(&stat);
            if stat.kind == Kind::Dir {
                let mut child = path.clone();
                walk::push_component(&mut child, name.to_bytes());
                pending.push(child);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use fsops::Dir;
    use runtime::Progress;
    use testkit::TreeBuilder;

    use super::{TreeSums, has_changed_since};

    #[test]
    fn a_tree_has_changed_since_if_a_file_or_a_list_of_names_has() {
        const SECOND: i64 = 1_000_000_000;
        let tree = TreeBuilder::new().file("t/d/a", "a").hard_links("x", &["t/d/b", "other"]);
        let temp = tree.mtime("t/d/a", 4_000_000_000, 0).mtime("t/d/b", 1_000, 0).make_temp();
        let (top, progress) = (Dir::open(&temp.join("t")).expect("opens"), Progress::default());
        let has_changed =
            |since_ns| has_changed_since(&top, since_ns, &progress).expect("examined");
        let made_ns =
            Dir::open(&temp.join("t/d")).and_then(|dir| dir.stat()).expect("there").ctime_ns;
        assert!(has_changed(made_ns) && !has_changed(made_ns + SECOND));
        assert_eq!(TreeSums::of(&top, &progress).expect("examined").files, 2);
    }

    fn sums_of(tree: &TreeBuilder) -> TreeSums {
        let temp = tree.make_temp();
        let top = Dir::open(&temp.join("t")).expect("opens");
        TreeSums::of(&top, &Progress::default()).expect("is examined")
    }

    #[test]
    fn sums_cover_every_entry_of_a_tree_and_no_link_target() {
        let tree = TreeBuilder::new()
            .file("t/a", "12345")
            .file("t/d/e/b", "123")
            .symlink("t/link", "../outside")
            .file("outside/large", vec![0; 9000]);
        let sums = sums_of(&tree);
        assert_eq!((sums.files, sums.dirs, sums.size), (3, 3, 8 + "../outside".len() as u64));
    }

    #[test]
    fn a_tree_is_as_new_as_its_newest_entry() {
        let tree = TreeBuilder::new().file("t/d/a", "a").file("t/b", "b");
        let sums = sums_of(&tree.mtime("t/d/a", 3_000_000_000, 7));
        assert_eq!(sums.newest_ns, 3_000_000_000_000_000_007);
    }
}
