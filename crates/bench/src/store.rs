//! The folder that keeps trees, images and results between races.
//!
//! Races run as root, delete what they made and mount images. They therefore work only in a folder
//! that contains a marker file.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::Failure;

/// The name of the file that marks a folder as a store.
const MARK: &str = ".lop-bench";

/// A folder that is reserved for races.
#[derive(Debug, Clone)]
pub struct Store(PathBuf);

impl Store {
    /// Opens a store, or turns a missing or empty folder into one.
    ///
    /// # Errors
    ///
    /// The folder contains other files, or cannot be created.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let at = |e: std::io::Error| Failure::at(path, e);
        fs::create_dir_all(path).map_err(at)?;
        let path = path.canonicalize().map_err(at)?;
        let mark = path.join(MARK);
        if !mark.exists() {
            if fs::read_dir(&path).map_err(at)?.next().is_some() {
                return Err(Failure::at(&path, "is not empty, and no store of races"));
            }
            fs::write(&mark, "Trees and images of lop's races; may be removed.\n").map_err(at)?;
        }
        Ok(Self(path))
    }

    /// Returns the folder as an absolute path without symbolic links.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the path of an entry of the store.
    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Returns the path of the kernel setting that tells programs if the disk of the store rotates.
    pub(crate) fn rotational(&self) -> Option<PathBuf> {
        let device = fs::metadata(&self.0).ok()?.dev();
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        let block = format!("/sys/dev/block/{major}:{minor}");
        // A partition does not have a queue. The queue belongs to its disk.
        let settings = ["queue", "../queue"].map(|queue| format!("{block}/{queue}/rotational"));
        settings.map(PathBuf::from).into_iter().find(|path| path.exists())
    }
}

/// Makes the kernel report the disk of the store as an SSD until this value is dropped.
///
/// Virtual disks often claim to rotate. Some tools read a rotating disk with one thread or in
/// another order, which makes them several times slower than on the same disk reported as an SSD.
#[derive(Debug)]
pub(crate) struct Announced {
    setting: PathBuf,
    before: String,
}

impl Announced {
    /// Changes the setting of the kernel.
    pub(crate) fn as_ssd(store: &Store) -> Result<Self, Failure> {
        let setting = store.rotational();
        let setting = setting.ok_or_else(|| Failure::at(store.path(), "is on no block device"))?;
        let at = |e: std::io::Error| Failure::at(&setting, e);
        let before = fs::read_to_string(&setting).map_err(at)?;
        fs::write(&setting, "0").map_err(at)?;
        Ok(Self { setting, before })
    }
}

impl Drop for Announced {
    #[expect(clippy::print_stderr, reason = "a drop cannot fail, but what it leaves must be known")]
    fn drop(&mut self) {
        if let Err(e) = fs::write(&self.setting, &self.before) {
            eprintln!("{}: is not {} again: {e}", self.setting.display(), self.before.trim());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Store;
    use std::fs;

    #[test]
    fn a_new_store_can_be_opened_again() {
        let temp = testkit::TempTree::new();
        let store = Store::open(&temp.join("new")).expect("nothing is there");
        fs::write(store.join("tree"), "").expect("ours");
        Store::open(&temp.join("new")).expect("it is marked");
    }

    #[test]
    fn a_folder_with_other_files_is_left_alone() {
        let temp = testkit::TempTree::new();
        fs::write(temp.join("mine"), "data").expect("written");
        Store::open(temp.path()).expect_err("it is not ours");
        assert_eq!(fs::read_dir(temp.path()).expect("it").count(), 1);
    }
}
