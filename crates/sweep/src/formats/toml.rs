//! The rule format of lop, a TOML file with one `[[rule]]` table per rule.
//!
//! A rule with an unknown key, an unknown variable or a malformed pattern is dropped, and the other
//! rules of the file stay. A file with a syntax error produces no rules.

use std::collections::HashMap;

use ::toml::{Spanned, Table};
use runtime::age;
use serde::Deserialize;

use super::limits::{Budget, Exceeded, Lines, MAX_PATTERN_BYTES, Stop, or_dropped};
use super::{Defect, Dropped, Loaded};
use crate::rule::glob::Glob;
use crate::rule::pattern::{self, Base, Component, Pattern, PatternError};
use crate::rule::{Age, Conditions, Extent, Marker, Only, Risk, Rule, Source, Take};

/// A rule file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    format: u32,
    #[serde(default)]
    about: String,
    #[serde(default)]
    rule: Vec<Spanned<Table>>,
}

/// A `[[rule]]` table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    id: String,
    what: String,
    risk: Risk,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    at: OneOrMany,
    take: Option<Word>,
    names: Option<Vec<String>>,
    #[serde(default)]
    except: Vec<String>,
    older: Option<String>,
    larger: Option<String>,
    #[serde(default)]
    anywhere: Vec<String>,
    #[serde(default)]
    starts: Vec<String>,
    #[serde(default)]
    beside: Vec<String>,
    #[serde(default)]
    inside: Vec<WrittenMarker>,
    #[serde(default)]
    untracked: bool,
    only: Option<Only>,
    #[serde(default)]
    source: String,
}

/// A string, or a list of strings.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a string or a list of strings")]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl Default for OneOrMany {
    fn default() -> OneOrMany {
        OneOrMany::Many(Vec::new())
    }
}

impl OneOrMany {
    fn as_slice(&self) -> &[String] {
        match self {
            OneOrMany::One(one) => std::slice::from_ref(one),
            OneOrMany::Many(many) => many,
        }
    }
}

/// The values of `take`.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Word {
    Contents,
    #[serde(rename = "self")]
    Itself,
    Files,
    DeepFiles,
    Emptied,
    EmptyDirs,
}

/// An element of `inside`.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a name, or a table with name and starts-text")]
enum WrittenMarker {
    Name(String),
    Starts(MarkerTable),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct MarkerTable {
    name: String,
    starts_text: String,
}

/// Parses a rule file.
pub(super) fn parse(text: &str, file: &str) -> Result<Loaded, Defect> {
    let document: Document = ::toml::from_str(text).map_err(|e| {
        let offset = e.span().map_or(0, |span| span.start);
        (Lines::new(text.as_bytes()).at(offset), e.message().to_string())
    })?;
    if document.format != 1 {
        return Err((
            1,
            format!("format {} is unknown; this version of lop reads format 1", document.format),
        ));
    }
    let mut loaded = Loaded { about: document.about, ..Loaded::default() };
    let mut budget = Budget::default();
    let mut lines = Lines::new(text.as_bytes());
    let mut known: HashMap<String, u32> = HashMap::new();
    for table in document.rule {
        let line = lines.at(table.span().start);
        let exceeded = |exceeded: Exceeded| (line, exceeded.to_string());
        budget.rule().map_err(exceeded)?;
        let table = table.into_inner();
        let id = table.get("id").and_then(|id| id.as_str());
        let name = id.unwrap_or("a rule without id").to_string();
        let source = Source { file: file.to_string(), line, is_shipped: false };
        let rule = or_dropped(convert(table, source, &mut budget)).map_err(exceeded)?;
        let rule = rule.and_then(|rule| match known.get(&rule.id) {
            Some(first) => Err(malformed(format!("the rule on line {first} has the same id"))),
            None => Ok(rule),
        });
        if let Ok(rule) = &rule {
            known.insert(rule.id.clone(), line);
        }
        loaded.add(&name, line, rule);
    }
    Ok(loaded)
}

fn malformed(why: impl Into<String>) -> Dropped {
    Dropped::Malformed(why.into())
}

fn convert(table: Table, source: Source, budget: &mut Budget) -> Result<Rule, Stop> {
    let written: Written =
        table.try_into().map_err(|e: ::toml::de::Error| malformed(e.message()))?;
    let is_id_byte = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b);
    if written.id.is_empty() || !written.id.bytes().all(is_id_byte) {
        let why = "an id may contain only a-z, 0-9, dots, hyphens and underscores";
        return Err(malformed(why).into());
    }
    let (takes, keeps) = if written.anywhere.is_empty() {
        below(&written, budget)?
    } else {
        anywhere(&written, budget)?
    };
    let conditions = conditions(&written)?;
    let Written { id, what, risk, tags, source: reference, .. } = written;
    Ok(Rule { id, what, risk, tags, takes, keeps, conditions, reference, source })
}

