//! Tests which entries rules take and which entries they keep.

use std::time::Duration;

use sweep::rule::glob::Glob;
use sweep::rule::variable::Variable::{Cache, Home, Temp, Top};
use sweep::rule::{Age, Extent, Marker, Only};
use testkit::TreeBuilder;
use walk::OwnFiles;

use crate::world::{World, contents, keeping, rule};

/// A home directory with a cache.
fn home() -> TreeBuilder {
    TreeBuilder::new()
        .file("u/.cache/app/a", "1")
        .file("u/.cache/app/deep/b", "2")
        .file("u/.cache/app/deep/er/c", "3")
        .file("u/.cache/app.bak/a", "4")
        .file("u/.cache/applet", "5")
        .file("u/app/a", "6")
        .file("other/.cache/app/a", "7")
}

fn home_bound() -> World {
    World::new(&home(), &[(Home, "u"), (Cache, "u/.cache")])
}

#[test]
fn contents_are_taken_without_the_directory_and_its_neighbours() {
    let world = home_bound();
    let taken = world.taken(&[contents("app", "{cache}/app")]);
    let expected = [("u/.cache/app/a", "app"), ("u/.cache/app/deep", "app")];
    assert_eq!(taken, expected.map(|(path, id)| (path.to_string(), id.to_string())));
}

#[test]
fn totals_count_the_files_of_whole_directories() {
    let world = home_bound();
    let preview = world.preview(&[contents("app", "{cache}/app")]);
    assert_eq!((preview.rules[0].files, preview.rules[0].matches), (3, 2));
    let deep = &preview.matches[1];
    assert!(deep.is_tree() && deep.files == 2 && deep.frees >= 2);
}

#[test]
fn only_reachable_directories_are_listed() {
    let world = home_bound();
    let preview = world.preview(&[contents("app", "{cache}/app")]);
    // The target, u, .cache, app, deep and er.
    assert_eq!(preview.dirs_listed, 6);
}

#[test]
fn unbound_variable_disables_a_rule() {
    let world = World::new(&home(), &[]);
    let preview = world.preview(&[contents("app", "{cache}/app")]);
    assert!(preview.matches.is_empty() && !preview.rules[0].is_here);
    assert!(preview.dirs_listed <= 1);
}

#[test]
fn the_bound_directory_itself_stays() {
    let world = home_bound();
    let all = rule("all", &[("{home}/.cache", Extent::Tree)]);
    let taken = world.paths(&[all]);
    assert_eq!(taken, ["u/.cache/app", "u/.cache/app.bak", "u/.cache/applet"]);
}

#[test]
fn exclusion_splits_a_directory() {
    let world = home_bound();
    let rules = [keeping(contents("app", "{cache}/app"), &["{cache}/app/deep/er"])];
    assert_eq!(world.paths(&rules), ["u/.cache/app/a", "u/.cache/app/deep/b"]);
    assert_eq!(world.preview(&rules).rules[0].files, 2);
}

#[test]
fn exclusion_concerns_only_its_own_rule() {
    let world = home_bound();
    let rules = [
        keeping(contents("one", "{cache}/app"), &["{cache}/app/a"]),
        rule("two", &[("{cache}/app/a", Extent::Files)]),
    ];
    let taken = world.taken(&rules);
    assert!(taken.contains(&("u/.cache/app/a".into(), "two".into())), "{taken:?}");
}

#[test]
fn protected_names_stay_inside_of_a_taken_directory() {
    let tree = home().file("u/.cache/app/deep/mail.pst", "m").file("u/.cache/app/.ssh/id", "k");
    let world = World::new(&tree, &[(Cache, "u/.cache")]);
    let taken = world.paths(&[contents("app", "{cache}/app")]);
    assert_eq!(taken, ["u/.cache/app/a", "u/.cache/app/deep/b", "u/.cache/app/deep/er"]);
}

