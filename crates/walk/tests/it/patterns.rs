//! Tests of the interpretation of patterns, relative to the top directory and as paths into it.

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
fn paths_into_the_top_directory_match_entries_in_it() {
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
fn exclude_uses_all_readings_and_include_only_the_path() {
    let tree = TempTree::new();
    let inside = format!("top{}/top/keep", tree.path().display());
    TreeBuilder::new().file(&inside, "").dir("top/keep").make(tree.path());
    let inside = inside.strip_prefix("top/").expect("the prefix");
    let pattern = format!("{}/top/keep", tree.path().display());
    let exclude = below(&tree, "top", &pattern, PatternUse::Exclude);
    assert!(matches(&exclude, "keep", true) && matches(&exclude, inside, false));
    let include = below(&tree, "top", &pattern, PatternUse::Include);
    assert!(matches(&include, "keep", true) && !matches(&include, inside, false));
}

#[test]
fn names_with_special_characters_match_literally() {
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
        // Shells append a slash when they complete a link to a directory.
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
fn the_path_of_the_top_directory_matches_no_entry_in_it() {
    let tree = TempTree::new();
    TreeBuilder::new().dir("top/keep").make(tree.path());
    let pattern = format!("{}/top/", tree.path().display());
    let globs = below(&tree, "top", &pattern, PatternUse::Exclude);
    assert!(globs.match_top(b"top", true) && !matches(&globs, "keep", true));
    assert!(!below(&tree, "top", "/top", PatternUse::Exclude).match_top(b"other", true));
    assert!(below(&tree, "top", "t*", PatternUse::Exclude).match_top(b"top", true));
}

#[test]
fn remote_paths_are_compared_as_text() {
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
fn unmatched_patterns_are_listed() {
    let patterns = ["*.o", "*.tmp", "a/b", "a/", "top.o"].map(String::from);
    let globs = Globs::new(&patterns).expect("patterns");
    assert_eq!(globs.unmatched(), patterns.each_ref());
    assert!(matches(&globs, "top.o", false), "two patterns match");
    assert!(!matches(&globs, "x/b", false));
    assert_eq!(globs.unmatched(), ["*.tmp", "a/b", "a/"]);
    assert!(matches(&globs.clone(), "a", true), "clones share the record");
    assert_eq!(globs.unmatched(), ["*.tmp", "a/b"]);
    let here = Globs::new(&patterns).expect("patterns");
    here.note_matched(globs.matched());
    assert_eq!(here.unmatched(), globs.unmatched());
}

#[test]
fn patterns_that_name_an_existing_path_count_as_matched() {
    let tree = TempTree::new();
    TreeBuilder::new().file("top/a/b", "").make(tree.path());
    assert!(below(&tree, "top", "a/b", PatternUse::Exclude).unmatched().is_empty());
    assert_eq!(below(&tree, "top", "a/c", PatternUse::Exclude).unmatched(), ["a/c"]);
}

#[test]
fn paths_match_in_any_case_if_case_is_ignored() {
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
