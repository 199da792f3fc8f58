//! A request to match rules against a target, and its compiled form.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use device::{Disk, Threads};
use fsops::{Dir, FileKey};
use walk::OwnFiles;

use crate::bindings::{Binding, Bindings};
use crate::guard::protected::{self, EMPTIABLE};
use crate::matcher::Matcher;
use crate::matcher::automaton::{Automaton, Leaf};
use crate::rule::Rule;
use crate::rule::pattern::{Base, Component};

/// A request to match rules against a target.
pub struct Request<'a> {
    /// The target.
    pub root: &'a Dir,
    /// The absolute path of the target, without links.
    pub path: &'a [u8],
    /// The rules. An index into this slice identifies a rule.
    pub rules: &'a [Rule],
    /// Whether each rule is active. Refused and skipped rules are not.
    pub active: &'a [bool],
    /// The identifiers of rules for which the user lifted guards 3 and 10 (`--allow`).
    pub allow: &'a BTreeSet<String>,
    /// The roles of the target's directories.
    pub bindings: &'a Bindings,
    /// Files of lop itself, which no rule takes.
    pub own: &'a OwnFiles,
    /// Directories that no rule takes, such as the working directory and its ancestors.
    pub avoid: HashSet<FileKey>,
    /// The current time in nanoseconds since the epoch, from which ages are counted.
    pub now_ns: i64,
    /// The disk that the target is on.
    pub disk: Arc<Disk>,
    /// Number of threads.
    pub threads: Threads,
}

/// The rules, compiled for one target.
pub(crate) struct Compiled {
    /// The patterns of the rules.
    pub(crate) matcher: Matcher,
    /// The patterns of protected entries. Only entries that a rule is about to take are compared
    /// with them.
    pub(crate) protected: Matcher,
    /// Directories that are never taken themselves, although their contents may be.
    pub(crate) kept_dirs: HashSet<FileKey>,
    /// The kept directories whose contents are valuable. A rule that takes a directory above one of
    /// these takes nothing in it, even if the directory contains a marker.
    pub(crate) valuable_dirs: HashSet<FileKey>,
    /// Whether each rule may take protected entries.
    pub(crate) allowed: Vec<bool>,
    /// Whether each rule can match anything on the target.
    pub(crate) is_here: Vec<bool>,
}

impl Compiled {
    pub(crate) fn new(request: &Request<'_>, active: &[bool]) -> Compiled {
        let Request { rules, allow, bindings, .. } = request;
        let bound: HashSet<_> = bindings.bound.iter().map(|binding| binding.variable).collect();
        let mut automaton = Automaton::new(bindings.folds);
        let mut is_here = vec![false; rules.len()];
        for (at, rule) in rules.iter().enumerate().filter(|(at, _)| active[*at]) {
            let number = walk::to_u32(at);
            let is_bound = |base: &Base| match base {
                Base::Variable(variable) => bound.contains(variable),
                Base::Anywhere => true,
            };
            for take in rule.takes.iter().filter(|take| is_bound(&take.pattern.base)) {
                is_here[at] = true;
                automaton.add(&take.pattern, Leaf::Take { rule: number, extent: take.extent });
            }
            if is_here[at] {
                for keep in &rule.keeps {
                    let keep = keep.join(Component::AnyDepth);
                    automaton.add(&keep, Leaf::Keep { rule: number });
                }
            }
        }
        let mut protected = Automaton::new(bindings.folds);
        for pattern in protected::runtime_patterns() {
            protected.add(&pattern, Leaf::Protect);
        }
        let matcher = Matcher::new(automaton, bindings);
        let protected = Matcher::new(protected, bindings);
        let kept_dirs = bindings.bound.iter().map(|binding| binding.key).collect();
        let is_valuable = |binding: &&Binding| !EMPTIABLE.contains(&binding.variable);
        let valuable_dirs =
            bindings.bound.iter().filter(is_valuable).map(|binding| binding.key).collect();
        let allowed = rules.iter().map(|rule| allow.contains(&rule.id)).collect();
        Compiled { matcher, protected, kept_dirs, valuable_dirs, allowed, is_here }
    }
}
