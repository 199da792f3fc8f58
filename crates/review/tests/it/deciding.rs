//! Decisions: what they mean, which one counts, and that they last.

use catalog::{Choice, FileState, Scope};
use content::Digest;
use review::{
    Condition, DecideError, Decisions, Fate, Filter, Review, Settlement, Sort, Status, Void, Why,
    settle,
};

use crate::shelf::{BLOCK, Copy, Shelf, copies};

fn group(letter: u8) -> Scope {
    Scope::Group(Digest::of(&[letter]))
}

fn everything() -> Scope {
    Scope::Filter(String::new())
}

fn rules(texts: &[&str]) -> Choice {
    Choice::Rules(texts.iter().map(|text| (*text).to_string()).collect())
}

fn files(keep: &[&str], others: &[&str]) -> Choice {
    let bytes = |paths: &[&str]| paths.iter().map(|path| path.as_bytes().to_vec()).collect();
    Choice::Files { keep: bytes(keep), others: bytes(others) }
}

/// Two groups in the folders `one` and `two`, and a group in other folders.
fn shelf() -> Shelf {
    Shelf::new(&[
        copies(1, &["one/d/a", "two/d/a"]),
        copies(2, &["one/b", "two/b"]),
        copies(3, &["three/c", "four/c", "one/c"]),
    ])
}

fn folders(shelf: &Shelf) -> Scope {
    Scope::Folders(shelf.paths(&["two", "one"]))
}

struct Desk {
    shelf: Shelf,
    review: Review,
}

impl Desk {
    fn new(shelf: Shelf) -> Desk {
        Desk { review: shelf.review(), shelf }
    }

    fn decide(&mut self, scope: Scope, choice: Choice) -> i64 {
        let decider = self.shelf.decider();
        let id = self.review.decide(&decider, scope, choice, 77).expect("decides");
        self.check();
        id
    }

    fn at(&self, letter: u8) -> u32 {
        self.review.index().at_digest(&Digest::of(&[letter])).expect("exists")
    }

    fn settlement(&self, letter: u8) -> Settlement {
        self.review.settlement(self.at(letter))
    }

    /// Returns the paths of the members of a group that stay, without those of undecided groups.
    fn kept(&self, letter: u8) -> Vec<String> {
        let Settlement::Decided { fates, .. } = self.settlement(letter) else { return Vec::new() };
        let members = self.review.index().members(self.at(letter));
        let kept = members.iter().zip(fates).filter(|(_, fate)| *fate != Fate::Remove);
        kept.map(|(member, _)| self.shelf.short(&member.path)).collect()
    }

    /// Checks that the cache agrees with the settlement of each group, and with a new review.
    fn check(&self) {
        let again = self.shelf.review();
        assert_eq!(again.decisions().list(), self.review.decisions().list());
        let decisions = Decisions::load(&self.shelf.catalog()).expect("loads");
        for at in 0..self.review.index().len() {
            let settlement = settle(self.review.index(), &decisions, at);
            let (status, by) = match &settlement {
                Settlement::Undecided => (Status::Undecided, None),
                Settlement::Left { by } => (Status::Left, Some(*by)),
                Settlement::Decided { by, .. } => (Status::Decided, Some(*by)),
                Settlement::Void { by, .. } => (Status::Void, Some(*by)),
            };
            for review in [&self.review, &again] {
                assert_eq!(review.settlement(at), settlement);
                assert_eq!(review.settled().status(at), status);
                assert_eq!(review.settled().by(at), by);
            }
        }
    }
}

#[test]
fn a_group_without_a_decision_is_undecided() {
    let desk = Desk::new(shelf());
    desk.check();
    assert_eq!(desk.settlement(1), Settlement::Undecided);
    assert_eq!(desk.review.settled().by(0), None);
}

