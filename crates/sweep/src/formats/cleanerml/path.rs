//! Paths of `CleanerML`: the variables of the file, of Windows and of Unix, for each system.
//!
//! An action may apply to several systems. A path that cannot exist on a system is skipped there,
//! so the rule takes less. A path that is unsafe or contains an unknown variable drops the option.

use std::collections::HashMap;

use super::xml::{Systems, Value};
use crate::formats::spelling::{self, Use};
use crate::formats::{Dropped, unix};
use crate::rule::pattern::Pattern;
use crate::rule::variable::Variable;

/// The maximum number of values that the variables of one path may have together.
const MAX_COMBINATIONS: usize = 256;

/// Variables of the Unix environment, and what they stand for.
const UNIX: &[(&str, Variable, &[&str])] = &[
    ("HOME", Variable::Home, &[]),
    ("XDG_CACHE_HOME", Variable::Cache, &[]),
    ("XDG_CONFIG_HOME", Variable::Config, &[]),
    ("XDG_DATA_HOME", Variable::Data, &[]),
    ("XDG_STATE_HOME", Variable::Home, &[".local", "state"]),
    ("TMPDIR", Variable::Temp, &[]),
];

/// A path after the variables of the file were replaced by one value each.
#[derive(Clone, Debug)]
pub(super) struct Expanded {
    pub(super) text: String,
    /// The systems on which the values apply.
    pub(super) systems: Systems,
    /// Whether a part of the path contains `*` or `?` as literal characters.
    pub(super) has_literal_wildcard: bool,
}

/// Replaces each `$$name$$` by each of its values. `is_glob` tells whether the text itself is a
/// glob.
pub(super) fn expand(
    text: &str,
    systems: Systems,
    is_glob: bool,
    variables: &HashMap<String, Vec<Value>>,
) -> Result<Vec<Expanded>, Dropped> {
    let mut parts = text.split("$$");
    let start = parts.next().unwrap_or_default();
    let is_wild = |part: &str| !is_glob && part.contains(['*', '?']);
    let has_literal_wildcard = is_wild(start);
    let mut all = vec![Expanded { text: start.to_string(), systems, has_literal_wildcard }];
    while let Some(name) = parts.next() {
        let after = parts.next().ok_or(Dropped::UnsafePath)?;
        let built_in = [Value::built_in(name)];
        let values = match variables.get(name) {
            Some(values) => values.as_slice(),
            None if name == "ProgramFiles" => built_in.as_slice(),
            None => return Err(Dropped::UnknownVariable(shown(&format!("$${name}$$")))),
        };
        if all.len().saturating_mul(values.len()) > MAX_COMBINATIONS {
            return Err(Dropped::Unsupported("more than 256 combinations of values"));
        }
        let with = |start: &Expanded, value: &Value| Expanded {
            text: format!("{}{}{after}", start.text, value.text),
            systems: start.systems.and(value.systems),
            has_literal_wildcard: start.has_literal_wildcard
                || is_wild(after)
                || !value.is_glob && value.text.contains(['*', '?']),
        };
        all = all.iter().flat_map(|start| values.iter().map(|value| with(start, value))).collect();
        all.retain(|expanded| !expanded.systems.is_none());
    }
    Ok(all)
}

/// Returns the pattern for a path, or `None` if the path cannot exist on these systems.
pub(super) fn resolve(text: &str, systems: Systems) -> Result<Option<Pattern>, Dropped> {
    if let Some(rest) = text.strip_prefix('~') {
        if !matches!(rest.chars().next(), None | Some('/' | '\\')) {
            return Err(Dropped::UnsafePath);
        }
        let is_windows = systems == Systems::WINDOWS || rest.contains('\\');
        return if is_windows {
            windows("UserProfile", rest, systems)
        } else {
            unix(Variable::Home, &[], rest)
        };
    }
    if let Some(rest) = text.strip_prefix('%') {
        let (name, rest) = rest.split_once('%').ok_or(Dropped::UnsafePath)?;
        return windows(name, rest, systems);
    }
    if let Some(rest) = text.strip_prefix('$') {
        let is_end = |char: char| !char.is_ascii_alphanumeric() && char != '_';
        let (name, rest) = if let Some(rest) = rest.strip_prefix('{') {
            rest.split_once('}').ok_or(Dropped::UnsafePath)?
        } else {
            rest.split_at(rest.find(is_end).unwrap_or(rest.len()))
        };
        return match UNIX.iter().find(|(known, ..)| *known == name) {
            Some((_, variable, below)) if systems.has_unix() && !rest.contains('\\') => {
                unix(*variable, below, rest)
            }
            Some(_) => Ok(None),
            None => windows(name, rest, systems),
        };
    }
    match text.strip_prefix('/') {
        Some(_) if !systems.has_unix() || text.contains('\\') => Ok(None),
        Some(rest) => unix(Variable::Root, &[], rest),
        None => Err(Dropped::UnsafePath),
    }
}

