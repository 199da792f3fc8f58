//! The meaning of patterns in a directory: relative to it, and as paths that lead there.

use testkit::{TempTree, TreeBuilder};
use walk::{Globs, PatternUse, TopDir};

fn below(tree: &TempTree, dir: &str, pattern: &str, used: PatternUse) -> Globs {
    let top = TopDir::new(&tree.path().join(dir));
    Globs::new(&[pattern.to_string()]).expect("a pattern").below(&[top], used)
}

fn matches(globs: &Globs, path: &str, is_dir: bool) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    globs.matches(name.as_bytes(), Some(path.as_bytes()), is_dir)
}

#[test]
fn a_path_that_leads_into_the_directory_is_one_in_it() {
    let tree = TempTree::new();
    TreeBuilder::new()
        .dir("real/top/keep")
        .dir("real/top/a/b")
        .symlink("link", "real")
        .symlink("real/top/way", "a")
        .make(tree.path());
    let at = tree.path().display();
    for (dir, pattern, path) in [
        ("real/top", format!("{at}/real/top/keep"), "keep"),
        ("real/top", format!("{at}/real/top/keep/"), "keep"),
        ("real/top", format!("{at}//real/./top/a/../keep"), "keep"),
        ("real/top", format!("{at}/link/top/keep"), "keep"),
        ("link/top", format!("{at}/real/top/keep"), "keep"),
        ("link/top", format!("{at}/link/top/k*"), "keep"),
        ("real/top", format!("{at}/real/top/way/b"), "a/b"),
        ("real/top", format!("{at}/real/top/**/b"), "a/b"),
        ("real/top", format!("{at}/real/top/gone/x"), "gone/x"),
        ("gone", format!("{at}/gone/x"), "x"),
        ("real/top", "/keep".into(), "keep"),
        ("real/top", "./keep".into(), "keep"),
    ] {
        let globs = below(&tree, dir, &pattern, PatternUse::Exclude);
        assert!(matches(&globs, path, true), "{pattern} in {dir}: {globs:?}");
        assert!(!matches(&globs, "other", true), "{pattern}");
        assert!(!matches(&globs, "x/keep", true), "{pattern}");
    }
}

#[test]
fn every_possible_reading_is_excluded_and_only_the_clear_one_included() {
    let tree = TempTree::new();
    let inside = format!("top{}/top/keep", tree.path().display());
    TreeBuilder::new().file(&inside, "").dir("top/keep").make(tree.path());
    let inside = inside.strip_prefix("top/").expect("it begins so");
    let pattern = format!("{}/top/keep", tree.path().display());
    let exclude = below(&tree, "top", &pattern, PatternUse::Exclude);
    assert!(matches(&exclude, "keep", true) && matches(&exclude, inside, false));
    let include = below(&tree, "top", &pattern, PatternUse::Include);
    assert!(matches(&include, "keep", true) && !matches(&include, inside, false));
}

#[test]
fn a_name_with_pattern_characters_is_matched_literally() {
    let tree = TempTree::new();
    TreeBuilder::new()
        .file("top/[draft]", "")
        .file("top/a/{x}", "")
        .symlink("top/to-dir", "a")
        .make(tree.path());
    let at = tree.path().display();
    for (pattern, path) in [
        ("[draft]".to_string(), "[draft]"),
        (format!("{at}/top/[draft]"), "[draft]"),
        (format!("{at}/top/a/{{x}}"), "a/{x}"),
        ("/a/{x}".into(), "a/{x}"),
        // A shell completes the name of a directory with a slash at the end.
        (format!("{at}/top/to-dir/"), "to-dir"),
        ("/to-dir/".into(), "to-dir"),
    ] {
        assert!(
            matches(&below(&tree, "top", &pattern, PatternUse::Exclude), path, false),
            "{pattern}"
        );
    }
}

#[test]
fn the_directory_itself_is_no_pattern_for_what_is_in_it() {
    let tree = TempTree::new();
    TreeBuilder::new().dir("top/keep").make(tree.path());
    let pattern = format!("{}/top/", tree.path().display());
    let globs = below(&tree, "top", &pattern, PatternUse::Exclude);
    assert!(globs.match_top(b"top", true) && !matches(&globs, "keep", true));
    assert!(!below(&tree, "top", "/top", PatternUse::Exclude).match_top(b"other", true));
    assert!(below(&tree, "top", "t*", PatternUse::Exclude).match_top(b"top", true));
}

#[test]
fn directories_of_other_hosts_go_by_what_is_written() {
    let far = |path: &str| TopDir::far("nas", std::path::Path::new(path));
    for (path, pattern, meant) in [
        ("/volume/photos", "/volume/photos/keep", "keep"),
        ("/volume/photos/", "nas:/volume/photos/keep", "keep"),
        ("photos", "photos/keep", "keep"),
        ("./photos", "nas:photos/keep/", "keep"),
        ("", "a/keep", "a/keep"),
    ] {
        let globs = Globs::new(&[pattern.to_string()]).expect("a pattern");
        let globs = globs.below(&[far(path)], PatternUse::Exclude);
        assert!(matches(&globs, meant, true), "{pattern} in {path}");
        let sent = Globs::of_readings(globs.readings(), false).expect("patterns");
        assert!(matches(&sent, meant, true), "{pattern} in {path}");
    }
}

#[test]
fn patterns_that_matched_nothing_are_known() {
    let patterns = ["*.o", "*.tmp", "a/b", "a/", "top.o"].map(String::from);
    let globs = Globs::new(&patterns).expect("patterns");
    assert_eq!(globs.unmatched(), patterns.each_ref());
    assert!(matches(&globs, "top.o", false), "two of them match");
    assert!(!matches(&globs, "x/b", false));
    assert_eq!(globs.unmatched(), ["*.tmp", "a/b", "a/"]);
    assert!(matches(&globs.clone(), "a", true), "and clones note the same");
    assert_eq!(globs.unmatched(), ["*.tmp", "a/b"]);
    let here = Globs::new(&patterns).expect("patterns");
    here.note_matched(globs.matched());
    assert_eq!(here.unmatched(), globs.unmatched());
}

#[test]
fn a_pattern_of_an_existing_name_is_not_reported_as_unmatched() {
    let tree = TempTree::new();
    TreeBuilder::new().file("top/a/b", "").make(tree.path());
    assert!(below(&tree, "top", "a/b", PatternUse::Exclude).unmatched().is_empty());
    assert_eq!(below(&tree, "top", "a/c", PatternUse::Exclude).unmatched(), ["a/c"]);
}

#[test]
fn a_path_in_other_capitals_leads_there_too_if_these_are_ignored() {
    let tree = TempTree::new();
    TreeBuilder::new().dir("top/keep").make(tree.path());
    let pattern = tree.path().join("TOP/Keep").display().to_string();
    for ignore_case in [false, true] {
        let globs =
            Globs::with_case(std::slice::from_ref(&pattern), ignore_case).expect("a pattern");
        let globs = globs.below(&[TopDir::new(&tree.path().join("top"))], PatternUse::Exclude);
        assert_eq!(matches(&globs, "keep", true), ignore_case);
    }
}

#[test]
fn case_matters_unless_ignored() {
    let patterns = ["*.JPG".to_string(), "/Photos/*.png".into()];
    for ignore_case in [false, true] {
        let globs = Globs::with_case(&patterns, ignore_case).expect("patterns");
        assert!(matches(&globs, "x/A.JPG", false));
        assert_eq!(matches(&globs, "x/A.jpg", false), ignore_case);
        assert_eq!(matches(&globs, "photos/a.PNG", false), ignore_case);
    }
}
