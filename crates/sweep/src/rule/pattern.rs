//! Patterns for paths: a variable, followed by components.
//!
//! A pattern never contains `..`, empty components or absolute paths, so it cannot lead out of the
//! directory that its variable is bound to.

use std::fmt;

use crate::rule::glob::Glob;
use crate::rule::variable::Variable;

/// A pattern for paths.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    /// The directory that the components are relative to.
    pub base: Base,
    /// The components.
    pub components: Vec<Component>,
}

/// The start of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Base {
    /// Each directory that is bound to the variable.
    Variable(Variable),
    /// Every directory of the target.
    Anywhere,
}

/// A component of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Component {
    /// One path component that matches the glob, which may be literal.
    Name(Glob),
    /// Any number of directories, including none (`**`).
    AnyDepth,
}

/// A pattern that is malformed or could lead out of its base directory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// The pattern does not start with a variable or `**`.
    #[error("{0:?} does not start with a variable or **/")]
    NoBase(String),
    /// The variable is unknown.
    #[error("unknown variable {{{0}}}")]
    UnknownVariable(String),
    /// A component is malformed.
    #[error("{component:?} in {pattern:?} {why}")]
    Component {
        /// The pattern.
        pattern: String,
        /// The component.
        component: String,
        /// The defect.
        why: &'static str,
    },
    /// The alternatives in braces are malformed or too many.
    #[error("{0:?} has malformed braces, or more than {MAX_ALTERNATIVES} alternatives")]
    Braces(String),
    /// The pattern ends in `**`, or has no components where some are needed.
    #[error("{0:?} does not end in a name")]
    NoEnd(String),
}

/// The maximum number of patterns that the braces of one pattern may produce.
const MAX_ALTERNATIVES: usize = 256;

impl Pattern {
    /// Parses `{variable}/component/...` or `**/component/...`. Components are separated by `/`.
    /// Alternatives in braces, such as `{a,b}`, produce one pattern each.
    ///
    /// # Errors
    ///
    /// Fails if the pattern is malformed.
    pub fn parse(text: &str) -> Result<Vec<Pattern>, PatternError> {
        let (base, rest) = if let Some(rest) = text.strip_prefix("**/") {
            (Base::Anywhere, rest)
        } else {
            let no_base = || PatternError::NoBase(text.to_string());
            let (word, rest) =
                text.strip_prefix('{').and_then(|t| t.split_once('}')).ok_or_else(no_base)?;
            let unknown = || PatternError::UnknownVariable(word.to_string());
            let variable = Variable::of_word(word).ok_or_else(unknown)?;
            let rest =
                if rest.is_empty() { rest } else { rest.strip_prefix('/').ok_or_else(no_base)? };
            (Base::Variable(variable), rest)
        };
        if rest.is_empty() {
            return Ok(vec![Pattern { base, components: Vec::new() }]);
        }
        alternatives(rest)
            .ok_or_else(|| PatternError::Braces(text.to_string()))?
            .iter()
            .map(|path| Ok(Pattern { base, components: components(path)? }))
            .collect()
    }

    /// Returns the pattern with a component appended.
    #[must_use]
    pub fn join(&self, component: Component) -> Pattern {
        let mut components = Vec::with_capacity(self.components.len() + 1);
        components.extend_from_slice(&self.components);
        components.push(component);
        Pattern { base: self.base, components }
    }
}

/// Parses the components of a relative path, which are separated by `/`.
///
/// # Errors
///
/// Fails if a component is empty, `.` or `..`, or contains a control character, a backslash, a colon
/// or a brace.
pub fn components(path: &str) -> Result<Vec<Component>, PatternError> {
    path.split('/').map(|component| parse_component(path, component)).collect()
}

fn parse_component(pattern: &str, component: &str) -> Result<Component, PatternError> {
    let why = if component.is_empty() {
        "is empty"
    } else if matches!(component, "." | "..") {
        "leads to another directory"
    } else if component == "**" {
        return Ok(Component::AnyDepth);
    } else if component.contains("**") {
        "has ** beside other characters"
    } else if component.chars().any(char::is_control) {
        "contains a control character"
    } else if component.contains(['\\', ':', '{', '}']) {
        "contains a backslash, a colon or a brace"
    } else {
        return Ok(Component::Name(Glob::new(component.as_bytes())));
    };
    Err(PatternError::Component { pattern: pattern.into(), component: component.into(), why })
}

/// Expands braces. Returns `None` if they are malformed or produce too many patterns.
fn alternatives(text: &str) -> Option<Vec<String>> {
    let mut all = vec![String::new()];
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (inner, after) = after.split_once('}')?;
        let choices: Vec<&str> = inner.split(',').collect();
        if before.contains('}')
            || inner.contains('{')
            || all.len() * choices.len() > MAX_ALTERNATIVES
        {
            return None;
        }
        all = all
            .iter()
            .flat_map(|start| choices.iter().map(move |choice| format!("{start}{before}{choice}")))
            .collect();
        rest = after;
    }
    if rest.contains('}') {
        return None;
    }
    for start in &mut all {
        start.push_str(rest);
    }
    Some(all)
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.base {
            Base::Variable(variable) => variable.fmt(f)?,
            Base::Anywhere => f.write_str("**")?,
        }
        for component in &self.components {
            match component {
                Component::Name(glob) => write!(f, "/{glob}")?,
                Component::AnyDepth => f.write_str("/**")?,
            }
        }
        Ok(())
    }
}
