//! Random rules on random trees: the walk takes exactly what the oracle takes.

use proptest::prelude::*;
use sweep::rule::variable::Variable;
use sweep::rule::{Extent, Rule};
use testkit::TreeBuilder;

use crate::oracle::{Tree, taken};
use crate::world::{World, keeping, rule};

const BOUND: [(Variable, &str); 4] =
    [(Variable::Top, ""), (Variable::Home, "a"), (Variable::Cache, "a/b"), (Variable::Temp, "ab")];

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b", "ab", "ba", "abc"])
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(name(), 1..5).prop_map(|names| names.join("/"))
}

fn pattern() -> impl Strategy<Value = String> {
    let base = prop::sample::select(vec!["**", "{top}", "{home}", "{cache}", "{temp}"]);
    let component = prop::sample::select(vec!["a", "b", "ab", "*", "a*", "*b", "?", "**", "*b*"]);
    let last = prop::sample::select(vec!["a", "b", "ab", "*", "a*", "?b", "abc"]);
    (base, prop::collection::vec(component, 0..3), last)
        .prop_map(|(base, middle, last)| [&[base][..], &middle, &[last]].concat().join("/"))
}

fn extent() -> impl Strategy<Value = Extent> {
    prop::sample::select(vec![Extent::Files, Extent::Tree, Extent::Emptied])
}

fn some_rule() -> impl Strategy<Value = Rule> {
    let takes = prop::collection::vec((pattern(), extent()), 1..4);
    (takes, prop::collection::vec(pattern(), 0..2)).prop_map(|(takes, keeps)| {
        let takes: Vec<(&str, Extent)> = takes.iter().map(|(text, e)| (&text[..], *e)).collect();
        let keeps: Vec<&str> = keeps.iter().map(String::as_str).collect();
        keeping(rule("", &takes), &keeps)
    })
}

/// Returns the entries of a tree: the paths are files, unless they are the directory of another.
fn tree_of(paths: &[String]) -> Tree {
    let mut tree = Tree::new();
    let bound = BOUND.iter().filter(|(_, path)| !path.is_empty()).map(|(_, path)| (*path, true));
    let files = paths.iter().map(|path| (&path[..], false));
    for (path, is_dir) in bound.chain(files) {
        for (slash, _) in path.match_indices('/') {
            tree.insert(path[..slash].into(), true);
        }
        *tree.entry(path.into()).or_default() |= is_dir;
    }
    tree
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn walk_takes_what_the_oracle_takes(
        paths in prop::collection::vec(path(), 1..25),
        mut rules in prop::collection::vec(some_rule(), 1..4),
        is_allowed: bool,
    ) {
        for (at, rule) in rules.iter_mut().enumerate() {
            rule.id = format!("r{at}");
        }
        let tree = tree_of(&paths);
        let mut builder = TreeBuilder::new();
        for (path, is_dir) in &tree {
            builder = if *is_dir { builder.dir(&path[..]) } else { builder.file(&path[..], "x") };
        }
        let mut world = World::new(&builder, &BOUND);
        if is_allowed {
            world.allow = rules.iter().map(|rule| rule.id.clone()).collect();
        }
        let refused: Vec<usize> =
            world.preview(&rules).refused.iter().map(|refused| refused.rule).collect();
        prop_assert!(!is_allowed || refused.is_empty());
        let mut expected = taken(&world, &tree, &rules, &refused);
        let mut found = world.taken(&rules);
        expected.sort();
        found.sort();
        prop_assert_eq!(found, expected);
    }
}
