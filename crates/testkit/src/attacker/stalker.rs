//! Swaps names as soon as they are created, before the program uses a new temporary name.
//!
//! inotify reports each new name in the watched directories, new directories included. A rename
//! does not create a name, so the attacker's own swaps are not reported.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};

use super::mover::{Hand, Name};
use super::places::{Place, enter};
use super::{Ground, Swap};
use crate::dice::Dice;

/// Maximum number of watched directories. Each needs a descriptor.
const MAX_WATCHED_DIRS: usize = 200;

/// The watched directories by watch descriptor.
#[derive(Debug)]
pub(super) struct Watch {
    inotify: OwnedFd,
    dirs: BTreeMap<i32, OwnedFd>,
}

/// Watches the existing directories, and the bell that is rung at the end.
pub(super) fn watch(ground: &Ground, bell: &Path) -> io::Result<Watch> {
    let inotify = inotify::init(CreateFlags::CLOEXEC)?;
    inotify::add_watch(&inotify, bell, WatchFlags::CREATE)?;
    let mut watch = Watch { inotify, dirs: BTreeMap::new() };
    for root in &ground.roots {
        watch.add_tree(ground, root.try_clone()?)?;
    }
    Ok(watch)
}

/// Swaps fresh names until the attack stops.
pub(super) fn run(ground: &Ground, mut watch: Watch, mut dice: Dice) {
    let mut hand = Hand::new(ground);
    let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
    let Ok(inotify) = watch.inotify.try_clone() else {
        return;
    };
    let mut events = Reader::new(&inotify, &mut buffer);
    while let Ok(event) = events.next() {
        if !ground.runs_on() {
            return;
        }
        let is_dir = event.events().contains(ReadFlags::ISDIR);
        let Some((name, dir)) = event.file_name().zip(watch.dirs.get(&event.wd())) else {
            continue;
        };
        if swap(&mut hand, Name { dir, name }, is_dir, &mut dice) {
            ground.count(Swap::Fresh);
        }
        if is_dir && let Ok(child) = enter(ground, dir, name) {
            drop(watch.add_tree(ground, child));
        }
    }
}

impl Watch {
    /// Watches a directory and everything below it. A directory that vanishes meanwhile is ignored.
    fn add_tree(&mut self, ground: &Ground, dir: OwnedFd) -> io::Result<()> {
        let mut unlisted = vec![dir];
        while let Some(dir) = unlisted.pop().filter(|_| self.dirs.len() < MAX_WATCHED_DIRS) {
            let path = format!("/proc/self/fd/{}", dir.as_raw_fd());
            let number = inotify::add_watch(&self.inotify, path, WatchFlags::CREATE)?;
            let Ok(place) = Place::list(dir) else {
                continue;
            };
            let room = MAX_WATCHED_DIRS.saturating_sub(self.dirs.len() + unlisted.len());
            let below = place.dirs.iter().take(room);
            unlisted.extend(below.filter_map(|name| place.enter(ground, name).ok()));
            self.dirs.insert(number, place.dir);
        }
        Ok(())
    }
}

/// Applies one of the permitted swaps to a fresh name.
fn swap(hand: &mut Hand, fresh: Name, is_dir: bool, dice: &mut Dice) -> bool {
    match dice.below(3) {
        0 => hand.for_link(fresh, is_dir, dice),
        1 => hand.away(fresh, dice),
        _ => neighbour(fresh, is_dir, dice)
            .is_some_and(|name| hand.exchange(fresh, Name { dir: fresh.dir, name: &name }, is_dir)),
    }
}

/// Returns another name of the same kind in the directory.
fn neighbour(fresh: Name, is_dir: bool, dice: &mut Dice) -> Option<CString> {
    let place = Place::list(fresh.dir.try_clone().ok()?).ok()?;
    let names = if is_dir { &place.dirs } else { &place.files };
    let others: Vec<&CStr> =
        names.iter().map(CString::as_c_str).filter(|name| *name != fresh.name).collect();
    dice.pick(&others).map(|name| (*name).to_owned())
}
