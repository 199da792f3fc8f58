//! Tests that the interface makes no false claims, and records only decisions that the user makes.

use space::{Compared, Comparisons, Space};
use testkit::TreeBuilder;

use super::{DOWN, Interface, KIB, ROOT, photos};
use crate::effect::Effect;
use crate::key::Key;
use crate::screen::body_height;
use crate::work::{Load, Loaded, News, Related, Relation, Sizes, Uniques};

const ALL_HAVE_COPIES: &str = "Each file in this directory has a copy outside.";

fn decisions(interface: &Interface) -> usize {
    interface.decider.catalog().decisions().expect("read").len()
}

#[test]
fn a_filter_that_matches_no_row_is_not_taken_for_an_empty_list() {
    let mut interface = Interface::of(&photos());
    for list in ["1", "2", "3", "4"] {
        interface.types(list);
        match list {
            "3" => interface.tell(News::Loaded(Loaded::Folders(Ok(related(&interface))))),
            "4" => {
                let uniques = Uniques { of: 5, is_complete: true, ..Uniques::default() };
                interface.tell(News::Loaded(Loaded::Uniques(Ok(uniques))));
            }
            _ => {}
        }
        interface.types("/zzz\r");
        interface.shows("No row of this list matches the filter.");
        assert!(!interface.screen().contains(ALL_HAVE_COPIES), "{}", interface.screen());
    }
}

#[test]
fn only_a_complete_list_claims_that_all_files_have_copies() {
    let mut interface = Interface::of(&photos());
    interface.types("4");
    let mut show = |uniques| {
        interface.tell(News::Loaded(Loaded::Uniques(Ok(uniques))));
        interface.screen().contains(ALL_HAVE_COPIES)
    };
    let complete = Uniques { of: 5, is_complete: true, ..Uniques::default() };
    assert!(show(complete.clone()));
    assert!(!show(Uniques { of: 0, ..complete.clone() }), "there are no files");
    assert!(!show(Uniques { is_complete: false, ..complete }), "some files are unknown");
}

#[test]
fn keys_do_nothing_while_the_terminal_is_too_small() {
    let mut interface = Interface::of(&photos());
    interface.types("2");
    assert_eq!(interface.app.key(Key::Char('D')), []);
    interface.shows("which file stays?");
    interface.app.resize(body_height((40, 5)));
    interface.types("\rx").types(&format!("{DOWN}d\r"));
    assert_eq!(decisions(&interface), 0);
    interface.app.resize(body_height((80, 24)));
    assert!(!interface.screen().contains("which file stays?"), "{}", interface.screen());
    interface.app.resize(body_height((80, 9)));
    interface.types("q");
    assert!(interface.has_quit);
}

#[test]
fn decisions_of_other_processes_are_not_overwritten() {
    let mut interface = Interface::of(&photos());
    interface.types("2x");
    assert_eq!(decisions(&interface), 1);
    interface.app.set_outdated(Some("The catalog was changed; press R to reload."));
    for keys in ["d", "x", "w", "D", "\ro", " "] {
        interface.types(keys);
        interface.shows("The catalog was changed; press R to reload.");
    }
    let decisions = interface.decider.catalog().decisions().expect("read");
    assert_eq!(decisions.len(), 1);
    assert_eq!(decisions[0].choice, catalog::Choice::Leave);
}

#[test]
fn a_decision_about_several_groups_is_withdrawn_only_after_a_question() {
    let mut interface = Interface::of(&photos());
    interface.types("2D");
    interface.shows("Decide 2 groups");
    interface.types("\rw");
    interface.shows("Withdraw the decision about 2 groups? [y/n]");
    interface.types("n");
    assert_eq!(decisions(&interface), 1);
    interface.types("w").shows("Withdraw the decision");
    interface.types("y");
    interface.shows("The decision about 2 groups was withdrawn.");
    assert_eq!(decisions(&interface), 0);
    interface.types("xw");
    interface.shows("The decision about 1 group was withdrawn.");
    assert_eq!(decisions(&interface), 0);
}

#[test]
fn the_space_bar_changes_only_the_row_of_the_cursor() {
    let mut interface = Interface::of(&photos());
    interface.types("2\r");
    let fates = |interface: &mut Interface| -> Vec<bool> {
        let screen = interface.screen();
        let rows = screen.lines().skip(3).take(3);
        rows.map(|row| row[2..].starts_with("keep")).collect()
    };
    let before = fates(&mut interface);
    let removed = before.iter().position(|is_kept| !is_kept).expect("one would be removed");
    interface.types(&DOWN.repeat(removed)).types(" ");
    let mut expected = before;
    expected[removed] = true;
    assert_eq!(fates(&mut interface), expected);
    interface.types(" ");
    expected[removed] = false;
    assert_eq!(fates(&mut interface), expected);
}