fn unix(variable: Variable, below: &[&str], rest: &str) -> Result<Option<Pattern>, Dropped> {
    if rest.contains(['$', '%']) {
        return Err(Dropped::UnknownVariable(shown(rest)));
    }
    if !rest.is_empty() && !rest.starts_with('/') && variable != Variable::Root {
        return Err(Dropped::UnsafePath);
    }
    unix::path(variable, below, rest).map(Some)
}

fn windows(name: &str, rest: &str, systems: Systems) -> Result<Option<Pattern>, Dropped> {
    if spelling::environment(name).is_none() || rest.contains('$') {
        return Err(Dropped::UnknownVariable(shown(&format!("%{name}%"))));
    }
    if !systems.has(Systems::WINDOWS) {
        return Ok(None);
    }
    if rest.contains(['[', ']']) {
        return Err(Dropped::Unsupported("character classes"));
    }
    let is_separator = |char: char| matches!(char, '/' | '\\');
    let mut path = format!("%{name}%");
    if rest.chars().next().is_some_and(|char| !is_separator(char)) {
        return Err(Dropped::UnsafePath);
    }
    for part in rest.split(is_separator).filter(|part| !part.is_empty()) {
        path.push('\\');
        path.push_str(part);
    }
    Ok(Some(spelling::taken(spelling::written(&path, Use::Taken)?)))
}

/// Returns a text for a message, shortened.
fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::super::xml::Systems;
    use super::resolve;
    use crate::formats::Dropped;

    #[test]
    fn the_variable_and_the_system_decide_the_layout() {
        use Systems as S;
        for (text, systems, expected) in [
            ("~/.x/y/", S::ALL, Some("{home}/.x/y")),
            ("~\\x", S::ALL, Some("{profile}/x")),
            ("~/AppData/Local/x", S::WINDOWS, Some("{local}/x")),
            ("$XDG_CACHE_HOME/x", S::ALL, Some("{cache}/x")),
            ("$XDG_CACHE_HOME/x", S::WINDOWS, None),
            ("${XDG_CONFIG_HOME}/x", S::LINUX, Some("{config}/x")),
            ("$XDG_STATE_HOME/x", S::LINUX, Some("{home}/.local/state/x")),
            ("$XDG_DATA_HOME/x\\y", S::LINUX, None),
            ("%LocalAppData%\\x/y", S::ALL, Some("{local}/x/y")),
            ("%LocalAppData%\\x", S::LINUX, None),
            ("$LOCALAPPDATA\\\\x\\", S::ALL, Some("{local}/x")),
            ("$TMP/x", S::WINDOWS, Some("{temp}/x")),
            ("/var/x", S::LINUX, Some("{root}/var/x")),
            ("/var/x", S::WINDOWS, None),
        ] {
            let pattern = resolve(text, systems).expect(text).map(|pattern| pattern.to_string());
            assert_eq!(pattern.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn other_paths_drop_the_option() {
        for text in
            ["", "x", "~x/y", "%x", "${x", "C:\\x", "~/../x", "$HOMEx/y", "%Temp%x", "~/a:b"]
        {
            let result = resolve(text, Systems::ALL);
            let is_unsafe =
                matches!(result, Err(Dropped::UnsafePath | Dropped::UnknownVariable(_)));
            assert!(is_unsafe, "{text}: {result:?}");
        }
        for text in ["$NOPE/x", "%Nope%/x", "~/$x", "~/%x%", "%Temp%/$x", "$$x"] {
            let result = resolve(text, Systems::ALL);
            assert!(matches!(result, Err(Dropped::UnknownVariable(_))), "{text}: {result:?}");
        }
    }
}
