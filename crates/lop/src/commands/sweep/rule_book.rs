//! The rules of a run: loads the sets and files that the user named, and decides which rules are active.
//!
//! An ID identifies one rule of a run, because `--skip` and `--allow` would otherwise affect the wrong rule.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use sweep::formats::{self, Dropped, Format, FormatError, Loaded, shipped};
use sweep::guard::Refused;
use sweep::rule::{Age, Risk, Rule};

use crate::args::SweepArgs;
use crate::error::CommandError;
use crate::exit::Exit;

/// The loaded rules.
#[derive(Default)]
pub(super) struct RuleBook {
    pub(super) rules: Vec<Rule>,
    /// Whether each rule is active.
    pub(super) active: Vec<bool>,
    /// The active rules that a guard refused before the walk. They are not in `active` any more.
    pub(super) refused: Vec<Refused>,
    /// The rules of shipped sets that are not active because of their risk.
    pub(super) off: Vec<usize>,
    /// The IDs of `--allow`.
    pub(super) allow: BTreeSet<String>,
    pub(super) dropped: Vec<DroppedEntry>,
    /// Number of parts that lop has no use for, such as registry keys.
    pub(super) skipped_parts: u64,
}

/// An entry of a rule file that is not used.
pub(super) struct DroppedEntry {
    pub(super) file: String,
    pub(super) name: String,
    pub(super) line: u32,
    pub(super) why: Dropped,
}

impl RuleBook {
    /// Loads the rules, and applies the options that select rules.
    ///
    /// # Errors
    ///
    /// Fails if a set is unknown, a file cannot be used, two rules have the same ID, or an option refers to an unknown
    /// rule or tag.
    pub(super) fn load(args: &SweepArgs) -> Result<RuleBook, CommandError> {
        let mut book = RuleBook::default();
        let mut seen = HashSet::new();
        for name in names(&args.rules) {
            if !seen.insert(name.clone()) {
                continue;
            }
            book.add(&name.to_string_lossy(), load(&name)?);
        }
        if seen.is_empty() {
            let text = "--rules is missing: name a shipped set or a rule file";
            return Err(CommandError::usage(text).hint(shipped_sets()));
        }
        book.refuse_equal_ids()?;
        book.select(args)?;
        if let Some(age) = args.older {
            book.rules.iter_mut().for_each(|rule| require_age(rule, age));
        }
        book.refused = sweep::guard::check(&book.rules, &book.allow);
        book.refused.retain(|refused| book.active[refused.rule]);
        for refused in &book.refused {
            book.active[refused.rule] = false;
        }
        Ok(book)
    }

    fn add(&mut self, file: &str, loaded: Loaded) {
        let Loaded { rules, dropped_entries, skipped_parts, .. } = loaded;
        self.rules.extend(rules);
        let dropped = dropped_entries.into_iter();
        self.dropped.extend(dropped.map(|(name, line, why)| DroppedEntry {
            file: file.to_string(),
            name,
            line,
            why,
        }));
        self.skipped_parts += skipped_parts.values().sum::<u64>();
    }

    fn refuse_equal_ids(&self) -> Result<(), CommandError> {
        let mut known: HashMap<&str, &Rule> = HashMap::new();
        for rule in &self.rules {
            if let Some(other) = known.insert(&rule.id, rule) {
                let (id, one, two) = (&rule.id, place(other), place(rule));
                let text = format!("two rules have the ID {id}: {one} and {two}");
                return Err(CommandError::failed(text)
                    .hint("use the files one at a time, or rename one of the rules"));
            }
        }
        Ok(())
    }

    /// Decides which rules are active.
    fn select(&mut self, args: &SweepArgs) -> Result<(), CommandError> {
        for (option, ids) in [("--skip", &args.skip), ("--allow", &args.allow)] {
            if let Some(id) = ids.iter().find(|id| self.index_of(id).is_none()) {
                return Err(unknown_rule(option, id));
            }
        }
        let has_tag = |rule: &Rule, tag: &String| rule.tags.contains(tag);
        let unused = |tag: &&String| !self.rules.iter().any(|rule| has_tag(rule, tag));
        if let Some(tag) = args.only.iter().find(unused) {
            let tags: BTreeSet<&str> =
                self.rules.iter().flat_map(|rule| &rule.tags).map(String::as_str).collect();
            let tags = tags.into_iter().collect::<Vec<_>>().join(", ");
            let text = format!("--only {tag}: no rule has this tag");
            return Err(
                CommandError::usage(text).hint(format!("the rules have these tags: {tags}"))
            );
        }
        self.allow = args.allow.iter().cloned().collect();
        for (at, rule) in self.rules.iter().enumerate() {
            let is_selected = !args.skip.contains(&rule.id)
                && (args.only.is_empty() || args.only.iter().any(|tag| has_tag(rule, tag)));
            let is_off = rule.source.is_shipped
                && matches!(rule.risk, Risk::Privacy | Risk::Review)
                && !self.allow.contains(&rule.id);
            self.active.push(is_selected && !is_off);
            if is_selected && is_off {
                self.off.push(at);
            }
        }
        Ok(())
    }

