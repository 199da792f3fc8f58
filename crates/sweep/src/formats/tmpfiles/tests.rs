//! Tests of the tmpfiles.d format.

use std::time::Duration;

use crate::formats::{Dropped, Format, FormatError, Loaded, parse};
use crate::rule::{Extent, Risk, Rule};

fn load(text: &str) -> Loaded {
    parse(Format::Tmpfiles, text.as_bytes(), "tmp.conf").expect("it parses")
}

fn rules(text: &str) -> Vec<Rule> {
    let loaded = load(text);
    assert_eq!(loaded.dropped_entries, [], "{text}");
    loaded.rules
}

fn dropped(text: &str) -> Dropped {
    let mut loaded = load(text);
    assert_eq!(loaded.rules, [], "{text}");
    loaded.dropped_entries.remove(0).2
}

fn take(text: &str) -> (String, Extent) {
    let rule = rules(text).remove(0);
    assert_eq!(rule.takes.len(), 1);
    (rule.takes[0].pattern.to_string(), rule.takes[0].extent)
}

fn keeps(rule: &Rule) -> Vec<String> {
    rule.keeps.iter().map(ToString::to_string).collect()
}

#[test]
fn lines_with_an_age_take_the_contents() {
    for kind in ["d", "D", "e", "q", "Q", "v", "C", "d-", "D=", "e$"] {
        let text = format!("{kind} /var/tmp/a 0755 root root 10d");
        assert_eq!(take(&text), ("{root}/var/tmp/a/*".to_string(), Extent::Tree), "{kind}");
        let rule = rules(&text).remove(0);
        let age = rule.conditions.older.expect("an age");
        assert_eq!(age.least, Duration::from_secs(864_000));
        assert!(age.counts_access && age.counts_birth);
        assert_eq!((rule.id.as_str(), rule.risk), ("tmpfiles.var.tmp.a", Risk::Regenerates));
    }
    let first_level = take("e /var/tmp/a - - - ~10d");
    assert_eq!(first_level, ("{root}/var/tmp/a/*/*".to_string(), Extent::Tree));
}

#[test]
fn lines_without_an_age_are_for_review() {
    assert_eq!(take("r /a/b*"), ("{root}/a/b*".to_string(), Extent::Files));
    assert_eq!(take("R /a/b"), ("{root}/a/b".to_string(), Extent::Tree));
    for text in ["r /a/b", "R /a/b", "e /a/b - - - 0"] {
        assert_eq!(rules(text)[0].risk, Risk::Review, "{text}");
    }
}

#[test]
fn every_rule_keeps_all_excluded_paths() {
    let rules = rules(
        "x /tmp/systemd-private-%b-*\nX /tmp/a[bc]/d\nq /tmp - - - 10d\nq /var/tmp - - - 30d\nx /var\n",
    );
    assert_eq!(keeps(&rules[0]), ["{root}/tmp/systemd-private-*-*", "{root}/tmp/a*/d"]);
    assert_eq!(keeps(&rules[1]), ["{root}/var"]);
    assert_eq!((rules[0].source.line, rules[1].source.line), (3, 4));
}

#[test]
fn a_rule_keeps_the_paths_of_other_lines_below_its_own() {
    let rules = rules("d /tmp - - - 10d\nd /tmp/a - - - 1d\nf /tmp/b\nL /opt/c\n");
    assert_eq!(keeps(&rules[0]), ["{root}/tmp/a", "{root}/tmp/b"]);
    assert_eq!(keeps(&rules[1]), [""; 0]);
}

#[test]
fn paths_below_another_variable_are_always_kept() {
    assert_eq!(keeps(&rules("e %h/.x - - - 1d\nx /home/a\n")[0]), ["{root}/home/a"]);
}

#[test]
fn wildcards_do_not_take_hidden_names() {
    assert_eq!(keeps(&rules("e /tmp/*/a - - - 1d")[0]), ["{root}/tmp/.*/a"]);
}

#[test]
fn an_exclusion_that_cannot_be_expressed_drops_every_rule() {
    for line in ["x /tmp/a\\x20b", "x %t/a", "X /tmp/{a/b,c}", "x /tmp/%%", "x", "x \"/tmp", "d a"]
    {
        let loaded = load(&format!("d /tmp - - - 10d\n{line}\nd /var/tmp - - - 30d"));
        assert_eq!(loaded.rules, [], "{line}");
        assert!(loaded.dropped[&Dropped::Exclusion] == 2, "{line}");
    }
}

#[test]
fn lines_that_cannot_be_expressed_are_dropped() {
    for text in [
        "d /a/b* - - - 1d",
        "e /a/[bc] - - - 1d",
        "e /a/{b,c} - - - 1d",
        "e /a - - - 1.5h",
        "e /a - - - soon",
        "R! /a/b",
        "D! /a - - - 10d",
        "u /a - - - 1d",
        "d? /a - - - 1d",
        "dd /a - - - 1d",
        "r /a\\x20b",
    ] {
        assert!(matches!(dropped(text), Dropped::Unsupported(_)), "{text}");
    }
    for text in ["R /", "R a", "R", "e /a/../b - - - 1d", "e %h - - - 1d"] {
        assert_eq!(dropped(text), Dropped::UnsafePath, "{text}");
    }
    assert_eq!(dropped("e %t/a - - - 1d"), Dropped::UnknownVariable("%t".to_string()));
}

#[test]
fn every_line_is_a_rule_or_is_counted() {
    let text = "# comment\n\nd /a - - - 1d\nd /b\nd /c - - - -\nf /d\nL+ /e\nx /f\nR! /g\n\
                e /tmp/x/a - - - \"1w 2d\"\ne \"/tmp/x a\" - - - 1h30m\n";
    let loaded = load(text);
    let ids: Vec<&str> = loaded.rules.iter().map(|rule| rule.id.as_str()).collect();
    assert_eq!(ids, ["tmpfiles.a", "tmpfiles.tmp.x.a", "tmpfiles.tmp.x.a.2"]);
    let skipped: u64 = loaded.skipped_parts.values().sum();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).count();
    assert_eq!(
        loaded.rules.len() as u64 + skipped + loaded.dropped_entries.len() as u64,
        lines as u64
    );
    assert_eq!(loaded.skipped_parts["directories without an age"], 2);
    assert_eq!(loaded.skipped_parts["lines that remove nothing"], 2);
    assert_eq!(loaded.skipped_parts["exclusions"], 1);
    assert_eq!(loaded.dropped_entries[0].1, 9);
}

#[test]
fn a_file_with_too_many_lines_is_refused() {
    let text = "R /a/b\n".repeat(3000);
    let parsed = parse(Format::Tmpfiles, text.as_bytes(), "f");
    assert!(matches!(parsed, Err(FormatError::Malformed { .. })));
}
