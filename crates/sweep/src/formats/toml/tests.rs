//! Tests of the TOML format.

use std::time::Duration;

use crate::formats::{Dropped, Format, FormatError, Loaded, parse};
use crate::rule::{Extent, Only, Risk, Rule};

fn load(text: &str) -> Loaded {
    parse(Format::Toml, text.as_bytes(), "rules.toml").expect("it parses")
}

/// Returns the only rule of a file that consists of a rule with these keys.
fn rule(keys: &str) -> Rule {
    let mut loaded = load(&with(keys));
    assert_eq!(loaded.dropped_entries, []);
    assert_eq!(loaded.rules.len(), 1);
    loaded.rules.remove(0)
}

fn dropped(keys: &str) -> Dropped {
    let mut loaded = load(&with(keys));
    assert_eq!(loaded.rules, [], "{keys}");
    assert_eq!(loaded.dropped.values().sum::<u64>(), 1);
    loaded.dropped_entries.remove(0).2
}

fn with(keys: &str) -> String {
    format!("format = 1\n[[rule]]\nid = \"x\"\nwhat = \"x\"\nrisk = \"costs\"\n{keys}\n")
}

fn takes(rule: &Rule) -> Vec<(String, Extent)> {
    rule.takes.iter().map(|take| (take.pattern.to_string(), take.extent)).collect()
}

fn keeps(rule: &Rule) -> Vec<String> {
    rule.keeps.iter().map(ToString::to_string).collect()
}

fn pairs(expected: &[(&str, Extent)]) -> Vec<(String, Extent)> {
    expected.iter().map(|&(pattern, extent)| (pattern.to_string(), extent)).collect()
}

#[test]
fn a_rule_with_every_key_is_read() {
    let rule = rule(
        r#"
        tags = ["browser", "cache"]
        at = ["{local}/A/*/{Cache,Code Cache}", "{cache}/b"]
        take = "deep-files"
        names = ["*.tmp", "f_*"]
        except = ["CACHEDIR.TAG"]
        older = "7d"
        larger = "2K"
        starts = ["D0CF11e0"]
        beside = ["Cargo.toml"]
        inside = ["a", { name = "CACHEDIR.TAG", starts-text = "Signature: " }]
        only = "empty-files"
        source = "https://example.org/"
        "#,
    );
    let mut expected = Vec::new();
    for at in ["{local}/A/*/Cache", "{local}/A/*/Code Cache", "{cache}/b"] {
        expected.push((format!("{at}/**/*.tmp"), Extent::Files));
        expected.push((format!("{at}/**/f_*"), Extent::Files));
    }
    assert_eq!(takes(&rule), expected);
    assert_eq!(keeps(&rule)[2], "{cache}/b/**/CACHEDIR.TAG");
    assert_eq!((rule.risk, rule.tags.len(), rule.source.line), (Risk::Costs, 2, 2));
    assert_eq!(rule.reference, "https://example.org/");
    assert_eq!(rule.source.file, "rules.toml");
    let conditions = rule.conditions;
    let age = conditions.older.expect("an age");
    assert_eq!(age.least, Duration::from_secs(7 * 86_400));
    assert!(!age.counts_access && !age.counts_birth);
    assert_eq!(conditions.larger, Some(2048));
    assert_eq!(conditions.starts, [[0xd0, 0xcf, 0x11, 0xe0]]);
    assert_eq!(conditions.beside[0].text(), b"Cargo.toml");
    assert_eq!(conditions.inside[0].starts, None);
    assert_eq!(conditions.inside[1].starts.as_deref(), Some(b"Signature: ".as_slice()));
    assert_eq!(conditions.only, Some(Only::EmptyFiles));
}

