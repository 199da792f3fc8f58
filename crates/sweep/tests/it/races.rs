//! Previews while somebody exchanges directories and links in the target.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::thread;
use std::time::{Duration, Instant};

use fsops::{FileKey, Stat};
use sweep::preview::Match;
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

/// The kernel treats links with relative targets differently, and the attacker makes absolute ones.
#[test]
fn relative_links_that_replace_directories_are_not_followed() {
    let tree = TreeBuilder::new()
        .file("target/c/dir/file", "inside")
        .file("target/c/dir/sub/file", "inside")
        .file("beside/outside", "precious")
        .file("beside/sub/outside", "precious");
    let mut world = World::new(&tree, &[(Top, "target"), (Cache, "target/c")]);
    world.bindings.bound[0].path = Vec::new();
    world.bindings.bound[1].path = b"c".to_vec();
    let target = world.temp.join("target");
    let (dir, away) = (target.join("c/dir"), target.join("away"));
    let (is_over, swaps) = (AtomicBool::new(false), AtomicUsize::new(0));
    let rules = [rule("outside", &[("**/outside", Extent::Files)]), contents("c", "{cache}/dir")];
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Relaxed) {
                fs::rename(&dir, &away).expect("renamed");
                symlink("../../beside", &dir).expect("a link");
                fs::remove_file(&dir).expect("removed");
                fs::rename(&away, &dir).expect("renamed back");
                swaps.fetch_add(1, Relaxed);
            }
        });
        let (mut previews, mut outside) = (0, None);
        while outside.is_none() && (previews < 300 || swaps.load(Relaxed) < SWAPS) {
            for one in 0..2 {
                let preview = world.preview_at(&target, &rules[one..=one]);
                let is_outside = |found: &Match| found.path.ends_with(b"/outside");
                outside = outside.or(preview.matches.into_iter().find(is_outside));
            }
            previews += 1;
        }
        is_over.store(true, Relaxed);
        assert!(outside.is_none(), "{outside:?}");
    });
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
