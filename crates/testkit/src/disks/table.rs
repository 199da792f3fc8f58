//! Reads the tables of entries.
//!
//! A line that starts with `#` is a comment. Any other line is one of these rows. A path may
//! contain variables, as in `{local}/Temp`, and alternatives, as in `{a,b}.txt`; each combination
//! is an entry.
//!
//! | row | entry |
//! |---|---|
//! | `junk LABEL[,LABEL]: PATH` | [`What::Junk`] |
//! | `fresh LABEL[,LABEL]: PATH` | [`What::Junk`] that was modified just now |
//! | `like LABEL: PATH` | [`What::Lookalike`] |
//! | `precious: PATH` | [`What::Precious`] |
//! | `plain: PATH` | [`What::Plain`] |
//! | `link: PATH -> TARGET` | [`What::Plain`], a link |
//!
//! `<- CONTENT` after a path names the content of the file, which `contents` defines.

use super::{Entry, Node, What, contents};

/// Names and values of variables. A value may contain other variables.
pub(super) type Variables<'a> = [(&'a str, &'a str)];

/// Returns the entries of a table.
///
/// # Panics
///
/// Panics with the row if a row is wrong.
pub(super) fn entries(table: &'static str, variables: &Variables) -> Vec<Entry> {
    entries_below("", table, variables)
}

/// Returns the entries of a table with a prefix before each path. Targets of links have no prefix.
///
/// # Panics
///
/// Panics with the row if a row is wrong.
pub(super) fn entries_below(
    prefix: &str,
    table: &'static str,
    variables: &Variables,
) -> Vec<Entry> {
    let rows = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.flat_map(|row| entries_of(row, prefix, variables)).collect()
}

fn entries_of(row: &'static str, prefix: &str, variables: &Variables) -> Vec<Entry> {
    let (head, rest) = row.split_once(": ").unwrap_or_else(|| panic!("no colon: {row}"));
    let (kind, labels) = head.split_once(' ').unwrap_or((head, ""));
    let labels: Vec<&'static str> = labels.split_terminator(',').collect();
    let (what, is_fresh) = match (kind, &*labels) {
        ("junk", [_, ..]) => (What::Junk(labels), false),
        ("fresh", [_, ..]) => (What::Junk(labels), true),
        ("like", [label]) => (What::Lookalike(label), false),
        ("precious", []) => (What::Precious, false),
        ("plain" | "link", []) => (What::Plain, false),
        _ => panic!("not a row: {row}"),
    };
    let (pattern, target) = split(rest, " -> ");
    let (pattern, content) = split(pattern, " <- ");
    assert_eq!(kind == "link", target.is_some(), "a link has a target: {row}");
    let node = |path: &str| match target {
        Some(target) => Node::Link(with_values(target, variables)),
        None => Node::File(contents::named(content, path)),
    };
    let paths = alternatives(&with_values(pattern, variables)).into_iter();
    paths
        .map(|path| format!("{prefix}{path}"))
        .map(|path| Entry { node: node(&path), path, what: what.clone(), is_fresh })
        .collect()
}

fn split<'a>(text: &'a str, separator: &str) -> (&'a str, Option<&'a str>) {
    text.split_once(separator).map_or((text, None), |(left, right)| (left, Some(right)))
}

/// Returns `text` with the values of all variables.
pub(super) fn with_values(text: &str, variables: &Variables) -> String {
    let mut text = text.to_owned();
    while let Some((name, value)) =
        variables.iter().find(|(name, _)| text.contains(&format!("{{{name}}}")))
    {
        text = text.replace(&format!("{{{name}}}"), value);
    }
    text
}

/// Returns every combination of the alternatives in `pattern`.
fn alternatives(pattern: &str) -> Vec<String> {
    let Some(open) = pattern.find('{') else { return vec![pattern.to_owned()] };
    let (mut depth, mut starts, mut close) = (0, vec![open + 1], None);
    for (at, byte) in pattern.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b',' if depth == 1 => starts.push(at + 1),
            _ => {}
        }
        if depth == 0 {
            close = Some(at);
            break;
        }
    }
    let close = close.unwrap_or_else(|| panic!("no closing brace: {pattern}"));
    assert!(starts.len() > 1, "an unknown variable: {pattern}");
    let ends = starts.iter().skip(1).map(|start| start - 1).chain([close]);
    let middles = starts.iter().zip(ends).map(|(start, end)| &pattern[*start..end]);
    let (before, after) = (&pattern[..open], &pattern[close + 1..]);
    middles.flat_map(|middle| alternatives(&format!("{before}{middle}{after}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::{Entry, What, alternatives, entries};

    #[test]
    fn alternatives_are_combined() {
        assert_eq!(alternatives("a"), ["a"]);
        assert_eq!(
            alternatives("{a,b}/{c,d{e,f}}"),
            ["a/c", "a/de", "a/df", "b/c", "b/de", "b/df"]
        );
    }

    #[test]
    fn variables_may_contain_variables() {
        let made = entries("junk bins,nas: {x}/{a,b}\n# note\n", &[("x", "{y}/1"), ("y", "2")]);
        let paths: Vec<&Entry> = made.iter().collect();
        assert_eq!((&*paths[0].path, &*paths[1].path), ("2/1/a", "2/1/b"));
        assert_eq!(paths[1].what, What::Junk(vec!["bins", "nas"]));
    }

    #[test]
    #[should_panic(expected = "an unknown variable: {x}/a")]
    fn an_unknown_variable_is_an_error() {
        entries("plain: {x}/a", &[]);
    }

    #[test]
    #[should_panic(expected = "not a row: precious bins: a")]
    fn a_precious_entry_has_no_label() {
        entries("precious bins: a", &[]);
    }
}
