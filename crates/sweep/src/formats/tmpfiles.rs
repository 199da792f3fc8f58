//! tmpfiles.d of systemd: the lines that remove files by age, or unconditionally.
//!
//! When systemd cleans a directory, it keeps every path in it that another line names. Each rule
//! therefore keeps the paths of the other lines. If one of them cannot be expressed, every rule of
//! the file is dropped.

mod line;

use super::limits::{Budget, Exceeded, Stop, or_dropped};
use super::slug::{self, Ids};
use super::{Defect, Dropped, Loaded, unix};
use crate::rule::glob::Glob;
use crate::rule::pattern::{Component, Pattern};
use crate::rule::{Conditions, Extent, Risk, Rule, Source, Take};
use line::WrittenAge;

/// The maximum number of pairs of a rule and a line that are compared.
const MAX_PAIRS: usize = 4_000_000;

/// Parses a file.
pub(super) fn parse(text: &str, file: &str) -> Result<Loaded, Defect> {
    let mut loaded = Loaded::default();
    let mut budget = Budget::default();
    let mut lines: Vec<Line> = Vec::new();
    let mut number = 0_u32;
    for raw in text.lines() {
        number = number.saturating_add(1);
        let raw = raw.trim();
        if !raw.is_empty() && !raw.starts_with('#') {
            budget.rule().map_err(|exceeded| (number, exceeded.to_string()))?;
            lines.push(Line::read(raw, number));
        }
    }
    let rules = lines.iter().filter(|line| matches!(line.action, Ok(Action::Take(_)))).count();
    if rules.saturating_mul(lines.len()) > MAX_PAIRS {
        return Err((1, "the file has too many lines".to_string()));
    }
    let mut ids = Ids::default();
    for (index, line) in lines.iter().enumerate() {
        let rule = match &line.action {
            Ok(Action::Skip(part)) => {
                *loaded.skipped_parts.entry(part).or_default() += 1;
                continue;
            }
            Ok(Action::Take(taking)) => or_dropped(convert(taking, index, &lines, &mut budget))
                .map_err(|exceeded: Exceeded| (line.number, exceeded.to_string()))?,
            Err(reason) => Err(reason.clone()),
        };
        let rule = rule.map(|mut rule| {
            rule.id = ids.unique(format!("tmpfiles.{}", slug::of(&line.path)));
            rule.source = Source { file: file.to_string(), line: line.number, is_shipped: false };
            rule
        });
        loaded.add(&line.path, line.number, rule);
    }
    Ok(loaded)
}

/// A line of the file.
struct Line {
    number: u32,
    path: String,
    /// Patterns for the path of the line, which the rules of other lines keep. `None` if the path
    /// cannot be expressed.
    kept: Option<Vec<Pattern>>,
    /// Whether the line only keeps its path.
    is_exclusion: bool,
    action: Result<Action, Dropped>,
}