#[test]
fn take_decides_what_is_taken() {
    use Extent::{Emptied, Files, Tree};
    let at = "at = \"{temp}/a\"\n";
    let of = |more: &str| takes(&rule(&format!("{at}{more}")));
    assert_eq!(of(""), pairs(&[("{temp}/a/*", Tree)]));
    assert_eq!(of("take = \"contents\"\nnames = [\"b*\"]"), pairs(&[("{temp}/a/b*", Tree)]));
    assert_eq!(of("take = \"self\""), pairs(&[("{temp}/a", Tree)]));
    assert_eq!(of("take = \"files\""), pairs(&[("{temp}/a/*", Files)]));
    assert_eq!(of("take = \"deep-files\""), pairs(&[("{temp}/a/**/*", Files)]));
    assert_eq!(
        of("take = \"emptied\"\nnames = [\"*.log\"]"),
        pairs(&[("{temp}/a/**/*.log", Files), ("{temp}/a/**/*", Emptied)])
    );
    assert_eq!(of("take = \"empty-dirs\""), pairs(&[("{temp}/a", Emptied)]));
}

#[test]
fn rules_may_apply_anywhere() {
    let names = rule("anywhere = [\"Thumbs.db\"]\nexcept = [\"a\"]");
    assert_eq!(takes(&names), pairs(&[("**/Thumbs.db", Extent::Files)]));
    assert_eq!(keeps(&names), ["**/a"]);
    let dirs = rule("at = \"**/target\"\ntake = \"self\"\nexcept = [\"a\"]");
    assert_eq!(takes(&dirs), pairs(&[("**/target", Extent::Tree)]));
    assert_eq!(keeps(&dirs), ["**/target/**/a"]);
}

#[test]
fn an_exception_may_be_a_pattern() {
    let keys = "at = [\"{temp}/a\", \"{temp}/b\"]\nexcept = [\"x\", \"{root}/tmp/{c,d}\"]";
    let expected = ["{temp}/a/**/x", "{temp}/b/**/x", "{root}/tmp/c", "{root}/tmp/d"];
    assert_eq!(keeps(&rule(keys)), expected);
    let anywhere = rule("anywhere = [\"a\"]\nexcept = [\"{root}/usr\", \"x\"]");
    assert_eq!(keeps(&anywhere), ["{root}/usr", "**/x"]);
    assert!(matches!(
        dropped("at = \"{temp}\"\nexcept = [\"{nope}/a\"]"),
        Dropped::UnknownVariable(_)
    ));
}

#[test]
fn a_file_may_say_what_it_is_for() {
    assert_eq!(load("format = 1\nabout = \"junk\"\n").about, "junk");
    assert_eq!(load("format = 1\n").about, "");
}

#[test]
fn a_variable_may_stand_alone_unless_it_is_taken_itself() {
    assert_eq!(takes(&rule("at = \"{temp}\"")), pairs(&[("{temp}/*", Extent::Tree)]));
    assert!(matches!(dropped("at = \"{temp}\"\ntake = \"self\""), Dropped::Malformed(_)));
}

#[test]
fn a_malformed_rule_is_dropped_and_the_others_stay() {
    let text = format!(
        "{}\n[[rule]]\nid = \"bad\"\nwhat = \"\"\nrisk = \"costs\"\nat = \"{{temp}}/../x\"\n\n{}",
        with("at = \"{temp}\""),
        "# a comment\n[[rule]]\nid = \"y\"\nwhat = \"\"\nrisk = \"review\"\nat = \"{local}/b\"\n",
    );
    let loaded = load(&text);
    assert_eq!(loaded.rules.len(), 2);
    assert_eq!(loaded.dropped_entries.len(), 1);
    let (name, line, reason) = &loaded.dropped_entries[0];
    assert_eq!((name.as_str(), *line), ("bad", 8));
    assert!(reason.to_string().contains(".."), "{reason}");
    assert_eq!(loaded.rules[1].source.line, 15);
}

