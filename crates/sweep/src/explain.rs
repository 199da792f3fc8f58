//! Explains why rules match a path, component by component.
//!
//! This module matches one rule at a time, which is slow and simple. Its results tell the user why
//! an entry is in a preview, or why it is not.

use std::ffi::{CStr, CString};

use fsops::{Dir, DirBuffer, Stat};

use crate::git::Repositories;
use crate::guard::protected;
use crate::matcher::fold::fold;
use crate::preview::Request;
use crate::preview::conditions::{file_meets, has_beside, has_marker, is_old_enough, newest_ns};
use crate::preview::listing::Listing;
use crate::rule::glob::Glob;
use crate::rule::pattern::{Base, Component, Pattern};
use crate::rule::{Extent, Rule};

/// A rule that concerns a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The index of the rule.
    pub rule: usize,
    /// The pattern that matches.
    pub pattern: String,
    /// The entries that the rule takes at a matching path.
    pub extent: Extent,
    /// The directory that the pattern's variable is bound to, relative to the target. `None` if the
    /// pattern matches anywhere.
    pub bound: Option<Vec<u8>>,
    /// Which names each component matches.
    pub steps: Vec<Step>,
    /// The path that the pattern matches, relative to the target: the path in question, or a
    /// directory above it that is taken with everything below it.
    pub matched: Vec<u8>,
    /// The exclusion of the rule that keeps the path, if there is one.
    pub kept_by: Option<String>,
    /// The protected name that keeps the path from all rules, if there is one.
    pub protected_by: Option<String>,
    /// The conditions of the rule, and whether the entry at `matched` meets them. `None` if that
    /// cannot be determined.
    pub conditions: Vec<(&'static str, Option<bool>)>,
}

/// A component of a pattern, and the part of the path that it matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The component.
    pub component: String,
    /// The names that it matches, separated by slashes. Empty for a `**` that matches no directory.
    pub names: Vec<u8>,
}

/// Returns the active rules that concern a path, which is relative to the target.
pub fn explain(request: &Request<'_>, path: &[u8]) -> Vec<Explanation> {
    let names: Vec<&[u8]> = path.split(|&b| b == b'/').filter(|name| !name.is_empty()).collect();
    let mut all = Vec::new();
    for (at, rule) in request.rules.iter().enumerate().filter(|(at, _)| request.active[*at]) {
        for take in &rule.takes {
            let longest = names.len();
            let shortest = if take.extent == Extent::Tree { 1 } else { longest };
            let found = (shortest..=longest).find_map(|length| {
                Some((length, matched(request, &take.pattern, &names[..length])?))
            });
            let Some((length, (bound, steps))) = found else { continue };
            let matched_names = &names[..length];
            all.push(Explanation {
                rule: at,
                pattern: take.pattern.to_string(),
                extent: take.extent,
                bound,
                steps,
                matched: matched_names.join(&b'/'),
                kept_by: kept_by(request, rule, &names),
                protected_by: protected_by(request, &names),
                conditions: conditions(request, rule, matched_names),
            });
        }
    }
    all
}

/// Returns how a pattern matches a path: the bound directory, and the names of each component.
fn matched(
    request: &Request<'_>,
    pattern: &Pattern,
    names: &[&[u8]],
) -> Option<(Option<Vec<u8>>, Vec<Step>)> {
    let folds = request.bindings.folds;
    let Base::Variable(variable) = pattern.base else {
        let mut deep = vec![Component::AnyDepth];
        deep.extend(pattern.components.iter().cloned());
        return Some((None, align(&deep, names, folds)?));
    };
    request.bindings.of(variable).find_map(|binding| {
        let bound: Vec<&[u8]> =
            binding.path.split(|&b| b == b'/').filter(|name| !name.is_empty()).collect();
        let rest = names.strip_prefix(&bound[..])?;
        Some((Some(binding.path.clone()), align(&pattern.components, rest, folds)?))
    })
}

