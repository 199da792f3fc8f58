//! Each term of a filter selects the right groups, and other texts are refused.

use review::{Filter, MAX_LENGTH, MAX_TERMS, Sort};

use crate::shelf::{Copy, DAY, NOW_NS, Shelf, copies};

fn parsed(text: &str) -> Filter {
    Filter::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Returns the first letters of the names of the groups that match.
fn found(shelf: &Shelf, text: &str) -> String {
    let review = shelf.review();
    let order = review.select(&parsed(text), Sort::Path);
    let name = |at| shelf.short(&review.index().first_path(at));
    let letter = |at| name(at).rsplit('/').next().and_then(|name| name.chars().next());
    order.into_iter().filter_map(letter).collect()
}

fn files() -> Vec<Vec<Copy>> {
    let mut old = copies(200, &["Photos/2019/a.JPG", "backup/a2.jpeg", "third/a3.jpg"]);
    old[0].mtime_ns = NOW_NS - 800 * DAY;
    vec![
        old,
        copies(20, &["Photos/2020/b.png", "backup/b.png"]),
        copies(2, &["docs/c report.txt", "docs/old/c.tar.gz"]),
        copies(3, &["misc/d\"quote", "misc/z/.jpg"]),
    ]
}

#[test]
fn each_term_selects_groups() {
    let shelf = Shelf::new(&files());
    for (text, groups) in [
        ("", "abcd"),
        (" \t\n", "abcd"),
        ("photos", "ab"),
        ("PHOTOS/2019", "a"),
        ("otos/2019/a", "a"),
        ("2019/a.j", "a"),
        ("/b.p", "b"),
        ("Photos/", "ab"),
        ("s/2", "ab"),
        ("os/a", ""),
        ("photos backup", "ab"),
        ("!photos", "cd"),
        ("\"c report\"", "c"),
        ("\"d\"\"q\"", "d"),
        ("ext:jpg", "a"),
        ("ext:png,.TXT", "bc"),
        ("ext:tar.gz", "c"),
        ("!ext:jpg,png", "cd"),
        ("type:image", "ab"),
        ("type:document,archive", "c"),
        ("type:other", "d"),
        ("!type:image", "cd"),
        ("name:*.jpg", "ad"),
        ("name:A.*", "a"),
        ("name:\"c *\"", "c"),
        ("name:{b,c}.*", "bc"),
        ("path:photos", "ab"),
        ("path:photos/2019", "a"),
        ("path:photos/*/b.*", "b"),
        ("path:/photos", ""),
        ("path:/**/photos", "ab"),
        ("path:c.tar.gz", "c"),
        ("path:c.tar.gz/", ""),
        ("path:old/", "c"),
        ("path:\"c report.txt\"", "c"),
        ("size:>20000", "a"),
        ("size:>=20000", "ab"),
        ("size:2000", "c"),
        ("size:1k..20K", "bcd"),
        ("size:..2000", "c"),
        ("!size:<4k", "ab"),
        ("age:>1y", "a"),
        ("age:<1w", "abcd"),
        ("!age:>1y", "bcd"),
        ("age:2y..3y", "a"),
        ("copies:>2", "a"),
        ("copies:2", "bcd"),
        ("is:undecided", "abcd"),
        ("is:decided", ""),
        ("!is:left ext:png", "b"),
        ("photos !2019", "b"),
        ("photos !ext:jpg size:>1k", "b"),
    ] {
        assert_eq!(found(&shelf, text), groups, "{text}");
    }
}

#[test]
fn words_match_anywhere_in_an_absolute_path() {
    let shelf = Shelf::new(&files());
    let path = String::from_utf8(shelf.path("Photos/2020/b.png")).expect("text");
    assert_eq!(found(&shelf, &path), "b");
    assert_eq!(found(&shelf, &path[1..path.len() - 1]), "b");
    assert_eq!(found(&shelf, &format!("path:{path}")), "b");
    assert_eq!(found(&shelf, &format!("path:{}", &path[1..])), "b");
}

#[test]
fn files_in_the_root_directory_can_be_found() {
    let shelf = Shelf::new(&[copies(1, &["//x-one", "a/x-two"])]);
    for (text, count) in [("/x-one", 1), ("path:/x-one", 1), ("path:/x-two", 0), ("//x-one", 0)] {
        assert_eq!(shelf.review().select(&parsed(text), Sort::Path).len(), count, "{text}");
    }
}

#[test]
fn the_totals_follow_the_filter() {
    let shelf = Shelf::new(&files());
    let review = shelf.review();
    let totals = review.totals(&review.select(&parsed("photos"), Sort::Size));
    assert_eq!((totals.groups, totals.redundant_files, totals.reclaimable), (2, 3, 3 * 4096));
    assert_eq!((totals.decided, totals.left, totals.undecided), (0, 0, 2));
}

#[test]
fn equal_filters_have_one_canonical_text() {
    for (text, canonical) in [
        ("", ""),
        ("  b   A  a ", "a b"),
        ("!x SIZE:>1024k", "size:>1M !x"),
        ("size:10..", "size:>=10"),
        ("size:=7", "size:7"),
        ("age:>365d", "age:>1y"),
        ("age:..90s", "age:<=90s"),
        ("age:<2min", "age:<120s"),
        ("age:>6mo", "age:>6mo"),
        ("ext:PNG,.jpg,png", "ext:jpg,png"),
        ("type:video,IMAGE", "type:image,video"),
        ("\"path:x\"", "\"path:x\""),
        ("\"!x\"", "\"!x\""),
        ("12:30", "12:30"),
        ("a\" \"b", "\"a b\""),
        ("path:\"a b\"", "path:\"a b\""),
        ("path:[A-z]", "path:[A-z]"),
        ("is:Left", "is:left"),
    ] {
        let filter = parsed(text);
        assert_eq!(filter.to_string(), canonical, "{text}");
        assert_eq!(parsed(canonical), filter, "{text}");
    }
    assert_ne!(parsed("a"), parsed("!a"));
    assert_ne!(parsed("\"path:x\""), parsed("path:x"));
}

#[test]
fn texts_that_are_not_filters_are_rejected_with_the_term() {
    for (text, term, reason) in [
        ("ok color:red", "color:red", "the keys are path"),
        ("size:big", "size:big", "size:>10M"),
        ("size:2k..1k", "size:2k..1k", "range"),
        ("age:1y", "age:1y", "age:>1y"),
        ("copies:two", "copies:two", "copies:>2"),
        ("type:picture", "type:picture", "image, video"),
        ("ext:", "ext:", "ext:jpg,png"),
        ("ext:a,,b", "ext:a,,b", "commas"),
        ("is:void", "is:void", "undecided, decided or left"),
        ("name:[", "name:[", "not valid"),
        ("path:", "path:", "empty"),
        ("path:/", "path:/", "empty"),
        ("a \"b c", "\"b c", "quotation mark"),
        ("!", "!", "empty"),
        ("!!a", "!!a", "quotation marks"),
        ("\"\"", "\"\"", "empty"),
        ("path:{{{{{{{{{a", "path:{{{{{{{{{a", "too many braces"),
    ] {
        let error = Filter::parse(text).expect_err(text);
        assert_eq!(error.term, term);
        assert!(error.reason.contains(reason), "{error}");
    }
    let long = "a".repeat(MAX_LENGTH);
    assert!(Filter::parse(&long).is_ok());
    let error = Filter::parse(&format!("{long}a")).expect_err("too long");
    assert!(error.to_string().len() < 200, "{error}");
    let many = |count| (0..count).map(|n| n.to_string()).collect::<Vec<_>>().join(" ");
    assert!(Filter::parse(&many(MAX_TERMS)).is_ok());
    assert!(Filter::parse(&many(MAX_TERMS + 1)).is_err());
}
