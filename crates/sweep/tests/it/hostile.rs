//! Names, types, mounts and depths that have made other programs take too much, or hang.

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, SystemTime};

use sweep::bindings::Context;
use sweep::preview::Preview;
use sweep::rule::glob::Glob;
use sweep::rule::variable::Variable::{Cache, Temp, Top};
use sweep::rule::{Age, Extent, Marker, Rule};
use testkit::{FileSystem, Mount, TempTree, TreeBuilder, View, deep_path, skipped};

use crate::world::{World, contents, keeping, rule};

const LEVELS: usize = 2_000;
const LEVEL: &str = "deep-level";

fn paths(preview: &Preview) -> Vec<&[u8]> {
    preview.matches.iter().map(|found| &found.path[..]).collect()
}

#[test]
fn directories_that_differ_only_in_case_are_all_bound_and_all_protected() {
    let tree = TreeBuilder::new()
        .dir("Windows/System32")
        .file("Users/anna/NTUSER.DAT", "hive")
        .file("Users/anna/AppData/Local/Temp/a", "1")
        .file("Users/anna/AppData/Local/TEMP/b", "2")
        .file("Users/anna/Documents/letter", "3")
        .file("Users/anna/DOCUMENTS/letter", "4");
    let world = World::found(tree.make_in_memory(), &Context::default());
    let taken = world.paths(&[contents("temp", "{temp}")]);
    let expected = ["Users/anna/AppData/Local/TEMP/b", "Users/anna/AppData/Local/Temp/a"];
    assert_eq!(taken, expected);
    let documents = [rule("documents", &[("{profile}/document?/*", Extent::Tree)])];
    assert_eq!(world.preview(&documents).refused.len(), 1);
}

#[test]
fn short_names_of_windows_are_ordinary_names() {
    let tree = TreeBuilder::new()
        .dir("WINDOWS/system32")
        .file("Documents and Settings/anna/NTUSER.DAT", "hive")
        .file("Documents and Settings/anna/Local Settings/Temp/x", "1")
        .file("DOCUME~1/ben/NTUSER.DAT", "hive")
        .file("DOCUME~1/ben/Local Settings/Temp/x", "2")
        .file("WINDOW~1.OLD/x", "3")
        .file("work/a.tmp", "4")
        .file("work/a.tmplate", "5")
        .file("work/A~1.TMP~", "6");
    let mut world = World::found(tree.make_in_memory(), &Context::default());
    world.allow.insert("old".into());
    let rules = [
        contents("temp", "{temp}"),
        contents("old", "{drive}/Windows.old"),
        rule("tmp", &[("**/*.tmp", Extent::Files)]),
    ];
    let expected = ["Documents and Settings/anna/Local Settings/Temp/x", "work/a.tmp"];
    assert_eq!(world.paths(&rules), expected);
}

#[test]
fn longest_names_and_names_that_are_not_utf8_are_taken_with_their_directory() {
    let longest = [vec![b'n'; 251], b".tmp".to_vec()].concat();
    let tree = TreeBuilder::new()
        .file([b"c/app/d/", &longest[..]].concat(), "1")
        .file([b"c/app/d/".to_vec(), vec![0xff; 255]].concat(), "2")
        .file([b"c/other/".to_vec(), vec![0xff; 251], b".tmp".to_vec()].concat(), "3");
    let mut world = World::new(&tree, &[(Cache, "c")]);
    world.bindings.folds = true;
    let preview = world.preview(&[contents("app", "{cache}/app")]);
    assert_eq!((paths(&preview), preview.rules[0].files), (vec![&b"c/app/d"[..]], 2));
    // A name that cannot be folded matches no pattern by itself.
    let preview = world.preview(&[rule("tmp", &[("{cache}/**/*.tmp", Extent::Files)])]);
    assert_eq!(paths(&preview), [[b"c/app/d/", &longest[..]].concat()]);
}

#[test]
fn deep_trees_are_taken_and_kept_at_any_depth() {
    let tree = TreeBuilder::new().deep_chain(LEVELS, LEVEL, "down here");
    let world = World::new(&tree, &[(Top, "")]);
    let bottom = deep_path(LEVELS, LEVEL);
    let whole = rule("whole", &[("**/deep-level", Extent::Tree)]);
    let preview = world.preview(std::slice::from_ref(&whole));
    assert_eq!((paths(&preview), preview.rules[0].files), (vec![LEVEL.as_bytes()], 1));
    let file = ("**/bottom", Extent::Files);
    let preview = world.preview(&[rule("file", &[file])]);
    assert_eq!(paths(&preview), [&bottom[..]]);
    let preview = world.preview(&[rule("emptied", &[file, ("**/*", Extent::Emptied)])]);
    assert_eq!((paths(&preview), preview.rules[0].files), (vec![LEVEL.as_bytes()], 1));
    let preview = world.preview(&[keeping(whole, &["**/bottom"])]);
    assert!(preview.matches.is_empty() && preview.problems.is_empty(), "{preview:?}");
    assert_eq!(preview.dirs_listed as usize, LEVELS + 1);
}

