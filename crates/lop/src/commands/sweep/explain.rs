//! `--explain`: shows which rules match a path, component by component, and what keeps them from taking it.
//!
//! Rules that are refused or not active are explained too, because that is often the reason why nothing takes a path.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use fsops::{Kind, Stat};
use serde::Serialize;
use sweep::bindings::Bindings;
use sweep::explain::Explanation;
use sweep::guard::Refused;
use sweep::rule::Extent;

use super::engine::Engine;
use super::report::{objection, shown, shown_bytes};
use super::rule_book::RuleBook;
use super::target::Target;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::formats::{JsonPath, document};
use crate::output::stdout;
use crate::paths::journal::journal_paths;
use crate::settings::Settings;

/// Explains what the rules do with the entry at a path.
///
/// # Errors
///
/// Fails if no target contains the path.
pub(super) fn explain(
    path: &Path,
    engine: &Engine<'_>,
    targets: &[Target],
    settings: &Settings,
) -> Result<Exit, CommandError> {
    let absolute = journal_paths(&[PathBuf::from(path)])?.remove(0);
    let found = targets.iter().find_map(|target| Some((target, target.relative(&absolute)?)));
    let Some((target, relative)) = found else {
        let text = format!("--explain {}: no TARGET contains this path", path.display());
        return Err(
            CommandError::usage(text).hint("name the disk or directory that contains it as TARGET")
        );
    };
    let is_dir = Stat::of_path(Path::new(OsStr::from_bytes(&absolute)))
        .is_ok_and(|stat| stat.kind == Kind::Dir);
    let bindings = Engine::bind(target)?;
    let (refused, found) = matching(engine, target, &bindings, &relative);
    let explained: Vec<Explained<'_>> = found
        .iter()
        .map(|found| {
            let is_wrong_kind = found.extent == Extent::Files && is_dir;
            let refusal = refused.iter().find(|refused| refused.rule == found.rule);
            let protected = engine.protected.folder_of(&absolute);
            let obstacle = match (protected, refusal) {
                (Some(folder), _) => Some(format!(
                    "kept, because {} is protected by {}",
                    folder.shown(),
                    folder.by()
                )),
                (None, Some(refused)) => {
                    Some(format!("refused: {}", objection(engine.book, refused)))
                }
                (None, None) => obstacle_of(engine.book, found, is_wrong_kind),
            };
            Explained { found, obstacle, book: engine.book, target }
        })
        .collect();
    stdout::print(|out| {
        if settings.json {
            let rules = explained.iter().map(Explained::json).collect();
            return writeln!(
                out,
                "{}",
                document(&Document { path: JsonPath::new(&target.shown_path(&relative)), rules })
            );
        }
        write_text(out, target, &relative, &explained)
    })?;
    Ok(Exit::Done)
}

/// Returns the refused rules, and the rules that match a path, whether they are refused, off or active.
fn matching(
    engine: &Engine<'_>,
    target: &Target,
    bindings: &Bindings,
    path: &[u8],
) -> (Vec<Refused>, Vec<Explanation>) {
    let RuleBook { rules, active, allow, refused, off, .. } = engine.book;
    let mut refused = refused.clone();
    refused.extend(sweep::guard::check_bound(rules, active, allow, bindings));
    let mut active = active.clone();
    for at in refused.iter().map(|refused| refused.rule).chain(off.iter().copied()) {
        active[at] = true;
    }
    let found = sweep::explain::explain(&engine.request(target, bindings, &active), path);
    (refused, found)
}

/// A rule that matches a path, and what keeps the rule from taking it.
struct Explained<'a> {
    found: &'a Explanation,
    obstacle: Option<String>,
    book: &'a RuleBook,
    target: &'a Target,
}

/// Returns why a rule does not take a path that it matches.
fn obstacle_of(book: &RuleBook, found: &Explanation, is_wrong_kind: bool) -> Option<String> {
    let rule = &book.rules[found.rule];
    if book.off.contains(&found.rule) {
        return Some(format!("off: its risk is {}; --allow {} turns it on", rule.risk, rule.id));
    }
    if let Some(kept) = &found.kept_by {
        return Some(format!("kept by the exclusion {}", shown(kept)));
    }
    if let Some(name) = found.protected_by.as_ref().filter(|_| !book.allow.contains(&rule.id)) {
        return Some(format!("kept, because {} is protected", shown(name)));
    }
    if is_wrong_kind {
        return Some("kept, because the pattern takes only files".into());
    }
    let unmet = found.conditions.iter().find(|(_, met)| *met == Some(false));
    unmet.map(|(condition, _)| format!("kept, because a condition is not met: {condition}"))
}