#[test]
fn a_more_specific_decision_counts() {
    let mut desk = Desk::new(shelf());
    let all = desk.decide(everything(), rules(&["path:one"]));
    assert_eq!((desk.kept(1), desk.kept(3)), (vec!["one/d/a".into()], vec!["one/c".into()]));
    let set = folders(&desk.shelf);
    let by_folder = desk.decide(set, Choice::Folder(desk.shelf.paths(&["two"])));
    assert_eq!((desk.kept(1), desk.kept(2)), (vec!["two/d/a".into()], vec!["two/b".into()]));
    let by_group = desk.decide(group(1), Choice::Leave);
    assert_eq!(desk.settlement(1), Settlement::Left { by: by_group });
    assert_eq!(desk.kept(2), ["two/b"]);
    let ids: Vec<i64> = desk.review.decisions().list().iter().map(|one| one.id).collect();
    assert_eq!(ids, [all, by_folder, by_group]);

    let decider = desk.shelf.decider();
    assert!(desk.review.withdraw(&decider, by_group).expect("withdrawn"));
    desk.check();
    assert_eq!(desk.kept(1), ["two/d/a"]);
    assert!(desk.review.withdraw(&decider, by_folder).expect("withdrawn"));
    desk.check();
    assert_eq!(desk.kept(1), ["one/d/a"]);
    assert!(!desk.review.withdraw(&decider, by_folder).expect("there is none"));
    assert_eq!(desk.review.clear(&decider).expect("cleared"), 1);
    desk.check();
    assert_eq!(desk.settlement(1), Settlement::Undecided);
}

#[test]
fn the_latest_decision_about_a_matching_filter_counts() {
    let mut desk = Desk::new(shelf());
    let filter = |text: &str| Scope::Filter(text.into());
    desk.decide(filter("name:a"), rules(&["path:two"]));
    desk.decide(filter("ONE"), Choice::Leave);
    assert!(matches!(desk.settlement(1), Settlement::Left { .. }));
    let again = desk.decide(filter("  name:a "), rules(&["path:one"]));
    assert_eq!(desk.review.decisions().list().len(), 2, "the same filter replaces its decision");
    assert!(matches!(desk.settlement(1), Settlement::Decided { by, .. } if by == again));
    assert_eq!(desk.kept(1), ["one/d/a"]);
    assert!(matches!(desk.settlement(2), Settlement::Left { .. }));
}

#[test]
fn rules_choose_one_file_and_give_the_reason() {
    let mut desk = Desk::new(shelf());
    desk.decide(group(3), rules(&["path:four"]));
    let Settlement::Decided { fates, .. } = desk.settlement(3) else { panic!("is decided") };
    let kept: Vec<&Fate> = fates.iter().filter(|fate| **fate != Fate::Remove).collect();
    assert_eq!(kept, [&Fate::Keep(Why::Rule("path:four".into()))]);
    assert_eq!(desk.kept(3), ["four/c"]);
    desk.decide(group(1), rules(&[]));
    let Settlement::Decided { fates, .. } = desk.settlement(1) else { panic!("is decided") };
    assert_eq!(fates, [Fate::Keep(Why::First), Fate::Remove]);
}

#[test]
fn several_folders_or_files_can_stay() {
    let mut desk = Desk::new(shelf());
    desk.decide(group(3), desk.shelf.keep_files(&["four/c", "one/c", "one/missing"]));
    assert_eq!(desk.kept(3), ["four/c", "one/c"]);
    let at = desk.at(3);
    assert_eq!((desk.review.settled().removes(at), desk.review.settled().frees(at)), (1, BLOCK));
    let set = Scope::Folders(desk.shelf.paths(&["one", "three", "four"]));
    desk.decide(set, Choice::Folder(desk.shelf.paths(&["three", "one"])));
    let decider = desk.shelf.decider();
    let by_files = desk.review.decisions().about(&group(3)).expect("exists").id;
    desk.review.withdraw(&decider, by_files).expect("withdrawn");
    assert_eq!(desk.kept(3), ["one/c", "three/c"]);
}

#[test]
fn a_decision_whose_files_are_absent_is_void() {
    let mut desk = Desk::new(shelf());
    let by = desk.decide(group(1), desk.shelf.keep_files(&["one/b"]));
    let void = Settlement::Void { by, reason: Void::Absent };
    assert_eq!(desk.settlement(1), void);
    assert_eq!(Void::Absent.to_string(), "none of the files to keep is in the group");
    desk.decide(everything(), rules(&[]));
    assert_eq!(desk.settlement(1), void, "a less specific decision does not replace a void one");
    let by_is = |text| desk.review.select(&Filter::parse(text).expect("a filter"), Sort::Path);
    assert_eq!(by_is("is:undecided"), [desk.at(1)]);
    assert_eq!(by_is("is:decided").len(), 2);
}

