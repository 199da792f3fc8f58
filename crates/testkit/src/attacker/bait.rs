//! The files of the attacker outside of the tree: the bait, held entries, and the bell that wakes
//! its threads.

use std::fs::{self, File, FileTimes};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::symlinkat;

use super::{AttackOptions, Ground, places};
use crate::dice::Dice;

/// The directory of the bait.
pub(super) const BAIT: &str = "bait";
/// The file in the bait that links lead to.
pub(super) const FILE: &str = "file";
/// The directory in the bait that links lead to.
pub(super) const DIR: &str = "dir";
/// The directory of entries taken out of the tree.
pub(super) const HELD: &str = "held";
/// The directory in which a new name wakes the threads.
pub(super) const BELL: &str = "bell";

/// Maximum number of files of the tree that are copied into the bait under the same name.
const MAX_FILE_COPIES: usize = 100;
/// Maximum number of directories of the tree that have a namesake with separate copies in the bait.
const MAX_DIR_COPIES: usize = 8;
/// The size in bytes of the largest file that is copied.
const MAX_COPIED_BYTES: u64 = 1 << 20;

/// Creates the directories and lays the bait.
pub(super) fn lay(roots: &[&Path], outside: &Path, options: AttackOptions) -> io::Result<Ground> {
    for dir in [BAIT, HELD, BELL] {
        fs::create_dir_all(outside.join(dir))?;
    }
    let home = outside.canonicalize()?;
    for root in roots {
        if home.starts_with(root.canonicalize()?) {
            return Err(io::Error::other("it is below a root"));
        }
    }
    if let Some(root) = roots.first()
        && fs::metadata(root)?.dev() != fs::metadata(&home)?.dev()
    {
        return Err(io::Error::other("it is on another file system"));
    }
    let bait = home.join(BAIT);
    fs::write(bait.join(FILE), "precious, and no business of any program\n")?;
    let (files, dirs) = namesakes(roots)?;
    let dirs: Vec<_> = dirs.iter().filter_map(|dir| dir.file_name()).take(MAX_DIR_COPIES).collect();
    copy_all(&files, &bait.join(DIR))?;
    for name in dirs {
        copy_all(&files, &bait.join(DIR).join(name))?;
    }
    super::ground(roots, &home, options)
}

/// Puts links to the bait into random directories of the tree.
pub(super) fn put_links(ground: &Ground, dice: &mut Dice) {
    let places = places::sample(ground, dice);
    for number in 0..ground.options.links_inside {
        let dir: Option<&OwnedFd> = dice.pick(&places).map(|place| &place.dir);
        let target = &ground.targets[usize::from(number % 2 == 0)];
        let put = dir.map(|dir| symlinkat(target, dir, format!("bait-link-{number}")));
        assert!(matches!(put, Some(Ok(()))), "no link to the bait in the tree: {put:?}");
    }
}

/// Wakes a thread that waits for new names.
pub(super) fn ring(outside: &Path) {
    // Another attacker with the same outside directory may have created this name.
    let rung = |number: u32| {
        let made = symlink("over", outside.join(BELL).join(number.to_string()));
        !made.is_err_and(|e| e.kind() == io::ErrorKind::AlreadyExists)
    };
    let _number = (0..u32::MAX).find(|number| rung(*number));
}

/// Returns the files and directories of the tree that are copied, up to the maximum numbers.
fn namesakes(roots: &[&Path]) -> io::Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let (mut files, mut dirs) = (Vec::new(), Vec::new());
    let mut unlisted: Vec<PathBuf> = roots.iter().map(|root| root.to_path_buf()).collect();
    while let Some(dir) = unlisted.pop() {
        let mut entries = fs::read_dir(&dir)?.collect::<io::Result<Vec<_>>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let kind = entry.file_type()?;
            if kind.is_dir() {
                dirs.push(entry.path());
                unlisted.push(entry.path());
            } else if kind.is_file() && entry.metadata()?.len() <= MAX_COPIED_BYTES {
                files.push(entry.path());
            }
        }
        if files.len() >= MAX_FILE_COPIES && dirs.len() >= MAX_DIR_COPIES {
            break;
        }
    }
    files.sort_by_key(|path| path.as_os_str().as_bytes().len());
    files.truncate(MAX_FILE_COPIES);
    Ok((files, dirs))
}

/// Copies files into one directory, with their modification times. If several files have the same
/// name, only the first is copied.
fn copy_all(files: &[PathBuf], dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    for file in files {
        let copy = dir.join(file.file_name().unwrap_or_default());
        if !copy.exists() {
            fs::copy(file, &copy)?;
            let times = FileTimes::new().set_modified(fs::metadata(file)?.modified()?);
            File::open(&copy)?.set_times(times)?;
        }
    }
    Ok(())
}
