//! Finds the groups that match a filter.
//!
//! Terms about whole groups come first, because they are cheap. Each term about files then visits
//! only the files of the groups that are left, and each directory is judged once for all its files.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use walk::{DirId, FileId};

use crate::filter::test::{File, FileTest};
use crate::filter::verdict::Verdict;
use crate::filter::{Condition, Filter};
use crate::index::{Index, NO_GROUP};
use crate::status::Status;

/// With fewer files than this, a second thread is not worth starting.
const MIN_FILES_FOR_THREADS: usize = 50_000;

impl Filter {
    /// Returns, for each group, whether it matches. `statuses` are the states of the groups'
    /// decisions. Without them, all groups count as undecided.
    pub(crate) fn search(&self, index: &Index, statuses: Option<&[Status]>) -> Vec<bool> {
        let status = |at: u32| statuses.map_or_else(Status::default, |all| all[at as usize]);
        let matches_whole = |at: u32| {
            self.terms.iter().all(|term| {
                holds_for_group(&term.condition, index, at, status(at))
                    .is_none_or(|holds| holds != term.is_negated)
            })
        };
        let mut is_left: Vec<bool> = index.all().map(matches_whole).collect();
        for term in &self.terms {
            let Some(test) = FileTest::of(&term.condition) else { continue };
            if !is_left.contains(&true) {
                break;
            }
            let found = Search { index, test, is_left: &is_left }.run();
            for (is_left, found) in is_left.iter_mut().zip(found) {
                *is_left &= found.into_inner() != term.is_negated;
            }
        }
        is_left
    }

    /// Returns whether one group matches, like [`Filter::search`].
    pub(crate) fn matches(&self, index: &Index, at: u32, status: Status) -> bool {
        self.terms.iter().all(|term| {
            let whole = holds_for_group(&term.condition, index, at, status);
            let holds = whole.unwrap_or_else(|| {
                let Some(test) = FileTest::of(&term.condition) else { return false };
                index.files(at).iter().any(|&file| holds_for_file(&test, index, file))
            });
            holds != term.is_negated
        })
    }
}

/// Evaluates a condition about whole groups. Returns `None` for a condition about files.
fn holds_for_group(condition: &Condition, index: &Index, at: u32, status: Status) -> Option<bool> {
    match condition {
        Condition::Is(decided) => Some(decided.holds(status)),
        Condition::Size(bound) => Some(bound.holds(index.size(at))),
        Condition::Copies(bound) => Some(bound.holds(index.gain(at).1.into())),
        _ => None,
    }
}

fn holds_for_file(test: &FileTest<'_>, index: &Index, file: FileId) -> bool {
    let (tree, record) = (index.tree(), index.tree().file(file));
    let path = with_slash(tree.absolute_dir_path(record.dir));
    let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at + 1);
    let verdict = ends.fold(Verdict::Names, |above, end| test.judge(&path[..end], above));
    let name = tree.name(file).to_bytes();
    let file = File { name, dir: &path, age: index.age(record) };
    test.matches(&file, verdict, &mut Vec::new())
}

fn with_slash(mut path: Vec<u8>) -> Vec<u8> {
    if !path.ends_with(b"/") {
        path.push(b'/');
    }
    path
}

/// A search for the groups of which some file passes a test.
struct Search<'a> {
    index: &'a Index,
    test: FileTest<'a>,
    /// For each group, whether the result matters.
    is_left: &'a [bool],
}

impl Search<'_> {
    fn run(&self) -> Vec<AtomicBool> {
        let tree = self.index.tree();
        let found: Vec<AtomicBool> = self.is_left.iter().map(|_| AtomicBool::new(false)).collect();
        let verdicts = self.verdicts();
        let dirs = walk::to_u32(tree.dirs().len());
        let half = self.middle();
        let examine = |range| self.examine(range, &verdicts, &found);
        if tree.files().len() < MIN_FILES_FOR_THREADS {
            examine(0..dirs);
        } else {
            std::thread::scope(|scope| {
                scope.spawn(|| examine(0..half));
                examine(half..dirs);
            });
        }
        found
    }

    /// Returns a directory such that about half of the files are in the directories before it.
    fn middle(&self) -> u32 {
        let tree = self.index.tree();
        let mut before = 0;
        let dirs = (0u32..).map(DirId).take(tree.dirs().len()).take_while(|&dir| {
            before += tree.files_in(dir).len();
            before * 2 < tree.files().len()
        });
        walk::to_u32(dirs.count())
    }

    /// Judges each directory.
    fn verdicts(&self) -> Vec<Verdict> {
        let tree = self.index.tree();
        let mut verdicts: Vec<Verdict> = Vec::with_capacity(tree.dirs().len());
        for (id, dir) in (0u32..).map(DirId).zip(tree.dirs()) {
            let above = dir.parent.map_or(Verdict::Names, |parent| verdicts[parent.0 as usize]);
            let needs_path = above != Verdict::All && self.test.judges_dirs();
            let path = if needs_path { with_slash(tree.absolute_dir_path(id)) } else { Vec::new() };
            verdicts.push(self.test.judge(&path, above));
        }
        verdicts
    }

    /// Examines the files of some directories, until a file of each group has passed the test.
    fn examine(&self, dirs: Range<u32>, verdicts: &[Verdict], found: &[AtomicBool]) {
        let Search { index, test, is_left } = self;
        let (tree, mut path) = (index.tree(), Vec::new());
        for dir in dirs {
            let verdict = verdicts[dir as usize];
            let files = tree.files_in(DirId(dir));
            if verdict == Verdict::None || files.is_empty() {
                continue;
            }
            let needs_path = verdict != Verdict::All && matches!(test, FileTest::Path(_));
            let dir = if needs_path {
                with_slash(tree.absolute_dir_path(DirId(dir)))
            } else {
                Vec::new()
            };
            for file in files.map(FileId) {
                let group = index.group_of[file.0 as usize];
                if group == NO_GROUP || !is_left[group as usize] {
                    continue;
                }
                let found = &found[group as usize];
                if found.load(Relaxed) {
                    continue;
                }
                let file = File {
                    name: tree.name(file).to_bytes(),
                    dir: &dir,
                    age: index.age(tree.file(file)),
                };
                if test.matches(&file, verdict, &mut path) {
                    found.store(true, Relaxed);
                }
            }
        }
    }
}
