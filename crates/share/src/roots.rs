//! The shared directories, and where a path leads.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{self, PathBuf};

use fsops::Dir;
use walk::OwnFiles;

use crate::error::Error;
use crate::path::Path;

/// A shared directory.
#[derive(Debug)]
pub(crate) struct Root {
    /// The name under which it is shared.
    pub(crate) label: Vec<u8>,
    pub(crate) dir: Dir,
    /// The absolute path, with links resolved.
    pub(crate) path: PathBuf,
    /// The device of the directory if it is a local disk. Files on other devices may be on a server
    /// that does not answer, so that even opening them may wait.
    pub(crate) local_device: Option<u64>,
}

/// The shared directories.
#[derive(Debug)]
pub(crate) struct Roots {
    all: Vec<Root>,
    /// lop's own files. They are not shared.
    own: OwnFiles,
}

/// The place to which a path leads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place<'r, 'p> {
    /// The list of the shared directories, if there are several.
    Top,
    /// A path below a shared directory.
    Below(&'r Root, &'p [u8]),
}

impl Roots {
    /// Opens the directories.
    ///
    /// # Errors
    ///
    /// Fails if one of them cannot be opened, or if two of several have the same name.
    pub(crate) fn open(paths: &[PathBuf], own: OwnFiles) -> Result<Roots, Error> {
        let mut all: Vec<Root> = Vec::with_capacity(paths.len());
        for path in paths {
            let root = Root::open(path)
                .map_err(|source| Error::Directory { path: path.clone(), source })?;
            if paths.len() > 1 {
                if root.path.file_name().is_none() {
                    return Err(Error::NoName(path.clone()));
                }
                if let Some(first) = all.iter().position(|other| other.label == root.label) {
                    let (first, second) = (paths[first].clone(), path.clone());
                    return Err(Error::SameName { first, second });
                }
            }
            all.push(root);
        }
        Ok(Roots { all, own })
    }

    /// Returns the directories.
    pub(crate) fn all(&self) -> &[Root] {
        &self.all
    }

    /// Returns whether there is a page with all directories, so that paths begin with their names.
    pub(crate) fn has_top(&self) -> bool {
        self.all.len() > 1
    }

    /// Returns the place of a path, or `None` if no shared directory has the name.
    pub(crate) fn place<'p>(&self, path: &'p Path) -> Option<Place<'_, 'p>> {
        if let [only] = &self.all[..] {
            return Some(Place::Below(only, &path.bytes));
        }
        if path.bytes.is_empty() {
            return Some(Place::Top);
        }
        let end = path.bytes.iter().position(|&byte| byte == b'/').unwrap_or(path.bytes.len());
        let root = self.all.iter().find(|root| root.label == path.bytes[..end])?;
        Some(Place::Below(root, path.bytes.get(end + 1..).unwrap_or_default()))
    }

    /// Returns lop's own files, which are not shared.
    pub(crate) fn own(&self) -> &OwnFiles {
        &self.own
    }

    /// Returns whether a path may lead to one of lop's own files, or into a folder of them.
    pub(crate) fn may_be_own(&self, below: &[u8]) -> bool {
        below.split(|&byte| byte == b'/').any(|name| self.own.may_have(name))
    }

    /// Returns whether a path leads to one of lop's own files, or into a folder of them. This may wait
    /// for a disk.
    pub(crate) fn leads_to_own(&self, root: &Root, below: &[u8]) -> bool {
        let mut start = 0;
        below.split(|&byte| byte == b'/').any(|name| {
            let above = &below[..start];
            start += name.len() + 1;
            let above = above.strip_suffix(b"/").unwrap_or(above);
            // The directory cannot be found if another process removes it. Then the file is gone, too.
            self.own.may_have(name)
                && root.dir.find_beneath(above).is_ok_and(|dir| self.own.has(dir.stat.key(), name))
        })
    }
}

