//! `CleanerML`, the XML format of `BleachBit`: cleaners with options, each with a list of actions.
//!
//! Each option becomes one rule. An option is dropped if one of its actions does anything other
//! than delete files, or selects files in a way that cannot be expressed.

mod path;
mod regex;
mod xml;

use super::limits::{Budget, Exceeded, MAX_PATTERN_BYTES, Stop, or_dropped};
use super::slug::{self, Ids};
use super::{Defect, Dropped, Loaded, unix};
use crate::rule::glob::Glob;
use crate::rule::pattern::{Component, Pattern};
use crate::rule::{Conditions, Extent, Risk, Rule, Source, Take};
use xml::{Action, Document, WrittenOption};

/// Parses a file.
pub(super) fn parse(text: &str, file: &str) -> Result<Loaded, Defect> {
    let mut document = xml::read(text)?;
    let mut loaded =
        Loaded { skipped_parts: std::mem::take(&mut document.skipped), ..Loaded::default() };
    let mut budget = Budget::default();
    let mut ids = Ids::default();
    for option in &document.options {
        let line = option.line;
        let exceeded = |exceeded: Exceeded| (line, exceeded.to_string());
        budget.rule().map_err(exceeded)?;
        let rule = or_dropped(convert(&document, option, &mut budget, &mut loaded));
        let rule = rule.map_err(exceeded)?.map(|mut rule| {
            rule.id = ids.unique(rule.id);
            rule.source = Source { file: file.to_string(), line, is_shipped: false };
            rule
        });
        loaded.add(&format!("{}.{}", document.id, option.id), line, rule);
    }
    Ok(loaded)
}

fn convert(
    document: &Document,
    option: &WrittenOption,
    budget: &mut Budget,
    loaded: &mut Loaded,
) -> Result<Rule, Stop> {
    if let Some(defect) = &option.defect {
        return Err(defect.clone().into());
    }
    let mut selection = Selection::default();
    for action in &option.actions {
        let filter = Filter::of(action)?;
        if action.systems.is_none() {
            *loaded.skipped_parts.entry("actions for other systems").or_default() += 1;
            continue;
        }
        let path = action.get("path");
        let is_glob = action.get("search") != "file";
        if path.len() > MAX_PATTERN_BYTES {
            return Err(Dropped::Unsupported("a path longer than 4096 bytes").into());
        }
        for expanded in path::expand(path, action.systems, is_glob, &document.variables)? {
            if expanded.text.len() > MAX_PATTERN_BYTES {
                return Err(Dropped::Unsupported("a path longer than 4096 bytes").into());
            }
            let Some(pattern) = path::resolve(&expanded.text, expanded.systems)? else {
                *loaded.skipped_parts.entry("paths of other systems").or_default() += 1;
                budget.skipped()?;
                continue;
            };
            if expanded.has_literal_wildcard {
                return Err(Dropped::Unsupported("a wildcard in a literal path").into());
            }
            selection.add(&pattern, action.get("search"), &filter, budget)?;
        }
    }
    if selection.takes.is_empty() {
        return Err(Dropped::NothingToTake.into());
    }
    let what = format!("{}: {}", document.label.trim(), option.label.trim());
    Ok(Rule {
        id: format!("{}.{}", slug::word(&document.id), slug::word(&option.id)),
        what: what.trim_start_matches(": ").trim_end_matches(": ").to_string(),
        risk: if option.has_warning { Risk::Review } else { Risk::Regenerates },
        tags: Vec::new(),
        takes: selection.takes,
        keeps: selection.keeps,
        conditions: Conditions::default(),
        reference: String::new(),
        source: Source::default(),
    })
}

/// The filters of an action.
struct Filter {
    /// The names that are taken. `None` if every name is.
    only: Option<Glob>,
    /// The names that are kept.
    except: Option<Glob>,
    takes_files: bool,
    takes_dirs: bool,
}

impl Filter {
    /// Reads the attributes of an action.
    fn of(action: &Action) -> Result<Filter, Dropped> {
        match action.get("command") {
            "delete" => {}
            command => return Err(Dropped::Unsupported(command_name(command))),
        }
        let mut filter = Filter { only: None, except: None, takes_files: true, takes_dirs: true };
        for (key, value) in &action.attributes {
            let glob = || regex::glob_of(value).ok_or(Dropped::Unsupported("a regular expression"));
            match key.as_str() {
                "command" | "search" | "path" | "os" => {}
                "regex" => filter.only = Some(glob()?),
                "nregex" => filter.except = Some(glob().map_err(|_| Dropped::Exclusion)?),
                "type" if value == "f" => filter.takes_dirs = false,
                "type" if value == "d" => filter.takes_files = false,
                "nwholeregex" => return Err(Dropped::Exclusion),
                "wholeregex" => return Err(Dropped::Unsupported("a regular expression for paths")),
                _ => return Err(Dropped::Unsupported("an unknown attribute")),
            }
        }
        Ok(filter)
    }

