//! Decides which rules take the entries of a directory, and which subdirectories the walk must
//! list.

use std::cell::OnceCell;
use std::ffi::CStr;
use std::io;
use std::sync::Arc;

use fsops::{Dir, FileKey, Kind, Op, Stat};
use smallvec::SmallVec;
use walk::QUARANTINE_PREFIX;

use crate::matcher::Place;
use crate::matcher::automaton::{Automaton, Leaf, NodeId};
use crate::matcher::routes::Position;
use crate::preview::Match;
use crate::preview::conditions::{file_meets, has_beside, has_marker, newest_ns};
use crate::preview::listing::Listing;
use crate::preview::scope::{DirNode, Scope, Sums};
use crate::preview::worker::{Pending, Worker};
use crate::rule::{Conditions, Extent};

/// A directory while it is being listed.
pub(crate) struct Current<'c> {
    dir: &'c Dir,
    listing: &'c Listing,
    node: &'c Arc<DirNode>,
    pub(crate) route: Option<Position>,
    /// The rules that may take the directory as a whole.
    pub(crate) scopes: Vec<(u32, Extent)>,
    /// The identity of the directory, once it is known.
    key: Option<FileKey>,
    /// The path relative to the target, once it is needed.
    path: OnceCell<Vec<u8>>,
}

/// Indices of rules. Few rules take one entry.
type Rules = SmallVec<[u32; 4]>;

/// The patterns that match an entry.
#[derive(Debug, Default)]
pub(crate) struct Hits {
    /// The rules that take the entry.
    pub(crate) takes: Vec<(u32, Extent)>,
    /// The rules that keep the entry.
    keeps: Vec<u32>,
    /// Whether all rules keep the entry.
    pub(crate) is_protected: bool,
}

impl<'c> Current<'c> {
    pub(crate) fn new(pending: &'c Pending, dir: &'c Dir, listing: &'c Listing) -> Current<'c> {
        let (node, route) = (&pending.node, pending.place.route);
        let (scopes, key, path) = (Vec::new(), None, OnceCell::new());
        Current { dir, listing, node, route, scopes, key, path }
    }

    /// Returns the path of an entry relative to the target.
    fn path_of(&self, name: &[u8]) -> Vec<u8> {
        let dir = self.path.get_or_init(|| self.node.path());
        let mut path = Vec::with_capacity(dir.len() + 1 + name.len());
        path.extend_from_slice(dir);
        walk::push_component(&mut path, name);
        path
    }
}

impl Worker<'_> {
    /// Checks whether the directory meets the conditions of the rules that may take it as a whole.
    pub(crate) fn open_scopes(&mut self, current: &mut Current<'_>) {
        let mut state = current.node.state.lock();
        if state.scopes.is_empty() {
            return;
        }
        for scope in &mut state.scopes {
            let Conditions { inside, untracked, .. } = &self.rule(scope.rule).conditions;
            scope.is_off |= scope.is_top && !has_marker(inside, current.dir, current.listing);
            let is_candidate = scope.is_top && *untracked && !scope.is_off;
            scope.is_off |= is_candidate && self.repositories.may_track(&current.node.path());
            // Programs lock directories of temporary files that they still need, as systemd
            // recommends: https://systemd.io/TEMPORARY_DIRECTORIES/
            let is_temporary = self.rule(scope.rule).conditions.older.is_some();
            scope.is_off |= is_temporary && current.dir.is_locked().unwrap_or(true);
        }
        if state.scopes.iter().all(|scope| scope.is_off) {
            return;
        }
        let stat = match current.dir.stat() {
            Ok(stat) => stat,
            Err(source) => {
                state.scopes.iter_mut().for_each(|scope| scope.is_off = true);
                drop(state);
                return self.problem(current.node.path(), Op::Stat, source);
            }
        };
        let is_avoided = self.request.avoid.contains(&stat.key());
        let is_bound = self.compiled.kept_dirs.contains(&stat.key());
        let is_valuable = is_bound && self.compiled.valuable_dirs.contains(&stat.key());
        for scope in state.scopes.iter_mut().filter(|scope| !scope.is_off) {
            let is_allowed = self.compiled.allowed[scope.rule as usize];
            if is_valuable && !is_allowed {
                scope.is_off = true;
                continue;
            }
            scope.is_kept |= is_avoided || is_bound && !is_allowed;
            let newest = newest_ns(&stat, self.rule(scope.rule).conditions.older.as_ref());
            scope.sums.newest_ns = scope.sums.newest_ns.max(newest);
            scope.sums.frees += stat.allocated;
            current.scopes.push((scope.rule, scope.extent));
        }
        state.stat = Some(stat);
        current.key = Some(stat.key());
    }

