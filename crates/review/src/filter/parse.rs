//! Parses filters. The text may come from anywhere, so no text may make this code panic or recurse.

use crate::filter::bound::{self, Bound};
use crate::filter::pattern::{compile, compile_path};
use crate::filter::types::Type;
use crate::filter::{Condition, DecisionState, Filter, FilterError, MAX_LENGTH, MAX_TERMS, Term};

/// Maximum number of braces that may be open at once in a pattern.
const MAX_BRACES: usize = 8;
/// Number of characters of a term that an error repeats.
const MAX_SHOWN: usize = 60;

/// A term, split into its parts.
#[derive(Debug, Default)]
struct Token {
    /// The term as typed.
    typed: String,
    /// Number of `!` before the term.
    negations: usize,
    /// The term without quotes and negation.
    text: String,
    /// The length of the key, if the term has one.
    key: Option<usize>,
    /// Whether some of the text was quoted.
    is_quoted: bool,
}

pub(super) fn filter(text: &str) -> Result<Filter, FilterError> {
    if text.len() > MAX_LENGTH {
        let reason = format!("a filter may have at most {MAX_LENGTH} bytes");
        return Err(error(text, reason));
    }
    let tokens = tokens(text)?;
    if let Some(token) = tokens.get(MAX_TERMS) {
        return Err(token.error(format!("a filter may have at most {MAX_TERMS} terms")));
    }
    let mut terms = Vec::new();
    for token in tokens {
        if token.negations > 1 {
            return Err(token.error("put the term into quotation marks to search for !"));
        }
        let condition = condition(&token)?;
        terms.push(Term { condition, is_negated: token.negations == 1 });
    }
    terms.sort();
    terms.dedup();
    Ok(Filter { terms })
}

/// Returns whether a term without quotes would be understood as a key and a value.
pub(super) fn has_key(text: &str) -> bool {
    text.split_once(':').is_some_and(|(key, _)| is_key(key))
}

fn is_key(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphabetic())
}

fn error(term: &str, reason: impl Into<String>) -> FilterError {
    let end = term.char_indices().nth(MAX_SHOWN).map(|(end, _)| end);
    let term = end.map_or_else(|| term.into(), |end| format!("{}...", &term[..end]));
    FilterError { term, reason: reason.into() }
}

impl Token {
    fn error(&self, reason: impl Into<String>) -> FilterError {
        error(&self.typed, reason)
    }

    /// Adds a character outside of quotes.
    fn push(&mut self, character: char) {
        if character == '!' && self.text.is_empty() && !self.is_quoted {
            self.negations += 1;
            return;
        }
        if character == ':' && self.key.is_none() && !self.is_quoted && is_key(&self.text) {
            self.key = Some(self.text.len());
        }
        self.text.push(character);
    }
}

/// Splits a filter at white space outside quotes. In quotes, `""` stands for one quotation mark.
fn tokens(text: &str) -> Result<Vec<Token>, FilterError> {
    let (mut tokens, mut token, mut in_quotes) = (Vec::new(), Token::default(), false);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if !in_quotes && character.is_ascii_whitespace() {
            if !token.typed.is_empty() {
                tokens.push(std::mem::take(&mut token));
            }
            continue;
        }
        token.typed.push(character);
        match character {
            '"' if in_quotes && characters.next_if_eq(&'"').is_some() => {
                token.typed.push('"');
                token.text.push('"');
            }
            '"' => {
                in_quotes = !in_quotes;
                token.is_quoted = true;
            }
            _ if in_quotes => token.text.push(character),
            _ => token.push(character),
        }
    }
    if in_quotes {
        return Err(token.error("the closing quotation mark is missing"));
    }
    if !token.typed.is_empty() {
        tokens.push(token);
    }
    Ok(tokens)
}

fn condition(token: &Token) -> Result<Condition, FilterError> {
    let Some(end) = token.key else {
        return match token.text.as_str() {
            "" => Err(token.error("the term is empty")),
            word => Ok(Condition::Word(word.to_ascii_lowercase())),
        };
    };
    let (key, value) = (token.text[..end].to_ascii_lowercase(), &token.text[end + 1..]);
    let none = |reason: &str| token.error(reason);
    match key.as_str() {
        "path" | "name" => {
            check_pattern(&key, value).map_err(|reason| token.error(reason))?;
            let pattern = value.to_owned();
            Ok(if key == "path" { Condition::Path(pattern) } else { Condition::Name(pattern) })
        }
        "ext" => extensions(value).map(Condition::Ext).ok_or_else(|| {
            none("takes extensions separated by commas, as in ext:jpg,png")
        }),
        "type" => types(value).map(Condition::Type).ok_or_else(|| {
            let all = Type::ALL.map(Type::word).join(", ");
            none(&format!("takes some of {all}, separated by commas"))
        }),
        "size" => Bound::parse(value, bound::size).map(Condition::Size).ok_or_else(|| {
            none("takes a comparison or a range in bytes, K, M, G or T, as in size:>10M or size:4K..1G")
        }),
        "age" => age(value).map(Condition::Age).ok_or_else(|| {
            let units = runtime::age::UNITS;
            none(&format!(
                "takes a comparison or a range in {units}, as in age:>1y or age:30d..1y"
            ))
        }),
        "copies" => Bound::parse(value, bound::count)
            .map(Condition::Copies)
            .ok_or_else(|| none("takes a comparison or a range, as in copies:>2 or copies:2..5")),
        "is" => {
            let found = DecisionState::ALL.into_iter().find(|is| is.word().eq_ignore_ascii_case(value));
            found
                .map(Condition::Is)
                .ok_or_else(|| none("takes undecided, decided or left"))
        }
        _ => Err(none(
            "the keys are path, name, ext, type, size, age, copies and is; put the term into quotation marks to \
             search for it in paths",
        )),
    }
}

/// Parses a comparison of ages. No file is exactly one year old, so a sign is required.
fn age(text: &str) -> Option<Bound> {
    Bound::parse(text, bound::age).filter(|bound| !matches!(bound, Bound::Exactly(_)))
}

fn extensions(text: &str) -> Option<Vec<String>> {
    let all = text.split(',').map(|one| one.strip_prefix('.').unwrap_or(one));
    let mut all: Vec<String> = all.map(str::to_ascii_lowercase).collect();
    all.sort();
    all.dedup();
    all.iter().all(|one| !one.is_empty() && !one.starts_with('.')).then_some(all)
}

fn types(text: &str) -> Option<Vec<Type>> {
    let find = |one: &str| Type::ALL.into_iter().find(|kind| kind.word().eq_ignore_ascii_case(one));
    let mut all = text.split(',').map(find).collect::<Option<Vec<Type>>>()?;
    all.sort_unstable();
    all.dedup();
    Some(all)
}

/// Checks that a pattern can be compiled. `globset` recurses into braces, so their depth is limited.
fn check_pattern(key: &str, text: &str) -> Result<(), String> {
    if text.trim_matches('/').is_empty() {
        return Err("the pattern is empty".into());
    }
    let mut open = 0_usize;
    for byte in text.bytes() {
        match byte {
            b'{' => open += 1,
            b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        if open > MAX_BRACES {
            return Err("the pattern has too many braces inside each other".into());
        }
    }
    let compiled = if key == "path" { compile_path(text) } else { compile(text) };
    compiled.map(drop).map_err(|error| format!("the pattern is not valid: {}", error.kind()))
}
