//! Reads a tree back and compares it with its plan.
//!
//! Every name must lead to the planned inode. Every file is read completely and must contain the
//! planned bytes. Symbolic links and FIFOs must match the plan, and the tree must not contain
//! anything else.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::thread;

use blake3::{Hash, Hasher};
use rustix::fs::{AtFlags, Mode, OFlags};

use super::plan::{Counts, OtherKind, Plan};
use crate::Failure;

/// The number of threads that digest files.
const READER_THREADS: usize = 2;

/// An inode number, and a path to it.
type Place = (u64, PathBuf);

/// Checks the tree against its plan and returns its counts.
pub(super) fn check(plan: &Plan, root: &Path) -> Result<Counts, Failure> {
    let counts = plan.counts();
    let found = entries(root).map_err(|e| Failure::at(root, e))?;
    if found != (counts.dirs, counts.names) {
        let planned = format!("{} directories and {} names", counts.dirs, counts.names);
        return Err(Failure::at(root, format!("{found:?} instead of {planned}")));
    }
    let places = inodes(plan, root)?;
    others(plan, root)?;
    let digests = digests(plan, &places)?;
    // Files with different planned content must have different bytes.
    let mut read = Counts { empty_or_other: plan.others.len() as u64, ..Counts::default() };
    read.add_files(plan.inodes.iter().zip(digests).map(|(content, digest)| (content.size, digest)));
    let Counts { dirs, names, linked, .. } = counts;
    if (Counts { dirs, names, linked, ..read.clone() }) != counts {
        return Err(Failure::at(root, format!("found\n{read}\ninstead of\n{counts}")));
    }
    Ok(counts)
}

/// Returns the planned groups of identical files as sets of inode numbers.
pub(super) fn groups(plan: &Plan, root: &Path) -> Result<BTreeSet<BTreeSet<u64>>, Failure> {
    let mut groups: HashMap<_, BTreeSet<u64>> = HashMap::new();
    for ((number, _), content) in inodes(plan, root)?.into_iter().zip(&plan.inodes) {
        if content.size > 0 {
            groups.entry(content).or_default().insert(number);
        }
    }
    Ok(groups.into_values().filter(|group| group.len() > 1).collect())
}

/// Returns the number of directories and the number of other names below `root`.
fn entries(root: &Path) -> io::Result<(u64, u64)> {
    let (mut dirs, mut names) = (0, 0);
    let mut unlisted = vec![root.to_path_buf()];
    while let Some(dir) = unlisted.pop() {
        for entry in fs::read_dir(&dir)? {
            let entry = entry?;
            // mkfs.ext4 creates `lost+found` at the top of an image.
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

/// Looks up every name and returns a path to each inode.
fn inodes(plan: &Plan, root: &Path) -> Result<Vec<Place>, Failure> {
    let mut places: Vec<Option<Place>> = vec![None; plan.inodes.len()];
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
        match &places[inode] {
            Some((number, _)) if *number == stat.st_ino => {}
            None if taken.insert(stat.st_ino) => places[inode] = Some((stat.st_ino, path.clone())),
            _ => return Err(Failure::at(&path, "is linked to another file than planned")),
        }
        if u64::try_from(stat.st_size) != Ok(plan.inodes[inode].size) {
            return Err(Failure::at(&path, "has another size than planned"));
        }
    }
    Ok(places.into_iter().map(|place| place.expect("every inode has a name")).collect())
}

/// Checks the entries that are not regular files.
fn others(plan: &Plan, root: &Path) -> Result<(), Failure> {
    for other in &plan.others {
        let path = root.join(&plan.dirs()[other.dir as usize]).join(&*other.name);
        let kind = fs::symlink_metadata(&path).map_err(|e| Failure::at(&path, e))?.file_type();
        let right = match &other.kind {
            OtherKind::Fifo => kind.is_fifo(),
            OtherKind::Symlink(target) => {
                fs::read_link(&path).is_ok_and(|found| found == Path::new(&**target))
            }
        };
        if !right {
            return Err(Failure::at(&path, "is not the link or FIFO that was planned"));
        }
    }
    Ok(())
}

/// Reads every file and compares its BLAKE3 digest with that of the planned bytes. Returns the
/// digests.
fn digests(plan: &Plan, places: &[Place]) -> Result<Vec<Hash>, Failure> {
    let compare = |inode: usize, buffer: &mut Vec<u8>| -> Result<Hash, Failure> {
        let (content, path) = (&plan.inodes[inode], &places[inode].1);
        let planned = content.digest(buffer);
        if content.size == 0 {
            return Ok(planned);
        }
        let mut found = Hasher::new();
        File::open(path)
            .and_then(|file| found.update_reader(file).map(|_| ()))
            .map_err(|e| Failure::at(path, e))?;
        if found.finalize() == planned {
            return Ok(planned);
        }
        Err(Failure::at(path, "holds other bytes than planned"))
    };
    let part = places.len().div_ceil(READER_THREADS).max(1);
    thread::scope(|scope| {
        let parts = (0..places.len()).step_by(part).map(|start| {
            let end = (start + part).min(places.len());
            scope.spawn(move || {
                let mut buffer = Vec::new();
                (start..end).map(|inode| compare(inode, &mut buffer)).collect::<Result<Vec<_>, _>>()
            })
        });
        let readers: Vec<_> = parts.collect();
        let mut digests = Vec::new();
        for reader in readers {
            digests.extend(reader.join().expect("a reader does not panic")?);
        }
        Ok(digests)
    })
}

/// Reads the hostile tree with a naive reader, compares it with the expected content and returns
/// its counts.
pub(super) fn hostile(root: &Path, expected: &testkit::Hostile) -> Result<Counts, Failure> {
    let found = testkit::relative_to(root, &testkit::naive_groups(root));
    testkit::groups_match(expected.groups_here(), &found).map_err(|e| Failure::at(root, e))?;
    let (dirs, names) = entries(root).map_err(|e| Failure::at(root, e))?;
    let groups = found.len() as u64;
    let in_groups = found.iter().map(|group| group.len() as u64).sum();
    Ok(Counts { dirs, names, in_groups, groups, ..Counts::default() })
}