#[test]
fn the_only_suggested_file_cannot_be_removed() {
    let mut interface = Interface::of(&photos());
    interface.types("2\r");
    let kept = interface.screen().lines().skip(3).position(|row| row[2..].starts_with("keep?"));
    interface.types(&DOWN.repeat(kept.expect("one would be kept"))).types(" ");
    interface.shows("At least one file must stay.");
    assert_eq!(decisions(&interface), 0);
}

/// Returns the relation of the two folders with the photos.
fn related(interface: &Interface) -> Related {
    relation(interface, &["photos/2021".into(), "backup".into()])
}

/// Returns a relation of folders.
fn relation(interface: &Interface, dirs: &[String]) -> Related {
    let dir =
        |name: &String| format!(r#"{{"path":"{}/t/{name}"}}"#, interface.temp.path().display());
    let dirs = dirs.iter().map(dir).collect::<Vec<_>>().join(",");
    let text = format!(
        r#"[{{"relation":"overlapping","percent":50,"files":1,"reclaimable_bytes":9,"dirs":[{dirs}]}}]"#
    );
    let relations: Vec<Relation> = serde_json::from_str(&text).expect("a relation");
    Related { relations, remarks: Vec::new() }
}

#[test]
fn escape_returns_from_the_groups_of_folders_to_the_list_of_folders() {
    let mut interface = Interface::of(&photos());
    interface.types("3");
    interface.tell(News::Loaded(Loaded::Folders(Ok(related(&interface)))));
    interface.types("i");
    interface.shows(&format!("{ROOT}/t/photos/2021 and {ROOT}/t/backup"));
    interface.types("\r");
    interface.shows("[2 Groups]");
    interface.shows("1 group,");
    interface.types("\r\x1b");
    interface.types("R");
    interface.shows("[2 Groups]");
    interface.shows("1 group,");
    interface.types("\x1b");
    interface.shows("[3 Folders]");
    interface.refused.clear();
    interface.types("2");
    interface.shows("2 groups,");
    interface.types("\x1b");
    interface.shows("[2 Groups]");
}

#[test]
fn folders_that_no_filter_can_select_together_are_not_opened() {
    let mut interface = Interface::of(&photos());
    let names: Vec<String> = (0..65).map(|number| format!("d{number}")).collect();
    let long = vec!["long".repeat(600), "path".repeat(600)];
    interface.types("3");
    for (names, why) in
        [(names, "a filter may have at most 64 terms"), (long, "may have at most 4096 bytes")]
    {
        let related = relation(&interface, &names);
        interface.tell(News::Loaded(Loaded::Folders(Ok(related))));
        interface.types("\r");
        interface.shows("[3 Folders]");
        interface.shows("The groups of these folders cannot be shown together:");
        assert!(interface.screen().replace('\n', " ").contains(why), "{}", interface.screen());
    }
}

#[test]
fn a_filter_that_is_not_understood_selects_no_group() {
    let mut interface = Interface::of(&photos());
    interface.types("2");
    interface.shows("2 groups,");
    let terms: Vec<String> = (0..65).map(|number| format!("path:\"/d{number}\"")).collect();
    assert_eq!(interface.app.groups.show_folders(terms.join(" ")), []);
    interface.shows("0 groups,");
    interface.types("D");
    interface.shows("The list has no groups to decide.");
}

#[test]
fn growth_since_different_scans_names_no_time() {
    let mut interface = Interface::of(&photos());
    let show = |interface: &mut Interface, times: [i64; 2]| {
        let space = Space::load(interface.decider.catalog()).expect("loads");
        let compare = |(name, since_ms)| {
            let root = format!("{}/t/{name}", interface.temp.path().display()).into_bytes();
            let dir = space.find(&root).expect("a directory");
            Compared { dir, root, since_ms, until_ms: 9 }
        };
        let compared = ["photos", "backup"].into_iter().zip(times).map(compare).collect();
        let comparisons = Comparisons { compared, ..Comparisons::default() };
        interface.tell(News::Loaded(Loaded::Space(Ok(Sizes { space, comparisons }))));
    };
    show(&mut interface, [1, 1]);
    interface.shows("by disk space, grown since 2026-11-30 12:00");
    show(&mut interface, [1, 2]);
    interface.shows("by disk space, grown since earlier scans");
    interface.types("\r");
    interface.shows("by disk space, grown since 2026-11-30 12:00");
}

#[test]
fn a_reload_keeps_the_filter_and_the_cursor() {
    let mut interface = Interface::of(&photos());
    interface.types(&format!("/o\r{DOWN}R"));
    interface.shows("/o");
    let current = |interface: &mut Interface| {
        let screen = interface.screen();
        screen.lines().find(|row| row.starts_with('>')).map(str::to_owned)
    };
    interface.types("\x1b").types(DOWN);
    let before = current(&mut interface);
    assert!(before.is_some());
    assert_eq!(interface.app.reload(), [Effect::Load(Load::Space)]);
    interface.load(Load::Space);
    assert_eq!(current(&mut interface), before);
}

#[test]
fn pasted_text_is_no_command() {
    let mut interface = Interface::of(&photos());
    interface.types("2\x1b[200~x\x1b[201~");
    assert_eq!(decisions(&interface), 0);
    interface.types("/\x1b[200~size:>1k\x1b[201~");
    interface.shows("/size:>1k_");
}

#[test]
fn a_menu_that_is_not_shown_yet_takes_no_key() {
    let mut interface = Interface::of(&photos());
    // The user pastes this text into a terminal that does not mark pasted text.
    interface.types("2").types("Downloads\n");
    assert_eq!(decisions(&interface), 0);
    interface.shows("Decide 2 groups: which file stays?");
    interface.types("\r");
    assert_eq!(decisions(&interface), 1);
}

#[test]
fn escape_stops_the_work_before_it_clears_the_filter_or_leaves_the_list() {
    let mut interface = Interface::of(&photos());
    interface.types("4/x\r");
    interface.shows("Loading… (Esc stops)");
    assert!(matches!(&interface.app.key(Key::Esc)[..], [Effect::Cancel(Load::Uniques(_))]));
    interface.shows("Stopped. Press R to load again.");
    interface.shows("  /x ");
    assert_eq!(interface.app.key(Key::Esc), []);
    assert!(!interface.screen().contains("  /x "), "{}", interface.screen());
    interface.types("3");
    interface.tell(News::Loaded(Loaded::Folders(Ok(related(&interface)))));
    interface.types("\r");
    interface.shows("[2 Groups]");
    drop(interface.app.reload());
    interface.shows("Loading… (Esc stops)");
    assert_eq!(interface.app.key(Key::Esc), [Effect::Cancel(Load::Groups)]);
    interface.shows("[2 Groups]");
    interface.types("\x1b");
    interface.shows("[3 Folders]");
}

#[test]
fn a_decision_about_all_groups_counts_those_that_follow_it() {
    let mut interface = Interface::of(&photos());
    interface.types("2xD");
    interface.shows("Decide 1 group: which file stays? 1 group keeps its own decision.");
    interface.types("\x1b/size:<1\rD");
    interface.shows("The list has no groups to decide.");
}

#[test]
fn the_space_bar_decides_nothing_about_a_file_that_stays_anyway() {
    let tree = TreeBuilder::new()
        .seeded("t/repo/.git/one", 1, 70 * KIB)
        .seeded("t/two", 1, 70 * KIB)
        .hard_link("t/two", "t/repo/.git/two")
        .seeded("t/three", 1, 70 * KIB)
        .seeded("t/four", 1, 70 * KIB);
    let mut interface = Interface::of(&tree);
    interface.types("2\rx");
    assert_eq!(decisions(&interface), 1, "all files are left alone");
    for _ in 0..2 {
        for file in [".git/one", ".git/two", " two"] {
            let rows = interface.screen();
            let row = rows.lines().skip(3).position(|row| row.ends_with(file)).expect(&rows);
            for key in [" ", "o"] {
                let before = interface.decider.catalog().decisions().expect("read");
                interface.types("<").types(&DOWN.repeat(row)).types(key);
                interface.shows("lop does not act on this file: it is managed by another program.");
                let after = interface.decider.catalog().decisions().expect("read");
                assert_eq!(after, before, "{key:?} at {file}");
            }
        }
        interface.types("w");
        assert_eq!(decisions(&interface), 0, "the group is undecided");
    }
}

#[test]
fn groups_that_are_not_loaded_are_not_decided() {
    let mut interface = Interface::of(&photos());
    interface.types("2");
    interface.shows("2 groups,");
    let effects = interface.app.reload();
    interface.types("D");
    interface.shows("The groups are not loaded yet.");
    assert!(interface.app.dialog().is_none());
    interface.apply(effects);
    interface.types("D");
    interface.shows("Decide 2 groups");
}

#[test]
fn a_reload_keeps_the_cursor_at_its_group() {
    let mut interface = Interface::of(&photos());
    interface.types("2").types(DOWN);
    let current = |interface: &mut Interface| {
        let screen = interface.screen();
        screen.lines().find(|row| row.starts_with('>')).map(str::to_owned)
    };
    let before = current(&mut interface);
    assert!(before.as_ref().is_some_and(|row| row.contains("two")), "{before:?}");
    let _cancelled = interface.app.reload();
    interface.types("R");
    assert_eq!(current(&mut interface), before);
}

#[test]
fn only_listed_groups_are_decided() {
    let tree = TreeBuilder::new()
        .seeded("t/photos/one", 1, 70 * KIB)
        .seeded("t/photos/two", 1, 70 * KIB)
        .seeded("t/Photos/three", 2, 7 * KIB)
        .seeded("t/Photos/four", 2, 7 * KIB);
    let mut interface = Interface::of(&tree);
    interface.types("\r2");
    interface.shows("Groups in /");
    interface.shows("t/photos");
    interface.shows("1 group,");
    interface.types("D");
    interface.shows("differs only in upper and lower case.");
    assert!(interface.app.dialog().is_none());
    interface.types("/size:>10k\rD");
    interface.shows("Decide 1 group");
}