#[test]
fn names_match_without_regard_to_case_only_where_the_layout_folds() {
    let mut world = home_bound();
    let rules = [contents("app", "{cache}/APP")];
    assert!(world.paths(&rules).is_empty());
    world.bindings.folds = true;
    assert_eq!(world.paths(&rules).len(), 2);
}

#[test]
fn files_are_taken_at_one_level_or_at_every_level() {
    let world = home_bound();
    let flat = rule("flat", &[("{cache}/app/?", Extent::Files)]);
    assert_eq!(world.paths(&[flat]), ["u/.cache/app/a"]);
    let deep = rule("deep", &[("{cache}/app/**/?", Extent::Files)]);
    let expected = ["u/.cache/app/a", "u/.cache/app/deep/b", "u/.cache/app/deep/er/c"];
    assert_eq!(world.paths(&[deep]), expected);
}

#[test]
fn emptied_directories_go_and_others_stay() {
    let world = home_bound();
    let emptied = |names: &str| {
        let files = format!("{{cache}}/app/**/{names}");
        rule("r", &[(&files, Extent::Files), ("{cache}/app/**", Extent::Emptied)])
    };
    assert_eq!(world.paths(&[emptied("?")]), ["u/.cache/app"]);
    assert_eq!(world.paths(&[emptied("c")]), ["u/.cache/app/deep/er"]);
    let expected = ["u/.cache/app/a", "u/.cache/app/deep/er"];
    assert_eq!(world.paths(&[emptied("[ac]")]), Vec::<String>::new());
    let both = rule(
        "r",
        &[
            ("{cache}/app/**/a", Extent::Files),
            ("{cache}/app/**/c", Extent::Files),
            ("{cache}/app/**", Extent::Emptied),
        ],
    );
    assert_eq!(world.paths(&[both]), expected);
}

#[test]
fn empty_directories_are_taken_from_the_top() {
    let tree = TreeBuilder::new().dir("a/b/c").dir("a/d").file("e/f", "").dir("e/g/h");
    let world = World::new(&tree, &[(Top, "")]);
    let empty = rule("empty", &[("**/*", Extent::Emptied)]);
    assert_eq!(world.paths(&[empty]), ["a", "e/g"]);
}

#[test]
fn marker_is_required_beside_or_inside() {
    let tree = TreeBuilder::new()
        .file("one/Cargo.toml", "")
        .file("one/target/x", "")
        .file("two/target/x", "")
        .file("three/Cargo.toml", "")
        .file("three/sub/target/x", "");
    let world = World::new(&tree, &[(Top, "")]);
    let mut target = rule("target", &[("**/target", Extent::Tree)]);
    target.conditions.beside = vec![Glob::new(b"Cargo.toml")];
    assert_eq!(world.paths(&[target.clone()]), ["one/target"]);
    target.conditions.beside.clear();
    target.conditions.inside = vec![Marker { name: Glob::new(b"y"), starts: None }];
    assert!(world.paths(&[target.clone()]).is_empty());
    target.conditions.inside = vec![Marker { name: Glob::new(b"x"), starts: None }];
    assert_eq!(world.paths(&[target]).len(), 3);
}

#[test]
fn signature_of_a_marker_is_read_and_links_do_not_count() {
    const TAG: &str = "Signature: 8a477f597d28d172789f06886806bc55";
    let tree = TreeBuilder::new()
        .file("real/CACHEDIR.TAG", format!("{TAG}\n").as_str())
        .file("real/x", "")
        .file("fake/CACHEDIR.TAG", "Signature: something else")
        .file("fake/x", "")
        .symlink("linked/CACHEDIR.TAG", "../real/CACHEDIR.TAG")
        .file("linked/x", "");
    let world = World::new(&tree, &[(Top, "")]);
    let mut tagged = rule("tag", &[("**/*", Extent::Tree)]);
    let starts = Some(TAG.as_bytes().to_vec());
    tagged.conditions.inside = vec![Marker { name: Glob::new(b"CACHEDIR.TAG"), starts }];
    let whole = keeping(tagged.clone(), &["**/CACHEDIR.TAG"]);
    assert_eq!(world.paths(&[whole]), ["real/x"]);
}

