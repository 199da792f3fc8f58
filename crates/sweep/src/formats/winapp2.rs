//! `winapp2.ini`: one section per entry, with `FileKey`s that take files and `ExcludeKey`s that keep
//! them.
//!
//! `Detect` keys only hide entries of programs that are not installed, and are ignored. Registry
//! keys are counted. Any other line that cannot be expressed drops its entry, because the line
//! might limit what the entry takes.

use super::limits::{Budget, Exceeded, Stop, or_dropped};
use super::slug::{self, Ids};
use super::spelling::{self, Use};
use super::{Defect, Dropped, Loaded};
use crate::rule::glob::Glob;
use crate::rule::pattern::{Component, Pattern};
use crate::rule::{Conditions, Extent, Risk, Rule, Source, Take};

/// Parses a file.
pub(super) fn parse(text: &str, file: &str) -> Result<Loaded, Defect> {
    let mut loaded = Loaded::default();
    let mut budget = Budget::default();
    let mut ids = Ids::default();
    let mut entry: Option<Entry> = None;
    let mut line = 0_u32;
    for raw in text.lines() {
        line = line.saturating_add(1);
        let at = line;
        let exceeded = |exceeded: Exceeded| (at, exceeded.to_string());
        let raw = raw.trim();
        if raw.is_empty() || raw.starts_with(';') {
            continue;
        }
        if let Some(header) = raw.strip_prefix('[') {
            budget.rule().map_err(exceeded)?;
            if let Some(entry) = entry.replace(Entry::new(header, line)) {
                entry.finish(&mut loaded, &mut ids, file);
            }
            continue;
        }
        let Some(entry) = &mut entry else {
            *loaded.skipped_parts.entry("lines before the first section").or_default() += 1;
            continue;
        };
        if entry.defect.is_none() {
            let read = or_dropped(entry.read(raw, &mut loaded, &mut budget)).map_err(exceeded)?;
            entry.defect = read.err();
        }
    }
    if let Some(entry) = entry {
        entry.finish(&mut loaded, &mut ids, file);
    }
    Ok(loaded)
}

/// A section while its lines are read.
struct Entry<'t> {
    name: &'t str,
    line: u32,
    tags: Vec<String>,
    risk: Risk,
    takes: Vec<Take>,
    keeps: Vec<Pattern>,
    /// The first reason to drop the entry.
    defect: Option<Dropped>,
}