#[test]
fn only_sound_files_are_removed_or_count_as_the_copy_that_stays() {
    let mut desk = Desk::new(Shelf::new(&[
        copies(1, &["one/a", "two/a", "three/a", "three/.git/a"]),
        copies(2, &["one/b", "two/.git/b", "three/.git/b"]),
    ]));
    desk.shelf.mark("two/a", FileState::Damaged);
    desk.review = desk.shelf.review();
    let by = desk.decide(group(1), desk.shelf.keep_files(&["two/a"]));
    let reason = Void::Unsound(Condition::Damaged);
    assert_eq!(desk.settlement(1), Settlement::Void { by, reason });
    desk.decide(group(1), desk.shelf.keep_files(&["one/a"]));
    assert_eq!(desk.kept(1), ["one/a", "three/.git/a", "two/a"]);
    assert_eq!(desk.review.settled().removes(desk.at(1)), 1);
    desk.decide(group(2), rules(&["path:two"]));
    assert_eq!(desk.kept(2).len(), 3, "the only sound file stays");
    assert_eq!(desk.review.settled().removes(desk.at(2)), 0);
}

#[test]
fn names_of_one_file_share_its_fate() {
    let linked = |letter, paths: &[&str]| -> Vec<Copy> {
        let mut files = copies(letter, paths);
        (files[0].inode, files[1].inode) = (70 + u64::from(letter), 70 + u64::from(letter));
        files
    };
    let mut desk = Desk::new(Shelf::new(&[
        linked(1, &["one/a", "two/a", "three/a"]),
        linked(2, &["one/b", "two/.git/b", "three/b"]),
    ]));
    desk.decide(group(1), desk.shelf.keep_files(&["two/a"]));
    assert_eq!(desk.kept(1), ["one/a", "two/a"]);
    desk.decide(group(1), desk.shelf.keep_files(&["three/a"]));
    assert_eq!(desk.kept(1), ["three/a"]);
    desk.decide(group(1), rules(&["path:two"]));
    assert_eq!(desk.kept(1), ["one/a", "two/a"]);
    desk.decide(group(2), rules(&["path:three"]));
    assert_eq!(desk.kept(2).len(), 3, "a file with a managed name stays");
}

#[test]
fn a_replaced_decision_is_forgotten() {
    let mut desk = Desk::new(shelf());
    let first = desk.decide(group(1), Choice::Leave);
    let second = desk.decide(group(1), rules(&["newest"]));
    assert!(second > first);
    assert_eq!(desk.review.decisions().list().len(), 1);
    assert_eq!(desk.review.decisions().get(first), None);
    assert!(matches!(desk.settlement(1), Settlement::Decided { by, .. } if by == second));
}

#[test]
fn decisions_survive_a_scan_that_finds_more_copies() {
    let shelf = shelf();
    let mut desk = Desk::new(shelf);
    desk.decide(group(1), rules(&["path:one"]));
    let set = folders(&desk.shelf);
    desk.decide(set, Choice::Folder(desk.shelf.paths(&["two"])));
    desk.shelf
        .scan(&[copies(1, &["one/d/a", "two/d/a", "new/a"]), copies(5, &["one/new", "two/new"])]);
    desk.review = desk.shelf.review();
    desk.check();
    assert_eq!(desk.review.index().group(desk.at(1)).names, 3);
    assert_eq!(desk.kept(1), ["one/d/a"]);
    assert_eq!(desk.kept(2), ["two/b"]);
    assert_eq!(desk.kept(5), ["two/new"], "the decision is about new files of the folders, too");
}

#[test]
fn a_copy_that_was_not_there_when_files_were_chosen_is_never_removed() {
    let mut desk = Desk::new(shelf());
    let by = desk.decide(group(1), desk.shelf.keep_files(&["one/d/a"]));
    desk.decide(everything(), rules(&[]));
    assert_eq!(desk.kept(1), ["one/d/a"]);
    let paths = ["one/d/a", "two/d/a", "new/a"];
    for (number, found) in [&paths[..], &["one/d/a", "new/a"]].into_iter().enumerate() {
        desk.shelf.scan(&[copies(1, found)]);
        desk.review = desk.shelf.review();
        desk.check();
        let void = Settlement::Void { by, reason: Void::Unseen };
        assert_eq!(desk.settlement(1), void, "scan {number}");
        assert_eq!(desk.review.settled().removes(desk.at(1)), 0);
    }
    desk.decide(group(1), desk.shelf.keep_files(&["one/d/a"]));
    assert_eq!(desk.kept(1), ["one/d/a"], "decided again");
}

