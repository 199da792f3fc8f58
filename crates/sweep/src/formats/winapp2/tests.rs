//! Tests of the winapp2.ini format.

use proptest::prelude::*;

use crate::formats::{Dropped, Format, Loaded, parse};
use crate::rule::pattern::Pattern;
use crate::rule::{Extent, Risk, Rule};

fn load(text: &str) -> Loaded {
    parse(Format::Winapp2, text.as_bytes(), "w.ini").expect("it parses")
}

fn rule(keys: &str) -> Rule {
    let mut loaded = load(&format!("[Entry *]\n{keys}\n"));
    assert_eq!(loaded.dropped_entries, [], "{keys}");
    loaded.rules.remove(0)
}

fn dropped(keys: &str) -> Dropped {
    let mut loaded = load(&format!("[Entry *]\n{keys}\n"));
    assert_eq!(loaded.rules, [], "{keys}");
    loaded.dropped_entries.remove(0).2
}

fn takes(keys: &str) -> Vec<(String, Extent)> {
    rule(keys).takes.iter().map(|take| (take.pattern.to_string(), take.extent)).collect()
}

/// Returns what an entry keeps that also takes something.
fn keeps(keys: &str) -> Vec<String> {
    let rule = rule(&format!("FileKey1=%AppData%\\x|*\n{keys}"));
    rule.keeps.iter().map(ToString::to_string).collect()
}

fn pairs(expected: &[(&str, Extent)]) -> Vec<(String, Extent)> {
    expected.iter().map(|&(pattern, extent)| (pattern.to_string(), extent)).collect()
}

#[test]
fn a_file_key_takes_files_of_one_directory() {
    use Extent::Files;
    let of = |value: &str| takes(&format!("FileKey1={value}"));
    let all = pairs(&[("{roaming}/A/*", Files)]);
    for value in
        [r"%AppData%\A|*", r"%AppData%\A\|*.*", r"%AppData%\A", r"%AppData%\A|", r"%AppData%\A||"]
    {
        assert_eq!(of(value), all, "{value}");
    }
    assert_eq!(
        of(r"%AppData%\A?\b*|*.log;x y.tmp;"),
        pairs(&[("{roaming}/A?/b*/*.log", Files), ("{roaming}/A?/b*/x y.tmp", Files)])
    );
}

#[test]
fn recurse_takes_files_at_any_depth() {
    assert_eq!(
        takes(r"FileKey1=%AppData%\A|*.*|recurse"),
        pairs(&[("{roaming}/A/**/*", Extent::Files)])
    );
}

#[test]
fn removeself_takes_the_directory_only_if_every_name_is_taken() {
    use Extent::{Emptied, Files, Tree};
    assert_eq!(takes(r"FileKey1=%AppData%\A|*.*|REMOVESELF"), pairs(&[("{roaming}/A", Tree)]));
    assert_eq!(takes(r"FileKey1=%AppData%\A|a;*|REMOVESELF"), pairs(&[("{roaming}/A", Tree)]));
    assert_eq!(
        takes(r"FileKey1=%AppData%\A|*.log;*.tmp|REMOVESELF"),
        pairs(&[
            ("{roaming}/A/**/*.log", Files),
            ("{roaming}/A/**/*.tmp", Files),
            ("{roaming}/A/**/*", Emptied),
            ("{roaming}/A", Emptied),
        ])
    );
}

#[test]
fn removeself_never_takes_the_directory_of_a_variable() {
    assert_eq!(takes(r"FileKey1=%Temp%|*|REMOVESELF"), pairs(&[("{temp}/*", Extent::Tree)]));
    assert_eq!(
        takes(r"FileKey1=%LocalAppData%\Microsoft\Windows\INetCache|*|REMOVESELF"),
        pairs(&[("{inetcache}/*", Extent::Tree)])
    );
}

#[test]
fn an_exclude_key_keeps_names_of_a_directory_or_a_whole_subtree() {
    assert_eq!(keeps(r"ExcludeKey1=FILE|%AppData%\x\|a.db"), ["{roaming}/x/a.db"]);
    assert_eq!(keeps(r"ExcludeKey1=FILE|%AppData%\x\a.db"), ["{roaming}/x/a.db"]);
    assert_eq!(keeps(r"ExcludeKey1=PATH|%AppData%\x\|*.*"), ["{roaming}/x"]);
    assert_eq!(keeps(r"ExcludeKey1=path|%AppData%\x"), ["{roaming}/x"]);
    assert_eq!(
        keeps(r"ExcludeKey1=PATH|%AppData%\x\|a;b.dat"),
        ["{roaming}/x/**/a", "{roaming}/x/**/b.dat"]
    );
}

#[test]
fn an_exclude_key_keeps_whatever_windows_would_match() {
    assert_eq!(keeps(r"ExcludeKey1=FILE|%AppData%\x|a?.*"), ["{roaming}/x/a*.*", "{roaming}/x/a*"]);
    assert_eq!(keeps(r"ExcludeKey1=FILE|%AppData%\x|{a}"), ["{roaming}/x/?a?"]);
}

#[test]
fn an_exclusion_that_cannot_be_expressed_drops_the_entry() {
    for value in [
        r"FILE|%Nope%\a|b",
        r"FILE|C:\a|b",
        r"FILE|%AppData%\..\a|b",
        r"FILE|%AppData%\a|b\c",
        "FILE",
        "",
        r"FILE|%AppData%\a|b.",
        r"FILE|%AppData%\a |b",
        r"PATH|%AppData%\a|;",
        r"TREE|%AppData%\a|b",
        r"FILE|%AppData%\%UserName%|b",
    ] {
        let keys = format!("FileKey1=%AppData%\\x|*\nExcludeKey1={value}");
        assert_eq!(dropped(&keys), Dropped::Exclusion, "{value}");
    }
}

