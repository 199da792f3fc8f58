//! Guards: the checks that a rule must pass before it may take anything.
//!
//! A refused rule takes nothing and does not affect other rules.

mod layouts;
mod names;
mod narrow;
pub(crate) mod protected;
mod reach;

use std::collections::BTreeSet;
use std::fmt;

use crate::bindings::Bindings;
use crate::rule::Rule;

use reach::Protected;

/// Checks rules on typical layouts, before a target is known (guards 2 and 3). Guard 3 does not
/// check rules that the user allowed.
pub fn check(rules: &[Rule], allow: &BTreeSet<String>) -> Vec<Refused> {
    let layouts: Vec<_> = layouts::typical().map(|layout| Protected::new(&layout)).collect();
    let refusal = |(at, rule): (usize, &Rule)| {
        for take in &rule.takes {
            if let Some(reason) = narrow::objection(rule, take) {
                return Some(Refused { rule: at, guard: Guard::Narrow, reason });
            }
        }
        let is_allowed = allow.contains(&rule.id);
        let by_name = || rule.takes.iter().find_map(names::objection);
        let by_layout = || layouts.iter().find_map(|layout| objection(rule, layout));
        let reason = if is_allowed { None } else { by_name().or_else(by_layout) };
        reason.map(|reason| Refused { rule: at, guard: Guard::Protected, reason })
    };
    rules.iter().enumerate().filter_map(refusal).collect()
}

/// Checks the active rules on the directories that their variables are bound to (guard 3).
pub fn check_bound(
    rules: &[Rule],
    active: &[bool],
    allow: &BTreeSet<String>,
    bindings: &Bindings,
) -> Vec<Refused> {
    let layout = Protected::new(bindings);
    let is_checked = |at: usize, rule: &Rule| active[at] && !allow.contains(&rule.id);
    rules
        .iter()
        .enumerate()
        .filter(|(at, rule)| is_checked(*at, rule))
        .filter_map(|(at, rule)| {
            let reason = objection(rule, &layout)?;
            Some(Refused { rule: at, guard: Guard::Protected, reason })
        })
        .collect()
}

/// Returns why a rule may not be used on a layout, if it may not.
fn objection(rule: &Rule, layout: &Protected) -> Option<String> {
    rule.takes.iter().find_map(|take| {
        let reached = layout.reached(take)?;
        Some(format!("{} reaches {reached}", take.pattern))
    })
}

/// A rule that a guard refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The index of the rule.
    pub rule: usize,
    /// The guard.
    pub guard: Guard,
    /// The objection of the guard, as a phrase: "{home}/* reaches {profile}/Documents".
    pub reason: String,
}

/// The guards, with the numbers that the documentation uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Guard {
    /// A pattern is malformed or could lead out of its base directory.
    Syntax = 1,
    /// A pattern has too few literal characters.
    Narrow = 2,
    /// A pattern reaches protected entries.
    Protected = 3,
    /// The rule file is not trustworthy.
    RuleFile = 4,
    /// The rule takes too large a part of the target.
    Budget = 10,
}

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "guard {}", *self as u8)
    }
}
