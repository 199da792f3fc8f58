//! The result of matching rules against a target: what each rule would take.

mod budget;
pub(crate) mod conditions;
mod decide;
mod finish;
pub(crate) mod listing;
pub(crate) mod request;
mod scope;
mod totals;
mod walk;
mod worker;

use fsops::{Op, Stat};
use runtime::{Interrupted, Progress};

pub use request::Request;

use crate::guard::{self, Refused};
use crate::preview::request::Compiled;

/// Matches the active rules against a target. Rules that are refused because of the target's layout
/// or the size of what they would take are in [`Preview::refused`].
///
/// # Errors
///
/// Fails only if a stop was requested. Entries that could not be examined are in
/// [`Preview::problems`]. Nothing on disk changes.
pub fn run(request: &Request<'_>, progress: &Progress) -> Result<Preview, Interrupted> {
    let Request { rules, allow, bindings, .. } = *request;
    let mut active = request.active.to_vec();
    // The walk never enters one of lop's own directories, so only the target itself needs a check.
    let is_own = request.root.stat().is_ok_and(|root| request.own.has(root.key(), b""));
    if is_own {
        active.fill(false);
    }
    let mut refused = guard::check_bound(rules, &active, allow, bindings);
    for refused in &refused {
        active[refused.rule] = false;
    }
    loop {
        let compiled = Compiled::new(request, &active);
        let found = walk::walk(request, &compiled, progress)?;
        let mut preview = totals::assemble(&compiled, found);
        let over = budget::check(request, &preview, progress)?;
        if over.is_empty() {
            refused.sort_by_key(|refused| refused.rule);
            preview.refused = refused;
            return Ok(preview);
        }
        // Other rules may take entries that were counted for the refused rules.
        for refused in &over {
            active[refused.rule] = false;
        }
        refused.extend(over);
    }
}

/// The entries that the rules would take from one target. The target is unchanged.
#[derive(Debug, Default)]
pub struct Preview {
    /// The entries to take, sorted by path. No entry is inside another.
    pub matches: Vec<Match>,
    /// The totals of each rule, in the order of the rules.
    pub rules: Vec<RuleTotals>,
    /// Active rules that were refused. They take nothing.
    pub refused: Vec<Refused>,
    /// Entries that could not be examined.
    pub problems: Vec<Problem>,
    /// Number of directories that were listed.
    pub dirs_listed: u64,
    /// Number of names that were compared with rules.
    pub names_seen: u64,
}

/// An entry that a rule takes.
#[derive(Clone, Debug)]
pub struct Match {
    /// The path relative to the target.
    pub path: Vec<u8>,
    /// The index of the rule.
    pub rule: u32,
    /// The metadata of the entry.
    pub stat: Stat,
    /// Number of files that are taken with the entry. 1 unless the entry is a directory.
    pub files: u64,
    /// The disk space in bytes that the removal of the entry frees. Files with several names count
    /// as 0.
    pub frees: u64,
    /// The time of the newest entry that is taken, in nanoseconds since the epoch.
    pub newest_ns: i64,
    /// The modification time of the oldest file that is taken, in nanoseconds since the epoch.
    pub oldest_ns: i64,
}

/// The totals of one rule on a target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleTotals {
    /// Whether a variable of the rule is bound on the target, or the rule matches anywhere.
    pub is_here: bool,
    /// Number of matches. A directory that is taken whole counts as one.
    pub matches: u64,
    /// Number of files.
    pub files: u64,
    /// The disk space in bytes that the removal of the files frees.
    pub frees: u64,
    /// The modification time of the oldest file, in nanoseconds since the epoch. `None` without
    /// files.
    pub oldest_ns: Option<i64>,
}

/// An entry that could not be examined.
#[derive(Debug)]
pub struct Problem {
    /// The path relative to the target.
    pub path: Vec<u8>,
    /// The operation that failed.
    pub op: Op,
    /// The error.
    pub source: std::io::Error,
}