#[test]
fn a_new_name_of_a_file_counts_as_a_copy_only_if_the_file_would_be_removed() {
    let with_link = |first: &str, link: &str, third: &str| {
        let mut files = copies(1, &[first, link, third]);
        (files[0].inode, files[1].inode) = (71, 71);
        files
    };
    let old = |first: &str, third: &str| {
        let mut files = copies(1, &[first, third]);
        files[0].inode = 71;
        files
    };
    let mut desk = Desk::new(Shelf::new(&[old("one/a", "two/a")]));
    desk.decide(group(1), desk.shelf.keep_files(&["one/a"]));
    desk.shelf.scan(&[with_link("one/a", "new/a", "two/a")]);
    desk.review = desk.shelf.review();
    desk.check();
    assert_eq!(desk.kept(1), ["new/a", "one/a"]);
    desk.decide(group(1), desk.shelf.keep_files(&["two/a"]));
    desk.shelf.scan(&[with_link("one/a", "newer/a", "two/a")]);
    desk.review = desk.shelf.review();
    desk.check();
    assert!(matches!(desk.settlement(1), Settlement::Void { reason: Void::Unseen, .. }));
}

#[test]
fn decisions_of_another_process_can_be_loaded() {
    let mut desk = Desk::new(shelf());
    let old = desk.decide(group(1), Choice::Leave);
    let decider = desk.shelf.decider();
    decider.withdraw(old).expect("withdrawn");
    let new = decider.decide(group(2), Choice::Leave, 78).expect("decides");
    assert!(new.id > old, "a list that still shows the old decision cannot withdraw the new one");
    let third = desk.review.decide(&decider, group(3), Choice::Leave, 79).expect("decides");
    assert!(third > new.id);
    desk.review = desk.shelf.review();
    desk.check();
    assert_eq!(desk.settlement(1), Settlement::Undecided);
    assert!(matches!(desk.settlement(2), Settlement::Left { .. }));
}

#[test]
fn invalid_decisions_are_refused() {
    let shelf = shelf();
    let mut review = shelf.review();
    let decider = shelf.decider();
    for (scope, choice) in [
        (Scope::Filter("size:big".into()), Choice::Leave),
        (Scope::Filter("is:undecided".into()), Choice::Leave),
        (Scope::Folders(Vec::new()), Choice::Leave),
        (group(1), rules(&["best"])),
        (group(1), rules(&["first-root"])),
        (group(1), files(&[], &["/a"])),
        (group(1), files(&["/a\0b"], &[])),
        (group(1), files(&["/a"], &["/b", ""])),
        (group(1), Choice::Folder(vec![Vec::new()])),
    ] {
        let refused = review.decide(&decider, scope.clone(), choice, 0);
        assert!(matches!(refused, Err(DecideError::Invalid(_))), "{scope:?}");
    }
    assert!(shelf.catalog().decisions().expect("loads").is_empty());
}

#[test]
fn a_stored_decision_that_is_not_valid_acts_on_nothing() {
    let shelf = shelf();
    let decider = shelf.decider();
    let bad_rule = decider.decide(group(1), rules(&["best"]), 0).expect("stored").id;
    let scope = Scope::Filter("size:big".into());
    let bad_filter = decider.decide(scope, rules(&[]), 0).expect("stored").id;
    let desk = Desk::new(shelf);
    desk.check();
    assert!(matches!(desk.settlement(1), Settlement::Void { reason: Void::Rule(_), .. }));
    assert_eq!(desk.settlement(2), Settlement::Undecided);
    let decisions = desk.review.decisions();
    assert!(decisions.problem(bad_rule).is_some_and(|text| text.contains("best")));
    assert!(decisions.problem(bad_filter).is_some_and(|text| text.contains("size:big")));
}

#[test]
fn totals_count_what_decisions_remove() {
    let mut desk = Desk::new(shelf());
    desk.decide(group(3), rules(&["newest"]));
    desk.decide(group(2), Choice::Leave);
    let all = desk.review.select(&Filter::default(), Sort::Reclaimable);
    let totals = desk.review.totals(&all);
    assert_eq!((totals.decided, totals.left, totals.undecided), (1, 1, 1));
    assert_eq!((totals.removes, totals.frees), (2, 2 * BLOCK));
}