#[test]
fn a_path_that_cannot_be_expressed_drops_the_whole_entry() {
    let with =
        |value: &str| format!("FileKey1=%AppData%\\x|*\nFileKey2={value}\nFileKey3=%AppData%\\y|*");
    for value in
        [r"C:\a|*", r"%AppData%\..\a|*", r"\\host\a|*", "|*", r"%AppData%\a|..", r"%AppData%\a|b\c"]
    {
        assert_eq!(dropped(&with(value)), Dropped::UnsafePath, "{value}");
    }
    for value in [r"%Nope%\a|*", r"%AppData%\%UserName%|*"] {
        assert!(matches!(dropped(&with(value)), Dropped::UnknownVariable(_)), "{value}");
    }
    for value in [r"%AppData%\a|*|RECURS", r"%AppData%\a|*|RECURSE|x", r"%AppData%\{a}|*"] {
        assert!(matches!(dropped(&with(value)), Dropped::Unsupported(_)), "{value}");
    }
    assert!(matches!(dropped("FileKey1=%AppData%\\x|*\nExcluedKey1=a"), Dropped::Unsupported(_)));
    for line in ["nonsense", r"FileKey2=%AppData%\a|;"] {
        let keys = format!("FileKey1=%AppData%\\x|*\n{line}");
        assert!(matches!(dropped(&keys), Dropped::Malformed(_)), "{line}");
    }
}

#[test]
fn a_variable_that_spells_like_a_longer_one_is_not_confused() {
    assert_eq!(takes(r"FileKey1=%LocalAppData%Low\A|*")[0].0, "{locallow}/A/*");
    assert_eq!(dropped(r"FileKey1=%LocalAppData%Lower\A|*"), Dropped::UnsafePath);
}

#[test]
fn localized_paths_become_variables() {
    let path = r"FileKey1=%UserProfile%\Lokale Einstellungen\Anwendungsdaten\A|*.log";
    assert_eq!(takes(path)[0].0, "{local}/A/*.log");
}

#[test]
fn every_entry_is_a_rule_or_is_reported() {
    let loaded = load(
        "; comment\r\nversion=1\r\n[One *]\r\nLangSecRef=3029\r\nDetect=HKCU\\x\r\n\
         FileKey1=%AppData%\\a|*\r\nRegKey1=HKCU\\x\r\n\r\n[Two]\r\nRegKey1=HKCU\\x\r\n[Three\r\n\
         [One *]\r\nSection=My Games\r\nWarning=careful\r\nDefault=False\r\nExcludeKey1=REG|HKCU\\y\r\n\
         FileKey1=%AppData%\\b|*\r\n",
    );
    let ids: Vec<&str> = loaded.rules.iter().map(|rule| rule.id.as_str()).collect();
    assert_eq!(ids, ["w2.one", "w2.one.2"]);
    assert_eq!(loaded.rules[0].tags, ["chrome"]);
    assert_eq!(loaded.rules[0].what, "One");
    assert_eq!(loaded.rules[1].tags, ["my.games"]);
    assert_eq!(
        loaded.rules.iter().map(|rule| rule.risk).collect::<Vec<_>>(),
        [Risk::Regenerates, Risk::Review]
    );
    assert_eq!(loaded.rules.iter().map(|rule| rule.source.line).collect::<Vec<_>>(), [3, 12]);
    assert_eq!(loaded.dropped_entries[0], ("Two".to_string(), 9, Dropped::NothingToTake));
    assert!(matches!(loaded.dropped_entries[1], (_, 11, Dropped::Malformed(_))));
    assert_eq!(loaded.skipped_parts["registry keys"], 2);
    assert_eq!(loaded.skipped_parts["registry exclusions"], 1);
    assert_eq!(loaded.skipped_parts["lines before the first section"], 1);
}

/// Lines that are close to valid ones.
fn line() -> impl Strategy<Value = String> {
    let part = || {
        prop_oneof![
            Just("%AppData%".to_string()),
            Just("%UserProfile%\\AppData\\Local".to_string()),
            Just("%SystemDrive%\\Users\\*".to_string()),
            "[a-c*?.{}%:;\\\\/ ü]{0,6}",
        ]
    };
    let option = prop_oneof![Just(""), Just("|RECURSE"), Just("|REMOVESELF"), Just("|x")];
    prop_oneof![
        (part(), part(), part(), option)
            .prop_map(|(a, b, c, o)| format!("FileKey1={a}\\{b}|{c}{o}")),
        (part(), part()).prop_map(|(a, b)| format!("ExcludeKey1=PATH|{a}|{b}")),
        (part(), part()).prop_map(|(a, b)| format!("ExcludeKey1=FILE|{a}\\{b}")),
        "\\[[a-z *]{0,4}\\]",
        "\\PC{0,20}",
    ]
}

proptest! {
    #[test]
    fn random_text_neither_panics_nor_loses_entries(lines in proptest::collection::vec(line(), 0..40)) {
        let text = lines.join("\n");
        let loaded = load(&text);
        let sections = text.lines().filter(|line| line.trim().starts_with('[')).count();
        prop_assert_eq!(loaded.rules.len() + loaded.dropped_entries.len(), sections);
        prop_assert_eq!(loaded.dropped.values().sum::<u64>(), loaded.dropped_entries.len() as u64);
        for rule in &loaded.rules {
            for pattern in rule.takes.iter().map(|take| &take.pattern).chain(&rule.keeps) {
                prop_assert_eq!(&Pattern::parse(&pattern.to_string()), &Ok(vec![pattern.clone()]));
            }
        }
    }
}