impl<'t> Entry<'t> {
    /// Begins an entry with the text after the `[` of its header.
    fn new(header: &'t str, line: u32) -> Entry<'t> {
        let inner = header.rsplit_once(']').map(|(name, _)| name);
        let name = inner.unwrap_or(header).trim_end_matches(['*', ' ']).trim_start();
        let defect = match inner {
            Some(_) => None,
            None => Some(Dropped::Malformed("the header has no closing bracket".to_string())),
        };
        let (tags, takes, keeps) = (Vec::new(), Vec::new(), Vec::new());
        Entry { name, line, tags, risk: Risk::Regenerates, takes, keeps, defect }
    }

    /// Reads a line of the section.
    fn read(&mut self, raw: &str, loaded: &mut Loaded, budget: &mut Budget) -> Result<(), Stop> {
        let (key, value) = raw
            .split_once('=')
            .ok_or_else(|| Dropped::Malformed("a line is not of the form key=value".to_string()))?;
        let key = key.trim().trim_end_matches(|char: char| char.is_ascii_digit());
        let value = value.trim();
        let is = |name: &str| key.eq_ignore_ascii_case(name);
        let mut skip = |part| *loaded.skipped_parts.entry(part).or_default() += 1;
        if is("FileKey") {
            self.read_file_key(value, budget)?;
        } else if is("ExcludeKey") {
            match self.read_exclude_key(value, budget)? {
                Excluded::Registry => skip("registry exclusions"),
                Excluded::Path => {}
            }
        } else if is("RegKey") {
            skip("registry keys");
        } else if is("Warning") {
            self.risk = Risk::Review;
        } else if is("LangSecRef") || is("Section") {
            self.tags.push(tag(value));
        } else if !IGNORED.iter().any(|name| is(name)) {
            return Err(Dropped::Unsupported("an unknown key").into());
        }
        Ok(())
    }

    /// Reads `directory|pattern;pattern|option`.
    fn read_file_key(&mut self, value: &str, budget: &mut Budget) -> Result<(), Stop> {
        let mut fields = value.split('|');
        let dir = fields.next().unwrap_or_default();
        let names = fields.next().unwrap_or_default();
        let option = fields.next().unwrap_or_default().trim();
        if fields.any(|field| !field.is_empty()) {
            return Err(Dropped::Unsupported("a FileKey with more than three fields").into());
        }
        let takes_dir = option.eq_ignore_ascii_case("REMOVESELF");
        let is_deep = takes_dir || option.eq_ignore_ascii_case("RECURSE");
        if !is_deep && !option.is_empty() {
            return Err(Dropped::Unsupported("an unknown option of FileKey").into());
        }
        if names_of(names).next().is_none() {
            return Err(Dropped::Malformed("a FileKey has no names".to_string()).into());
        }
        let dir = spelling::taken(spelling::written(dir, Use::Taken)?);
        if takes_dir && names_of(names).any(is_every_name) {
            // The directory that a variable is bound to stays, because the system needs it.
            let is_variable = dir.components.is_empty();
            let pattern = if is_variable { dir.join(any_name()) } else { dir };
            self.takes.push(Take { pattern: budget.pattern(pattern)?, extent: Extent::Tree });
            return Ok(());
        }
        let dir_len = dir.components.len();
        let mut base = dir;
        base.components.extend(is_deep.then_some(Component::AnyDepth));
        let mut names = names_of(names).peekable();
        while let Some(name) = names.next() {
            let name = if is_every_name(name) {
                Glob::new(b"*")
            } else {
                spelling::name(name, Use::Taken)?
            };
            let is_last = names.peek().is_none() && !takes_dir;
            let pattern =
                if is_last { last(&mut base, name) } else { base.join(Component::Name(name)) };
            self.takes.push(Take { pattern: budget.pattern(pattern)?, extent: Extent::Files });
        }
        if takes_dir {
            let pattern = budget.pattern(base.join(any_name()))?;
            self.takes.push(Take { pattern, extent: Extent::Emptied });
            base.components.truncate(dir_len);
            if !base.components.is_empty() {
                self.takes.push(Take { pattern: budget.pattern(base)?, extent: Extent::Emptied });
            }
        }
        Ok(())
    }

    /// Reads `FILE|directory|names`, `PATH|directory|names` or `REG|key`.
    fn read_exclude_key(&mut self, value: &str, budget: &mut Budget) -> Result<Excluded, Stop> {
        let (kind, rest) = value.split_once('|').ok_or(Dropped::Exclusion)?;
        let kind = kind.trim();
        if kind.eq_ignore_ascii_case("REG") {
            return Ok(Excluded::Registry);
        }
        let is_deep = kind.eq_ignore_ascii_case("PATH");
        if !is_deep && !kind.eq_ignore_ascii_case("FILE") {
            return Err(Dropped::Exclusion.into());
        }
        let (dir, names) = rest.split_once('|').unwrap_or((rest, ""));
        let dir = spelling::written(dir, Use::Kept).map_err(|_| Dropped::Exclusion)?;
        if names_of(names).next().is_none() {
            return Err(Dropped::Exclusion.into());
        }
        let keeps_all = names_of(names).any(is_every_name);
        for dir in spelling::kept(dir) {
            if keeps_all {
                self.keeps.push(budget.pattern(dir)?);
                continue;
            }
            let base = if is_deep { dir.join(Component::AnyDepth) } else { dir };
            for name in names_of(names) {
                for name in kept_names(name)? {
                    self.keeps.push(budget.pattern(base.join(Component::Name(name)))?);
                }
            }
        }
        Ok(Excluded::Path)
    }

    /// Adds the rule to `loaded`, or the reason why it was dropped.
    fn finish(self, loaded: &mut Loaded, ids: &mut Ids, file: &str) {
        let rule = match self.defect {
            Some(reason) => Err(reason),
            None if self.takes.is_empty() => Err(Dropped::NothingToTake),
            None => Ok(Rule {
                id: ids.unique(format!("w2.{}", slug::of(self.name))),
                what: self.name.to_string(),
                risk: self.risk,
                tags: self.tags,
                takes: self.takes,
                keeps: self.keeps,
                conditions: Conditions::default(),
                reference: String::new(),
                source: Source { file: file.to_string(), line: self.line, is_shipped: false },
            }),
        };
        loaded.add(self.name, self.line, rule);
    }
}

/// The entries that an `ExcludeKey` excludes.
enum Excluded {
    Path,
    Registry,
}

/// Keys that do not change what an entry takes.
const IGNORED: &[&str] = &[
    "Detect",
    "DetectFile",
    "DetectOS",
    "SpecialDetect",
    "Default",
    "LangRef",
    "ID",
    "Author",
    "Tags",
];

/// Returns the name patterns of a list. An empty list means every name. A list of separators has no
/// names.
fn names_of(list: &str) -> impl Iterator<Item = &str> {
    let list = if list.trim().is_empty() { "*" } else { list };
    list.split(';').map(str::trim).filter(|name| !name.is_empty())
}

/// Returns whether a name pattern stands for every name.
fn is_every_name(name: &str) -> bool {
    name == "*.*" || name.bytes().all(|byte| byte == b'*')
}

/// Like [`Pattern::join`], but leaves `base` without components. Most lists have one name, and a copy
/// of every pattern would double the time of parsing.
fn last(base: &mut Pattern, name: Glob) -> Pattern {
    let mut components = std::mem::take(&mut base.components);
    components.push(Component::Name(name));
    Pattern { base: base.base, components }
}

fn any_name() -> Component {
    Component::Name(Glob::new(b"*"))
}

/// Returns the patterns for an excluded name. Windows matches some patterns more broadly than
/// [`Glob`]: `?` may match nothing at the end of a name, and `a.*` also matches `a`.
fn kept_names(name: &str) -> Result<Vec<Glob>, Dropped> {
    let glob = |name: &str| spelling::name(name, Use::Kept).map_err(|_| Dropped::Exclusion);
    let wide = name.replace('?', "*");
    let mut all = vec![glob(&wide)?];
    if let Some(stem) = wide.strip_suffix(".*") {
        all.push(glob(stem)?);
    }
    Ok(all)
}

/// Returns the tag for a section of the user interface, which is a name or a well-known number.
fn tag(section: &str) -> String {
    let known = match section {
        "3005" => "internet-explorer",
        "3006" => "edge",
        "3021" => "applications",
        "3022" => "internet",
        "3023" => "multimedia",
        "3024" => "utilities",
        "3025" => "windows",
        "3026" => "firefox",
        "3027" => "opera",
        "3028" => "safari",
        "3029" => "chrome",
        "3030" => "thunderbird",
        "3031" => "store",
        "3033" => "vivaldi",
        "3034" => "brave",
        _ => return slug::of(section),
    };
    known.to_string()
}

#[cfg(test)]
mod tests;