impl Root {
    fn open(path: &path::Path) -> io::Result<Root> {
        let absolute = path.canonicalize()?;
        let dir = Dir::open(&absolute)?;
        let device = dir.stat()?.device;
        let local_device = dir.volume()?.is_local(device).then_some(device);
        let name = absolute.file_name().unwrap_or(absolute.as_os_str());
        Ok(Root { label: name.as_bytes().to_vec(), dir, path: absolute, local_device })
    }

    /// Returns the absolute path of a path below the directory.
    pub(crate) fn absolute(&self, below: &[u8]) -> Vec<u8> {
        let root = self.path.as_os_str().as_bytes();
        if below.is_empty() {
            return root.to_vec();
        }
        [root.strip_suffix(b"/").unwrap_or(root), b"/", below].concat()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "the tests make the shared directories")]

    use std::path::PathBuf;

    use testkit::TempTree;
    use walk::OwnFiles;

    use super::{Place, Roots};
    use crate::error::Error;
    use crate::path::Path;

    fn dirs(tree: &TempTree, names: &[&str]) -> Vec<PathBuf> {
        let paths = names.iter().map(|name| tree.path().join(name));
        paths.inspect(|path| std::fs::create_dir_all(path).expect("created")).collect()
    }

    fn below(roots: &Roots, path: &str) -> Option<(Vec<u8>, Vec<u8>)> {
        let path = Path::decode(path.as_bytes()).expect("a path");
        match roots.place(&path)? {
            Place::Top => Some((Vec::new(), Vec::new())),
            Place::Below(root, below) => Some((root.label.clone(), below.to_vec())),
        }
    }

    #[test]
    fn each_of_several_directories_is_below_its_name() {
        let tree = TempTree::new();
        let roots = Roots::open(&dirs(&tree, &["a", "x/b"]), OwnFiles::default()).expect("opened");
        let found = |label: &str, below: &str| Some((label.into(), below.into()));
        assert_eq!(below(&roots, "/"), found("", ""));
        assert_eq!(below(&roots, "/a"), found("a", ""));
        assert_eq!(below(&roots, "/b/c/d"), found("b", "c/d"));
        assert_eq!(below(&roots, "/c/a"), None);
        let one = Roots::open(&dirs(&tree, &["a"]), OwnFiles::default()).expect("opened");
        assert_eq!(below(&one, "/a"), found("a", "a"));
    }

    #[test]
    fn directories_with_the_same_name_or_none_cannot_be_shared_together() {
        let tree = TempTree::new();
        let paths = dirs(&tree, &["a", "x/a"]);
        let same = Roots::open(&paths, OwnFiles::default()).expect_err("the same name");
        assert!(matches!(same, Error::SameName { first, .. } if first == paths[0]));
        let paths = [paths[0].clone(), "/".into()];
        let none = Roots::open(&paths, OwnFiles::default()).expect_err("no name");
        assert!(matches!(none, Error::NoName(_)));
        Roots::open(&["/".into()], OwnFiles::default()).expect("alone");
        Roots::open(&[tree.path().join("no")], OwnFiles::default()).expect_err("missing");
    }

    #[test]
    fn own_files_are_recognized_by_their_directory() {
        let tree = TempTree::new();
        let root = dirs(&tree, &["s", "s/state/catalog.db.runs"]).remove(0);
        let own = ["catalog.db", "catalog.db.runs"].map(|name| root.join("state").join(name));
        let roots = Roots::open(&[root], OwnFiles::new(&own)).expect("opened");
        let is_own = |below: &[u8]| {
            let root = &roots.all()[0];
            assert!(roots.may_be_own(below) || !roots.leads_to_own(root, below));
            roots.leads_to_own(root, below)
        };
        assert!(is_own(b"state/catalog.db") && is_own(b"state/catalog.db.runs/1/journal"));
        assert!(!is_own(b"catalog.db") && !is_own(b"state") && !is_own(b"state/other"));
    }
}
