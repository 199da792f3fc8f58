//! Somebody who moves things under a program while it works.
//!
//! An [`Attacker`] has two threads. The *mover* takes random entries below the roots and exchanges
//! files, exchanges directories, exchanges a file or directory with a symbolic link that leads
//! outside (and back), renames away (and back). The *stalker* is told by inotify of every name that
//! somebody else makes, temporary ones above all, and does the same to those at once.
//!
//! It destroys nothing: it renames with `RENAME_EXCHANGE` and `RENAME_NOREPLACE` alone and unlinks
//! nothing. What it cannot put back, because the program took the place, stays in
//! [`held`](Attacker::held). So each content is afterwards below a root or there, unless the program
//! under test destroyed it:
//!
//! ```no_run
//! # use testkit::{AttackOptions, Attacker, Compare, Snapshot, TempTree};
//! # use testkit::{assert_contents_kept, assert_same};
//! # let (tree, outside) = (TempTree::new(), TempTree::new());
//! let before = Snapshot::of(&tree);
//! let attacker = Attacker::start(&[&tree], &outside, 1, AttackOptions::default());
//! let (bait, held) = (attacker.bait(), attacker.held());
//! let laid = Snapshot::of(&bait);
//! // ... the program runs ...
//! let swaps = attacker.stop();
//! assert!(swaps.total() > 100, "{swaps:?}");
//! assert_contents_kept(&before, &[&Snapshot::of(&tree), &Snapshot::of(&held)]);
//! assert_same(&laid, &Snapshot::of(&bait), Compare::ALL);
//! ```
//!
//! # The bait
//!
//! Links lead to a directory that holds, under the names of the tree's own files, copies of them
//! with the same time: a program that comes there finds what it expects, and only what it does by
//! descriptor is safe. Those copies are no proof that a content was kept: never count the bait.

mod bait;
mod mover;
mod places;
mod stalker;
#[cfg(test)]
mod tests;

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::dice::Dice;
use places::{Identity, open_dir};

/// One kind of swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swap {
    /// Two files exchanged.
    Files,
    /// Two directories exchanged.
    Dirs,
    /// A file exchanged with a link to the bait's file, and back.
    FileForLink,
    /// A directory exchanged with a link to the bait's directory, and back.
    DirForLink,
    /// Renamed out of the tree, and back.
    Away,
    /// Any of these done to a name that was made while the attacker watched.
    Fresh,
}

impl Swap {
    /// Every kind.
    pub const ALL: [Self; 6] =
        [Self::Files, Self::Dirs, Self::FileForLink, Self::DirForLink, Self::Away, Self::Fresh];
}

/// How to attack.
#[derive(Debug, Clone)]
pub struct AttackOptions {
    /// The kinds of swaps to do.
    pub kinds: Vec<Swap>,
    /// How many links to the bait are put into the tree at the start, named `bait-link-` and a
    /// number.
    pub links_inside: u32,
    /// The longest time that something is away or a link in its place; often there is none at all.
    pub longest_dwell: Duration,
    /// How long the mover rests after each swap.
    pub rest: Duration,
}

impl Default for AttackOptions {
    /// Every kind, no links inside, and some thousand swaps per second.
    fn default() -> Self {
        Self {
            kinds: Swap::ALL.to_vec(),
            links_inside: 0,
            longest_dwell: Duration::from_micros(500),
            rest: Duration::from_micros(20),
        }
    }
}

/// How many swaps of each kind succeeded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[must_use = "an attack that did nothing tests nothing"]
pub struct Swaps {
    /// [`Swap::Files`].
    pub files: usize,
    /// [`Swap::Dirs`].
    pub dirs: usize,
    /// [`Swap::FileForLink`].
    pub file_for_link: usize,
    /// [`Swap::DirForLink`].
    pub dir_for_link: usize,
    /// [`Swap::Away`].
    pub away: usize,
    /// [`Swap::Fresh`]; these also count as what they are.
    pub fresh: usize,
    /// How often something could not be put back into its place, and stayed outside.
    pub stranded: usize,
}

impl Swaps {
    /// Returns the number of swaps.
    pub fn total(&self) -> usize {
        self.files + self.dirs + self.file_for_link + self.dir_for_link + self.away
    }

    /// Returns the number of one kind.
    pub fn of(&self, kind: Swap) -> usize {
        match kind {
            Swap::Files => self.files,
            Swap::Dirs => self.dirs,
            Swap::FileForLink => self.file_for_link,
            Swap::DirForLink => self.dir_for_link,
            Swap::Away => self.away,
            Swap::Fresh => self.fresh,
        }
    }
}

/// An attack that goes on; dropping it stops it.
#[derive(Debug)]
#[must_use = "dropping it stops the attack"]
pub struct Attacker {
    ground: Arc<Ground>,
    outside: PathBuf,
    threads: Vec<JoinHandle<()>>,
}

