//! Tests of runs on stacked, cached and limited file systems. Each kind of action is either refused, or has the effect
//! that lop reports and can be undone.

#![expect(clippy::disallowed_methods, reason = "tests change the trees they made")]

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use action::plan::{Group, Kind, Plan, Target, Version};
use action::run::{ApplyOutcome, Runs};
use action::trash::{Claim, Started, TrashRun, Tree};
use action::{Reason, Refusal};
use fsops::faults::ChangeFault;
use fsops::{Op, Stat};
use testkit::{
    Compare, FileSystem, Mount, PathBytes, TempTree, TreeBuilder, View, assert_same, skipped,
};

use crate::child::{Orders, What};
use crate::crash::contents_are_there;
use crate::sweep;
use crate::world::{World, apply, apply_groups, plans};

const KINDS: [Kind; 4] = [Kind::Delete, Kind::Hardlink, Kind::Symlink, Kind::Quarantine];

fn tree() -> TreeBuilder {
    TreeBuilder::new()
        .seeded("a/one", 1, 5000)
        .seeded("b/two", 1, 5000)
        .seeded("b/three", 1, 5000)
        .mtime("b/two", 1_000_000_000, 0)
        .mode("b/two", 0o600)
        .hard_links("linked", &["h/1", "h/2"])
        .file("h/3", "linked")
}

/// Creates a tree below a folder on the tested file system. The journals are on another file
/// system, as if the catalog were in a home directory.
fn world_in(folder: &Path, tree: &TreeBuilder) -> (World, TempTree) {
    let mut world = World::in_home(tree, TempTree::new_in(folder));
    let journals = TempTree::new();
    world.runs = journals.join("runs");
    (world, journals)
}

/// Carries out an action on groups with known digests.
fn apply_as_a_catalog_would(world: &World, kind: Kind) -> ApplyOutcome {
    let runs = Runs::open(&world.runs, |_| {}).expect("opens");
    let plans = plans(&world.tree, kind).into_iter().map(|plan| {
        let kept = fs::read(plan.keep.target.path.to_path()).expect("is read");
        Plan { digest: Some(content::Digest::of(&kept)), ..plan }
    });
    apply(&runs, kind, plans.collect(), 2).0
}

/// Carries out and undoes each kind of action on `names` names. For all kinds except hard links, `same` of the names
/// turn out to belong to the kept file.
fn each_kind_and_its_undo(folder: &Path, names: u64, same: u64) {
    for kind in KINDS {
        let (world, _journals) = world_in(folder, &tree());
        let before = world.snapshot();
        let outcome = apply_as_a_catalog_would(&world, kind);
        assert!(outcome.refused.is_empty(), "{kind:?}: {outcome:?}");
        let same = if kind == Kind::Hardlink { 0 } else { same };
        assert_eq!((outcome.done, outcome.already), (names - same, same), "{kind:?}");
        let after = world.snapshot();
        match kind {
            Kind::Delete | Kind::Quarantine => assert!(after.entries.len() < before.entries.len()),
            _ => assert_eq!(after.entries.len(), before.entries.len()),
        }
        if kind != Kind::Quarantine {
            assert!(world.stores().is_empty(), "{kind:?}: {:?}", world.stores());
        }
        let undone = world.undo().expect("a run");
        assert!(undone.refused.is_empty(), "{kind:?}: {undone:?}");
        assert_eq!(undone.done, names - same, "{kind:?}");
        assert_same(&before, &world.snapshot(), Compare::VISIBLE | Compare::METADATA);
        assert!(world.stores().is_empty(), "{kind:?}: {:?}", world.stores());
    }
}

