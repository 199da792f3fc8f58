//! Explanations of matches.

use sweep::explain::Step;
use sweep::rule::Extent;
use sweep::rule::variable::Variable::{Cache, Home};
use testkit::TreeBuilder;

use crate::world::{World, contents, keeping, rule};

fn world() -> World {
    let tree = TreeBuilder::new().file("u/.cache/app/deep/er/c", "").file("u/.cache/app/a.pst", "");
    World::new(&tree, &[(Home, "u"), (Cache, "u/.cache")])
}

#[test]
fn each_component_is_explained() {
    let rules = [rule("deep", &[("{cache}/a*/**/c", Extent::Files)])];
    let all = world().explain(&rules, "u/.cache/app/deep/er/c");
    let step =
        |component: &str, names: &str| Step { component: component.into(), names: names.into() };
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].bound.as_deref(), Some(&b"u/.cache"[..]));
    assert_eq!(all[0].steps, [step("a*", "app"), step("**", "deep/er"), step("c", "c")]);
}

#[test]
fn directory_above_that_is_taken_explains_a_path() {
    let all = world().explain(&[contents("app", "{cache}/app")], "u/.cache/app/deep/er/c");
    assert_eq!(all[0].matched, b"u/.cache/app/deep");
    assert!(all[0].kept_by.is_none() && all[0].protected_by.is_none());
}

#[test]
fn exclusions_and_protected_names_are_named() {
    let rules = [keeping(contents("app", "{cache}/app"), &["{cache}/app/deep"])];
    let all = world().explain(&rules, "u/.cache/app/deep/er/c");
    assert_eq!(all[0].kept_by.as_deref(), Some("{cache}/app/deep"));
    let all = world().explain(&rules, "u/.cache/app/a.pst");
    assert_eq!(all[0].protected_by.as_deref(), Some("**/*.pst"));
}

#[test]
fn rules_that_do_not_match_are_not_mentioned() {
    assert!(world().explain(&[contents("app", "{cache}/other")], "u/.cache/app/a.pst").is_empty());
}
