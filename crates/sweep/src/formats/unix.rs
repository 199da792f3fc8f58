//! Paths of rule files that follow `glob(7)`, as tmpfiles.d and `CleanerML` do.
//!
//! In `glob(7)`, a wildcard at the start of a component does not match hidden names. In a [`Glob`],
//! it does. Rules MUST keep the paths that [`hidden`] returns, or they would take too much.

use super::Dropped;
use crate::rule::glob::Glob;
use crate::rule::pattern::{Base, Component, Pattern};
use crate::rule::variable::Variable;

/// Parses a path below a variable. Slashes at both ends and repeated slashes are ignored.
pub(super) fn path(variable: Variable, below: &[&str], rest: &str) -> Result<Pattern, Dropped> {
    let parts = below.iter().copied().chain(rest.split('/').filter(|part| !part.is_empty()));
    let components = parts.map(|part| name(part).map(Component::Name)).collect::<Result<_, _>>()?;
    Ok(Pattern { base: Base::Variable(variable), components })
}

/// Parses a name or a pattern for a name.
pub(super) fn name(text: &str) -> Result<Glob, Dropped> {
    if text.contains(['[', ']']) {
        return Err(Dropped::Unsupported("character classes"));
    }
    if text.contains(['{', '}']) {
        return Err(Dropped::Unsupported("braces in a name"));
    }
    let is_unsafe = |char: char| char.is_control() || matches!(char, '/' | '\\' | ':');
    if matches!(text, "" | "." | "..") || text.contains(is_unsafe) {
        return Err(Dropped::UnsafePath);
    }
    Ok(Glob::new(text.as_bytes()))
}

/// Returns patterns for the paths that a pattern matches only because its wildcards also match
/// hidden names.
pub(super) fn hidden(pattern: &Pattern) -> Vec<Pattern> {
    let mut all = Vec::new();
    for (index, component) in pattern.components.iter().enumerate() {
        let Component::Name(glob) = component else { continue };
        let after_dot = match glob.text().first() {
            Some(b'*') => glob.text(),
            Some(b'?') => &glob.text()[1..],
            _ => continue,
        };
        // A lone `?` could match only `.`, and `?.` only `..`. Neither is ever listed.
        if matches!(after_dot, b"" | b".") {
            continue;
        }
        let mut hidden = pattern.clone();
        hidden.components[index] = Component::Name(Glob::new(&[b".", after_dot].concat()));
        all.push(hidden);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{hidden, path};
    use crate::formats::Dropped;
    use crate::rule::variable::Variable;

    #[test]
    fn wildcards_at_the_start_of_a_name_do_not_match_hidden_names() {
        let of = |text: &str| -> Vec<String> {
            let pattern = path(Variable::Root, &[], text).expect(text);
            hidden(&pattern).iter().map(ToString::to_string).collect()
        };
        assert_eq!(of("/tmp/a*"), [""; 0]);
        assert_eq!(of("/*/b/?c"), ["{root}/.*/b/?c", "{root}/*/b/.c"]);
        assert_eq!(of("?"), [""; 0]);
        assert_eq!(of("?."), [""; 0]);
    }

    #[test]
    fn unsafe_and_unknown_syntax_is_refused() {
        for text in ["a/..", "./a", "a:b", "a\\b", "a\u{7f}"] {
            assert_eq!(path(Variable::Root, &[], text), Err(Dropped::UnsafePath), "{text}");
        }
        for text in ["a[bc]", "a{b,c}"] {
            let parsed = path(Variable::Root, &[], text);
            assert!(matches!(parsed, Err(Dropped::Unsupported(_))), "{text}");
        }
        assert_eq!(
            path(Variable::Home, &[".x"], "//a//").expect("a path").to_string(),
            "{home}/.x/a"
        );
    }
}