/// Sweeps files and a tree, and undoes the sweep. Some views cannot rename directories, and some give an entry a new
/// inode number when it is renamed. Such an entry keeps its name. Returns the number of swept entries.
fn a_sweep_and_its_undo(world: &World) -> u64 {
    let before = world.snapshot();
    let paths = ["a/one", "h/1", "b"].map(|name| world.tree.join(name));
    let runs = Runs::open(&world.runs, |_| {}).expect("opens");
    let entries = paths.iter().map(|path| sweep::entry(path)).collect();
    let (outcome, ended) = sweep::sweep(&runs, entries);
    ended.expect("ends");
    drop(runs);
    let left: Vec<_> = outcome.refused.iter().map(|refusal| refusal.path.to_path()).collect();
    assert_eq!(outcome.done + left.len() as u64, 3, "{outcome:?}");
    for path in &paths {
        assert_eq!(path.exists(), left.contains(path), "{outcome:?}");
    }
    let why = |refusal: &Refusal| {
        matches!(refusal.reason, Reason::Swapped | Reason::Failed { op: Op::Rename, .. })
    };
    assert!(outcome.refused.iter().all(why), "{outcome:?}");
    let undone = world.undo().unwrap_or_default();
    assert_eq!((undone.done, undone.refused.len()), (outcome.done, 0), "{undone:?}");
    assert_same(&before, &world.snapshot(), Compare::VISIBLE | Compare::METADATA);
    outcome.done
}

#[test]
fn a_sweep_on_an_overlay_or_mergerfs_moves_only_entries_that_it_recognizes() {
    let lower = TempTree::new();
    tree().make(lower.join("tree"));
    let journals = TempTree::new();
    match Mount::overlay(lower.path()) {
        Ok(mount) => {
            let shown = mount.path().join("tree").canonicalize().expect("exists");
            let _swept = a_sweep_and_its_undo(&World::of(shown, journals.join("runs")));
        }
        Err(reason) => skipped(format!("no overlay: {reason}")),
    }
    let branch = TempTree::new();
    match Mount::view(View::MergerfsUseIno, branch.path()) {
        // The inode number of a directory depends on its path.
        Ok(mount) => assert_eq!(a_sweep_and_its_undo(&world_in(mount.path(), &tree()).0), 2),
        Err(reason) => skipped(format!("no mergerfs: {reason}")),
    }
}

#[test]
fn links_to_files_in_the_lower_layer_of_an_overlay_are_recognized() {
    for kind in KINDS {
        let lower = TempTree::new();
        tree().make(lower.join("tree"));
        let mount = match Mount::overlay(lower.path()) {
            Ok(mount) => mount,
            Err(reason) => return skipped(format!("no overlay: {reason}")),
        };
        let journals = TempTree::new();
        let (tree, runs) = (mount.path().join("tree"), journals.join("runs"));
        let world = World::of(tree.canonicalize().expect("exists"), runs);
        let before = world.snapshot();
        let outcome = apply_as_a_catalog_would(&world, kind);
        assert!(outcome.refused.is_empty(), "{kind:?}: {outcome:?}");
        let undone = world.undo().expect("a run");
        assert!(undone.refused.is_empty(), "{kind:?}: {undone:?}");
        // When one of two hard links in the lower layer is copied up, the two names become separate files.
        assert_same(&before, &world.snapshot(), Compare::VISIBLE | Compare::METADATA);
        assert!(world.stores().is_empty(), "{kind:?}: {:?}", world.stores());
    }
}

#[test]
fn a_file_in_a_layer_of_an_overlay_is_an_alias_of_what_the_overlay_shows() {
    for kind in [Kind::Delete, Kind::Symlink, Kind::Quarantine] {
        let lower = TempTree::new();
        let mount = match Mount::overlay(lower.path()) {
            Ok(mount) => mount,
            Err(reason) => return skipped(format!("no overlay: {reason}")),
        };
        let below = lower.path().canonicalize().expect("exists").join("f");
        fs::write(&below, "the only one").expect("is written");
        let shown = mount.path().canonicalize().expect("exists").join("f");
        assert_eq!(fs::read(&shown).expect("is shown"), b"the only one");
        let target = |path: &Path| {
            let version = Version::from(&Stat::of_path(path).expect("exists"));
            Target { path: path.as_os_str().as_bytes().to_vec(), version, tag: 0 }
        };
        let group = Group { keep: target(&shown), others: vec![target(&below)], digest: None };
        let journals = TempTree::new();
        let runs = Runs::open(&journals.join("runs"), |_| {}).expect("opens");
        let (outcome, _) = apply_groups(&runs, kind, vec![group], 1);
        assert_eq!(outcome.done, 0, "{kind:?}: {outcome:?}");
        assert_eq!(fs::read(&below).expect("exists"), b"the only one");
        assert_eq!(fs::read_dir(lower.path()).expect("a directory").count(), 1);
    }
}