    /// Returns the index of the rule with an ID.
    pub(super) fn index_of(&self, id: &str) -> Option<usize> {
        self.rules.iter().position(|rule| rule.id == id)
    }

    /// Returns the number of dropped entries, by reason.
    pub(super) fn dropped_by_reason(&self) -> BTreeMap<&'static str, u64> {
        let mut numbers = BTreeMap::new();
        for entry in &self.dropped {
            *numbers.entry(key_of(&entry.why)).or_default() += 1;
        }
        numbers
    }
}

/// Returns the sets and files in the values of `--rules`. A value may be a list with commas, unless it is the path of a
/// file.
fn names(values: &[OsString]) -> Vec<OsString> {
    let mut names = Vec::new();
    for value in values {
        if Path::new(value).exists() {
            names.push(value.clone());
            continue;
        }
        let parts = value.as_bytes().split(|&byte| byte == b',').filter(|part| !part.is_empty());
        names.extend(parts.map(|part| OsStr::from_bytes(part).to_os_string()));
    }
    names
}

/// Loads a set or a file.
fn load(name: &OsStr) -> Result<Loaded, CommandError> {
    let shown = name.to_string_lossy();
    if let Some(text) = name.to_str().and_then(shipped::text) {
        let mut loaded = formats::parse(Format::Toml, text.as_bytes(), &shown).map_err(unusable)?;
        loaded.rules.iter_mut().for_each(|rule| rule.source.is_shipped = true);
        return Ok(loaded);
    }
    let path = Path::new(name);
    let extension = path.extension().and_then(OsStr::to_str).and_then(Format::of_extension);
    if extension.is_none() && !path.exists() {
        let text =
            format!("--rules {shown}: no shipped set has this name, and there is no such file");
        return Err(CommandError::usage(text).hint(shipped_sets()));
    }
    if extension.is_none() {
        let text = format!("--rules {shown}: the extension is not that of a rule file");
        let hint =
            "rename the file to .toml, .ini (winapp2.ini), .xml (CleanerML) or .conf (tmpfiles.d)";
        return Err(CommandError::usage(text).hint(hint));
    }
    let (format, bytes) = formats::read_rule_file(path).map_err(unusable)?;
    formats::parse(format, &bytes, &shown).map_err(unusable)
}

/// Returns the error about a set or a file that cannot be used.
fn unusable(error: FormatError) -> CommandError {
    let text = error.to_string();
    match error {
        FormatError::Unreadable { file, source } => {
            CommandError::failed(format!("cannot read {file}")).because(source)
        }
        FormatError::Untrusted { .. } => CommandError::new(Exit::Refused, text),
        _ => CommandError::failed(text),
    }
}

/// Returns the hint that lists the shipped sets.
fn shipped_sets() -> String {
    format!("the shipped sets are: {}", shipped::names().join(", "))
}

/// Returns the error about an ID that no rule has.
pub(super) fn unknown_rule(option: &str, id: &str) -> CommandError {
    CommandError::usage(format!("{option} {id}: no rule has this ID"))
        .hint("'lop sweep --rules RULES --json' lists the IDs of all rules")
}

/// Returns where a rule is written.
fn place(rule: &Rule) -> String {
    format!("{}:{}", rule.source.file, rule.source.line)
}

/// Makes a rule take only entries that are at least this old.
fn require_age(rule: &mut Rule, least: std::time::Duration) {
    let age = rule.conditions.older.get_or_insert(Age {
        least,
        counts_access: false,
        counts_birth: false,
    });
    age.least = age.least.max(least);
}

/// Returns the key of a reason in JSON.
fn key_of(why: &Dropped) -> &'static str {
    match why {
        Dropped::NothingToTake => "nothing_to_take",
        Dropped::UnknownVariable(_) => "unknown_variable",
        Dropped::UnsafePath => "unsafe_path",
        Dropped::Exclusion => "exclusion",
        Dropped::Unsupported(_) => "unsupported",
        Dropped::Malformed(_) => "malformed",
    }
}