    /// Records that a directory contains a repository, for the rules that take only what git does not
    /// track.
    pub(crate) fn note_repository(&self, current: &Current<'_>) {
        let mut state = current.node.state.lock();
        for scope in &mut state.scopes {
            scope.has_repository |= self.rule(scope.rule).conditions.untracked;
        }
    }

    /// Decides which rules may take a subdirectory, and puts it on the stack if a rule can reach it
    /// or something in it.
    pub(crate) fn subdirectory(
        &mut self,
        current: &mut Current<'_>,
        (name, inode): (&CStr, u64),
        hits: &Hits,
        next: &[NodeId],
    ) {
        let bytes = name.to_bytes();
        let mut scopes = Vec::new();
        let is_kept_whole =
            bytes.starts_with(QUARANTINE_PREFIX.as_bytes()) || self.is_own(current, bytes);
        for &(rule, extent) in &current.scopes {
            let is_inside = extent == Extent::Tree
                || hits
                    .takes
                    .iter()
                    .any(|&(other, extent)| rule == other && extent != Extent::Files);
            if is_kept_whole || !is_inside || self.is_kept(rule, hits) {
                current.node.keep(rule);
            } else if extent == Extent::Tree {
                scopes.push(Scope::new(rule, Extent::Tree, false));
            }
        }
        for &(rule, extent) in &hits.takes {
            let is_known = scopes.iter().any(|scope| scope.rule == rule);
            let conditions = &self.rule(rule).conditions;
            if extent == Extent::Files || is_known || is_kept_whole || self.is_kept(rule, hits) {
                continue;
            }
            if conditions.only.is_none() && has_beside(&conditions.beside, current.listing) {
                scopes.push(Scope::new(rule, extent, true));
            }
        }
        let matcher = &self.compiled.matcher;
        let route = matcher.routes.step(current.route, bytes);
        let is_live = route.is_some() || matcher.automaton.is_live(next);
        if is_kept_whole || scopes.is_empty() && !is_live {
            return;
        }
        let mut state = next.to_vec();
        matcher.arrive(route, &mut state);
        let reports = !scopes.is_empty() && !current.scopes.is_empty();
        let node = Arc::new(DirNode::child(current.node, name, reports, scopes));
        self.stack.push(Pending { inode, node, place: Place { state: state.into(), route } });
    }

    /// Decides whether a rule takes an entry that is not a directory.
    pub(crate) fn file(&mut self, current: &mut Current<'_>, name: &CStr, kind: Kind, hits: &Hits) {
        if !matches!(kind, Kind::File | Kind::Symlink) || self.is_own(current, name.to_bytes()) {
            for &(rule, _) in &current.scopes {
                current.node.keep(rule);
            }
            return;
        }
        let candidates = self.candidates(current, kind, hits);
        let is_taken = |rule: u32| candidates.contains(&rule);
        for &(rule, extent) in &current.scopes {
            let is_inside = match extent {
                Extent::Emptied => is_taken(rule),
                _ => !self.is_kept(rule, hits),
            };
            if !is_inside {
                current.node.keep(rule);
            }
        }
        if candidates.is_empty() && current.scopes.is_empty() {
            return;
        }
        let stat = match current.dir.stat_child(name) {
            Ok(stat) => stat,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return,
            Err(source) => {
                current.node.keep_all();
                return self.problem(current.path_of(name.to_bytes()), Op::Stat, source);
            }
        };
        self.add_to_scopes(current, &stat, hits);
        if let Some(found) = self.take_file(current, name, &stat, &candidates) {
            self.found.matches.push(found);
        }
    }

