//! Reads a tree back and compares it with its plan.
//!
//! Every name is looked up and must lead to the inode that the plan says, no other and no other's;
//! everything else in the tree is counted; files that share a size are read whole. What is
//! compared in the end are the [`Counts`], and the BLAKE3 of contents with the contents planned.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;

use blake3::Hash;
use rustix::fs::{AtFlags, Mode, OFlags};

use super::plan::{Counts, Plan};
use crate::Failure;

/// How many readers digest files.
const READERS: usize = 2;

/// A size and, for a size that several files have, the digest.
type Found = (u64, Option<Hash>);

/// Returns what is there, if it is what was planned.
pub(super) fn check(plan: &Plan, root: &Path) -> Result<Counts, Failure> {
    let (dirs, names) = entries(root).map_err(|e| Failure::at(root, e))?;
    let paths = inodes(plan, root)?;
    let digests = digests(plan, &paths)?;
    let mut contents = HashMap::new();
    for (content, found) in plan.inodes.iter().zip(&digests) {
        if found.1.is_some() && *contents.entry(content).or_insert(found) != found {
            return Err(Failure::at(root, "files that should be equal are not"));
        }
    }
    let planned = plan.counts();
    let mut found = Counts {
        dirs,
        names,
        linked: planned.linked,
        empty_or_other: plan.others.len() as u64,
        ..Counts::default()
    };
    found.add_files(digests.into_iter());
    if found != planned {
        return Err(Failure::at(root, format!("found\n{found}\ninstead of\n{planned}")));
    }
    Ok(found)
}

/// Returns how many directories and how many other names are below `root`.
fn entries(root: &Path) -> io::Result<(u64, u64)> {
    let (mut dirs, mut names) = (0, 0);
    let mut unlisted = vec![root.to_path_buf()];
    while let Some(dir) = unlisted.pop() {
        for entry in fs::read_dir(&dir)? {
            let entry = entry?;
            // mkfs.ext4 leaves one at the top of an image.
            if entry.file_type()?.is_dir() && entry.file_name() != "lost+found" {
                dirs += 1;
                unlisted.push(entry.path());
            } else if !entry.file_type()?.is_dir() {
                names += 1;
            }
        }
    }
    Ok((dirs, names))
}

/// Looks every name up, and returns a path for each inode.
fn inodes(plan: &Plan, root: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut number_of: Vec<Option<u64>> = vec![None; plan.inodes.len()];
    let mut paths = vec![PathBuf::new(); plan.inodes.len()];
    let mut taken = HashSet::new();
    let mut dir = (u32::MAX, None);
    for name in &plan.names {
        let path = root.join(&plan.dirs()[name.dir as usize]);
        if dir.0 != name.dir {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let open = rustix::fs::open(&path, flags, Mode::empty());
            dir = (name.dir, Some(open.map_err(|e| Failure::at(&path, e))?));
        }
        let path = path.join(&*name.text);
        let held = dir.1.as_ref().expect("just opened");
        let stat = rustix::fs::statat(held, &*name.text, AtFlags::SYMLINK_NOFOLLOW);
        let stat = stat.map_err(|e| Failure::at(&path, e))?;
        let inode = name.inode as usize;
        match number_of[inode] {
            Some(number) if number == stat.st_ino => {}
            None if taken.insert(stat.st_ino) => {
                number_of[inode] = Some(stat.st_ino);
                paths[inode].clone_from(&path);
            }
            _ => return Err(Failure::at(&path, "is linked to another file than planned")),
        }
        if u64::try_from(stat.st_size) != Ok(plan.inodes[inode].size) {
            return Err(Failure::at(&path, "has another size than planned"));
        }
    }
    Ok(paths)
}

/// Returns size and digest of each inode.
fn digests(plan: &Plan, paths: &[PathBuf]) -> Result<Vec<Found>, Failure> {
    let mut sharing: HashMap<u64, u32> = HashMap::new();
    for content in &plan.inodes {
        *sharing.entry(content.size).or_default() += 1;
    }
    let digest = |inode: usize| -> Result<Found, Failure> {
        let size = plan.inodes[inode].size;
        if size == 0 || sharing[&size] < 2 {
            return Ok((size, None));
        }
        let mut hasher = blake3::Hasher::new();
        File::open(&paths[inode])
            .and_then(|file| hasher.update_reader(file).map(|_| ()))
            .map_err(|e| Failure::at(&paths[inode], e))?;
        Ok((size, Some(hasher.finalize())))
    };
    let part = paths.len().div_ceil(READERS).max(1);
    thread::scope(|scope| {
        let parts = (0..paths.len()).step_by(part).map(|start| {
            let end = (start + part).min(paths.len());
            scope.spawn(move || (start..end).map(digest).collect::<Result<Vec<_>, _>>())
        });
        let readers: Vec<_> = parts.collect();
        let mut all = Vec::new();
        for reader in readers {
            all.extend(reader.join().expect("a reader does not panic")?);
        }
        Ok(all)
    })
}

/// Returns what is in the hostile tree, if a naive reader finds in it what it should hold.
pub(super) fn hostile(root: &Path, expected: &testkit::Hostile) -> Result<Counts, Failure> {
    let found = testkit::relative_to(root, &testkit::naive_groups(root));
    testkit::groups_match(expected.groups_here(), &found).map_err(|e| Failure::at(root, e))?;
    let (dirs, names) = entries(root).map_err(|e| Failure::at(root, e))?;
    let groups = found.len() as u64;
    let in_groups = found.iter().map(|group| group.len() as u64).sum();
    Ok(Counts { dirs, names, in_groups, groups, ..Counts::default() })
}
