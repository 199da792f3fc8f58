//! The swaps, and the thread that applies them to random entries.

use std::ffi::{CStr, CString};
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::thread;

use rustix::fs::{AtFlags, FileType, RenameFlags, renameat_with, statat, symlinkat};

use super::places::{self, Place};
use super::{Ground, Swap};
use crate::dice::Dice;

/// The number of swaps attempted with the entries of one inspection.
const TRIES_PER_SAMPLE: usize = 100;

/// Swaps at random until the attack stops.
pub(super) fn run(ground: &Ground, mut dice: Dice) {
    let kinds = &ground.options.kinds;
    let kinds: Vec<Swap> = kinds.iter().copied().filter(|kind| *kind != Swap::Fresh).collect();
    let mut hand = Hand::new(ground);
    while ground.runs_on() {
        let places = places::sample(ground, &mut dice);
        for _ in 0..TRIES_PER_SAMPLE {
            if !ground.runs_on() {
                return;
            }
            if let Some(kind) = dice.pick(&kinds) {
                hand.swap(*kind, &places, &mut dice);
            }
            thread::sleep(ground.options.rest);
        }
    }
}

/// A name in an open directory.
#[derive(Clone, Copy)]
pub(super) struct Name<'a> {
    pub(super) dir: &'a OwnedFd,
    pub(super) name: &'a CStr,
}

/// The state of a thread that swaps.
pub(super) struct Hand<'a> {
    ground: &'a Ground,
    /// The unused links to the file and the directory of the bait.
    links: [Option<CString>; 2],
}

impl<'a> Hand<'a> {
    pub(super) fn new(ground: &'a Ground) -> Self {
        Self { ground, links: [None, None] }
    }

    fn swap(&mut self, kind: Swap, places: &[Place], dice: &mut Dice) -> bool {
        let any = |dice: &mut Dice| dice.below(2) == 0;
        let dirs = match kind {
            Swap::Files | Swap::FileForLink => false,
            Swap::Dirs | Swap::DirForLink => true,
            Swap::Away | Swap::Fresh => any(dice),
        };
        let Some(one) = pick(places, dirs, dice) else {
            return false;
        };
        match kind {
            Swap::Files | Swap::Dirs => {
                pick(places, dirs, dice).is_some_and(|other| self.exchange(one, other, dirs))
            }
            Swap::FileForLink | Swap::DirForLink => self.for_link(one, dirs, dice),
            Swap::Away | Swap::Fresh => self.away(one, dice),
        }
    }

    /// Exchanges two names. The kernel refuses to exchange a directory with one of its ancestors.
    pub(super) fn exchange(&self, one: Name, other: Name, dirs: bool) -> bool {
        let done = exchange(one, other) && one.name != other.name;
        if done {
            self.ground.count(if dirs { Swap::Dirs } else { Swap::Files });
        }
        done
    }

    /// Replaces a name with a link to the bait for a while.
    pub(super) fn for_link(&mut self, one: Name, dirs: bool, dice: &mut Dice) -> bool {
        let Some(link) = self.link(dirs) else {
            return false;
        };
        let slot = Name { dir: &self.ground.held, name: &link };
        let done = exchange(one, slot);
        if done {
            self.ground.count(if dirs { Swap::DirForLink } else { Swap::FileForLink });
            self.dwell(dice);
            // If the program removed the link, the name is free.
            if !(exchange(one, slot) || rename(slot, one)) {
                self.ground.stranded.fetch_add(1, Ordering::Relaxed);
            }
        }
        if is_link(slot) {
            self.links[usize::from(dirs)] = Some(link);
        }
        done
    }

    /// Moves an entry out of the tree for a while.
    pub(super) fn away(&self, one: Name, dice: &mut Dice) -> bool {
        let name = self.slot();
        let slot = Name { dir: &self.ground.held, name: &name };
        let done = rename(one, slot);
        if done {
            self.ground.count(Swap::Away);
            self.dwell(dice);
            if !rename(slot, one) {
                self.ground.stranded.fetch_add(1, Ordering::Relaxed);
            }
        }
        done
    }

    /// Returns a link to the bait, outside of the tree, that no other thread uses.
    fn link(&mut self, dirs: bool) -> Option<CString> {
        if let Some(link) = self.links[usize::from(dirs)].take() {
            return Some(link);
        }
        let (slot, target) = (self.slot(), &self.ground.targets[usize::from(dirs)]);
        symlinkat(target, &self.ground.held, &slot).ok().map(|()| slot)
    }

    /// Returns a name that was never used in the directory of held entries.
    fn slot(&self) -> CString {
        let number = self.ground.slots.fetch_add(1, Ordering::Relaxed);
        CString::new(format!("held-{number}")).expect("a name without NUL")
    }

    fn dwell(&self, dice: &mut Dice) {
        if let Some(time) = dice.dwell(self.ground.options.longest_dwell) {
            thread::sleep(time);
        }
    }
}

fn pick<'a>(places: &'a [Place], dirs: bool, dice: &mut Dice) -> Option<Name<'a>> {
    let names = |place: &'a Place| if dirs { &place.dirs } else { &place.files };
    let places: Vec<&Place> = places.iter().filter(|place| !names(place).is_empty()).collect();
    let place = *dice.pick(&places)?;
    let name = dice.pick(names(place))?;
    Some(Name { dir: &place.dir, name })
}

fn exchange(one: Name, other: Name) -> bool {
    renameat_with(one.dir, one.name, other.dir, other.name, RenameFlags::EXCHANGE).is_ok()
}

fn rename(from: Name, to: Name) -> bool {
    renameat_with(from.dir, from.name, to.dir, to.name, RenameFlags::NOREPLACE).is_ok()
}

fn is_link(slot: Name) -> bool {
    statat(slot.dir, slot.name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}