#[test]
fn each_kind_works_on_mergerfs_with_inode_numbers_per_file_and_per_name() {
    // If each name has its own inode number, two names of one file look like two files until one of the names is moved
    // away.
    for (view, names, same) in [(View::Mergerfs, 4, 1), (View::MergerfsUseIno, 3, 0)] {
        let branch = TempTree::new();
        let mount = match Mount::view(view, branch.path()) {
            Ok(mount) => mount,
            Err(reason) => return skipped(format!("no mergerfs: {reason}")),
        };
        each_kind_and_its_undo(mount.path(), names, same);
    }
}

#[test]
fn files_removed_from_exfat_can_be_restored() {
    let mount = match Mount::new(FileSystem::ExFat, 32 << 20) {
        Ok(mount) => mount,
        Err(reason) => return skipped(format!("no exFAT: {reason}")),
    };
    let tree = || TreeBuilder::new().file("a", "equal").file("b", "equal");
    for kind in KINDS {
        let (world, _journals) = world_in(mount.path(), &tree());
        let before = world.snapshot();
        let outcome = world.apply(kind);
        let can = matches!(kind, Kind::Delete | Kind::Quarantine);
        assert_eq!((outcome.done == 1, outcome.refused.is_empty()), (can, can), "{outcome:?}");
        assert_eq!(world.tree.join("b").exists(), !can);
        let undone = world.undo();
        assert_eq!(undone.map(|undone| undone.done), can.then_some(1), "{kind:?}");
        assert_same(&before, &world.snapshot(), Compare::VISIBLE);
        assert!(world.stores().is_empty(), "{kind:?}: {:?}", world.stores());
    }
    // An undo does not overwrite a new entry that has the name of a quarantined file. The file remains in quarantine.
    let (world, _journals) = world_in(mount.path(), &tree());
    world.apply(Kind::Quarantine);
    fs::write(world.tree.join("b"), "new").expect("is written");
    assert_eq!(world.undo().expect("a run").refused.len(), 1);
    assert_eq!(fs::read(world.tree.join("b")).expect("is read"), b"new");
}

#[test]
fn a_directory_whose_inode_number_depends_on_its_path_is_trashed_and_moved_back() {
    for view in [View::Mergerfs, View::MergerfsUseIno] {
        let branch = TempTree::new();
        let mount = match Mount::view(view, branch.path()) {
            Ok(mount) => mount,
            Err(reason) => return skipped(format!("no mergerfs: {reason}")),
        };
        let (world, _journals) = world_in(mount.path(), &tree());
        let names = ["a", "b/two", "h"];
        let trees = names.map(|name| {
            let path = world.tree.join(name);
            let was = Stat::of_path(&path).expect("exists");
            Tree { path: path.as_os_str().as_bytes().to_vec(), was }
        });
        let before = world.snapshot();
        let Started { run: discard, moved, refused, .. } =
            TrashRun::begin(&world.runs, &trees).expect("begins");
        assert_eq!((moved, refused.len()), (3, 0), "{refused:?}");
        let run = discard.run();
        // Another process continues the run.
        drop(discard);
        let Claim::Claimed(discard) = TrashRun::claim(&world.runs, run).expect("is read") else {
            panic!("nobody has it");
        };
        let (left, unknown) = discard.remaining().expect("is read");
        assert_eq!((left.len(), unknown.len()), (3, 0), "{unknown:?}");
        for tree in &left {
            discard.move_back(tree).expect("is moved back");
        }
        assert_same(&before, &world.snapshot(), Compare::VISIBLE);
        assert!(discard.finish().expect("is recorded"));
        assert!(world.stores().is_empty(), "{:?}", world.stores());
    }
}

