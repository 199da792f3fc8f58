//! Writes a plan to a file system in a chosen order. A single thread writes everything, so that the
//! files are laid out on the disk in this order.

use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};

use super::dice::Dice;
use super::plan::{Name, OtherKind, Plan};
use crate::Failure;
use crate::scenario::Order;

/// The seed for the order of files in shuffled trees.
const SHUFFLE_SEED: u64 = 9;

/// Creates everything below `root`, an empty directory.
pub(super) fn make(plan: &Plan, root: &Path, order: Order) -> Result<(), Failure> {
    for dir in &plan.dirs()[1..] {
        let path = root.join(dir);
        std::fs::create_dir(&path).map_err(|e| Failure::at(&path, e))?;
    }
    let (firsts, links) = ordered(plan, order);
    Writer::new(plan, root).files(&firsts)?;
    Writer::new(plan, root).links(&firsts, &links)?;
    others(plan, root)
}

/// Returns the first name of every inode, and all other names, both in writing order.
fn ordered(plan: &Plan, order: Order) -> (Vec<u32>, Vec<u32>) {
    let mut seen = HashSet::new();
    let all = 0..u32::try_from(plan.names.len()).expect("names are counted in 32 bits");
    let (mut firsts, mut links): (Vec<u32>, Vec<u32>) =
        all.partition(|&name| seen.insert(plan.names[name as usize].inode));
    for names in [&mut firsts, &mut links] {
        match order {
            Order::Created => names.sort_by_key(|&name| plan.names[name as usize].dir),
            Order::Shuffled => Dice::new(SHUFFLE_SEED).shuffle(names),
        }
    }
    (firsts, links)
}

/// Creates files and links through the descriptor of their directory, and keeps only the last
/// directory open.
struct Writer<'a> {
    plan: &'a Plan,
    root: &'a Path,
    dir: Option<(u32, OwnedFd)>,
}

impl<'a> Writer<'a> {
    fn new(plan: &'a Plan, root: &'a Path) -> Self {
        Self { plan, root, dir: None }
    }

    fn files(mut self, names: &[u32]) -> Result<(), Failure> {
        let mut buffer = Vec::new();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        for &name in names {
            let name = &self.plan.names[name as usize];
            let content = self.plan.inodes[name.inode as usize];
            let dir = self.dir(name.dir)?;
            rustix::fs::openat(dir, &*name.text, flags, Mode::from(0o644))
                .map_err(io::Error::from)
                .and_then(|file| content.write(&file.into(), &mut buffer))
                .map_err(|e| self.failure(name, e))?;
        }
        Ok(())
    }

    /// Adds the other names of the inodes whose first names are `firsts`.
    fn links(mut self, firsts: &[u32], links: &[u32]) -> Result<(), Failure> {
        let mut first_of = vec![0; self.plan.inodes.len()];
        for &first in firsts {
            first_of[self.plan.names[first as usize].inode as usize] = first;
        }
        for &link in links {
            let link = &self.plan.names[link as usize];
            let first = &self.plan.names[first_of[link.inode as usize] as usize];
            let old = self.root.join(&self.plan.dirs()[first.dir as usize]).join(&*first.text);
            let dir = self.dir(link.dir)?;
            rustix::fs::linkat(CWD, &old, dir, &*link.text, AtFlags::empty())
                .map_err(|e| self.failure(link, e))?;
        }
        Ok(())
    }

    fn dir(&mut self, number: u32) -> Result<&OwnedFd, Failure> {
        if self.dir.as_ref().is_none_or(|(open, _)| *open != number) {
            let path = self.root.join(&self.plan.dirs()[number as usize]);
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let dir = rustix::fs::open(&path, flags, Mode::empty());
            self.dir = Some((number, dir.map_err(|e| Failure::at(&path, e))?));
        }
        Ok(&self.dir.as_ref().expect("just opened").1)
    }

    fn failure(&self, name: &Name, reason: impl std::fmt::Display) -> Failure {
        let dir = self.root.join(&self.plan.dirs()[name.dir as usize]);
        Failure::at(&dir.join(&*name.text), reason)
    }
}

fn others(plan: &Plan, root: &Path) -> Result<(), Failure> {
    for other in &plan.others {
        let path = root.join(&plan.dirs()[other.dir as usize]).join(&*other.name);
        let made = match &other.kind {
            OtherKind::Symlink(target) => rustix::fs::symlink(&**target, &path),
            OtherKind::Fifo => {
                rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::from(0o644), 0)
            }
        };
        made.map_err(|e| Failure::at(&path, e))?;
    }
    Ok(())
}
