//! The shipped rule sets: they are well formed, pass the guards, and take junk but no lookalikes.
//!
//! Each rule has a case. A case begins with the identifier of the rule. The lines that follow
//! describe the entries of a target: `+` marks an entry that the rule takes, `-` an entry that it
//! does not take, and `.` an entry that is only there, such as a marker. A path begins with a
//! variable. A path that ends in `/` is a directory. ` = kind` after a path selects the contents.

mod bins;
mod browser_caches;
mod build_dirs;
mod cachedir_tag;
mod crash_dumps;
mod droppings;
mod lint;
mod macos_caches;
mod nas;
mod package_caches;
mod patterns;
mod target;
mod thumbnails;
mod unix_temp;
mod windows_backup;
mod windows_setup;
mod windows_temp;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use sweep::formats::{Loaded, shipped};
use sweep::guard::{Guard, check};
use sweep::rule::{Only, Risk, Rule};

use target::{Entry, Now, Target};

/// Rules that take a whole Windows system, which is protected. The user must name them with
/// `--allow`.
const NEED_ALLOW: [&str; 2] = ["backup.windows-old", "windows.old"];

fn allowed() -> BTreeSet<String> {
    NEED_ALLOW.iter().map(ToString::to_string).collect()
}

/// The cases of each set.
const CASES: &[(&str, &str)] = &[
    ("bins", bins::CASES),
    ("browser-caches", browser_caches::CASES),
    ("build-dirs", build_dirs::CASES),
    ("cachedir-tag", cachedir_tag::CASES),
    ("crash-dumps", crash_dumps::CASES),
    ("droppings", droppings::CASES),
    ("lint", lint::CASES),
    ("macos-caches", macos_caches::CASES),
    ("nas", nas::CASES),
    ("package-caches", package_caches::CASES),
    ("thumbnails", thumbnails::CASES),
    ("unix-temp", unix_temp::CASES),
    ("windows-backup", windows_backup::CASES),
    ("windows-setup", windows_setup::CASES),
    ("windows-temp", windows_temp::CASES),
];

/// The entries of a case, as described by the lines after the rule's identifier.
type Case = Vec<(char, &'static str)>;

fn load(name: &str) -> Loaded {
    shipped::load(name).expect("the set exists")
}

fn all_rules() -> Vec<Rule> {
    shipped::names().iter().flat_map(|name| load(name).rules).collect()
}

fn cases(text: &'static str) -> BTreeMap<&'static str, Case> {
    let mut cases = BTreeMap::new();
    let mut id = "";
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some((mark @ ("+" | "-" | "."), entry)) = line.split_once(' ') {
            let mark = mark.chars().next().expect("a mark");
            cases.entry(id).or_insert_with(Case::new).push((mark, entry));
        } else {
            id = line;
            assert!(cases.insert(id, Case::new()).is_none(), "{id} has two cases");
        }
    }
    cases
}

#[test]
fn every_set_is_read_without_dropped_rules() {
    for name in shipped::names() {
        let loaded = load(name);
        assert_eq!(loaded.dropped_entries, [], "{name}");
        assert!(!loaded.rules.is_empty(), "{name}");
        assert_eq!(Some(loaded.about.as_str()), shipped::about(name), "{name}");
        assert!(loaded.about.len() > 20 && loaded.about.len() <= 90, "{name}: {}", loaded.about);
    }
    assert_eq!(shipped::text("no such set"), None);
    assert_eq!(shipped::load("no such set"), None);
}

#[test]
fn every_rule_file_is_part_of_the_program() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/rules");
    let stem = |name: String| name.strip_suffix(".toml").expect("a TOML file").to_string();
    let files: BTreeSet<String> = std::fs::read_dir(dir)
        .expect("the directory exists")
        .map(|entry| stem(entry.expect("an entry").file_name().into_string().expect("UTF-8")))
        .collect();
    let names: BTreeSet<String> = shipped::names().iter().map(ToString::to_string).collect();
    assert_eq!(files, names);
}

#[test]
fn identifiers_are_unique_among_all_sets() {
    let mut known = HashSet::new();
    for rule in all_rules() {
        assert!(known.insert(rule.id.clone()), "{}", rule.id);
    }
}

