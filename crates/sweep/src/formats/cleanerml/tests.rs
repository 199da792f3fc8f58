//! Tests of the `CleanerML` format.

use crate::formats::{Dropped, Format, FormatError, Loaded, parse};
use crate::rule::{Extent, Risk, Rule};

fn load(options: &str) -> Loaded {
    let text = format!(
        "<?xml version=\"1.0\"?>\n<cleaner id=\"app\"><label>App</label>\n\
         <var name=\"base\"><value os=\"windows\">%LocalAppData%\\App</value>\n\
         <value os=\"linux\">~/.app</value><value os=\"freebsd\">~/.app</value></var>\n\
         <var name=\"each\"><value search=\"glob\">~/p*</value></var>\n\
         <var name=\"star\"><value>~/p*</value></var>\n{options}\n</cleaner>\n"
    );
    parse(Format::CleanerMl, text.as_bytes(), "app.xml").expect("it parses")
}

fn option(actions: &str) -> Loaded {
    load(&format!("<option id=\"o\"><label>O</label>{actions}</option>"))
}

fn rule(attributes: &str) -> Rule {
    let mut loaded = option(&format!("<action command=\"delete\" {attributes}/>"));
    assert_eq!(loaded.dropped_entries, [], "{attributes}");
    loaded.rules.remove(0)
}

fn dropped(attributes: &str) -> Dropped {
    let mut loaded = option(&format!("<action {attributes}/>"));
    assert_eq!(loaded.rules, [], "{attributes}");
    loaded.dropped_entries.remove(0).2
}

fn takes(attributes: &str) -> Vec<(String, Extent)> {
    rule(attributes).takes.iter().map(|take| (take.pattern.to_string(), take.extent)).collect()
}

fn keeps(attributes: &str) -> Vec<String> {
    rule(attributes).keeps.iter().map(ToString::to_string).collect()
}

fn pairs(expected: &[(&str, Extent)]) -> Vec<(String, Extent)> {
    expected.iter().map(|&(pattern, extent)| (pattern.to_string(), extent)).collect()
}

