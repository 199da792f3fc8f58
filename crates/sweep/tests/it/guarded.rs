//! The guards that depend on the target: protected paths, kept directories, and budgets.

use sweep::bindings::{Context, Profile};
use sweep::guard::{Guard, check};
use sweep::rule::variable::Variable::{Cache, Home, Temp, Top};
use sweep::rule::glob::Glob;
use sweep::rule::{Extent, Marker, Risk, Rule};
use testkit::TreeBuilder;
use walk::OwnFiles;

use crate::world::{World, contents, rule};

/// Returns the guard that refuses each of the rules, if one does.
fn guards(world: &World, rules: &[Rule]) -> Vec<Option<Guard>> {
    let preview = world.preview(rules);
    let of = |at: usize| preview.refused.iter().find(|refused| refused.rule == at);
    (0..rules.len()).map(|at| of(at).map(|refused| refused.guard)).collect()
}

/// The home is where no typical layout has one, so only its binding reveals it.
#[test]
fn rules_that_reach_a_home_in_an_unusual_place_are_refused() {
    let tree = TreeBuilder::new()
        .dir("etc")
        .dir("usr")
        .dir("home")
        .file("data/people/anna/.cache/app/x", "1")
        .file("data/people/anna/Documents/letter", "2")
        .file("data/people/ben/x", "3");
    let context = Context { homes: vec![b"data/people/anna".to_vec()], is_live_root: false };
    let mut world = World::found(tree.make_in_memory(), &context);
    let rules = [
        rule("people", &[("{root}/data/people/*", Extent::Tree)]),
        rule("letters", &[("{root}/data/people/*/Doc*/*", Extent::Files)]),
        rule("others", &[("{root}/data/people/ben/*", Extent::Tree)]),
    ];
    assert_eq!(check(&rules, &world.allow), [], "nothing is wrong on typical layouts");
    let refused = Some(Guard::Protected);
    assert_eq!(guards(&world, &rules), [refused, refused, None]);
    assert_eq!(world.paths(&rules), ["data/people/ben/x"]);
    world.allow.insert("letters".into());
    assert_eq!(guards(&world, &rules), [refused, None, None]);
}

#[test]
fn bound_directories_stay_in_a_directory_that_is_taken() {
    let tree = TreeBuilder::new()
        .file("t/d/x", "1")
        .file("t/home/x", "2")
        .file("t/cache/x", "3")
        .file("t/cache/dir/y", "4");
    let mut world = World::new(&tree, &[(Top, ""), (Home, "t/home"), (Cache, "t/cache")]);
    // The check of the layout concerns only patterns that begin with a variable.
    let rules = [rule("temp", &[("**/t/*", Extent::Tree)])];
    assert_eq!(world.paths(&rules), ["t/cache/dir", "t/cache/x", "t/d"]);
    world.allow.insert("temp".into());
    assert_eq!(world.paths(&rules), ["t/cache", "t/d", "t/home"]);
}

#[test]
fn directories_in_use_stay_without_their_contents() {
    let tree = TreeBuilder::new().file("t/d/here/x", "1").file("t/d/y", "2").file("t/z/y", "3");
    let mut world = World::new(&tree, &[(Temp, "t")]);
    let rules = [contents("temp", "{temp}")];
    assert_eq!(world.paths(&rules), ["t/d", "t/z"]);
    let here = fsops::Stat::of_path(&world.temp.join("t/d/here")).expect("metadata");
    world.avoid.insert(here.key());
    assert_eq!(world.paths(&rules), ["t/d/here/x", "t/d/y", "t/z"]);
}

#[test]
fn files_of_lop_stay() {
    let tree = TreeBuilder::new().file("t/d/catalog.db", "1").file("t/d/x", "2");
    let mut world = World::new(&tree, &[(Temp, "t")]);
    world.own = OwnFiles::new(&[world.temp.join("t/d/catalog.db")]);
    assert_eq!(world.paths(&[contents("temp", "{temp}")]), ["t/d/x"]);
}

fn careless(id: &str, at: &str) -> Rule {
    Rule { risk: Risk::Regenerates, ..rule(id, &[(at, Extent::Files)]) }
}

/// Returns a tree with files in the directories.
fn files(dirs: &[(&str, usize)]) -> TreeBuilder {
    let all = dirs.iter().flat_map(|&(dir, number)| {
        (0..number).map(move |number| format!("{dir}/f{number}"))
    });
    all.fold(TreeBuilder::new(), |tree, path| tree.file(path.as_str(), ""))
}

#[test]
fn rule_that_takes_a_fifth_of_the_target_is_refused() {
    let tree = files(&[("many/dir", 1_001), ("few/dir", 1_000), ("others", 2_000)]);
    let mut world = World::new(&tree, &[(Top, "")]);
    let (many, few) = (careless("many", "**/many/dir/*"), careless("few", "**/few/dir/*"));
    let refused = Some(Guard::Budget);
    assert_eq!(guards(&world, &[many.clone(), few.clone()]), [refused, None]);
    assert_eq!(world.paths(&[many.clone(), few]).len(), 1_000);
    let mut shipped = many.clone();
    shipped.source.is_shipped = true;
    let mut proven = many.clone();
    proven.conditions.inside = vec![Marker { name: Glob::new(b"f1000"), starts: None }];
    assert_eq!(guards(&world, &[shipped]), [None]);
    assert_eq!(guards(&world, &[proven]), [None]);
    world.allow.insert("many".into());
    assert_eq!(guards(&world, &[many.clone()]), [None]);
    let world = World::new(&files(&[("many/dir", 1_001), ("others", 5_000)]), &[(Top, "")]);
    assert_eq!(guards(&world, &[many]), [None], "less than a fifth");
}

#[test]
fn rule_that_takes_much_more_of_one_profile_is_refused() {
    let dirs = [("a/app", 1_100), ("b/app", 10), ("c/app", 9), ("a/others", 5_500)];
    let homes = [(Home, "a"), (Home, "b"), (Home, "c")];
    let mut world = World::new(&files(&dirs), &homes);
    let app = careless("app", "{home}/app/f*");
    assert_eq!(guards(&world, &[app.clone()]), [None], "no profile is known");
    for path in [b"a", b"b", b"c"] {
        world.bindings.profiles.push(Profile { path: path.to_vec(), system: None });
    }
    assert_eq!(guards(&world, &[app]), [Some(Guard::Budget)]);
}
