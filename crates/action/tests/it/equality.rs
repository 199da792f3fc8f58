//! Tests that lop compares files itself. If a caller claims that two files are identical but a single byte differs,
//! neither file is changed.

#![expect(clippy::disallowed_methods, reason = "tests change the trees they made")]

use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use action::Reason;
use action::plan::{Group, Kind, Member, Target, Version, plan};
use action::run::Runs;
use fsops::Stat;
use testkit::{Compare, TreeBuilder, assert_same};

use crate::world::{World, apply_groups};

const KINDS: [Kind; 5] =
    [Kind::Delete, Kind::Hardlink, Kind::Symlink, Kind::Quarantine, Kind::Reflink];

fn target(path: &Path) -> Target {
    let version = Version::from(&Stat::of_path(path).expect("exists"));
    Target { path: path.as_os_str().as_bytes().to_vec(), version, tag: 0 }
}

fn member(path: &Path) -> Member {
    Member::new(target(path), Stat::of_path(path).expect("exists"))
}

/// Creates files with a common prefix, for example a log and a longer version of the log.
fn grown() -> World {
    let tree = TreeBuilder::new()
        .file("kept", "line 1\n")
        .file("longer", "line 1\nline 2\n")
        .file("shorter", "line")
        .file("empty", "");
    World::new(&tree)
}

#[test]
fn a_file_of_another_size_than_the_kept_one_is_never_acted_on() {
    for kind in KINDS {
        for keep in ["kept", "longer", "shorter", "empty"] {
            let world = grown();
            let before = world.snapshot();
            let others = ["kept", "longer", "shorter", "empty"].into_iter();
            let others = others.filter(|&name| name != keep).map(|name| world.tree.join(name));
            let group = Group {
                keep: target(&world.tree.join(keep)),
                others: others.map(|path| target(&path)).collect(),
                digest: None,
            };
            let runs = Runs::open(&world.runs, |_| {}).expect("opens");
            let (outcome, ended) = apply_groups(&runs, kind, vec![group], 1);
            ended.expect("ends");
            assert_eq!((outcome.done, outcome.refused.len()), (0, 3), "{kind:?}");
            for refusal in &outcome.refused {
                assert!(matches!(refusal.reason, Reason::Differs), "{kind:?}: {refusal:?}");
            }
            assert_same(&before, &world.snapshot(), Compare::ALL);
        }
    }
}

#[test]
fn files_of_different_sizes_are_in_different_plans() {
    let world = grown();
    fs::copy(world.tree.join("longer"), world.tree.join("longer too")).expect("is copied");
    let names = ["kept", "longer", "longer too", "shorter", "empty"];
    let members = names.map(|name| member(&world.tree.join(name)));
    for kind in KINDS {
        let plans = plan(members.to_vec(), kind, &[]);
        assert_eq!(plans.len(), 1, "{plans:?}");
        assert!(plans[0].keep.target.path.ends_with(b"/longer"));
        assert_eq!(plans[0].others.len(), 1);
    }
}

#[test]
fn bytes_appended_after_the_plan_survive() {
    for kind in KINDS {
        let world = World::new(&TreeBuilder::new().file("a", "line 1\n").file("b", "line 1\n"));
        let members = ["a", "b"].map(|name| member(&world.tree.join(name)));
        let plans = plan(members.to_vec(), kind, &[]);
        let append = fs::OpenOptions::new().append(true).open(world.tree.join("b"));
        append.expect("opens").write_all(b"line 2\n").expect("is written");
        let runs = Runs::open(&world.runs, |_| {}).expect("opens");
        let (outcome, _) = crate::world::apply(&runs, kind, plans, 1);
        assert_eq!(outcome.refused.len(), 1, "{kind:?}: {outcome:?}");
        assert_eq!(fs::read(world.tree.join("b")).expect("is read"), b"line 1\nline 2\n");
    }
}