type Patterns = (Vec<Take>, Vec<Pattern>);

/// Converts `anywhere` and `except`.
fn anywhere(written: &Written, budget: &mut Budget) -> Result<Patterns, Stop> {
    if !written.at.as_slice().is_empty() || written.take.is_some() || written.names.is_some() {
        return Err(malformed("anywhere cannot be combined with at, take or names").into());
    }
    let top = Pattern { base: Base::Anywhere, components: Vec::new() };
    let mut takes = Vec::new();
    for name in &written.anywhere {
        let pattern = budget.pattern(top.join(Component::Name(glob(name)?)))?;
        takes.push(Take { pattern, extent: Extent::Files });
    }
    let keeps = keeps(&written.except, &[top], budget)?;
    Ok((takes, keeps))
}

/// Converts `at`, `take`, `names` and `except`.
fn below(written: &Written, budget: &mut Budget) -> Result<Patterns, Stop> {
    if written.at.as_slice().is_empty() {
        return Err(malformed("the key at or anywhere is missing").into());
    }
    let word = written.take.unwrap_or(Word::Contents);
    if matches!(word, Word::Itself | Word::EmptyDirs) && written.names.is_some() {
        let why = "names cannot be combined with take = \"self\" or \"empty-dirs\"";
        return Err(malformed(why).into());
    }
    let names = match &written.names {
        Some(names) if names.is_empty() => return Err(malformed("the list names is empty").into()),
        Some(names) => names.iter().map(|name| glob(name)).collect::<Result<_, _>>()?,
        None => vec![Glob::new(b"*")],
    };
    let (mut takes, mut deep) = (Vec::new(), Vec::new());
    for at in written.at.as_slice() {
        for at in parse_at(at)? {
            if matches!(word, Word::Itself | Word::EmptyDirs) && at.components.is_empty() {
                let why = format!("{at} has no name after the variable; use take = \"contents\"");
                return Err(malformed(why).into());
            }
            take(&at, word, &names, &mut takes, budget)?;
            // With `empty-dirs`, a name in `except` can be that of the directory itself.
            let mut base = at;
            if word == Word::EmptyDirs {
                base.components.pop();
            }
            deep.push(base.join(Component::AnyDepth));
        }
    }
    let keeps = keeps(&written.except, &deep, budget)?;
    Ok((takes, keeps))
}

/// Converts `except`. An element is a name at any depth below the directories of the rule, or a
/// pattern that begins with a variable.
fn keeps(except: &[String], below: &[Pattern], budget: &mut Budget) -> Result<Vec<Pattern>, Stop> {
    let mut keeps = Vec::new();
    for kept in except {
        if kept.starts_with('{') {
            for pattern in parse_at(kept)? {
                keeps.push(budget.pattern(pattern)?);
            }
            continue;
        }
        let name = glob(kept)?;
        for base in below {
            keeps.push(budget.pattern(base.join(Component::Name(name.clone())))?);
        }
    }
    Ok(keeps)
}