    /// Returns the rules that may take a file by itself, in ascending order.
    fn candidates(&self, current: &Current<'_>, kind: Kind, hits: &Hits) -> Rules {
        let mut rules: Rules = hits
            .takes
            .iter()
            .filter(|&&(rule, extent)| {
                let conditions = &self.rule(rule).conditions;
                // A marker inside describes a directory, so a rule for trees with such a marker
                // takes no files by themselves.
                let may_take = match extent {
                    Extent::Files => true,
                    Extent::Tree => conditions.inside.is_empty(),
                    Extent::Emptied => false,
                };
                may_take
                    && conditions.may_take(kind)
                    && !self.is_kept(rule, hits)
                    && has_beside(&conditions.beside, current.listing)
                    && has_marker(&conditions.inside, current.dir, current.listing)
            })
            .map(|&(rule, _)| rule)
            .collect();
        rules.sort_unstable();
        rules.dedup();
        rules
    }

    fn add_to_scopes(&self, current: &Current<'_>, stat: &Stat, hits: &Hits) {
        if current.scopes.is_empty() {
            return;
        }
        let mut state = current.node.state.lock();
        for scope in state.scopes.iter_mut().filter(|scope| !scope.is_off) {
            if !self.is_kept(scope.rule, hits) {
                let age = self.rule(scope.rule).conditions.older.as_ref();
                scope.sums.add(Sums::of_file(stat, newest_ns(stat, age)));
            }
        }
    }

    /// Returns the match of the first rule that takes a file by itself.
    fn take_file(
        &mut self,
        current: &Current<'_>,
        name: &CStr,
        stat: &Stat,
        candidates: &[u32],
    ) -> Option<Match> {
        let path = || current.path_of(name.to_bytes());
        let mut taken = None;
        for &rule in candidates {
            let conditions = &self.rule(rule).conditions;
            let entry = (current.dir, name);
            let meets = file_meets(self.request, conditions, entry, stat);
            let mut is_tracked = || conditions.untracked && self.repositories.may_track(&path());
            match meets.map(|meets| meets && !is_tracked()) {
                Ok(true) if taken.is_none() => {
                    let newest = newest_ns(stat, conditions.older.as_ref());
                    taken = Some(Match::new(path(), rule, *stat, Sums::of_file(stat, newest)));
                }
                Ok(true) => {}
                answer => {
                    for &(scope, extent) in &current.scopes {
                        if scope == rule && extent == Extent::Emptied {
                            current.node.keep(rule);
                        }
                    }
                    if let Err((op, source)) = answer {
                        self.problem(path(), op, source);
                    }
                }
            }
        }
        taken
    }

    pub(crate) fn is_kept(&self, rule: u32, hits: &Hits) -> bool {
        hits.keeps.contains(&rule) || hits.is_protected && !self.compiled.allowed[rule as usize]
    }

    /// Returns whether an entry of the directory is protected.
    pub(crate) fn is_protected(
        &mut self,
        current: &Current<'_>,
        name: &[u8],
        folded: &mut Vec<u8>,
    ) -> bool {
        let (matcher, next) = (&self.compiled.protected, &mut self.next_protected);
        matcher.step(&current.node.protected_place(matcher).state, name, folded, next);
        matcher.automaton.leaves(next).next().is_some()
    }

    /// Returns whether a name in the directory belongs to one of lop's own files. Directories of lop
    /// are never entered, so most names are dismissed without a system call.
    pub(crate) fn is_own(&self, current: &mut Current<'_>, name: &[u8]) -> bool {
        if !self.request.own.may_have(name) {
            return false;
        }
        if current.key.is_none() {
            current.key = current.dir.stat().ok().map(|stat| stat.key());
        }
        current.key.is_none_or(|key| self.request.own.has(key, name))
    }
}

impl Hits {
    /// Collects the effects of the patterns that match an entry.
    pub(crate) fn find(&mut self, automaton: &Automaton, state: &[NodeId]) {
        self.takes.clear();
        self.keeps.clear();
        self.is_protected = false;
        for leaf in automaton.leaves(state) {
            match leaf {
                Leaf::Take { rule, extent } => self.takes.push((rule, extent)),
                Leaf::Keep { rule } => self.keeps.push(rule),
                Leaf::Protect => self.is_protected = true,
            }
        }
        if self.takes.len() > 1 {
            // A tree includes everything that the other extents of the same rule take.
            self.takes.sort_unstable_by_key(|&(rule, extent)| (rule, extent != Extent::Tree));
        }
    }
}
