//! Previews of decisions agree with the decisions.

use catalog::{Choice, Scope};
use content::Digest;
use review::{Filter, Review, Sort, Totals};

use crate::shelf::{Shelf, copies};

/// Two groups in the folders `one` and `two`, and a group in other folders.
fn shelf() -> Shelf {
    Shelf::new(&[
        copies(1, &["one/d/a", "two/d/a"]),
        copies(2, &["one/b", "two/b"]),
        copies(3, &["three/c", "four/c", "one/c"]),
    ])
}

fn totals(review: &Review) -> Totals {
    review.totals(&review.select(&Filter::default(), Sort::default()))
}

#[test]
fn a_decision_does_what_its_preview_says() {
    let shelf = shelf();
    let tidy = Choice::Rules(vec!["tidy".into()]);
    let one = Choice::Folder(shelf.paths(&["one"]));
    for (scope, choice, decided, removes) in [
        (Scope::Filter(String::new()), tidy.clone(), 3, 4),
        (Scope::Filter("copies:>2".into()), tidy.clone(), 1, 2),
        (Scope::Folders(shelf.paths(&["two", "one"])), one, 2, 2),
        (Scope::Folders(shelf.paths(&["nowhere"])), tidy.clone(), 0, 0),
        (Scope::Group(Digest::of(&[3])), tidy, 1, 2),
        (Scope::Filter(String::new()), Choice::Leave, 3, 0),
    ] {
        let mut review = shelf.review();
        let preview = review.preview(&scope, &choice).expect("valid");
        assert_eq!((preview.decided, preview.removes), (decided, removes), "{scope:?}");
        assert_eq!((preview.void, preview.others), (0, 0), "{scope:?}");
        assert_eq!(totals(&review).removes, 0, "a preview changes nothing");
        let decider = shelf.decider();
        let id = review.decide(&decider, scope, choice, 7).expect("decides");
        let after = totals(&review);
        assert_eq!((after.removes, after.frees), (preview.removes, preview.frees));
        assert_eq!(after.decided + after.left, decided);
        review.withdraw(&decider, id).expect("withdraws");
    }
}

#[test]
fn groups_with_a_decision_of_their_own_are_counted_apart() {
    let shelf = shelf();
    let (mut review, decider) = (shelf.review(), shelf.decider());
    let all = Scope::Filter(String::new());
    review.decide(&decider, all.clone(), Choice::Leave, 1).expect("decides");
    review.decide(&decider, Scope::Group(Digest::of(&[1])), Choice::Leave, 2).expect("decides");
    let preview = review.preview(&all, &Choice::Rules(Vec::new())).expect("valid");
    assert_eq!((preview.decided, preview.others, preview.removes), (2, 1, 3));
    let absent = Choice::Folder(shelf.paths(&["three"]));
    let folders = Scope::Folders(shelf.paths(&["one", "two"]));
    let preview = review.preview(&folders, &absent).expect("valid");
    assert_eq!((preview.decided, preview.void, preview.others), (0, 1, 1));
}

#[test]
fn a_decision_that_is_not_valid_has_no_preview() {
    let review = shelf().review();
    let filter = |text: &str| Scope::Filter(text.into());
    let wrong = Choice::Rules(vec!["biggest".into()]);
    assert!(review.preview(&filter(""), &wrong).expect_err("no such rule").contains("biggest"));
    assert!(review.preview(&filter("is:undecided"), &Choice::Leave).is_err());
}

#[test]
fn each_member_is_in_a_folder_of_its_set() {
    let shelf = shelf();
    let review = shelf.review();
    let (index, sets) = (review.index(), review.sets());
    for at in 0..index.len() {
        let folders = sets.set(index, sets.set_of(at)).folders;
        for (member, folder) in index.members(at).iter().zip(sets.folders_of(index, at)) {
            let path = &folders[folder as usize].path;
            assert!(member.path.starts_with(path), "{:?} is in {path:?}", member.path);
        }
    }
}