#[test]
fn every_rule_says_what_it_takes() {
    for rule in all_rules() {
        let Rule { id, what, tags, reference, .. } = &rule;
        assert!(what.len() > 10 && what.len() <= 90, "{id}: {what}");
        assert!(what.starts_with(char::is_uppercase) && !what.ends_with('.'), "{id}: {what}");
        assert!(!tags.is_empty(), "{id}");
        assert!(rule.source.is_shipped && rule.source.line > 0, "{id}");
        assert!(reference.is_empty() || reference.starts_with("http"), "{id}");
    }
}

#[test]
fn every_rule_for_directories_of_projects_needs_a_marker_and_keeps_tracked_files() {
    for rule in load("build-dirs").rules {
        assert!(rule.conditions.need_marker() && rule.conditions.untracked, "{}", rule.id);
    }
}

#[test]
fn rules_for_the_only_copy_of_files_ask_for_a_review() {
    let reviewed = ["bins", "lint"].iter().flat_map(|name| load(name).rules);
    for rule in reviewed {
        assert_eq!(rule.risk, Risk::Review, "{}", rule.id);
    }
}

#[test]
fn every_rule_passes_the_guards() {
    let rules = all_rules();
    let none = BTreeSet::new();
    let refused: BTreeSet<(&str, Guard, String)> = check(&rules, &none)
        .into_iter()
        .map(|refused| (rules[refused.rule].id.as_str(), refused.guard, refused.reason))
        .filter(|(id, guard, _)| *guard != Guard::Protected || !NEED_ALLOW.contains(id))
        .collect();
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn rules_that_take_a_whole_system_must_be_allowed_by_name() {
    let rules = all_rules();
    let refused: BTreeSet<&str> = check(&rules, &BTreeSet::new())
        .into_iter()
        .map(|refused| rules[refused.rule].id.as_str())
        .collect();
    assert_eq!(refused, BTreeSet::from(NEED_ALLOW));
    assert_eq!(check(&rules, &allowed()), []);
}

#[test]
fn every_rule_has_a_case() {
    let sets: Vec<&str> = CASES.iter().map(|&(name, _)| name).collect();
    let mut names = shipped::names().to_vec();
    names.sort_unstable();
    assert_eq!(sets, names);
    for &(name, text) in CASES {
        let of_cases: BTreeSet<String> = cases(text).keys().map(ToString::to_string).collect();
        let of_rules: BTreeSet<String> = load(name).rules.into_iter().map(|rule| rule.id).collect();
        assert_eq!(of_cases, of_rules, "{name}");
        for (id, case) in cases(text) {
            let count = |mark| case.iter().filter(|(other, _)| *other == mark).count();
            assert!(count('+') > 0 && count('-') > 1, "{id} needs junk and two lookalikes");
        }
    }
}

#[test]
fn every_rule_takes_its_junk_and_leaves_the_lookalikes() {
    let mut wrong = Vec::new();
    for &(name, text) in CASES {
        let cases = cases(text);
        for rule in load(name).rules {
            let mut target = Target::of_case(&cases[rule.id.as_str()]);
            // On a disk of Windows, no link is broken.
            let is_for_links = rule.conditions.only == Some(Only::BrokenLinks);
            for folds in [false, true].into_iter().filter(|folds| !folds || !is_for_links) {
                target.set_folds(folds);
                let taken = target.taken(&rule, Now::InAYear);
                for &(mark, entry) in &cases[rule.id.as_str()] {
                    let is_taken = taken.covers(Entry::parse(entry).path());
                    match mark {
                        '+' if !is_taken => wrong.push(format!("{} leaves {entry}", rule.id)),
                        '-' if is_taken => wrong.push(format!("{} takes {entry}", rule.id)),
                        _ => {}
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn rules_for_temporary_files_reports_and_bins_have_an_age() {
    let needs_age = |rule: &Rule| {
        let has = |tag: &str| rule.tags.iter().any(|other| other == tag);
        has("temp") || (has("crash") || has("bin")) && !has("backup")
    };
    for rule in all_rules().into_iter().filter(needs_age) {
        assert!(rule.conditions.older.is_some(), "{}", rule.id);
    }
}

#[test]
fn rules_with_an_age_leave_new_files() {
    for &(name, text) in CASES {
        let cases = cases(text);
        for rule in load(name).rules.into_iter().filter(|rule| rule.conditions.older.is_some()) {
            let target = Target::of_case(&cases[rule.id.as_str()]);
            assert!(target.taken(&rule, Now::Real).is_empty(), "{}", rule.id);
        }
    }
}