#[test]
fn rules_do_not_affect_each_other_in_nested_directories() {
    let tree = TreeBuilder::new().file("a/b/tag", "").file("a/b/x", "").file("a/y", "");
    let world = World::new(&tree, &[(Top, "")]);
    let mut tagged = rule("tagged", &[("**/*", Extent::Tree)]);
    tagged.conditions.inside = vec![Marker { name: Glob::new(b"tag"), starts: None }];
    let empty = rule("empty", &[("**/*", Extent::Emptied)]);
    assert_eq!(world.paths(&[tagged.clone()]), ["a/b"]);
    assert_eq!(world.paths(&[tagged, empty]), ["a/b"]);
}

#[test]
fn directory_is_as_old_as_its_newest_entry() {
    let tree = TreeBuilder::new()
        .file("tmp/old/x", "")
        .file("tmp/mixed/x", "")
        .file("tmp/mixed/new", "")
        .file("tmp/single", "");
    let world = World::new(&tree, &[(Temp, "tmp")]);
    let mut temp = contents("temp", "{temp}");
    let age = |least| Some(Age { least, counts_access: false, counts_birth: false });
    temp.conditions.older = age(Duration::from_secs(3600));
    assert!(world.paths(&[temp.clone()]).is_empty(), "everything was made just now");
    temp.conditions.older = age(Duration::ZERO);
    assert_eq!(world.paths(&[temp]).len(), 3);
}

#[test]
fn locked_directory_of_temporary_files_stays() {
    let tree = TreeBuilder::new().file("tmp/one/x", "").file("tmp/two/deep/x", "");
    let world = World::new(&tree, &[(Temp, "tmp")]);
    let mut temp = contents("temp", "{temp}");
    let age = Age { least: Duration::ZERO, counts_access: false, counts_birth: false };
    temp.conditions.older = Some(age);
    let locked = fsops::Dir::open(&world.temp.path().join("tmp/two/deep")).expect("a directory");
    assert!(locked.lock().expect("can be locked"));
    assert_eq!(world.paths(&[temp.clone()]), ["tmp/one"]);
    locked.unlock();
    assert_eq!(world.paths(&[temp]), ["tmp/one", "tmp/two"]);
}

#[test]
fn file_conditions_are_checked() {
    let tree = TreeBuilder::new()
        .file("a/Thumbs.db", b"\xD0\xCF\x11\xE0rest".as_slice())
        .file("b/Thumbs.db", "some text")
        .file("c/empty", "")
        .dangling_symlink("c/dangling")
        .symlink("c/fine", "empty");
    let world = World::new(&tree, &[(Top, "")]);
    let mut thumbs = rule("thumbs", &[("**/Thumbs.db", Extent::Files)]);
    thumbs.conditions.starts = vec![vec![0xD0, 0xCF, 0x11, 0xE0]];
    assert_eq!(world.paths(&[thumbs]), ["a/Thumbs.db"]);
    let mut only = rule("only", &[("**/*", Extent::Files)]);
    only.conditions.only = Some(Only::EmptyFiles);
    assert_eq!(world.paths(&[only.clone()]), ["c/empty"]);
    only.conditions.only = Some(Only::BrokenLinks);
    assert_eq!(world.paths(&[only]), ["c/dangling"]);
}

