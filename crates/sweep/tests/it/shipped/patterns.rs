//! Every pattern of every shipped rule is tried, with paths that are derived from the pattern.
//!
//! A path that matches must be taken. The same path with a different name in one place must stay,
//! and so must a path that is one directory too deep or too shallow.

use sweep::rule::glob::Glob;
use sweep::rule::pattern::{Base, Component};
use sweep::rule::variable::Variable;
use sweep::rule::{Extent, Only, Rule, Take};

use super::all_rules;
use super::target::{Content, Entry, Now, Target};

/// Returns a name that matches a glob.
fn name_of(glob: &Glob) -> String {
    glob.to_string().replace('*', "x1").replace('?', "7")
}

/// If a rule has more patterns than this, each pattern is tried with a difference in one place.
/// Otherwise, it is tried with a difference in every place.
const FEW: usize = 4;

/// Entries that are made for a path, the path itself first.
type Entries = Vec<Entry>;

/// A pattern and where its paths begin.
struct Pattern<'r> {
    rule: &'r Rule,
    take: &'r Take,
    number: usize,
    variable: Variable,
    /// Directories in front of a path, for patterns that match anywhere.
    above: Vec<String>,
}

impl<'r> Pattern<'r> {
    fn new(rule: &'r Rule, number: usize, take: &'r Take) -> Pattern<'r> {
        let (variable, above) = match take.pattern.base {
            Base::Variable(variable) => (variable, Vec::new()),
            Base::Anywhere => (Variable::Top, vec![format!("w{number}")]),
        };
        Pattern { rule, take, number, variable, above }
    }

    /// Returns the names of a path that matches, and the globs that they match.
    fn names(&self) -> Vec<(String, Option<Glob>)> {
        let mut names = Vec::new();
        for component in &self.take.pattern.components {
            match component {
                Component::Name(glob) => names.push((name_of(glob), Some(glob.clone()))),
                Component::AnyDepth => names.push(("n1".to_string(), None)),
            }
        }
        names
    }

    fn is_deep(&self) -> bool {
        let is_any_depth = |component: &Component| *component == Component::AnyDepth;
        self.take.pattern.base == Base::Anywhere
            || self.take.pattern.components.iter().any(is_any_depth)
    }

    /// Returns the entries of a path, with markers and signatures.
    fn entries(&self, names: &[String]) -> Entries {
        let conditions = &self.rule.conditions;
        let all: Vec<String> = self.above.iter().chain(names).cloned().collect();
        let path = all.join("/");
        let dir = all[..all.len() - 1].join("/");
        let at =
            |dir: &str, name: &str| format!("{dir}/{name}").trim_start_matches('/').to_string();
        let entry = |below, content| Entry { variable: self.variable, below, content };
        let bytes = |text: &[u8]| Content::Bytes(text.to_vec());
        let needs_dir = !conditions.inside.is_empty() && self.take.extent == Extent::Tree;
        let mut entries = vec![match (self.take.extent, conditions.only) {
            (Extent::Emptied, _) => entry(path.clone(), Content::Dir),
            (_, Some(Only::EmptyFiles)) => entry(path.clone(), bytes(b"")),
            (_, Some(Only::BrokenLinks)) => entry(path.clone(), Content::Dangling),
            _ if needs_dir => entry(at(&path, "f1"), bytes(b"text")),
            _ => {
                let start = conditions.starts.first().map_or(&b"text"[..], Vec::as_slice);
                entry(path.clone(), bytes(start))
            }
        }];
        if let Some(beside) = conditions.beside.first() {
            entries.push(entry(at(&dir, &name_of(beside)), bytes(b"text")));
        }
        if let Some(inside) = conditions.inside.first() {
            let start = inside.starts.as_deref().unwrap_or(b"text");
            let of_marker = if needs_dir { &path } else { &dir };
            entries.push(entry(at(of_marker, &name_of(&inside.name)), bytes(start)));
        }
        entries
    }

    /// Returns paths that resemble a path that matches, but do not match.
    fn lookalikes(&self) -> Vec<Vec<String>> {
        let names = self.names();
        let plain: Vec<String> = names.iter().map(|(name, _)| name.clone()).collect();
        let mut all = Vec::new();
        let is_one_of_few = self.rule.takes.len() <= FEW;
        let is_tried = |at: usize| is_one_of_few || self.number % (names.len() + 1) == at;
        for (at, (name, glob)) in names.iter().enumerate().filter(|&(at, _)| is_tried(at)) {
            for other in [format!("{name}~"), format!("~{name}")] {
                if glob.as_ref().is_some_and(|glob| !glob.matches(other.as_bytes())) {
                    let mut names = plain.clone();
                    names[at] = other;
                    all.push(names);
                }
            }
        }
        if !is_tried(names.len()) {
            return all;
        }
        if !self.is_deep() && self.take.extent == Extent::Files {
            let mut deeper = plain.clone();
            deeper.insert(plain.len() - 1, "sub1".to_string());
            all.push(deeper);
        }
        if !self.is_deep() && plain.len() > 1 && names[0].1.as_ref().is_some_and(Glob::is_literal) {
            all.push(plain[1..].to_vec());
        }
        all
    }
}

#[test]
fn every_pattern_takes_what_it_names_and_nothing_that_resembles_it() {
    let mut wrong = Vec::new();
    for rule in all_rules() {
        let patterns: Vec<Pattern> =
            rule.takes.iter().enumerate().map(|(at, take)| Pattern::new(&rule, at, take)).collect();
        let mut expected = Vec::new();
        let mut entries = Vec::new();
        let is_named = |names: &[String]| {
            patterns.iter().any(|pattern| pattern.names().iter().map(|(name, _)| name).eq(names))
        };
        for pattern in &patterns {
            let plain: Vec<String> = pattern.names().into_iter().map(|(name, _)| name).collect();
            let junk = [(true, plain)].into_iter();
            let others = pattern.lookalikes().into_iter().filter(|names| !is_named(names));
            let others = others.map(|names| (false, names));
            for (is_junk, names) in junk.chain(others) {
                let made = pattern.entries(&names);
                expected.push((is_junk, made[0].path()));
                entries.extend(made);
            }
        }
        let taken = Target::new(&entries).taken(&rule, Now::InAYear);
        for (is_junk, path) in expected {
            if taken.covers(path.clone()) != is_junk {
                let verb = if is_junk { "leaves" } else { "takes" };
                wrong.push(format!("{} {verb} {path}", rule.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
