//! `many-empty`: any number of empty files, without a plan in memory.
//!
//! A plan keeps every name in memory, which is too much for 100 million names.

use std::fs;
use std::path::Path;
use std::thread;

use rustix::fs::{FileType, Mode, OFlags};

use super::plan::Counts;
use crate::Failure;

/// The version of the tree. It must be raised when the tree changes, so that stored trees are made again.
pub(super) const VERSION: &str = "1";

/// The number of files in each directory but the last one.
const FILES_PER_DIR: u64 = 1_000;
/// The number of directories in each folder but the last one.
const DIRS_PER_FOLDER: u64 = 1_000;

/// Makes `names` empty files in `root`, below folders of 1,000 directories with 1,000 files each.
///
/// The paths are `folder00/dir000/file000` and so on. Two threads make the folders.
///
/// # Errors
///
/// An entry cannot be made. Entries made so far are left in place.
pub(super) fn make(root: &Path, names: u64, _scale: f64, _seed: u64) -> Result<Counts, Failure> {
    let dirs = names.div_ceil(FILES_PER_DIR);
    let folders = dirs.div_ceil(DIRS_PER_FOLDER);
    let some_folders = |first: u64| -> Result<(), Failure> {
        (first..folders).step_by(2).try_for_each(|folder| make_folder(root, folder, names))
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| some_folders(1));
        some_folders(0)?;
        other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    Ok(Counts {
        dirs: dirs + folders,
        names,
        inodes: names,
        empty_or_other: names,
        ..Counts::default()
    })
}

/// Makes one of the folders of a tree of `names` files.
fn make_folder(root: &Path, folder: u64, names: u64) -> Result<(), Failure> {
    let folder_path = root.join(format!("folder{folder:02}"));
    let dirs = folder * DIRS_PER_FOLDER..(folder + 1) * DIRS_PER_FOLDER;
    for dir in dirs.take_while(|dir| dir * FILES_PER_DIR < names) {
        let path = folder_path.join(format!("dir{:03}", dir % DIRS_PER_FOLDER));
        fs::create_dir_all(&path).map_err(|e| Failure::at(&path, e))?;
        let files = FILES_PER_DIR.min(names - dir * FILES_PER_DIR);
        make_files(&path, files).map_err(|e| Failure::at(&path, e))?;
    }
    Ok(())
}

fn make_files(dir: &Path, files: u64) -> rustix::io::Result<()> {
    let dir = rustix::fs::open(dir, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
    (0..files).try_for_each(|file| {
        rustix::fs::mknodat(&dir, format!("file{file:03}"), FileType::RegularFile, mode, 0)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::make;

    #[test]
    fn the_last_directory_has_the_rest() {
        let temp = testkit::TempTree::new();
        let counts = make(temp.path(), 3_500, 1.0, 0).expect("made");
        assert_eq!((counts.names, counts.dirs), (3_500, 5));
        let files =
            |dir| fs::read_dir(temp.path().join("folder00").join(dir)).expect("listed").count();
        let found = ["dir000", "dir001", "dir002", "dir003"].map(files);
        assert_eq!(found, [1_000, 1_000, 1_000, 500]);
        assert_eq!(fs::read_dir(temp.path().join("folder00")).expect("listed").count(), 4);
    }
}