/// Assigns names to components. Returns `None` if they do not match.
fn align(components: &[Component], names: &[&[u8]], folds: bool) -> Option<Vec<Step>> {
    let Some((first, rest)) = components.split_first() else {
        return names.is_empty().then(Vec::new);
    };
    let step = |component: String, names: &[&[u8]], mut others: Vec<Step>| {
        others.insert(0, Step { component, names: names.join(&b'/') });
        others
    };
    match first {
        Component::AnyDepth => (0..=names.len()).find_map(|skipped| {
            let others = align(rest, &names[skipped..], folds)?;
            Some(step("**".into(), &names[..skipped], others))
        }),
        Component::Name(glob) => {
            let (name, left) = names.split_first()?;
            let is_match = name_matches(glob, name, folds);
            let others = if is_match { align(rest, left, folds)? } else { return None };
            Some(step(glob.to_string(), &names[..1], others))
        }
    }
}

fn name_matches(glob: &Glob, name: &[u8], folds: bool) -> bool {
    if folds {
        fold(name).is_some_and(|name| glob.folded().matches(&name))
    } else {
        glob.matches(name)
    }
}

/// Returns the exclusion of a rule that matches a path or a directory above it.
fn kept_by(request: &Request<'_>, rule: &Rule, names: &[&[u8]]) -> Option<String> {
    let prefixes = (1..=names.len()).map(|length| &names[..length]);
    let keeps =
        |names: &[&[u8]]| rule.keeps.iter().find(|keep| matched(request, keep, names).is_some());
    prefixes.into_iter().find_map(keeps).map(ToString::to_string)
}

/// Returns the pattern of protected entries that matches a path.
fn protected_by(request: &Request<'_>, names: &[&[u8]]) -> Option<String> {
    let matches = |pattern: &Pattern| matched(request, pattern, names).is_some();
    let mut pattern = protected::runtime_patterns().into_iter().find(matches)?;
    pattern.components.pop_if(|last| *last == Component::AnyDepth);
    Some(pattern.to_string())
}

fn conditions(
    request: &Request<'_>,
    rule: &Rule,
    names: &[&[u8]],
) -> Vec<(&'static str, Option<bool>)> {
    let wanted = &rule.conditions;
    let Some((name, above)) = names.split_last() else { return Vec::new() };
    let open = |names: &[&[u8]]| {
        let path = if names.is_empty() { b".".to_vec() } else { names.join(&b'/') };
        let dir = request.root.open_below_same_mount(&path).ok()?;
        let mut listing = Listing::default();
        listing.read(&dir, &mut DirBuffer::default()).ok()?;
        Some((dir, listing))
    };
    let holder = open(above);
    let itself = open(names);
    let stat = CString::new(*name)
        .ok()
        .zip(holder.as_ref())
        .and_then(|(name, (dir, _))| Some((dir.stat_child(&name).ok()?, name)));
    let mut all = Vec::new();
    if !wanted.beside.is_empty() {
        let met = holder.as_ref().map(|(_, listing)| has_beside(&wanted.beside, listing));
        all.push(("beside", met));
    }
    if !wanted.inside.is_empty() {
        let place = itself.as_ref().or(holder.as_ref());
        all.push(("inside", place.map(|(dir, list)| has_marker(&wanted.inside, dir, list))));
    }
    if wanted.untracked {
        let mut repositories = Repositories::new(request.root, request.path);
        all.push(("untracked", Some(!repositories.may_track(&names.join(&b'/')))));
    }
    if let Some(age) = &wanted.older {
        // The age of a directory depends on everything below it.
        let of_file = stat.as_ref().filter(|_| itself.is_none());
        let met = of_file
            .map(|(stat, _)| is_old_enough(newest_ns(stat, Some(age)), Some(age), request.now_ns));
        all.push(("older", met));
    }
    let has_others = wanted.larger.is_some() || wanted.only.is_some() || !wanted.starts.is_empty();
    if has_others && itself.is_none() {
        let met = holder
            .as_ref()
            .zip(stat.as_ref())
            .and_then(|((dir, _), (stat, name))| contents_meet(request, rule, (dir, name), stat));
        all.push(("size, kind and signature", met));
    }
    all
}

/// Returns whether a file meets the conditions of a rule other than its age.
fn contents_meet(
    request: &Request<'_>,
    rule: &Rule,
    entry: (&Dir, &CStr),
    stat: &Stat,
) -> Option<bool> {
    let ageless = crate::rule::Conditions { older: None, ..rule.conditions.clone() };
    if !ageless.may_take(stat.kind) {
        return Some(false);
    }
    file_meets(request, &ageless, entry, stat).ok()
}
