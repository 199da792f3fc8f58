//! Properties that hold for all filters and decisions.

use catalog::{Choice, FileState, Scope};
use content::Digest;
use proptest::prelude::*;
use review::{Condition, Fate, Filter, Settlement, Sort, settle};

use crate::shelf::{Copy, Shelf, copies};

const PATHS: [&str; 8] =
    ["one/a", "one/b", "two/a", "two/.git/a", "two/d/b", "three/d/b", "three/c", "one/d/c"];

/// Returns groups of files, each path with a letter and one of a few inodes.
fn files() -> impl Strategy<Value = Vec<Vec<Copy>>> {
    prop::collection::vec((1_u8..4, 0_u64..4), PATHS.len()).prop_map(|choices| {
        let file = |(path, (letter, inode)): (&str, (u8, u64))| {
            let mut files = copies(letter, &[path]);
            files[0].inode = if inode == 0 { 0 } else { 10 * u64::from(letter) + inode };
            files
        };
        PATHS.into_iter().zip(choices).map(file).collect()
    })
}

fn choice() -> impl Strategy<Value = (Vec<&'static str>, u8)> {
    let some = prop::sample::subsequence(vec!["one", "two", "three", "two/d", "one/a"], 1..4);
    (some, 0_u8..5)
}

fn to_choice(shelf: &Shelf, (paths, kind): (Vec<&str>, u8)) -> Choice {
    match kind {
        0 => Choice::Leave,
        1 => Choice::Rules(vec!["path:one".into(), "longest-path".into()]),
        2 => Choice::Folder(shelf.paths(&paths)),
        3 => Choice::Rules(Vec::new()),
        _ => shelf.keep_files(&["one/a", "two/.git/a", "three/c"][..paths.len()]),
    }
}

/// Returns a configuration that writes no files into the source tree.
fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(40))]

    #[test]
    fn at_least_one_sound_file_always_stays(
        files in files(),
        choices in prop::collection::vec(choice(), 3),
        damaged in 0..PATHS.len(),
    ) {
        let shelf = Shelf::new(&files);
        shelf.mark(PATHS[damaged], FileState::Damaged);
        let mut review = shelf.review();
        let decider = shelf.decider();
        let mut choices = choices.into_iter().map(|choice| to_choice(&shelf, choice));
        let mut scopes = vec![Scope::Group(Digest::of(&[1])), Scope::Filter("three".into())];
        if !review.sets().is_empty() {
            scopes.push(review.folders_scope(0));
        }
        for scope in scopes {
            let choice = choices.next().expect("enough");
            review.decide(&decider, scope, choice, 0).expect("decides");
        }
        for at in 0..review.index().len() {
            let settlement = review.settlement(at);
            let fresh = shelf.review();
            prop_assert_eq!(&settle(fresh.index(), fresh.decisions(), at), &settlement);
            let Settlement::Decided { fates, .. } = settlement else { continue };
            let members = review.index().members(at);
            let mut sound_stays = false;
            let mut removed = Vec::new();
            for (member, fate) in members.iter().zip(&fates) {
                match fate {
                    Fate::Remove => {
                        prop_assert_eq!(member.condition, Condition::Sound);
                        removed.push(member.inode);
                    }
                    Fate::Keep(_) => sound_stays |= member.condition == Condition::Sound,
                }
            }
            prop_assert!(sound_stays);
            for (member, fate) in members.iter().zip(&fates) {
                prop_assert_eq!(removed.contains(&member.inode), *fate == Fate::Remove);
            }
            removed.sort_unstable();
            removed.dedup();
            prop_assert_eq!(review.settled().removes(at) as usize, removed.len());
        }
    }
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC{0,80}") {
        check_round_trip(&text)?;
    }

    #[test]
    fn the_canonical_text_parses_to_an_equal_filter(
        text in "((!|\")?(path:|name:|ext:|type:|size:|age:|copies:|is:|x:)?[!-~ ]{0,6}\"? ){0,8}",
    ) {
        check_round_trip(&text)?;
    }

    #[test]
    fn valid_terms_round_trip(
        terms in prop::collection::vec(
            "!?(size:[<>]=?[0-9]{1,5}[kKmMgG]?|age:[0-9]{1,4}(s|min|h|d|w|mo|y)\\.\\.|ext:[a-z.]{1,4},[A-Z]|\
             type:(image|video|other),code|is:left|path:[a-z*/]{0,4}x|[a-z:/]{1,3}\" \"\"\"[A-Z]\")",
            0..6,
        ),
    ) {
        check_round_trip(&terms.join(" "))?;
    }
}

fn check_round_trip(text: &str) -> Result<(), TestCaseError> {
    let Ok(filter) = Filter::parse(text) else { return Ok(()) };
    let canonical = filter.to_string();
    prop_assert!(canonical.len() <= text.len(), "{:?} became longer: {:?}", text, canonical);
    let again = Filter::parse(&canonical);
    prop_assert_eq!(again, Ok(filter), "{:?}", canonical);
    Ok(())
}

#[test]
fn searching_many_groups_finds_what_each_path_says() {
    let shelf = Shelf::new(&[
        copies(1, &["one/aa", "two/ab"]),
        copies(2, &["one/ba/aa", "one/ba/b"]),
        copies(3, &["a/b/a", "b/a/b"]),
    ]);
    let review = shelf.review();
    let mut words = vec![String::new()];
    for _ in 0..4 {
        let longer = |word: &String| ["a", "b", "/", "o"].map(|end| format!("{word}{end}"));
        words.extend(words.iter().flat_map(longer).collect::<Vec<_>>());
        words.sort();
        words.dedup();
    }
    for word in words.iter().filter(|word| !word.is_empty()) {
        let filter = Filter::parse(word).expect("a word");
        let found = review.select(&filter, Sort::Reclaimable);
        let contains = |path: &[u8]| String::from_utf8_lossy(path).to_lowercase().contains(word);
        let members = |at: &u32| review.index().members(*at);
        let all = 0..review.index().len();
        let expected: Vec<u32> =
            all.filter(|at| members(at).iter().any(|member| contains(&member.path))).collect();
        assert_eq!(found, expected, "{word}");
    }
}
