//! Tests of events that are lost. No thread reads the events, so the tests decide when the watcher does.

use std::fs::File;

use fsops::EventQueue;
use testkit::{FileSystem, Mount, TempTree, TreeBuilder, skipped, without_forks};

use super::{Options, Watcher};
use crate::answer::{Answer, Position, Unknown};
use crate::area::Means;
use crate::fanotify;
use crate::protocol::Question;

fn watcher(tree: &TempTree) -> Watcher {
    watcher_of(tree, "r")
}

fn watcher_of(tree: &TempTree, root: &str) -> Watcher {
    let (catalog, roots) = (tree.path().join("catalog.db"), vec![tree.path().join(root)]);
    Watcher::start(Options { catalog, roots, own: Vec::new() }).expect("started")
}

/// Makes a tree on a file system of its own, so that the events of other tests do not count as well. Prints the reason
/// and returns `None` if this is not possible.
fn make_alone(tree: &TreeBuilder) -> Option<(Mount, TempTree)> {
    let mount = Mount::new(FileSystem::Tmpfs, 0).map_err(skipped).ok()?;
    let home = TempTree::new_in(&mount);
    tree.make(home.path());
    Some((mount, home))
}

/// Creates a file. Prevents that another test starts a process meanwhile, which would keep the file open for a moment.
/// The kernel would report the close late.
fn create(tree: &TempTree, path: &str) {
    let _quiet = without_forks();
    drop(File::create(tree.path().join(path)).expect("created"));
}

fn rename(tree: &TempTree, from: &str, to: &str) {
    rustix::fs::rename(tree.path().join(from), tree.path().join(to)).expect("renamed");
}

fn make_dir(tree: &TempTree, path: &str) {
    rustix::fs::mkdir(tree.path().join(path), rustix::fs::Mode::RWXU).expect("made");
}

fn ask(watcher: &mut Watcher, since: Option<Position>) -> Answer {
    let roots = watcher.areas.roots.clone();
    watcher.answer(&Question { roots, since })
}

/// Causes more events than a queue can hold.
fn overflow(tree: &TempTree) {
    let limit = std::fs::read_to_string("/proc/sys/fs/fanotify/max_queued_events");
    let other = std::fs::read_to_string("/proc/sys/fs/inotify/max_queued_events");
    let limits = [limit, other].map(|text| text.expect("a limit").trim().parse::<u32>());
    let limit = limits.into_iter().flatten().max().expect("a limit");
    for number in 0..=limit {
        create(tree, &format!("r/{number}"));
    }
}

fn assert_lost_once(watcher: &mut Watcher, tree: &TempTree) {
    let position = ask(watcher, None).position;
    overflow(tree);
    let answer = ask(watcher, Some(position));
    assert!(
        matches!(answer.changes, Err(Unknown::EventsLost | Unknown::Replaced(_))),
        "{:?}",
        answer.changes
    );
    create(tree, "r/dir/later");
    let changes = ask(watcher, Some(answer.position)).changes.expect("known");
    let dirs: Vec<_> = changes.dirs.iter().map(|dir| dir.path().to_path_buf()).collect();
    assert_eq!(dirs, [tree.path().join("r/dir")]);
}

#[test]
fn overflow_of_fanotify_is_unknown() {
    let Some((_mount, tree)) = make_alone(&TreeBuilder::new().dir("r/dir")) else { return };
    let mut watcher = watcher(&tree);
    assert_eq!(watcher.watched()[0].means, Means::Fanotify);
    watcher.fanotify = Ok(fanotify::Source::new(EventQueue::Limited).expect("a source"));
    watcher.areas.list.clear();
    watcher.update_areas();
    assert_eq!(watcher.watched()[0].means, Means::Fanotify);
    assert_lost_once(&mut watcher, &tree);
}

/// Makes the watcher watch its root, which contains one directory, with inotify.
fn use_inotify(watcher: &mut Watcher) {
    watcher.fanotify = Err("not in this test".into());
    watcher.areas.list.clear();
    watcher.update_areas();
    assert_eq!(watcher.watched()[0].means, Means::Inotify(2, "not in this test".into()));
}

#[test]
fn overflow_of_inotify_is_unknown() {
    let tree = TreeBuilder::new().dir("r/dir").make_in_memory();
    let mut watcher = watcher(&tree);
    use_inotify(&mut watcher);
    assert_lost_once(&mut watcher, &tree);
}

