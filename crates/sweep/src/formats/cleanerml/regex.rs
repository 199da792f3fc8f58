//! Converts regular expressions for names to globs that match exactly the same names.

use crate::rule::glob::Glob;

/// Returns the glob for a regular expression that is searched for in a name. Returns `None` if
/// there is no such glob. Classes, groups, alternatives and most quantifiers have none.
pub(super) fn glob_of(regex: &str) -> Option<Glob> {
    let (is_start, body) = match regex.strip_prefix('^') {
        Some(body) => (true, body),
        None => (false, regex),
    };
    let mut glob = String::from(if is_start { "" } else { "*" });
    let mut is_end = false;
    let mut chars = body.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '$' if chars.peek().is_none() => is_end = true,
            '.' => match chars.peek() {
                Some('*') => {
                    chars.next();
                    glob.push('*');
                }
                Some('+') => {
                    chars.next();
                    glob.push_str("?*");
                }
                _ => glob.push('?'),
            },
            '\\' => {
                let escaped = chars.next().filter(char::is_ascii_punctuation)?;
                push_literal(escaped, &mut glob)?;
            }
            '$' | '^' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|' => return None,
            literal => push_literal(literal, &mut glob)?,
        }
        // A quantifier of the character, such as `a+`. `.*?` has the same matches as `.*` in a
        // search, but is rare enough to leave out.
        if matches!(chars.peek(), Some('*' | '+' | '?' | '{')) {
            return None;
        }
    }
    if !is_end {
        glob.push('*');
    }
    Some(Glob::new(glob.as_bytes())).filter(|glob| !glob.text().is_empty())
}

/// Appends a character that matches only itself. Returns `None` if no pattern can contain it.
fn push_literal(char: char, glob: &mut String) -> Option<()> {
    if char.is_control() || matches!(char, '*' | '?' | '/' | '\\' | ':' | '{' | '}') {
        return None;
    }
    glob.push(char);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::glob_of;

    #[test]
    fn simple_expressions_become_globs() {
        for (regex, expected) in [
            ("^abc$", "abc"),
            ("^Thumbs\\.db$", "Thumbs.db"),
            ("\\.tmp$", "*.tmp"),
            ("^abc", "abc*"),
            ("abc", "*abc*"),
            ("^a.*z$", "a*z"),
            ("^a.c.+$", "a?c?*"),
            ("^.*$", "*"),
            ("", "*"),
        ] {
            let glob = glob_of(regex).map(|glob| glob.to_string());
            assert_eq!(glob.as_deref(), Some(expected), "{regex}");
        }
    }

    #[test]
    fn other_expressions_have_no_glob() {
        for regex in [
            "^$", "[ab]", "a|b", "(a)", "a+", "a*", "a?", "a{2}", "\\d", "a$b", "a^", "\\*", "a/b",
            ".*?", "..*+", "(?i)a", "\\", "x\\.db:y", ".?",
        ] {
            assert_eq!(glob_of(regex), None, "{regex}");
        }
    }
}
