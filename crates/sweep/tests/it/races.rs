//! Previews while somebody exchanges directories and links in the target.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use fsops::{FileKey, Stat};
use sweep::rule::variable::Variable::{Cache, Top};
use sweep::rule::{Age, Extent, Rule};
use testkit::{AttackOptions, Attacker, Swap, TEST_TIMEOUT, TempTree, TreeBuilder};

use crate::world::{World, contents, rule};

/// Number of swaps during the previews, and of those that put a link in the place of a directory.
const SWAPS: usize = 2_000;
const LINKS: usize = 200;

/// Number of previews during the swaps.
const PREVIEWS: usize = 20;

fn tree() -> TreeBuilder {
    let mut tree = TreeBuilder::new();
    for app in 0..8 {
        for dir in 0..4 {
            for file in 0..4 {
                let path = format!("c/app{app}/dir{dir}/file{file}");
                tree = tree.file(path.as_str(), path.as_str());
            }
        }
    }
    tree
}

fn rules() -> Vec<Rule> {
    let mut aged = contents("aged", "{cache}/app1");
    let age = Age { least: Duration::ZERO, counts_access: true, counts_birth: true };
    aged.conditions.older = Some(age);
    vec![
        aged,
        contents("whole", "{cache}/app*"),
        rule("files", &[("{cache}/**/file*", Extent::Files)]),
        rule("emptied", &[("{cache}/**/file?", Extent::Files), ("{cache}/**", Extent::Emptied)]),
        rule("outside", &[("**/outside*", Extent::Files)]),
    ]
}

/// Returns the identities of all entries of the bait, and puts a file into each of its directories
/// whose name occurs nowhere else.
fn marked(bait: &Path) -> Vec<FileKey> {
    let mut keys = Vec::new();
    let mut open = vec![bait.to_path_buf()];
    while let Some(dir) = open.pop() {
        fs::write(dir.join("outside"), "").expect("written");
        keys.push(Stat::of_path(&dir).expect("metadata").key());
        for entry in fs::read_dir(&dir).expect("the bait").flatten() {
            keys.push(Stat::of_path(&entry.path()).expect("metadata").key());
            if entry.file_type().expect("a type").is_dir() {
                open.push(entry.path());
            }
        }
    }
    keys
}

#[test]
fn preview_never_leaves_the_target() {
    let (world, outside) = (World::new(&tree(), &[(Top, ""), (Cache, "c")]), TempTree::in_memory());
    let rules = rules();
    let options = AttackOptions { links_inside: 8, ..AttackOptions::default() };
    let attacker = Attacker::start(&[&world.temp], &outside, 1, options);
    let bait = marked(&attacker.bait());
    let (mut previews, mut found, start) = (0, 0, Instant::now());
    loop {
        let so_far = attacker.so_far();
        let links = so_far.of(Swap::DirForLink);
        if previews >= PREVIEWS && so_far.total() >= SWAPS && links >= LINKS {
            break;
        }
        assert!(start.elapsed() < TEST_TIMEOUT, "{previews} previews, {so_far:?}");
        // One rule at a time, because a match hides all matches in it.
        let preview = world.preview(&rules[previews % rules.len()..][..1]);
        for one in &preview.matches {
            assert!(!bait.contains(&one.stat.key()), "{one:?}");
            assert!(!one.path.ends_with(b"/outside"), "{one:?}");
        }
        previews += 1;
        found += preview.matches.len();
    }
    let swaps = attacker.stop();
    assert!(swaps.total() >= SWAPS && found > 0, "{swaps:?}");
}