#[test]
fn links_that_may_be_fine_on_another_system_are_not_broken() {
    let tree = TreeBuilder::new()
        .file("home/file", "")
        .symlink("home/absolute", "/home/file")
        .symlink("home/broken", "no-such-file");
    let mut world = World::new(&tree, &[(Top, "")]);
    let mut broken = rule("broken", &[("**/*", Extent::Files)]);
    broken.conditions.only = Some(Only::BrokenLinks);
    assert_eq!(world.paths(&[broken.clone()]), ["home/broken"]);
    // On a disk of Windows, drivers show files that they cannot read as links.
    world.bindings.folds = true;
    assert!(world.paths(&[broken]).is_empty());
}

#[test]
fn links_are_leaves() {
    let tree = home().symlink("u/.cache/app/loop", ".").symlink("u/.cache/app/out", "../../app");
    let world = World::new(&tree, &[(Cache, "u/.cache")]);
    let taken = world.paths(&[contents("app", "{cache}/app")]);
    assert!(taken.contains(&"u/.cache/app/loop".into()));
    assert!(taken.contains(&"u/.cache/app/out".into()));
    assert_eq!(taken.len(), 4);
}

#[test]
fn linked_directory_on_the_way_is_not_entered() {
    let tree = home().symlink("v/.cache", "../u/.cache");
    let world = World::new(&tree, &[(Home, "v")]);
    assert!(world.paths(&[contents("app", "{home}/.cache/app")]).is_empty());
}

#[test]
fn special_files_stay() {
    let tree = home().fifo("u/.cache/app/deep/fifo").socket("u/.cache/app/socket");
    let world = World::new(&tree, &[(Cache, "u/.cache")]);
    let taken = world.paths(&[contents("app", "{cache}/app")]);
    assert_eq!(taken, ["u/.cache/app/a", "u/.cache/app/deep/b", "u/.cache/app/deep/er"]);
}

#[test]
fn names_that_are_not_utf8_match_exact_patterns_only() {
    let tree = TreeBuilder::new().file(b"c/app/\xff\xfe".as_slice(), "1").file("c/app/x", "2");
    let mut world = World::new(&tree, &[(Cache, "c")]);
    let rules = [contents("app", "{cache}/app")];
    assert_eq!(world.preview(&rules).matches.len(), 2);
    world.bindings.folds = true;
    assert_eq!(world.preview(&rules).matches.len(), 1);
}

#[test]
fn outermost_match_wins() {
    let world = home_bound();
    let rules = [rule("inner", &[("**/c", Extent::Files)]), contents("outer", "{cache}/app")];
    let taken = world.taken(&rules);
    assert_eq!(taken.len(), 2);
    assert!(taken.iter().all(|(_, id)| id == "outer"), "{taken:?}");
}

#[test]
fn chain_of_many_directories_is_taken_without_overflow() {
    const DEPTH: usize = 20_000;
    let tree = TreeBuilder::new().file("x", "").deep_chain(DEPTH, "d", "");
    let world = World::new(&tree, &[(Cache, "")]);
    let preview = world.preview(&[contents("all", "{cache}")]);
    assert!(preview.problems.is_empty(), "{:?}", preview.problems);
    assert!(preview.dirs_listed >= DEPTH as u64);
    assert_eq!(preview.matches.iter().map(|found| found.files).sum::<u64>(), 2);
}

#[test]
fn files_of_lop_stay() {
    let tree = home().file("u/.cache/app/lop/catalog.db", "").file("u/.cache/app/runs/1", "");
    let mut world = World::new(&tree, &[(Cache, "u/.cache")]);
    let own = |path: &str| world.temp.path().join(path);
    world.own = OwnFiles::new(&[own("u/.cache/app/lop/catalog.db"), own("u/.cache/app/runs")]);
    let taken = world.paths(&[contents("app", "{cache}/app")]);
    assert_eq!(taken, ["u/.cache/app/a", "u/.cache/app/deep"]);
    let mut inside = World::new(&tree, &[(Cache, "u/.cache/app/runs")]);
    inside.own = OwnFiles::new(&[inside.temp.path().join("u/.cache/app/runs")]);
    assert!(inside.paths(&[contents("app", "{cache}")]).is_empty());
}