/// Appends what a rule takes at `at`.
fn take(
    at: &Pattern,
    word: Word,
    names: &[Glob],
    takes: &mut Vec<Take>,
    budget: &mut Budget,
) -> Result<(), Exceeded> {
    let deep = at.join(Component::AnyDepth);
    let (base, extent) = match word {
        Word::Itself | Word::EmptyDirs => {
            let extent = if word == Word::Itself { Extent::Tree } else { Extent::Emptied };
            takes.push(Take { pattern: budget.pattern(at.clone())?, extent });
            return Ok(());
        }
        Word::Contents => (at, Extent::Tree),
        Word::Files => (at, Extent::Files),
        Word::DeepFiles | Word::Emptied => (&deep, Extent::Files),
    };
    for name in names {
        let pattern = budget.pattern(base.join(Component::Name(name.clone())))?;
        takes.push(Take { pattern, extent });
    }
    if word == Word::Emptied {
        let pattern = budget.pattern(deep.join(Component::Name(Glob::new(b"*"))))?;
        takes.push(Take { pattern, extent: Extent::Emptied });
    }
    Ok(())
}

fn parse_at(at: &str) -> Result<Vec<Pattern>, Dropped> {
    check_length(at)?;
    let patterns = Pattern::parse(at).map_err(|e| match e {
        PatternError::UnknownVariable(name) => Dropped::UnknownVariable(format!("{{{name}}}")),
        e => malformed(e.to_string()),
    })?;
    let is_open = |p: &Pattern| match p.components.last() {
        Some(last) => *last == Component::AnyDepth,
        None => p.base == Base::Anywhere,
    };
    if patterns.iter().any(is_open) {
        return Err(malformed(PatternError::NoEnd(at.to_string()).to_string()));
    }
    Ok(patterns)
}

fn check_length(text: &str) -> Result<(), Dropped> {
    if text.len() > MAX_PATTERN_BYTES {
        return Err(malformed(format!("a pattern is longer than {MAX_PATTERN_BYTES} bytes")));
    }
    Ok(())
}

/// Parses a pattern for a single name.
fn glob(name: &str) -> Result<Glob, Dropped> {
    check_length(name)?;
    let components = pattern::components(name).map_err(|e| malformed(e.to_string()))?;
    match <[Component; 1]>::try_from(components) {
        Ok([Component::Name(glob)]) => Ok(glob),
        _ => Err(malformed(format!("{name:?} is not a pattern for a single name"))),
    }
}

fn conditions(written: &Written) -> Result<Conditions, Dropped> {
    let age = |text: &String| {
        let least = age::parse(text).ok_or_else(|| {
            malformed(format!("{text:?} is not an age in {}, such as 7d", age::UNITS))
        })?;
        Ok(Age { least, counts_access: false, counts_birth: false })
    };
    let size = |text: &String| {
        bytes(text).ok_or_else(|| malformed(format!("{text:?} is not a size like 100 or 10M")))
    };
    let start = |text: &String| {
        hex(text).ok_or_else(|| malformed(format!("{text:?} is not a hexadecimal byte string")))
    };
    let marker = |marker: &WrittenMarker| {
        Ok(match marker {
            WrittenMarker::Name(name) => Marker { name: glob(name)?, starts: None },
            WrittenMarker::Starts(MarkerTable { name, starts_text }) => {
                check_length(starts_text)?;
                Marker { name: glob(name)?, starts: Some(starts_text.as_bytes().to_vec()) }
            }
        })
    };
    Ok(Conditions {
        older: written.older.as_ref().map(age).transpose()?,
        larger: written.larger.as_ref().map(size).transpose()?,
        starts: written.starts.iter().map(start).collect::<Result<_, _>>()?,
        beside: written.beside.iter().map(|name| glob(name)).collect::<Result<_, _>>()?,
        inside: written.inside.iter().map(marker).collect::<Result<_, Dropped>>()?,
        untracked: written.untracked,
        only: written.only,
    })
}

/// Splits a text after its leading digits.
fn number(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|char: char| !char.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = number(text)?;
    let unit = match unit {
        "" => 1,
        "K" | "KiB" => 1 << 10,
        "M" | "MiB" => 1 << 20,
        "G" | "GiB" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(unit)
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if digits.is_empty() || !digits.len().is_multiple_of(2) || digits.len() > MAX_PATTERN_BYTES {
        return None;
    }
    let value = |digit: u8| char::from(digit).to_digit(16);
    digits
        .chunks_exact(2)
        .map(|pair| u8::try_from(value(pair[0])? * 16 + value(pair[1])?).ok())
        .collect()
}

#[cfg(test)]
mod tests;