    fn takes_all(&self) -> bool {
        self.only.is_none() && self.takes_files && self.takes_dirs
    }
}

/// The commands of `BleachBit` other than `delete`, for messages.
const COMMANDS: &[&str] = &[
    "apt.autoclean",
    "apt.autoremove",
    "apt.clean",
    "chrome.autofill",
    "chrome.databases_db",
    "chrome.favicons",
    "chrome.history",
    "chrome.keywords",
    "cookie",
    "dnf.autoremove",
    "dnf.clean_all",
    "ini",
    "journald.clean",
    "json",
    "mozilla.favicons",
    "mozilla.url.history",
    "pacman.cache",
    "process",
    "snap.disabled",
    "sqlite.vacuum",
    "truncate",
    "win.shell.change.notify",
    "winreg",
    "xml",
    "yum.clean_all",
];

/// Returns the phrase for a command in [`Dropped::Unsupported`].
fn command_name(command: &str) -> &'static str {
    let known = COMMANDS.iter().find(|known| **known == command);
    known.copied().unwrap_or("an unknown command")
}

/// The entries that the actions of an option take and keep.
#[derive(Default)]
struct Selection {
    takes: Vec<Take>,
    keeps: Vec<Pattern>,
}

impl Selection {
    /// Adds what an action takes and keeps at a path.
    fn add(
        &mut self,
        path: &Pattern,
        search: &str,
        filter: &Filter,
        budget: &mut Budget,
    ) -> Result<(), Stop> {
        let deep = path.join(Component::AnyDepth);
        let any = Glob::new(b"*");
        let only = filter.only.as_ref().unwrap_or(&any);
        let named = |base: &Pattern, name: &Glob| base.join(Component::Name(name.clone()));
        let mut keeps_below = Some(&deep);
        let parent = parent(path);
        match search {
            "file" | "glob" => {
                let parent = parent.as_ref().ok_or(Dropped::UnsafePath)?;
                keeps_below = Some(parent);
                let pattern = match &filter.only {
                    None => path.clone(),
                    Some(only) if path.components.last() == Some(&Component::Name(any)) => {
                        named(parent, only)
                    }
                    Some(_) => return Err(Dropped::Unsupported("a regular expression").into()),
                };
                self.take(&pattern, filter, budget)?;
            }
            "walk.files" if !filter.takes_files => {}
            "walk.files" => self.push(named(&deep, only), Extent::Files, budget)?,
            "walk.all" if filter.takes_all() => {
                self.push(named(path, &any), Extent::Tree, budget)?;
            }
            "walk.all" => self.take(&named(&deep, only), filter, budget)?,
            "walk.top" if filter.takes_all() => {
                let is_variable = path.components.is_empty();
                let top = if is_variable { named(path, &any) } else { path.clone() };
                self.push(top, Extent::Tree, budget)?;
            }
            "walk.top" => return Err(Dropped::Unsupported("a filter with walk.top").into()),
            "deep" => return Err(Dropped::Unsupported("the search deep").into()),
            _ => return Err(Dropped::Unsupported("an unknown search").into()),
        }
        if let (Some(except), Some(base)) = (&filter.except, keeps_below.take()) {
            self.keeps.push(budget.pattern(named(base, except))?);
        }
        for hidden in unix::hidden(path) {
            self.keeps.push(budget.pattern(hidden)?);
        }
        Ok(())
    }

    /// Takes files and empty directories at a pattern.
    fn take(&mut self, at: &Pattern, filter: &Filter, budget: &mut Budget) -> Result<(), Exceeded> {
        if filter.takes_files {
            self.push(at.clone(), Extent::Files, budget)?;
        }
        if filter.takes_dirs {
            self.push(at.clone(), Extent::Emptied, budget)?;
        }
        Ok(())
    }

    fn push(&mut self, at: Pattern, extent: Extent, budget: &mut Budget) -> Result<(), Exceeded> {
        self.takes.push(Take { pattern: budget.pattern(at)?, extent });
        Ok(())
    }
}

/// Returns the pattern without its last component, or `None` if it has no component.
fn parent(pattern: &Pattern) -> Option<Pattern> {
    let (_, before) = pattern.components.split_last()?;
    Some(Pattern { base: pattern.base, components: before.to_vec() })
}

#[cfg(test)]
mod tests;