#[test]
fn mount_points_in_a_taken_directory_are_kept() {
    let tree = TreeBuilder::new()
        .file("c/app/a", "1")
        .dir("c/app/deep/bound")
        .file("c/app/deep/b", "2")
        .dir("c/app/tmpfs")
        .file("c/app/er/c", "3");
    let world = World::new(&tree, &[(Cache, "c")]);
    let source = TreeBuilder::new().file("precious", "4").make_in_memory();
    let tmpfs = Mount::new(FileSystem::Tmpfs, 1 << 20);
    let mounts = tmpfs.and_then(|tmpfs| {
        let bound = Mount::bind(&source, world.temp.join("c/app/deep/bound"))?;
        let shown = Mount::bind(tmpfs.path(), world.temp.join("c/app/tmpfs"))?;
        Ok((bound, shown, tmpfs))
    });
    let _mounts = match mounts {
        Ok(mounts) => mounts,
        Err(reason) => return skipped(reason),
    };
    let taken = world.paths(&[contents("app", "{cache}/app")]);
    assert_eq!(taken, ["c/app/a", "c/app/deep/b", "c/app/er"]);
}

/// Returns the result of a preview, unless it takes too long.
fn in_time(world: World, rules: Vec<Rule>) -> (World, Option<Preview>) {
    let (sender, receiver) = mpsc::channel();
    let world = Arc::new(world);
    let others = Arc::clone(&world);
    let thread = thread::spawn(move || sender.send(others.preview(&rules)));
    let preview = receiver.recv_timeout(Duration::from_secs(60)).ok();
    if preview.is_some() {
        thread.join().expect("no panic").expect("sent");
    }
    (Arc::into_inner(world).expect("the preview ended"), preview)
}

#[test]
fn fifos_in_the_way_are_neither_opened_nor_taken() {
    let tree = TreeBuilder::new()
        .fifo("p/CACHEDIR.TAG")
        .file("p/x", "")
        .fifo("q/Thumbs.db")
        .socket("r/Thumbs.db")
        .char_device("s/CACHEDIR.TAG", 1, 3)
        .file("s/x", "");
    let world = World::new(&tree, &[(Top, "")]);
    let mut tagged = rule("tagged", &[("**/*", Extent::Tree)]);
    let marker = Marker { name: Glob::new(b"CACHEDIR.TAG"), starts: Some(b"Sign".to_vec()) };
    tagged.conditions.inside = vec![marker];
    let mut thumbs = rule("thumbs", &[("**/Thumbs.db", Extent::Files)]);
    thumbs.conditions.starts = vec![b"\xD0\xCF".to_vec()];
    let (_world, preview) = in_time(world, vec![tagged, thumbs]);
    let preview = preview.expect("the preview does not wait for a FIFO");
    assert!(preview.matches.is_empty() && preview.problems.is_empty(), "{preview:?}");
}

#[test]
fn file_system_that_does_not_respond_is_no_obstacle() {
    let tree = TreeBuilder::new().dir("c/app/view").file("c/app/a", "1");
    let world = World::new(&tree, &[(Cache, "c"), (Top, "")]);
    let shown = TempTree::new();
    let mounts = Mount::view(View::Bindfs, shown.path()).and_then(|view| {
        let bound = Mount::bind(view.path(), world.temp.join("c/app/view"))?;
        Ok((bound, view))
    });
    let (_bound, view) = match mounts {
        Ok(mounts) => mounts,
        Err(reason) => return skipped(reason),
    };
    let hung = match view.hang() {
        Ok(hung) => hung,
        Err(reason) => return skipped(reason),
    };
    let rules = vec![contents("app", "{cache}/app"), rule("x", &[("**/x", Extent::Files)])];
    let (world, preview) = in_time(world, rules.clone());
    assert_eq!(paths(&preview.expect("the preview does not wait")), [b"c/app/a"]);
    hung.kill();
    assert_eq!(world.paths(&rules), ["c/app/a"]);
}

#[test]
fn access_times_of_directories_that_may_be_taken_stay() {
    let tree = TreeBuilder::new().file("tmp/d/e/x", "").file("tmp/d/keep", "");
    let world = World::new(&tree, &[(Temp, "tmp")]);
    let dirs = ["tmp/d", "tmp/d/e"].map(|dir| world.temp.join(dir));
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    for dir in &dirs {
        let times = FileTimes::new().set_accessed(old);
        File::open(dir).expect("opens").set_times(times).expect("set");
    }
    let mut temp = keeping(contents("temp", "{temp}"), &["{temp}/d/keep"]);
    let age = Age { least: Duration::ZERO, counts_access: true, counts_birth: false };
    temp.conditions.older = Some(age);
    assert_eq!(world.paths(&[temp]), ["tmp/d/e"]);
    for dir in &dirs {
        assert_eq!(fs::metadata(dir).expect("metadata").atime(), 1_000_000_000, "{dir:?}");
    }
}
