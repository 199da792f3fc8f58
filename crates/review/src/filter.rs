//! The language of filters: which groups a page shows, and which groups a decision is about.
//!
//! A filter is a list of terms, and a group must meet all of them. A term such as `ext:jpg` holds if
//! some file of the group matches, and `!ext:jpg` holds if no file does. Matching ignores the case of
//! ASCII letters.
//!
//! Filters are stored in the catalog as text. A later version of lop must therefore give each text
//! the same meaning, and a filter must display as text that parses to an equal filter.

mod bound;
mod needle;
mod parse;
mod pattern;
pub(crate) mod search;
mod test;
mod types;
mod verdict;

use std::fmt;

pub use self::needle::Needle;

use crate::filter::bound::Bound;
use crate::filter::types::Type;
use crate::status::Status;

/// Maximum length of a filter in bytes.
pub const MAX_LENGTH: usize = 4096;
/// Maximum number of terms in a filter.
pub const MAX_TERMS: usize = 64;

/// Selects groups. The default filter selects all groups.
///
/// Two filters are equal if they consist of the same terms in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Sorted, without repetitions.
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Term {
    condition: Condition,
    is_negated: bool,
}

/// The condition of a term, on a group or on one of its files. All texts except patterns are lower case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Condition {
    /// The state of the group's decision.
    Is(DecisionState),
    /// The size of its files in bytes.
    Size(Bound),
    /// Number of its files.
    Copies(Bound),
    /// The seconds since a file was modified.
    Age(Bound),
    /// The types of files, by extension.
    Type(Vec<Type>),
    /// The extensions of file names.
    Ext(Vec<String>),
    /// A pattern for file names.
    Name(String),
    /// A pattern for the path of a file or of a directory above it.
    Path(String),
    /// A part of the path.
    Word(String),
}

/// The values of `is:`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum DecisionState {
    Undecided,
    Decided,
    Left,
}

/// The reason why a text is not a filter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{term}: {reason}")]
pub struct FilterError {
    /// The term at fault as typed. If it is too long, its beginning.
    pub term: String,
    /// The mistake, and the texts that are allowed. It follows the term in the message.
    pub reason: String,
}

impl Filter {
    /// Parses a filter. Empty text or white space selects all groups.
    ///
    /// # Errors
    ///
    /// Fails if a term is not understood, and if the text has more than [`MAX_LENGTH`] bytes or
    /// [`MAX_TERMS`] terms.
    pub fn parse(text: &str) -> Result<Filter, FilterError> {
        parse::filter(text)
    }

    /// Returns the text of the term that holds for files at or below a path. Returns `None` if the language cannot
    /// express the path.
    pub fn term_below(path: &[u8]) -> Option<String> {
        let mut term = String::from("path:\"");
        for letter in std::str::from_utf8(path).ok()?.chars() {
            match letter {
                '*' | '?' | '[' | '{' => term.extend(['[', letter, ']']),
                ']' | '}' | '\\' => return None,
                '"' => term.push_str("\"\""),
                letter => term.push(letter),
            }
        }
        term.push('"');
        Some(term)
    }

    /// Returns whether the filter selects all groups.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Returns whether the filter depends on decisions. Such a filter cannot be the scope of a
    /// decision.
    pub fn asks_decisions(&self) -> bool {
        self.terms.iter().any(|term| matches!(term.condition, Condition::Is(_)))
    }
}

impl DecisionState {
    const ALL: [DecisionState; 3] =
        [DecisionState::Undecided, DecisionState::Decided, DecisionState::Left];

    fn word(self) -> &'static str {
        match self {
            DecisionState::Undecided => "undecided",
            DecisionState::Decided => "decided",
            DecisionState::Left => "left",
        }
    }

    fn holds(self, status: Status) -> bool {
        match self {
            DecisionState::Undecided => matches!(status, Status::Undecided | Status::Void),
            DecisionState::Decided => status == Status::Decided,
            DecisionState::Left => status == Status::Left,
        }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, term) in self.terms.iter().enumerate() {
            if number > 0 {
                f.write_str(" ")?;
            }
            write!(f, "{}{}", if term.is_negated { "!" } else { "" }, term.condition)?;
        }
        Ok(())
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key, value) = match self {
            Condition::Is(decided) => ("is:", decided.word().into()),
            Condition::Size(bound) => ("size:", bound.to_text(bound::size_text)),
            Condition::Copies(bound) => ("copies:", bound.to_text(|number| number.to_string())),
            Condition::Age(bound) => ("age:", bound.to_text(bound::age_text)),
            Condition::Type(types) => {
                ("type:", types.iter().map(|kind| kind.word()).collect::<Vec<_>>().join(","))
            }
            Condition::Ext(extensions) => ("ext:", extensions.join(",")),
            Condition::Name(pattern) => ("name:", pattern.clone()),
            Condition::Path(pattern) => ("path:", pattern.clone()),
            Condition::Word(word) => ("", word.clone()),
        };
        let is_plain = !value.contains(|c: char| c.is_ascii_whitespace() || c == '"');
        let is_safe = !key.is_empty() || !(value.starts_with('!') || parse::has_key(&value));
        if is_plain && is_safe {
            write!(f, "{key}{value}")
        } else {
            write!(f, "{key}\"{}\"", value.replace('"', "\"\""))
        }
    }
}
