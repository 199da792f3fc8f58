//! The shipped rules on whole disks.
//!
//! The disks were written down independently of the rules. All rules together must take no file that
//! only resembles junk, and no file of the user or the system.

use std::collections::{BTreeSet, HashSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use device::{Disks, Io, Threads};
use fsops::Dir;
use runtime::Progress;
use sweep::bindings::{Context, bind};
use sweep::guard::{check, check_bound};
use sweep::preview::Request;
use sweep::rule::Rule;
use testkit::Disk;
use testkit::disks::{self, Entry, What};
use walk::OwnFiles;

use super::{load, shipped};

/// Junk that no rule takes, with the reason.
const NOT_TAKEN: &[(&str, &str)] = &[
    ("/.cargo/git/checkouts/", "a checkout may contain changes"),
    ("Windows.old/", "the user must allow it by name"),
];

/// Lookalikes that rules with the risk `review` take, with the reason.
const TAKEN: &[(&str, &str)] = &[
    ("/._gone.jpg", "rules cannot look for the other file"),
    (".Trash-anna/", "patterns cannot require digits"),
];

fn rules() -> Vec<Rule> {
    // Any empty file is lint, wherever it is.
    let names = shipped::names().iter().filter(|name| **name != "lint");
    names.flat_map(|name| load(name).rules).collect()
}

/// Returns the entries of a disk that the rules take a year from now.
fn taken<'d>(disk: &'d Disk, rules: &[Rule]) -> BTreeSet<&'d str> {
    let temp = disk.tree().make_temp();
    let root = Dir::open(temp.path()).expect("the disk exists");
    let mut bindings = bind(&root, &Context::default()).expect("bindings");
    // As on the NTFS that the tree stands for.
    bindings.folds |= disk.name.starts_with("windows");
    let allow = BTreeSet::new();
    let mut active = vec![true; rules.len()];
    for refused in check(rules, &allow) {
        active[refused.rule] = false;
    }
    for refused in check_bound(rules, &active, &allow, &bindings) {
        active[refused.rule] = false;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let request = Request {
        root: &root,
        rules,
        active: &active,
        allow: &allow,
        bindings: &bindings,
        own: &OwnFiles::default(),
        avoid: HashSet::new(),
        now_ns: i64::try_from((now + Duration::from_secs(365 * 86_400)).as_nanos()).expect("fits"),
        disk: Disks::new(Io::Cached).of(root.stat().expect("metadata").device),
        threads: Threads { first: 2, grows: false },
    };
    let preview = sweep::preview::run(&request, &Progress::default()).expect("not stopped");
    let matches: HashSet<Vec<u8>> = preview.matches.into_iter().map(|found| found.path).collect();
    let is_taken = |path: &str| {
        let ends = path.match_indices('/').map(|(slash, _)| slash).chain([path.len()]);
        ends.into_iter().any(|end| matches.contains(&path.as_bytes()[..end]))
    };
    disk.entries.iter().map(|entry| entry.path.as_str()).filter(|path| is_taken(path)).collect()
}

fn all() -> Vec<Disk> {
    vec![
        disks::windows_xp_german(),
        disks::windows_xp_english(),
        disks::windows_2000_from_nt4(),
        disks::windows_vista(),
        disks::windows_10(),
        disks::windows_10_with_windows_old(),
        disks::windows_data_disk(),
        disks::linux_disk(),
        disks::mac_disk(),
        disks::nas_share(),
    ]
}

fn is_excused(list: &[(&str, &str)], path: &str) -> bool {
    list.iter().any(|(part, _)| path.contains(part))
}

#[test]
fn all_rules_together_take_the_junk_and_nothing_else() {
    let rules = rules();
    let mut wrong = Vec::new();
    for disk in all() {
        let taken = taken(&disk, &rules);
        for Entry { path, what, .. } in &disk.entries {
            let is_taken = taken.contains(path.as_str());
            let is_wrong = match what {
                What::Junk(_) => !is_taken && !is_excused(NOT_TAKEN, path),
                What::Lookalike(_) => is_taken && !is_excused(TAKEN, path),
                What::Precious => is_taken,
                What::Plain => false,
            };
            if is_wrong {
                wrong.push(format!("{}: {what:?} {path}", disk.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