/// The effect of a line.
enum Action {
    /// The line removes files.
    Take(Taking),
    /// The line removes nothing.
    Skip(&'static str),
}

/// A line that removes files.
struct Taking {
    pattern: Pattern,
    what: Removal,
}

/// The files that a line removes.
enum Removal {
    /// The contents of the directory.
    Contents(WrittenAge),
    /// The file.
    File,
    /// The file, or the directory and everything below it.
    Tree,
}

impl Line {
    /// Reads a line that is not empty.
    fn read(raw: &str, number: u32) -> Line {
        let is_exclusion = raw.trim_start_matches(['"', '\'']).starts_with(['x', 'X']);
        let fields = match line::fields(raw) {
            Ok(fields) => fields,
            Err(reason) => {
                let path = raw.split_whitespace().nth(1).unwrap_or_default().to_string();
                return Line { number, path, kept: None, is_exclusion, action: Err(reason) };
            }
        };
        let field = |index: usize| fields.get(index).map_or("", String::as_str);
        let path = field(1).to_string();
        let action = action(field(0), &path, field(line::AGE));
        Line { number, kept: line::kept(&path), path, is_exclusion, action }
    }
}

/// Returns what a line does, from its type, path and age.
fn action(kind: &str, path: &str, age: &str) -> Result<Action, Dropped> {
    let mut chars = kind.chars();
    let letter = chars.next().unwrap_or(' ');
    let modifiers = chars.as_str();
    if !modifiers.chars().all(|char| "!-+=~^$".contains(char)) {
        return Err(Dropped::Unsupported("an unknown line type"));
    }
    let takes_by_age = match letter {
        'd' | 'D' | 'e' | 'q' | 'Q' | 'v' | 'C' => true,
        'r' | 'R' => false,
        'x' | 'X' => return Ok(Action::Skip("exclusions")),
        letter if "fFwLpcbzZtThHaAm".contains(letter) => {
            return Ok(Action::Skip("lines that remove nothing"));
        }
        _ => return Err(Dropped::Unsupported("an unknown line type")),
    };
    if takes_by_age && matches!(age, "" | "-") {
        return Ok(Action::Skip("directories without an age"));
    }
    if modifiers.contains('!') {
        return Err(Dropped::Unsupported("the modifier !"));
    }
    // Only these types interpret wildcards.
    if !matches!(letter, 'e' | 'r' | 'R') && path.contains(['*', '?', '[']) {
        return Err(Dropped::Unsupported("a wildcard in a literal path"));
    }
    let pattern = line::taken(path)?;
    let what = match letter {
        'r' => Removal::File,
        'R' => Removal::Tree,
        _ => Removal::Contents(line::age(age).ok_or(Dropped::Unsupported("an unknown age"))?),
    };
    Ok(Action::Take(Taking { pattern, what }))
}

fn convert(
    taking: &Taking,
    index: usize,
    lines: &[Line],
    budget: &mut Budget,
) -> Result<Rule, Stop> {
    let Taking { pattern, what } = taking;
    let any = || Component::Name(Glob::new(b"*"));
    let (at, extent) = match what {
        Removal::Contents(age) if age.keeps_first_level => {
            (pattern.join(any()).join(any()), Extent::Tree)
        }
        Removal::Contents(_) => (pattern.join(any()), Extent::Tree),
        Removal::File => (pattern.clone(), Extent::Files),
        Removal::Tree => (pattern.clone(), Extent::Tree),
    };
    let older = match what {
        Removal::Contents(age) => Some(age.age),
        Removal::File | Removal::Tree => None,
    };
    let takes = vec![Take { pattern: budget.pattern(at)?, extent }];
    let mut keeps = Vec::new();
    for hidden in unix::hidden(pattern) {
        keeps.push(budget.pattern(hidden)?);
    }
    for (_, line) in lines.iter().enumerate().filter(|(other, _)| *other != index) {
        for kept in line.kept.as_ref().ok_or(Dropped::Exclusion)? {
            if is_kept_from(kept, pattern, line.is_exclusion) {
                keeps.push(budget.pattern(kept.clone())?);
            }
        }
    }
    let has_age = older.is_some_and(|age| !age.least.is_zero());
    Ok(Rule {
        id: String::new(),
        what: format!("{} {}", phrase(what), lines[index].path),
        risk: if has_age { Risk::Regenerates } else { Risk::Review },
        tags: Vec::new(),
        takes,
        keeps,
        conditions: Conditions { older, ..Conditions::default() },
        reference: String::new(),
        source: Source::default(),
    })
}

fn phrase(what: &Removal) -> &'static str {
    match what {
        Removal::Contents(_) => "Old files in",
        Removal::File => "The file",
        Removal::Tree => "The file or directory",
    }
}

/// Returns whether a rule for `pattern` must keep `kept`, the path of another line. If `kept` is
/// above the path of the rule, the rule keeps it only if its line is an exclusion: otherwise, the
/// rule would take nothing.
fn is_kept_from(kept: &Pattern, pattern: &Pattern, is_exclusion: bool) -> bool {
    if kept.base != pattern.base {
        // A home directory may be below a root, and the other way round.
        return true;
    }
    let is_above = kept.components.len() <= pattern.components.len()
        && kept.components.iter().eq(pattern.components.iter().take(kept.components.len()));
    if is_above {
        return is_exclusion;
    }
    kept.components.iter().zip(&pattern.components).all(|pair| match pair {
        (Component::Name(a), Component::Name(b)) => a.may_overlap(b),
        _ => true,
    })
}

#[cfg(test)]
mod tests;
