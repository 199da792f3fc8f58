//! Edits that users make after a run was killed survive the next run, even if that run is killed as well.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;

use action::plan::Kind;
use fsops::faults::ChangeFault;
use testkit::snapshot::Kind as Entry;
use testkit::{Compare, Snapshot, assert_same};

use crate::child::{What, output, run};
use crate::crash::contents_are_there;
use crate::world::{WHOLE, World, odd_tree};

/// A way to write text to a file.
type Edit = fn(&Path, &[u8]) -> io::Result<()>;

fn append(path: &Path, text: &[u8]) -> io::Result<()> {
    OpenOptions::new().append(true).open(path)?.write_all(text)
}

/// Overwrites a file as `rsync --inplace --times` does, keeping its size and modification time.
pub(crate) fn overwrite(path: &Path, text: &[u8]) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    let metadata = file.metadata()?;
    let most = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
    file.write_all_at(&text[..text.len().min(most)], 0)?;
    file.set_modified(metadata.modified()?)
}

/// Writes a different text to each file in the tree.
fn edit_all(world: &World, edit: Edit) {
    let files = world.snapshot();
    for (path, entry) in files.entries.iter().filter(|(_, entry)| entry.kind == Entry::File) {
        if entry.same_as == *path {
            let at = world.tree.join(std::ffi::OsStr::from_bytes(path));
            edit(&at, path).expect("is written");
        }
    }
}

/// Kills a run or an undo at each of its changes. After each kill, a program writes to all remaining files.
fn edited_after_a_kill(kind: Kind, what: What, edit: Edit) {
    for number in 0.. {
        let world = World::new(&odd_tree());
        if what == What::Undo {
            world.apply(kind);
        }
        let ended = run(&world.folder(), what, number, ChangeFault::Kill);
        edit_all(&world, edit);
        let edited = world.snapshot();
        drop(world.undo());
        contents_are_there(&world, &edited, &ended.account);
        drop(world.undo());
        contents_are_there(&world, &edited, &ended.account);
        // Every file still contains the text written to it. A write through a symbolic link changes the target of the
        // link.
        let after = world.snapshot();
        let alone = |entry: &testkit::snapshot::Entry| entry.sha256.is_some() && entry.links == 1;
        for (path, entry) in edited.entries.iter().filter(|(_, entry)| alone(entry)) {
            let now = after.get(path).map(|now| now.sha256);
            assert_eq!(now, Some(entry.sha256), "{} at {number}", path.escape_ascii());
        }
        if !ended.killed {
            break;
        }
    }
}

#[test]
fn writes_after_a_killed_run_survive() {
    for kind in [Kind::Hardlink, Kind::Delete, Kind::Symlink, Kind::Quarantine] {
        for edit in [append, overwrite] {
            edited_after_a_kill(kind, What::Apply(kind), edit);
        }
    }
}

#[test]
fn writes_after_a_killed_undo_survive() {
    for kind in [Kind::Hardlink, Kind::Delete, Kind::Symlink, Kind::Quarantine] {
        for edit in [append, overwrite] {
            edited_after_a_kill(kind, What::Undo, edit);
        }
    }
}

#[test]
fn an_undo_may_be_killed_twice() {
    for kind in [Kind::Hardlink, Kind::Delete, Kind::Symlink] {
        let (whole, _mount) = World::in_memory(&odd_tree());
        whole.apply(kind);
        let all =
            run(&whole.folder(), What::Undo, u64::MAX, ChangeFault::Kill).changes.expect("ends");
        for first in (0..all).step_by(11) {
            for second in (0..all).step_by(8) {
                let (world, _mount) = World::in_memory(&odd_tree());
                let before = world.snapshot();
                world.apply(kind);
                let ended = run(&world.folder(), What::Undo, first, ChangeFault::Kill);
                contents_are_there(&world, &before, &ended.account);
                let ended = run(&world.folder(), What::Undo, second, ChangeFault::Kill);
                contents_are_there(&world, &before, &ended.account);
                while world.undo().is_some_and(|undone| undone.done > 0) {}
                let after = world.snapshot();
                assert_same(&before, &after, WHOLE - Compare::DIR_MTIMES);
            }
        }
    }
}

/// A directory that is immutable until this value is dropped.
struct Frozen(std::path::PathBuf);

impl Frozen {
    fn new(dir: std::path::PathBuf) -> Option<Frozen> {
        let frozen = output(std::process::Command::new("chattr").arg("+i").arg(&dir));
        frozen.is_ok_and(|frozen| frozen.status.success()).then_some(Frozen(dir))
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        drop(output(std::process::Command::new("chattr").arg("-i").arg(&self.0)));
    }
}

#[test]
fn an_unfinished_copy_never_replaces_a_file() {
    for number in 0.. {
        let (world, _mount) = World::in_memory(&odd_tree());
        let before = world.snapshot();
        world.apply(Kind::Delete);
        // The immutable directories make the first undo stop after it has made the copies.
        let dirs =
            ["b", "b/deep/er", "h", "g", "s", ""].map(|dir| Frozen::new(world.tree.join(dir)));
        if dirs.iter().any(Option::is_none) {
            return testkit::skipped("directories cannot be made immutable");
        }
        drop(world.undo());
        drop(dirs);
        let ended = run(&world.folder(), What::Undo, number, ChangeFault::Kill);
        drop(action::run::Runs::open(&world.runs, |_| {}));
        let now = world.snapshot();
        assert!(now.contents().is_subset(&before.contents()), "at {number}");
        while world.undo().is_some_and(|undone| undone.done > 0) {}
        assert_same(&before, &Snapshot::of(&world.tree), WHOLE - Compare::DIR_MTIMES);
        if !ended.killed {
            break;
        }
    }
}