#[test]
fn unlimited_queue_loses_nothing() {
    let tree = TreeBuilder::new().dir("r/dir").make_in_memory();
    let mut watcher = watcher(&tree);
    if watcher.watched()[0].means != Means::Fanotify {
        return skipped("only root may watch whole file systems");
    }
    let position = ask(&mut watcher, None).position;
    overflow(&tree);
    assert!(ask(&mut watcher, Some(position)).changes.is_ok());
}

/// The lost events may have moved directories, so the watcher also forgets the places that it has determined.
#[test]
fn events_beyond_the_limit_are_lost_and_places_are_determined_again() {
    let Some((_mount, tree)) = make_alone(&TreeBuilder::new().dir("r").dir("dir")) else { return };
    let mut watcher = watcher(&tree);
    assert_eq!(watcher.watched()[0].means, Means::Fanotify);
    watcher.fanotify.as_mut().expect("a source").max_waiting = 100;
    create(&tree, "dir/outside");
    let position = ask(&mut watcher, None).position;
    for number in 0..200 {
        create(&tree, &format!("r/{number}"));
    }
    rename(&tree, "dir", "r/dir");
    let answer = ask(&mut watcher, Some(position));
    assert_eq!(answer.changes, Err(Unknown::EventsLost));
    create(&tree, "r/dir/inside");
    let changes = ask(&mut watcher, Some(answer.position)).changes.expect("known");
    let dirs: Vec<_> = changes.dirs.iter().map(|dir| dir.path().to_path_buf()).collect();
    assert_eq!(dirs, [tree.path().join("r/dir")]);
}

#[test]
fn notes_are_kept_while_another_mount_covers_the_root() {
    let tree = TreeBuilder::new().dir("r/dir").dir("other").make_in_memory();
    let mut watcher = watcher(&tree);
    if watcher.watched()[0].means != Means::Fanotify {
        return skipped("only root may watch whole file systems");
    }
    let roots = watcher.areas.roots.clone();
    let since = ask(&mut watcher, None).position.number;
    create(&tree, "r/dir/new");
    watcher.drain();
    let cover = Mount::bind(tree.path().join("other"), tree.path().join("r")).expect("mounted");
    assert_eq!(watcher.changes_since(&roots, since), Err(Unknown::EventsLost));
    create(&tree, "other/new");
    let Ok(source) = &mut watcher.fanotify else { return };
    let is_outdated = source.drain(&mut watcher.areas, &mut watcher.notes);
    assert!(is_outdated.expect("read"), "the directory may be below the root");
    drop(cover);
    let changes = watcher.changes_since(&roots, since).expect("known");
    assert_eq!(changes.dirs.len(), 1, "{changes:?}");
}

#[test]
fn paths_of_roots_are_read_again_after_a_mount_covered_them() {
    let tree = TreeBuilder::new().dir("above/r").dir("other/r").make_in_memory();
    let mut watcher = watcher_of(&tree, "above/r");
    if watcher.watched()[0].means != Means::Fanotify {
        return skipped("only root may watch whole file systems");
    }
    create(&tree, "file");
    watcher.drain();
    let cover = Mount::bind(tree.path().join("other"), tree.path().join("above")).expect("mounted");
    // The watcher knows the parent of this directory, so it does not notice the mount.
    make_dir(&tree, "dir");
    watcher.drain();
    drop(cover);
    let position = ask(&mut watcher, None).position;
    rename(&tree, "above/r", "away");
    rename(&tree, "away", "above/r");
    let answer = ask(&mut watcher, Some(position));
    assert!(matches!(answer.changes, Err(Unknown::Replaced(_))), "{:?}", answer.changes);
}

#[test]
fn directory_that_appears_while_the_path_of_the_root_leads_elsewhere_is_watched() {
    let tree = TreeBuilder::new().dir("above/r/dir").dir("other/r").make_in_memory();
    let mut watcher = watcher_of(&tree, "above/r");
    use_inotify(&mut watcher);
    rename(&tree, "above", "away");
    rename(&tree, "other", "above");
    make_dir(&tree, "away/r/new");
    watcher.drain();
    rename(&tree, "above", "other");
    rename(&tree, "away", "above");
    let position = ask(&mut watcher, None).position;
    create(&tree, "above/r/new/file");
    let changes = ask(&mut watcher, Some(position)).changes.expect("known");
    let dirs: Vec<_> = changes.dirs.iter().map(|dir| dir.path().to_path_buf()).collect();
    assert_eq!(dirs, [tree.path().join("above/r/new")]);
}
