//! At each step of a run, a program writes to a file. If the write succeeds, the written text can be found in the tree
//! after the run.

#![expect(clippy::disallowed_methods, reason = "the programs change a test's own tree")]

use std::cell::RefCell;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use action::plan::Kind;
use action::run::Runs;
use action::undo::UndoOutcome;
use fsops::faults::{before_change, was_called};
use testkit::{FileSystem, Mount, TEST_TIMEOUT, TempTree, TreeBuilder, View, skipped};

use crate::killed::cut_off_at;
use crate::rolled_back::texts;
use crate::world::{World, apply, plans};

const KINDS: [Kind; 4] = [Kind::Delete, Kind::Hardlink, Kind::Symlink, Kind::Quarantine];
pub(crate) const SAME: &str = "equal in both\n";
pub(crate) const EDITED: &str = "EQUAL";
pub(crate) const PRECIOUS: &str = "written meanwhile\n";

/// A change that another program makes to a file.
pub(crate) type FileAction = fn(&Path) -> io::Result<()>;

pub(crate) fn append(path: &Path) -> io::Result<()> {
    OpenOptions::new().append(true).open(path)?.write_all(PRECIOUS.as_bytes())
}

fn rewrite(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).truncate(true).open(path)?.write_all(PRECIOUS.as_bytes())
}

pub(crate) fn rename_over(path: &Path) -> io::Result<()> {
    let new = path.with_extension("new");
    fs::write(&new, PRECIOUS)?;
    fs::rename(new, path)
}

/// Overwrites a file as `rsync --inplace --times` does, keeping its size and modification time.
pub(crate) fn edit(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    let modified = file.metadata()?.modified()?;
    file.write_all_at(EDITED.as_bytes(), 0)?;
    file.set_modified(modified)
}

/// A running program that uses a file. The program may have to wait for the run.
pub(crate) struct Program(JoinHandle<io::Result<()>>);

impl Program {
    /// Starts the program and waits until it is done or blocked.
    pub(crate) fn start(file_action: FileAction, path: PathBuf) -> Program {
        let (said, heard) = mpsc::channel();
        let program = thread::spawn(move || {
            let me = fs::read_link("/proc/thread-self").expect("there is /proc");
            said.send(Path::new("/proc").join(me)).expect("is heard");
            file_action(&path)
        });
        let task = heard.recv().expect("begins");
        let timeout = Instant::now() + TEST_TIMEOUT;
        while !program.is_finished() && !is_waiting(&task) && Instant::now() < timeout {
            thread::sleep(Duration::from_millis(1));
        }
        Program(program)
    }
}

impl Program {
    /// Waits until the program ends.
    pub(crate) fn end(self) -> io::Result<()> {
        self.0.join().expect("does not panic")
    }
}

