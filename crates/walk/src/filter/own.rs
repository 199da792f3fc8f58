//! Lop's own files: the catalog, its `SQLite` journals, and the directory with the journals of
//! runs.
//!
//! These files are identified by their directory (device and inode) and name, because links and
//! bind mounts give them more than one path. The set includes journals that do not exist, because
//! `SQLite` would apply any journal that another program creates next to a database.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use fsops::{FileKey, Kind, Stat};

/// Maximum number of symbolic links to follow in a path, the same as in the kernel.
const MAX_LINKS: usize = 40;

/// Files that only lop itself may change.
#[derive(Clone, Debug, Default)]
pub struct OwnFiles {
    /// Names of own files, by directory.
    names: Vec<(FileKey, Vec<Vec<u8>>)>,
    /// Directories that contain only lop's own files.
    folders: Vec<FileKey>,
    /// Absolute paths of the files that exist, with links resolved.
    paths: Vec<PathBuf>,
}

impl OwnFiles {
    /// Returns a set of the files and directories at `paths`. The set also contains the symbolic
    /// links in these paths, because removing a link would break the path.
    pub fn new(paths: &[PathBuf]) -> OwnFiles {
        let mut own = OwnFiles::default();
        for path in paths {
            for path in way(path) {
                own.add(&path);
            }
        }
        own
    }

    fn add(&mut self, path: &Path) {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return };
        let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        let Ok(above) = Stat::of_path(above) else { return };
        let name = name.as_bytes().to_vec();
        match self.names.iter_mut().find(|(dir, _)| *dir == above.key()) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => self.names.push((above.key(), vec![name])),
        }
        let Ok(stat) = Stat::of_path(path) else { return };
        if stat.kind == Kind::Dir {
            self.folders.push(stat.key());
        }
        if stat.kind != Kind::Symlink {
            self.paths.extend(path.canonicalize());
        }
    }

    /// Returns the absolute paths of the files that exist, with links resolved.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter().map(PathBuf::as_path)
    }

    /// Returns false if a name belongs to none of lop's own files in any directory. A caller that
    /// skips directories for which [`OwnFiles::has`] is true can save the identity of most
    /// directories with this check.
    pub fn may_have(&self, name: &[u8]) -> bool {
        self.names.iter().flat_map(|(_, names)| names).any(|own| own.as_slice() == name)
    }

    /// Returns whether a name in a directory belongs to one of lop's own files.
    pub fn has(&self, dir: FileKey, name: &[u8]) -> bool {
        let names = self.names.iter().filter(|(own, _)| *own == dir);
        self.folders.contains(&dir)
            || names.flat_map(|(_, names)| names).any(|own| own.as_slice() == name)
    }
}

/// Returns the symbolic links in a path, followed by the resolved path.
fn way(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut path = path.to_path_buf();
    while found.len() < MAX_LINKS {
        let link = path.ancestors().filter(|dir| dir.is_symlink()).last().map(Path::to_path_buf);
        let Some(link) = link else { break };
        let Ok(target) = link.read_link() else { break };
        let rest = path.strip_prefix(&link).map(Path::to_path_buf).unwrap_or_default();
        let target = link.parent().unwrap_or(Path::new("/")).join(target);
        // Joining an empty path would append a slash.
        path = if rest.as_os_str().is_empty() { target } else { target.join(rest) };
        found.push(link);
    }
    found.push(path);
    found
}

#[cfg(test)]
mod tests {
    use fsops::Stat;
    use testkit::TreeBuilder;

    use super::OwnFiles;

    #[test]
    fn own_files_are_identified_by_directory_and_include_links() {
        let tree = TreeBuilder::new()
            .file("real/deep/c.db", "")
            .file("real/deep/c.db.runs/1", "")
            .file("c.db", "another")
            .symlink("links/one", "../links/two")
            .symlink("links/two", "../real/deep");
        let temp = tree.make_temp();
        let key =
            |path: &str| Stat::of_path(&temp.path().join(path)).expect("the file exists").key();
        let at = |name: &str| temp.path().join("links/one").join(name);
        let own = OwnFiles::new(&[at("c.db"), at("c.db-journal"), at("c.db.runs")]);
        let deep = key("real/deep");
        assert!(own.has(deep, b"c.db") && own.has(deep, b"c.db-journal"));
        assert!(own.has(deep, b"c.db.runs") && own.has(key("real/deep/c.db.runs"), b"1"));
        assert!(own.has(key("links"), b"one") && own.has(key("links"), b"two"));
        assert!(!own.has(deep, b"other") && !own.has(key(""), b"c.db"));
    }
}
