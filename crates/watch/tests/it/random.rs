//! Random changes: an answer names everything that has changed between two states.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags};
use testkit::{Dice, TempTree, TreeBuilder};

use crate::running::{By, Running};
use crate::state::{State, assert_covered};

const ROUNDS: u64 = 60;

/// The entries of the directory that the random changes affect.
struct Entries {
    dirs: Vec<PathBuf>,
    /// Those that stay.
    tops: Vec<PathBuf>,
    files: Vec<PathBuf>,
}

impl Entries {
    fn of(top: &Path) -> Entries {
        let tops = ["r1", "r2", "out"].map(|name| top.join(name)).to_vec();
        let mut waiting = tops.clone();
        let mut entries = Entries { dirs: Vec::new(), tops, files: Vec::new() };
        while let Some(dir) = waiting.pop() {
            for entry in fs::read_dir(&dir).expect("listed") {
                let path = entry.expect("an entry").path();
                if path.is_dir() { waiting.push(path) } else { entries.files.push(path) }
            }
            entries.dirs.push(dir);
        }
        entries
    }

    /// Makes a random change. Changes that are not possible fail.
    fn change(&self, dice: &mut Dice, has_links: bool) {
        let name = format!("n{}", dice.below(12));
        let to = dice.pick(&self.dirs).expect("a directory").join(&name);
        let below: Vec<&PathBuf> =
            self.dirs.iter().filter(|dir| !self.tops.contains(dir)).collect();
        let Some(file) = dice.pick(&self.files) else {
            drop(fs::write(to, "first"));
            return;
        };
        let other = dice.pick(&self.files).expect("a file");
        let append = |path: &Path| {
            let file = OpenOptions::new().append(true).open(path);
            file.and_then(|mut file| file.write_all(b"more"))
        };
        let result = match dice.below(if has_links { 13 } else { 12 }) {
            0 => fs::write(to, "new"),
            1 | 2 => append(file),
            3 => fs::remove_file(file),
            4 => fs::create_dir_all(to.join(&name)),
            5 => fs::rename(file, to),
            6 => fs::rename(file, other),
            7 | 8 if below.is_empty() => fs::create_dir(to),
            7 => fs::rename(dice.pick(&below).expect("a directory"), to),
            8 => {
                let dir = dice.pick(&below).expect("a directory");
                // A tree vanishes only sometimes, so that the trees grow.
                if dice.below(3) == 0 { fs::remove_dir_all(dir) } else { fs::remove_dir(dir) }
            }
            9 => append(file).and_then(|()| fs::rename(file, to)),
            10 => {
                let (flags, to) = (RenameFlags::EXCHANGE, other);
                rustix::fs::renameat_with(CWD, file, CWD, to, flags).map_err(Into::into)
            }
            11 => OpenOptions::new().write(true).open(file).and_then(|file| file.set_len(2)),
            _ => fs::hard_link(file, to),
        };
        drop(result);
    }
}

/// Makes some random changes. If `is_reading` is true, the watcher reads events at the same time.
fn change(top: &Path, dice: &mut Dice, running: &Running, by: By, is_reading: bool) {
    let is_over = AtomicBool::new(!is_reading);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let _unseen = running.unseen(None);
            }
        });
        for _ in 0..dice.below(20) {
            Entries::of(top).change(dice, by == By::Fanotify);
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

/// Compares states after each round of changes. Fanotify also sees changes through links outside.
fn check(by: By, seed: u64) {
    let temp = TempTree::new();
    let top = temp.path();
    TreeBuilder::new().dir("r1/a").dir("r2").dir("out").make(top);
    let roots = ["r1", "r2", "r1/a"].map(|root| top.join(root));
    // With fanotify, the rename of a directory with the name of a root makes all changes unknown.
    let roots = if by == By::Fanotify { &roots[..2] } else { &roots };
    let roots: Vec<&Path> = roots.iter().map(PathBuf::as_path).collect();
    let Some(running) = Running::start(by, &roots) else { return };
    let mut dice = Dice::new(seed);
    let mut position = running.position();
    let mut before = State::of(&running.roots);
    let mut named = 0;
    for round in 0..ROUNDS {
        change(top, &mut dice, &running, by, seed.is_multiple_of(2));
        let answer = running.ask(Some(position));
        let after = State::of(&running.roots);
        match answer.changes {
            Ok(changes) => {
                named += changes.dirs.len();
                assert_covered(&before, &after, &changes, &format!("{by:?} {seed} {round}"));
            }
            Err(unknown) => panic!("{unknown}"),
        }
        (position, before) = (answer.position, after);
    }
    assert!(named > 0);
}

#[test]
fn random_changes_are_named() {
    for seed in 0..12 {
        check(By::Fanotify, seed);
        check(By::Inotify, seed);
    }
}