#[test]
fn mistakes_are_explained() {
    for (keys, part) in [
        ("at = \"{temp}\"\nolderr = \"1d\"", "olderr"),
        ("at = \"{nope}/a\"", "{nope}"),
        ("at = \"temp/a\"", "variable"),
        ("at = \"{local}/a/**\"", "end in a name"),
        ("at = \"**/\"", "end in a name"),
        ("at = \"{local}/a:b\"", "colon"),
        ("at = \"{local}/a\"\nnames = []", "names"),
        ("at = \"{local}/a\"\nnames = [\"b/c\"]", "single name"),
        ("at = \"{local}/a\"\nexcept = [\"**\"]", "single name"),
        ("at = \"{local}/a\"\nolder = \"7\"", "age"),
        ("at = \"{local}/a\"\nolder = \"99999999999999999999d\"", "age"),
        ("at = \"{local}/a\"\nlarger = \"1T\"", "size"),
        ("at = \"{local}/a\"\nstarts = [\"1\"]", "hexadecimal"),
        ("at = \"{local}/a\"\nstarts = [\"\"]", "hexadecimal"),
        ("at = \"{local}/a\"\ninside = [{ name = \"a\", text = \"\" }]", "starts-text"),
        ("at = \"{local}/a\"\ntake = \"all\"", "all"),
        ("at = \"{local}/a\"\ntake = \"self\"\nnames = [\"a\"]", "names"),
        ("at = \"{local}/a\"\nonly = \"old\"", "old"),
        ("at = 1", "list of strings"),
        ("at = []", "at or anywhere"),
        ("", "at or anywhere"),
        ("anywhere = [\"a\"]\nat = \"{temp}\"", "anywhere"),
        ("anywhere = [\"a/b\"]", "single name"),
    ] {
        let reason = dropped(keys).to_string();
        assert!(reason.contains(part), "{keys}: {reason}");
    }
    assert!(matches!(dropped("at = \"{nope}/a\""), Dropped::UnknownVariable(_)));
    let long = format!("at = \"{{local}}/{}\"", "a".repeat(4096));
    assert!(dropped(&long).to_string().contains("4096"));
}

#[test]
fn an_id_is_used_once_and_has_plain_characters() {
    let twice = format!("{}{}", with("at = \"{temp}\""), &with("at = \"{temp}\"")[10..]);
    let loaded = load(&twice);
    assert_eq!(loaded.rules.len(), 1);
    assert!(loaded.dropped_entries[0].2.to_string().contains("line 2"));
    for id in ["", "A", "a b", "ä"] {
        let text = with("at = \"{temp}\"").replace("id = \"x\"", &format!("id = \"{id}\""));
        assert_eq!(load(&text).rules, []);
    }
}

#[test]
fn a_syntax_error_reports_its_line() {
    for (text, expected) in [
        ("format = 1\n[[rule]]\nid = \"x\nwhat = 1\n", 3),
        ("format = 1\n\nrules = []\n", 3),
        ("format = 1\n\nrule = 1\n", 3),
        ("format = 2\n", 1),
        ("", 1),
    ] {
        match parse(Format::Toml, text.as_bytes(), "f") {
            Err(FormatError::Malformed { line, .. }) => assert_eq!(line, expected, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
    match parse(Format::Toml, b"format = 1\n# \xff\n", "f") {
        Err(e @ FormatError::Malformed { line: 2, .. }) => {
            assert_eq!(e.to_string(), "f:2: the file is not UTF-8");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn lists_that_multiply_beyond_the_limit_make_the_file_unusable() {
    let at = format!("\"{{local}}/{}\",", "{a,b}/".repeat(8) + "c").repeat(100);
    let names = "\"a\",".repeat(100);
    let text = with(&format!("at = [{at}]\nnames = [{names}]"));
    match parse(Format::Toml, text.as_bytes(), "f") {
        Err(FormatError::Malformed { line: 2, why, .. }) => assert!(why.contains("100000")),
        other => panic!("{:?}", other.map(|loaded| loaded.rules.len())),
    }
}