impl Explained<'_> {
    /// Returns what the rule does with the path.
    fn verdict(&self) -> String {
        let Explained { found, target, .. } = self;
        if let Some(obstacle) = &self.obstacle {
            return obstacle.clone();
        }
        let unclear = found.conditions.iter().any(|(_, met)| met.is_none());
        match found.extent {
            Extent::Emptied => "takes it if it becomes empty".into(),
            Extent::Tree if unclear => {
                let matched = shown_bytes(&target.shown_path(&found.matched));
                format!("takes all of {matched}, if everything in it meets the conditions")
            }
            Extent::Tree => {
                format!("takes all of {}", shown_bytes(&target.shown_path(&found.matched)))
            }
            Extent::Files => "takes it".into(),
        }
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let Explained { found, book, target, .. } = self;
        let rule = &book.rules[found.rule];
        writeln!(out, "  {}  {}", shown(&rule.id), self.verdict())?;
        let source = format!("{}:{}", rule.source.file, rule.source.line);
        writeln!(out, "    rule        {} ({}, {})", shown(&rule.what), rule.risk, shown(&source))?;
        writeln!(out, "    pattern     {}", shown(&found.pattern))?;
        if let Some(bound) = &found.bound {
            writeln!(out, "    begins at   {}", shown_bytes(&target.shown_path(bound)))?;
        }
        for step in &found.steps {
            let names =
                if step.names.is_empty() { "(nothing)".into() } else { shown_bytes(&step.names) };
            writeln!(out, "    component   {} matches {names}", shown(&step.component))?;
        }
        for (condition, met) in &found.conditions {
            let met = match met {
                Some(true) => "met",
                Some(false) => "not met",
                None => "depends on everything in the directory",
            };
            writeln!(out, "    condition   {condition}: {met}")?;
        }
        Ok(())
    }

    fn json(&self) -> JsonExplained<'_> {
        let Explained { found, book, target, .. } = self;
        let rule = &book.rules[found.rule];
        let step = |step: &sweep::explain::Step| JsonStep {
            component: step.component.clone(),
            path: JsonPath::owned(&step.names),
        };
        JsonExplained {
            id: &rule.id,
            risk: rule.risk.word(),
            takes: self.obstacle.is_none(),
            why: self.verdict(),
            pattern: &found.pattern,
            begins_at: found.bound.as_ref().map(|bound| JsonPath::owned(&target.shown_path(bound))),
            matched: JsonPath::owned(&target.shown_path(&found.matched)),
            components: found.steps.iter().map(step).collect(),
        }
    }
}

fn write_text(
    out: &mut impl Write,
    target: &Target,
    path: &[u8],
    explained: &[Explained<'_>],
) -> io::Result<()> {
    let path = shown_bytes(&target.shown_path(path));
    let taker = explained.iter().find(|explained| explained.obstacle.is_none());
    let summary = match (taker, explained.len()) {
        (Some(taker), _) => format!("matches {}", shown(&taker.book.rules[taker.found.rule].id)),
        (None, 0) => "no rule matches".into(),
        (None, _) => "no rule takes it".into(),
    };
    writeln!(out, "{path}: {summary}")?;
    explained.iter().try_for_each(|explained| explained.write(out))
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    path: JsonPath<'a>,
    rules: Vec<JsonExplained<'a>>,
}

#[derive(Serialize)]
struct JsonExplained<'a> {
    id: &'a str,
    risk: &'static str,
    takes: bool,
    why: String,
    pattern: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    begins_at: Option<JsonPath<'static>>,
    matched: JsonPath<'static>,
    components: Vec<JsonStep>,
}

#[derive(Serialize)]
struct JsonStep {
    component: String,
    #[serde(flatten)]
    path: JsonPath<'static>,
}
