//! An attacker that moves entries around while a program works on them.
//!
//! An [`Attacker`] has two threads. The *mover* picks random entries below the roots. It exchanges
//! files, exchanges directories, exchanges a file or directory with a symbolic link that leads
//! outside (and back), and renames entries away (and back). The *stalker* learns from inotify about
//! every name that another process creates, above all temporary names. It immediately applies the
//! same kinds of swaps to that name.
//!
//! The attacker destroys nothing. It only renames, with `RENAME_EXCHANGE` and `RENAME_NOREPLACE`,
//! and never unlinks. An entry whose place was taken by the program cannot be put back and stays in
//! [`held`](Attacker::held). After an attack, all content is therefore below a root or in `held`,
//! unless the program under test destroyed it:
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
//! The links lead to a directory with copies of files of the tree, under the same names and with
//! the same times. A program that follows a link finds what it expects there. Only a program that
//! works with descriptors is safe. A copy in the bait does not prove that the program kept the
//! content, so tests MUST NOT count it.

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

/// A kind of swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swap {
    /// Two files exchanged.
    Files,
    /// Two directories exchanged.
    Dirs,
    /// A file exchanged with a link to the file of the bait, and back.
    FileForLink,
    /// A directory exchanged with a link to the directory of the bait, and back.
    DirForLink,
    /// An entry renamed out of the tree, and back.
    Away,
    /// Any of these, applied to a name that was created during the attack.
    Fresh,
}

impl Swap {
    /// Every kind.
    pub const ALL: [Self; 6] =
        [Self::Files, Self::Dirs, Self::FileForLink, Self::DirForLink, Self::Away, Self::Fresh];
}

/// The settings of an attack.
#[derive(Debug, Clone)]
pub struct AttackOptions {
    /// The kinds of swaps.
    pub kinds: Vec<Swap>,
    /// The number of links to the bait that are put into the tree at the start. They are named
    /// `bait-link-` and a number.
    pub links_inside: u32,
    /// The longest time that an entry is away or replaced by a link. Many entries are put back
    /// immediately.
    pub longest_dwell: Duration,
    /// The pause of the mover after each swap.
    pub rest: Duration,
}

impl Default for AttackOptions {
    /// Returns options with every kind of swap, no links inside, and a pause that allows a few
    /// thousand swaps per second.
    fn default() -> Self {
        Self {
            kinds: Swap::ALL.to_vec(),
            links_inside: 0,
            longest_dwell: Duration::from_micros(500),
            rest: Duration::from_micros(20),
        }
    }
}

/// The number of successful swaps of each kind.
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
    /// [`Swap::Fresh`]. Each of these swaps is also counted under the kind that was applied.
    pub fresh: usize,
    /// Number of entries that could not be put back and stayed outside.
    pub stranded: usize,
}

impl Swaps {
    /// Returns the number of swaps.
    pub fn total(&self) -> usize {
        self.files + self.dirs + self.file_for_link + self.dir_for_link + self.away
    }

    /// Returns the number of swaps of one kind.
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

/// A running attack. Dropping it stops the attack.
#[derive(Debug)]
#[must_use = "dropping it stops the attack"]
pub struct Attacker {
    ground: Arc<Ground>,
    outside: PathBuf,
    threads: Vec<JoinHandle<()>>,
}

/// The state that both threads share.
#[derive(Debug)]
struct Ground {
    roots: Vec<OwnedFd>,
    /// The directory for entries taken out of the tree.
    held: OwnedFd,
    /// The file and the directory of the bait.
    targets: [PathBuf; 2],
    /// The identity of the bait, which must never be entered.
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
    /// `outside` is created if missing. This directory must be outside of all roots, but on the
    /// same file system. The same seed draws the same numbers, but their effect depends on the
    /// scheduler.
    ///
    /// # Panics
    ///
    /// Panics if `outside` does not qualify, a root cannot be opened, or the bait cannot be laid.
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

    /// Returns the directory that no program may enter. Take a [`Snapshot`] of it before the
    /// attack.
    ///
    /// [`Snapshot`]: crate::Snapshot
    pub fn bait(&self) -> PathBuf {
        self.outside.join(bait::BAIT)
    }

    /// Returns the directory of entries that could not be put back into the tree.
    pub fn held(&self) -> PathBuf {
        self.outside.join(bait::HELD)
    }

    /// Returns the number of swaps so far.
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

    /// Stops the attack, puts back what can be put back, and returns the number of swaps.
    ///
    /// # Panics
    ///
    /// Panics if a thread of the attacker panicked.
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
    fn runs_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    fn count(&self, kind: Swap) {
        self.counts[kind as usize].fetch_add(1, Ordering::Relaxed);
    }
}

/// Opens the roots and the directory for held entries.
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