/// Returns whether a thread is blocked by another thread, for example in `open(2)` on a file with a lease.
fn is_waiting(task: &Path) -> bool {
    let wchan = fs::read_to_string(task.join("wchan")).unwrap_or_default();
    if !matches!(&wchan[..], "" | "0") {
        return wchan.contains("break_lease");
    }
    let stat = fs::read_to_string(task.join("stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('S'))
}

/// Returns whether a file in the tree contains the text of the program.
fn is_found(world: &World) -> bool {
    let files = fs::read_dir(&world.tree).expect("a tree").flatten();
    files
        .map(|file| fs::read_to_string(file.path()).unwrap_or_default())
        .any(|text| text.contains(PRECIOUS) || text.starts_with(EDITED))
}

/// Starts a program at each step of a run. Returns how often the program succeeded in writing its text.
fn at_each_step(disk: &Path, kind: Kind, name: &'static str, file_action: FileAction) -> u64 {
    let mut written = 0;
    for number in 0.. {
        let tree = TreeBuilder::new().file("a", SAME).file("b", SAME);
        let world = World::in_home(&tree, TempTree::new_in(disk));
        let planned = plans(&world.tree, kind);
        let runs = Runs::open(&world.runs, |_| {}).expect("opens");
        let program = Rc::new(RefCell::new(None));
        let (start, path) = (Rc::clone(&program), world.tree.join(name));
        before_change(number, move || {
            start.replace(Some(Program::start(file_action, path)));
        });
        let (outcome, ended) = apply(&runs, kind, planned, 1);
        ended.expect("ends");
        if !was_called() {
            assert!(number > 4, "a run has more steps");
            return written;
        }
        let program = program.take().expect("was started");
        let did = program.0.join().expect("does not panic");
        let account = format!("{kind:?} {name} at step {number}: {did:?} {outcome:?}");
        if did.is_ok() {
            assert!(is_found(&world), "{account}");
            written += 1;
        }
        // Unless the program overwrote the compared content, that content still exists.
        let texts = ["a", "b"].map(|name| fs::read_to_string(world.tree.join(name)));
        assert!(texts.iter().flatten().any(|text| text.contains(SAME)) || did.is_ok(), "{account}");
    }
    unreachable!("a run ends")
}

#[test]
fn writes_at_any_step_of_a_run_keep_a_name() {
    // A tmpfs is used if possible, because hundreds of runs on a disk would take too long.
    let mount = Mount::new(FileSystem::Tmpfs, 64 << 20);
    let home = TempTree::new();
    let disk = mount.as_ref().map_or(home.path(), Mount::path);
    for kind in KINDS {
        for name in ["a", "b"] {
            for file_action in [append, rewrite, rename_over, edit] {
                assert!(at_each_step(disk, kind, name, file_action) > 2, "{kind:?} {name}");
            }
        }
    }
}

#[test]
fn writes_keep_a_name_without_leases() {
    // FUSE does not support leases, but a write changes the size or the modification time.
    let branch = TempTree::new();
    let mount = match Mount::view(View::MergerfsUseIno, branch.path()) {
        Ok(mount) => mount,
        Err(reason) => return skipped(format!("no mergerfs: {reason}")),
    };
    for kind in [Kind::Delete, Kind::Hardlink] {
        for file_action in [append, rename_over] {
            assert!(at_each_step(mount.path(), kind, "b", file_action) > 2, "{kind:?}");
        }
    }
}

/// Returns the status change time of a file in nanoseconds since the epoch, if the file exists.
fn ctime_ns(path: &Path) -> Option<i64> {
    fsops::Stat::of_path(path).ok().map(|stat| stat.ctime_ns)
}

/// Returns whether an undo attributes the last status change of a file to itself, and noticed no earlier change by
/// another program.
fn is_adopted(undone: &UndoOutcome, path: &Path, before_ns: Option<i64>) -> bool {
    let now = fsops::Stat::of_path(path).expect("exists");
    undone.statuses.of(now.key()).is_some_and(|status| {
        status.after_ns == now.ctime_ns
            && (status.before_ns.is_none() || status.before_ns == before_ns)
    })
}

/// Starts a program that edits a file of the tree at each step of an undo. Returns the number of
/// steps at which the edit succeeded.
fn edited_at_each_step_of_an_undo(disk: &Path, kind: Kind, name: &str) -> u64 {
    let mut edits = 0;
    for number in 0.. {
        let tree = TreeBuilder::new().file("a", SAME).file("b", SAME);
        let world = World::in_home(&tree, TempTree::new_in(disk));
        world.apply(kind);
        let program = Rc::new(RefCell::new(None));
        let path = world.tree.join(name);
        let before_ns = ctime_ns(&path);
        let (start, target) = (Rc::clone(&program), path.clone());
        before_change(number, move || {
            start.replace(Some(Program::start(edit, target)));
        });
        let undone = world.undo().expect("a run");
        if !was_called() {
            assert!(number > 2, "an undo has more steps");
            return edits;
        }
        let program = program.take().expect("was started");
        let did = program.0.join().expect("does not panic");
        let is_edited = ["a", "b"].map(|name| {
            let text = fs::read_to_string(world.tree.join(name)).unwrap_or_default();
            text.starts_with(EDITED)
        });
        let account = format!("{kind:?} {name} at step {number}: {did:?} {undone:?}");
        assert!(undone.done == 0 || is_edited != [true; 2], "{account}");
        if did.is_ok() && is_edited[usize::from(name == "b")] {
            let is_adopted = is_adopted(&undone, &path, before_ns);
            assert!(!is_adopted, "{account}");
            edits += 1;
        }
    }
    unreachable!("an undo ends")
}

#[test]
fn an_edit_at_any_step_of_an_undo_is_not_attributed_to_the_undo() {
    let home = TempTree::new();
    for kind in KINDS {
        let edits = ["a", "b"].map(|name| edited_at_each_step_of_an_undo(home.path(), kind, name));
        assert!(edits.iter().sum::<u64>() > 2, "{kind:?} {edits:?}");
    }
}

/// The kept file has lost its original name, so the undo replaces its last remaining name.
#[test]
fn an_undo_notices_an_edit_of_the_last_name_that_it_replaces() {
    let home = TempTree::new();
    let mut edits = 0;
    for number in 0.. {
        let tree = TreeBuilder::new().file("a", SAME).file("b", SAME);
        let world = World::in_home(&tree, TempTree::new_in(home.path()));
        assert_eq!(world.apply(Kind::Hardlink).done, 1);
        fs::remove_file(world.tree.join("a")).expect("removed");
        let program = Rc::new(RefCell::new(None));
        let (start, target) = (Rc::clone(&program), world.tree.join("b"));
        before_change(number, move || {
            start.replace(Some(Program::start(edit, target)));
        });
        let undone = world.undo().expect("a run");
        if !was_called() {
            assert_eq!(undone.done, 1, "{undone:?}");
            break;
        }
        let program = program.take().expect("was started");
        let did = program.0.join().expect("does not panic");
        assert!(did.is_err() || is_found(&world), "at step {number}: {undone:?}");
        edits += u64::from(did.is_ok());
    }
    assert!(edits > 2, "{edits}");
}

/// A run has separated two names. While an undo joins them again, a program edits one of the files.
#[test]
fn no_content_is_lost_by_an_edit_while_an_undo_joins_two_names() {
    let home = TempTree::new();
    for (edited, other) in [("a", "b"), ("b", "a")] {
        let mut edits = 0;
        for number in 0.. {
            let tree = TreeBuilder::new().file("a", SAME).hard_link("a", "b");
            let world = World::in_home(&tree, TempTree::new_in(home.path()));
            assert_eq!(world.apply(Kind::Separate).done, 1);
            let [edited, other] = [edited, other].map(|name| world.tree.join(name));
            let edited_alone = Rc::new(RefCell::new(None));
            let (said, paths) = (Rc::clone(&edited_alone), [edited.clone(), other.clone()]);
            before_change(number, move || {
                let keys = paths.each_ref().map(|path| fsops::Stat::of_path(path).map(|s| s.key()));
                let are_two = keys[0].as_ref().ok() != keys[1].as_ref().ok();
                let program = Program::start(edit, paths[0].clone());
                said.replace(Some((are_two && program.0.is_finished(), program)));
            });
            let undone = world.undo().expect("a run");
            if !was_called() {
                break;
            }
            let (is_alone, program) = edited_alone.take().expect("was started");
            let did = program.0.join().expect("does not panic");
            let text = fs::read_to_string(&other).expect("exists");
            let account = format!("{} at step {number}: {did:?} {undone:?}", edited.display());
            assert!(!is_alone || did.is_err() || text == SAME, "{account}");
            edits += u64::from(is_alone && did.is_ok());
        }
        assert!(edits > 1, "{edited}: {edits}");
    }
}

/// Returns whether a staging directory has a finished copy of the file at `path`.
fn has_copy(stores: &[PathBuf], path: &Path) -> bool {
    let key = |path: &Path| fsops::Stat::of_path(path).map(|stat| stat.key()).ok();
    let mut files = stores.iter().flat_map(|dir| fs::read_dir(dir).into_iter().flatten().flatten());
    files.any(|file| {
        let is_finished = file.path().extension().is_none_or(|suffix| suffix != "part");
        let is_equal = fs::read_to_string(file.path()).is_ok_and(|text| text == SAME);
        is_finished && is_equal && key(&file.path()) != key(path)
    })
}

/// A run that separates two names is killed before each of its changes. A program then edits the file while the next
/// run removes the copy.
#[test]
fn an_edit_while_a_recovery_removes_a_copy_has_to_wait() {
    let home = TempTree::new();
    let mut waited = 0;
    for cut in 0.. {
        let mut is_cut = false;
        for number in 0.. {
            let tree = TreeBuilder::new().file("a", SAME).hard_link("a", "b");
            let world = World::in_home(&tree, TempTree::new_in(home.path()));
            let planned = plans(&world.tree, Kind::Separate);
            is_cut = cut_off_at(cut, || {
                let runs = Runs::open(&world.runs, |_| {}).expect("opens");
                drop(apply(&runs, Kind::Separate, planned, 1));
            });
            let found = Rc::new(RefCell::new(None));
            let (said, stores, path) = (Rc::clone(&found), world.stores(), world.tree.join("b"));
            before_change(number, move || {
                let had_copy = has_copy(&stores, &path);
                let program = Program::start(edit, path);
                said.replace(Some((had_copy, program.0.is_finished(), program)));
            });
            drop(Runs::open(&world.runs, |_| {}).expect("opens"));
            if !was_called() {
                break;
            }
            let (had_copy, is_edited, program) = found.take().expect("was started");
            let account = format!("cut off at {cut}, edit at step {number}: {:?}", program.end());
            let texts = texts(&world);
            assert!(!had_copy || !is_edited || texts.iter().any(|text| text == SAME), "{account}");
            waited += u64::from(had_copy && !is_edited);
        }
        if !is_cut {
            break;
        }
    }
    assert!(waited > 0, "no copy was removed under a lease");
}

#[test]
fn a_file_that_is_open_for_writing_is_left_alone() {
    for kind in KINDS {
        for name in ["a", "b"] {
            let world = World::new(&TreeBuilder::new().file("a", SAME).file("b", SAME));
            let mut open: File =
                OpenOptions::new().append(true).open(world.tree.join(name)).expect("opens");
            let outcome = world.apply(kind);
            assert_eq!((outcome.done, outcome.refused.len()), (0, 1), "{outcome:?}");
            open.write_all(PRECIOUS.as_bytes()).expect("is written");
            assert!(is_found(&world));
        }
    }
}