#[test]
fn each_search_takes_its_files() {
    use Extent::{Emptied, Files, Tree};
    let both = |pattern| pairs(&[(pattern, Files), (pattern, Emptied)]);
    assert_eq!(takes(r#"search="file" path="~/.a/b""#), both("{home}/.a/b"));
    assert_eq!(takes(r#"search="glob" path="~/.a/b*.log""#), both("{home}/.a/b*.log"));
    assert_eq!(
        takes(r#"search="glob" path="~/.a/b*" type="f""#),
        pairs(&[("{home}/.a/b*", Files)])
    );
    assert_eq!(
        takes(r#"search="glob" path="~/.a/b*" type="d""#),
        pairs(&[("{home}/.a/b*", Emptied)])
    );
    assert_eq!(takes(r#"search="walk.files" path="~/.a/""#), pairs(&[("{home}/.a/**/*", Files)]));
    assert_eq!(takes(r#"search="walk.all" path="~/.a""#), pairs(&[("{home}/.a/*", Tree)]));
    assert_eq!(
        takes(r#"search="walk.all" path="~/.a" type="f""#),
        pairs(&[("{home}/.a/**/*", Files)])
    );
    assert_eq!(takes(r#"search="walk.top" path="~/.a""#), pairs(&[("{home}/.a", Tree)]));
    assert_eq!(takes(r#"search="walk.top" path="$TMPDIR""#), pairs(&[("{temp}/*", Tree)]));
}

#[test]
fn simple_regular_expressions_select_names() {
    use Extent::{Emptied, Files};
    assert_eq!(
        takes(r#"search="walk.files" path="~/.a" regex="\.tmp$""#),
        pairs(&[("{home}/.a/**/*.tmp", Files)])
    );
    assert_eq!(
        takes(r#"search="walk.all" path="~/.a" regex="^x""#),
        pairs(&[("{home}/.a/**/x*", Files), ("{home}/.a/**/x*", Emptied)])
    );
    assert_eq!(
        takes(r#"search="glob" path="~/.a/*" regex="^x$" type="f""#),
        pairs(&[("{home}/.a/x", Files)])
    );
    assert_eq!(keeps(r#"search="walk.all" path="~/.a" nregex="^x""#), ["{home}/.a/**/x*"]);
    assert_eq!(keeps(r#"search="glob" path="~/.a/b*" nregex="^bx""#), ["{home}/.a/bx*"]);
}

#[test]
fn wildcards_do_not_take_hidden_names() {
    assert_eq!(keeps(r#"search="walk.all" path="~/*/x/*y""#), ["{home}/.*/x/*y", "{home}/*/x/.*y"]);
}

#[test]
fn each_system_has_its_values() {
    assert_eq!(
        takes(r#"search="walk.all" path="$$base$$/Cache""#),
        pairs(&[("{local}/App/Cache/*", Extent::Tree), ("{home}/.app/Cache/*", Extent::Tree)])
    );
    assert_eq!(
        takes(r#"search="walk.all" path="$$base$$\Cache\""#),
        pairs(&[("{local}/App/Cache/*", Extent::Tree)])
    );
    assert_eq!(
        takes(r#"search="walk.all" path="$$base$$/Cache" os="unix""#),
        pairs(&[("{home}/.app/Cache/*", Extent::Tree)])
    );
    assert_eq!(
        takes(r#"search="walk.all" path="$$ProgramFiles$$\App""#),
        pairs(&[("{programfiles}/App/*", Extent::Tree)])
    );
    assert_eq!(takes(r#"search="file" path="$$each$$/x""#)[0].0, "{home}/p*/x");
}

#[test]
fn an_option_that_does_anything_else_is_dropped() {
    for (attributes, expected) in [
        (
            "command=\"sqlite.vacuum\" search=\"file\" path=\"~/.a\"",
            Dropped::Unsupported("sqlite.vacuum"),
        ),
        ("command=\"rm\" path=\"~/.a\"", Dropped::Unsupported("an unknown command")),
        ("path=\"~/.a\"", Dropped::Unsupported("an unknown command")),
    ] {
        assert_eq!(dropped(attributes), expected);
    }
    let two = "<action command=\"delete\" search=\"file\" path=\"~/.a\"/><action command=\"winreg\" path=\"HKCU\"/>";
    let loaded = option(two);
    assert_eq!((loaded.rules.len(), loaded.dropped[&Dropped::Unsupported("winreg")]), (0, 1));
    let loaded = option("<action command=\"delete\" search=\"file\" path=\"~/.a\"/><except/>");
    assert_eq!((loaded.rules.len(), loaded.dropped.len()), (0, 1));
}

#[test]
fn an_action_that_cannot_be_expressed_drops_the_option() {
    let of = |more: &str| dropped(&format!("command=\"delete\" {more}"));
    for more in [
        r#"search="deep" path="~""#,
        r#"path="~/.a""#,
        r#"search="file" path="~/.a*""#,
        r#"search="file" path="$$star$$/x""#,
        r#"search="glob" path="~/.a[bc]""#,
        r#"search="glob" path="%Temp%/a[bc]""#,
        r#"search="walk.all" path="~/.a" regex="[bc]""#,
        r#"search="walk.all" path="~/.a" wholeregex="b""#,
        r#"search="walk.top" path="~/.a" type="f""#,
        r#"search="walk.all" path="~/.a" type="x""#,
        r#"search="walk.all" path="~/.a" limit="1""#,
        r#"search="glob" path="~/.a/b*" regex="^c""#,
    ] {
        assert!(matches!(of(more), Dropped::Unsupported(_)), "{more}");
    }
    for more in [r#"nregex="[bc]""#, r#"nwholeregex="b""#] {
        assert_eq!(of(&format!("search=\"walk.all\" path=\"~/.a\" {more}")), Dropped::Exclusion);
    }
    for path in ["", "~/../a", "C:\\a", "a", "~", "~/a:b"] {
        assert_eq!(of(&format!("search=\"file\" path=\"{path}\"")), Dropped::UnsafePath, "{path}");
    }
    for path in ["$$nope$$/a", "$NOPE/a", "~/$HOME", "%Nope%\\a", "~/%Temp%"] {
        let reason = of(&format!("search=\"file\" path=\"{path}\""));
        assert!(matches!(reason, Dropped::UnknownVariable(_)), "{path}: {reason}");
    }
}

#[test]
fn every_option_is_a_rule_or_is_reported() {
    let loaded = load(
        "<option id=\"my_cache\"><label>A &amp; B</label><warning>slow</warning>\n\
         <action command=\"delete\" search=\"file\" path=\"~/.&#97;\"/></option>\n\
         <option id=\"my_cache\"><action command=\"delete\" search=\"file\" path=\"~/.b\"/></option>\n\
         <option id=\"bsd\"><action os=\"bsd\" command=\"delete\" search=\"file\" path=\"~/.b\"/></option>\n\
         <option id=\"none\"/>",
    );
    let ids: Vec<&str> = loaded.rules.iter().map(|rule| rule.id.as_str()).collect();
    assert_eq!(ids, ["app.my_cache", "app.my_cache.2"]);
    assert_eq!((loaded.rules[0].what.as_str(), loaded.rules[0].risk), ("App: A & B", Risk::Review));
    assert_eq!(loaded.rules[0].takes[0].pattern.to_string(), "{home}/.a");
    assert_eq!((loaded.rules[1].what.as_str(), loaded.rules[1].risk), ("App", Risk::Regenerates));
    assert_eq!((loaded.rules[0].source.line, loaded.rules[1].source.line), (7, 9));
    assert_eq!(loaded.dropped[&Dropped::NothingToTake], 2);
    assert_eq!(loaded.skipped_parts["actions for other systems"], 1);
}

#[test]
fn malformed_xml_and_document_types_are_refused() {
    for (text, line) in [
        ("<!DOCTYPE cleaner [<!ENTITY a \"b\">]>\n<cleaner id=\"a\"/>", 1),
        ("<cleaner id=\"a\">\n<option></cleaner>", 2),
        ("<cleaner id=\"a\">\n<label>&nope;</label></cleaner>", 2),
        ("<cleaner id=\"a\">\n", 2),
        ("<cleaner id=\"a\" id=\"b\"/>", 1),
        ("<a/>", 1),
        ("", 1),
        ("<cleaner id=\"a\"/>\n<cleaner id=\"b\"/>", 2),
        ("<cleaner id=\"a\">\n<action/></cleaner>", 2),
        ("<cleaner id=\"a\">\n<label><option/></label></cleaner>", 2),
    ] {
        match parse(Format::CleanerMl, text.as_bytes(), "f") {
            Err(FormatError::Malformed { line: found, .. }) => assert_eq!(found, line, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn values_that_multiply_beyond_the_limit_drop_the_option() {
    let values = "<value>~/.a</value>".repeat(17);
    let loaded = load(&format!(
        "<var name=\"m\">{values}</var><option id=\"o\">\
         <action command=\"delete\" search=\"file\" path=\"$$m$$/$$m$$\"/></option>"
    ));
    assert!(matches!(loaded.dropped_entries[0].2, Dropped::Unsupported(_)));
}