/// What both threads know.
#[derive(Debug)]
struct Ground {
    roots: Vec<OwnedFd>,
    /// The directory for what is taken out of the tree.
    held: OwnedFd,
    /// The bait's file and directory.
    targets: [PathBuf; 2],
    /// What must never be entered.
    bait: Identity,
    options: AttackOptions,
    stop: AtomicBool,
    counts: [AtomicUsize; 6],
    stranded: AtomicUsize,
    slots: AtomicUsize,
}

impl Attacker {
    /// Lays the bait in `outside` and begins to attack everything below `roots`.
    ///
    /// `outside` is made if missing, is not below a root and is on the same file system. The same
    /// seed draws the same numbers, though what comes of them is up to the scheduler.
    ///
    /// # Panics
    ///
    /// When that is not so, or a root cannot be opened or the bait not be laid.
    #[track_caller]
    pub fn start(
        roots: &[impl AsRef<Path>],
        outside: impl AsRef<Path>,
        seed: u64,
        options: AttackOptions,
    ) -> Self {
        let roots: Vec<&Path> = roots.iter().map(AsRef::as_ref).collect();
        let outside = outside.as_ref().to_path_buf();
        let ground = bait::lay(&roots, &outside, options)
            .unwrap_or_else(|e| panic!("no attack from {}: {e}", outside.display()));
        let ground = Arc::new(ground);
        let mut dice = Dice::new(seed);
        bait::put_links(&ground, &mut dice);
        let mut attacker = Self { ground, outside, threads: Vec::new() };
        let (ground, other_dice) = (Arc::clone(&attacker.ground), dice.other());
        if attacker.ground.options.kinds.contains(&Swap::Fresh) {
            match stalker::watch(&attacker.ground, &attacker.outside.join(bait::BELL)) {
                Ok(watch) => attacker.threads.push(thread::spawn(move || {
                    stalker::run(&ground, watch, other_dice);
                })),
                Err(e) => crate::skipped(format!("swaps of fresh names: no inotify: {e}")),
            }
        }
        let ground = Arc::clone(&attacker.ground);
        attacker.threads.push(thread::spawn(move || mover::run(&ground, dice)));
        attacker
    }

    /// Returns the directory that no program has any business in; take a [`Snapshot`] of it.
    ///
    /// [`Snapshot`]: crate::Snapshot
    pub fn bait(&self) -> PathBuf {
        self.outside.join(bait::BAIT)
    }

    /// Returns the directory of what was taken out of the tree and could not be put back.
    pub fn held(&self) -> PathBuf {
        self.outside.join(bait::HELD)
    }

    /// Returns what was done so far.
    pub fn so_far(&self) -> Swaps {
        let count = |kind: Swap| self.ground.counts[kind as usize].load(Ordering::Relaxed);
        Swaps {
            files: count(Swap::Files),
            dirs: count(Swap::Dirs),
            file_for_link: count(Swap::FileForLink),
            dir_for_link: count(Swap::DirForLink),
            away: count(Swap::Away),
            fresh: count(Swap::Fresh),
            stranded: self.ground.stranded.load(Ordering::Relaxed),
        }
    }

    /// Ends the attack, with everything put back that can be, and returns what was done.
    ///
    /// # Panics
    ///
    /// When a thread of it did.
    pub fn stop(mut self) -> Swaps {
        for thread in self.end() {
            thread.join().expect("the attacker's threads do not panic");
        }
        self.so_far()
    }

    fn end(&mut self) -> Vec<JoinHandle<()>> {
        self.ground.stop.store(true, Ordering::Relaxed);
        if !self.threads.is_empty() {
            bait::ring(&self.outside);
        }
        std::mem::take(&mut self.threads)
    }
}

impl Drop for Attacker {
    fn drop(&mut self) {
        for thread in self.end() {
            drop(thread.join());
        }
    }
}

impl Ground {
    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    fn count(&self, kind: Swap) {
        self.counts[kind as usize].fetch_add(1, Ordering::Relaxed);
    }
}

/// Opens the roots and the place for what is held.
fn ground(roots: &[&Path], outside: &Path, options: AttackOptions) -> std::io::Result<Ground> {
    let roots: Result<Vec<_>, _> = roots.iter().map(|root| open_dir(root)).collect();
    let bait = outside.join(bait::BAIT);
    Ok(Ground {
        roots: roots?,
        held: open_dir(&outside.join(bait::HELD))?,
        targets: [bait.join(bait::FILE), bait.join(bait::DIR)],
        bait: places::identity(&open_dir(&bait.join(bait::DIR))?)?,
        options,
        stop: AtomicBool::new(false),
        counts: [const { AtomicUsize::new(0) }; 6],
        stranded: AtomicUsize::new(0),
        slots: AtomicUsize::new(0),
    })
}