/// Kills a run at each of its changes and undoes it.
fn killed_anywhere(folder: &Path, kinds: &[Kind]) {
    let tree = || TreeBuilder::new().seeded("a", 1, 500).seeded("b", 1, 500).seeded("c", 1, 500);
    for &kind in kinds {
        for number in 0.. {
            let (world, _journals) = world_in(folder, &tree());
            let before = world.snapshot();
            let ended = Orders::of(&world, What::Apply(kind)).carry_out(number, ChangeFault::Kill);
            contents_are_there(&world, &before, &ended.account);
            while world.undo().is_some_and(|undone| undone.done > 0) {}
            let account = format!("{kind:?} {number} {}", ended.account);
            assert!(world.stores().is_empty(), "{account}");
            let after = world.snapshot();
            let same = std::panic::catch_unwind(|| assert_same(&before, &after, Compare::VISIBLE));
            assert!(same.is_ok(), "{account}");
            if !ended.killed {
                break;
            }
        }
    }
}

#[test]
fn a_run_that_cannot_exchange_names_may_be_killed_anywhere() {
    let branch = TempTree::new();
    match Mount::view(View::Mergerfs, branch.path()) {
        Ok(mount) => killed_anywhere(mount.path(), &KINDS),
        Err(reason) => skipped(format!("no mergerfs: {reason}")),
    }
}

#[test]
fn a_run_on_exfat_may_be_killed_anywhere() {
    match Mount::new(FileSystem::ExFat, 32 << 20) {
        Ok(mount) => killed_anywhere(mount.path(), &[Kind::Delete, Kind::Quarantine]),
        Err(reason) => skipped(format!("no exFAT: {reason}")),
    }
}

#[test]
fn each_kind_works_on_sshfs_or_is_refused() {
    let far = TempTree::new();
    let mount = match Mount::view(View::Sshfs, far.path()) {
        Ok(mount) => mount,
        Err(reason) => return skipped(format!("no sshfs: {reason}")),
    };
    // The targets of the symbolic links in this tree contain `..`, and sshfs refuses to read such links.
    let tree = TreeBuilder::new().file("a/one", "equal").file("b/two", "equal").file("c", "equal");
    for kind in KINDS {
        let (world, _journals) = world_in(mount.path(), &tree);
        let before = world.snapshot();
        let outcome = apply_as_a_catalog_would(&world, kind);
        // sshfs does not report link counts, so a hard link looks like a copy.
        let can = kind != Kind::Hardlink;
        let counts = (outcome.done, outcome.refused.len());
        assert_eq!(counts, if can { (2, 0) } else { (0, 2) }, "{kind:?}: {outcome:?}");
        if can {
            let undone = world.undo().expect("a run");
            assert!(undone.refused.is_empty(), "{kind:?}: {undone:?}");
        }
        assert_same(&before, &world.snapshot(), Compare::VISIBLE);
        assert!(world.stores().is_empty(), "{kind:?}: {:?}", world.stores());
    }
}

#[test]
fn a_trash_run_may_be_killed_anywhere_if_inode_numbers_depend_on_paths() {
    let branch = TempTree::new();
    let mount = match Mount::view(View::MergerfsUseIno, branch.path()) {
        Ok(mount) => mount,
        Err(reason) => return skipped(format!("no mergerfs: {reason}")),
    };
    for number in 0.. {
        let tree = TreeBuilder::new().file("a/b", "one").file("e", "two").symlink("f", "a");
        let (world, _journals) = world_in(mount.path(), &tree);
        let before = world.snapshot();
        let ended = Orders::of(&world, What::Discard).carry_out(number, ChangeFault::Kill);
        for run in TrashRun::unfinished(&world.runs).expect("a list") {
            let Claim::Claimed(discard) = TrashRun::claim(&world.runs, run).expect("is read")
            else {
                continue;
            };
            // An entry that cannot be identified is moved back immediately.
            let (left, unknown) = discard.remaining().expect("is read");
            let is_back = |refusal: &Refusal| matches!(refusal.reason, Reason::Swapped);
            assert!(unknown.iter().all(is_back), "{number}: {unknown:?}");
            for tree in &left {
                discard.move_back(tree).expect("is moved back");
            }
            assert!(discard.finish().expect("is recorded"), "{number}: {}", ended.account);
        }
        assert_same(&before, &world.snapshot(), Compare::VISIBLE);
        assert!(world.stores().is_empty(), "{number}: {:?}", world.stores());
        if !ended.killed {
            break;
        }
    }
}
