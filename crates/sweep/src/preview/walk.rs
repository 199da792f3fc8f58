//! The walk: workers list the directories that a rule can reach, and match their names.
//!
//! Only entries that a pattern names are examined. A name that no pattern matches costs no system
//! call. No link is followed, and no other file system is entered.

use std::ffi::CStr;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use device::{Queue, WaitMeter, WorkerPool};
use fsops::{Dir, DirBuffer, FileKey, Kind, Op, Stat};
use runtime::{Interrupted, Mutex, Progress, Stage};
use walk::QUARANTINE_PREFIX;

use crate::matcher::automaton::{Leaf, NodeId};
use crate::matcher::fold::fold_into;
use crate::matcher::routes::{Position, Routes};
use crate::preview::conditions::{file_meets, has_beside, has_marker, is_old_enough, newest_ns};
use crate::preview::listing::Listing;
use crate::preview::request::{Compiled, Request};
use crate::preview::scope::{DirNode, DirState, Scope, Sums};
use crate::preview::{Match, Problem};
use crate::rule::{Extent, Rule};

/// A directory to list.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub(crate) inode: u64,
    pub(crate) node: Arc<DirNode>,
    pub(crate) state: Arc<[NodeId]>,
    pub(crate) route: Option<Position>,
}

/// The results of one worker.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) matches: Vec<Match>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) dirs: u64,
    pub(crate) names: u64,
}

/// Walks the target. Returns the results of the workers.
pub(crate) fn walk(
    request: &Request<'_>,
    compiled: &Compiled,
    progress: &Progress,
) -> Result<Vec<Found>, Interrupted> {
    progress.enter(Stage::Walk);
    let top = DirNode {
        parent: None,
        path: Vec::new(),
        state: Mutex::new(DirState { pending: 1, ..DirState::default() }),
    };
    let top = Pending {
        inode: 0,
        node: Arc::new(top),
        state: compiled.state_of(b"").into(),
        route: Some(Routes::START),
    };
    let queue = Queue::new(top);
    let pool =
        WorkerPool { disk: &request.disk, threads: request.threads, pieces: None, progress };
    let found = pool.run(|meter| Worker::new(request, compiled, &queue, progress).run(meter));
    progress.check()?;
    Ok(found)
}

/// A worker thread.
pub(crate) struct Worker<'a> {
    pub(crate) request: &'a Request<'a>,
    pub(crate) compiled: &'a Compiled,
    queue: &'a Queue<Pending>,
    progress: &'a Progress,
    stack: Vec<Pending>,
    buffer: DirBuffer,
    pub(crate) listing: Listing,
    folded: Vec<u8>,
    next: Vec<NodeId>,
    pub(crate) found: Found,
}

/// A directory while it is being listed.
pub(crate) struct Current<'c> {
    pub(crate) dir: &'c Dir,
    pub(crate) listing: &'c Listing,
    pub(crate) node: &'c Arc<DirNode>,
    state: &'c Arc<[NodeId]>,
    route: Option<Position>,
    /// The rules that may take the directory as a whole.
    scopes: Vec<(u32, Extent)>,
    /// The identity of the directory. It is queried only if an entry matches.
    key: Option<FileKey>,
    stat: Option<Stat>,
}

/// The patterns that match an entry.
#[derive(Debug, Default)]
struct Hits {
    takes: Vec<(u32, Extent)>,
    keeps: Vec<u32>,
    is_protected: bool,
}

impl<'a> Worker<'a> {
    fn new(
        request: &'a Request<'a>,
        compiled: &'a Compiled,
        queue: &'a Queue<Pending>,
        progress: &'a Progress,
    ) -> Worker<'a> {
        Worker {
            request,
            compiled,
            queue,
            progress,
            stack: Vec::new(),
            buffer: DirBuffer::default(),
            listing: Listing::default(),
            folded: Vec::new(),
            next: Vec::new(),
            found: Found::default(),
        }
    }

    fn run(mut self, meter: &mut WaitMeter<'_>) -> Found {
        self.queue.join();
        let _guard = self.queue.close_on_panic();
        let disk = &self.request.disk;
        while let Some(pending) = self.queue.next(&mut self.stack) {
            if self.progress.poll_stop() {
                self.queue.close();
                break;
            }
            meter.begin();
            self.directory(&pending);
            if disk.is_cold() && disk.is_seek_bound() {
                self.queue.enqueue_sorted(&mut self.stack);
            } else {
                self.queue.share(&mut self.stack);
            }
            meter.tick();
        }
        self.found
    }

    /// Lists a directory, and passes its result on to its parent if it has no subdirectories left.
    fn directory(&mut self, pending: &Pending) {
        let node = &pending.node;
        let mut listing = std::mem::take(&mut self.listing);
        let opened = self.open(&node.path).map_err(|e| (Op::Open, e)).and_then(|dir| {
            listing.read(&dir, &mut self.buffer).map_err(|e| (Op::List, e))?;
            Ok(dir)
        });
        match opened {
            Ok(dir) => {
                self.found.dirs += 1;
                self.found.names += listing.names().len() as u64;
                self.progress.entries.fetch_add(listing.names().len() as u64, Relaxed);
                self.entries(pending, &dir, &listing);
            }
            Err((op, source)) => {
                node.state.lock().scopes.iter_mut().for_each(|scope| scope.is_kept = true);
                // A mount point is kept, which is not a problem.
                if source.kind() != io::ErrorKind::CrossesDevices {
                    self.problem(node.path.clone(), op, source);
                }
            }
        }
        self.listing = listing;
        self.finish(node);
    }

    /// Opens a directory of the target.
    pub(crate) fn open(&self, path: &[u8]) -> io::Result<Dir> {
        let path = if path.is_empty() { b".".as_slice() } else { path };
        self.request.root.open_below_same_mount(path)
    }

    fn entries(&mut self, pending: &Pending, dir: &Dir, listing: &Listing) {
        let mut current = Current {
            dir,
            listing,
            node: &pending.node,
            state: &pending.state,
            route: pending.route,
            scopes: Vec::new(),
            key: None,
            stat: None,
        };
        self.open_scopes(&mut current);
        let (mut folded, mut next) =
            (std::mem::take(&mut self.folded), std::mem::take(&mut self.next));
        let mut hits = Hits::default();
        for (name, kind) in listing.names() {
            match fold_into(name.to_bytes(), self.compiled.automaton.folds(), &mut folded) {
                Some(folded) => self.compiled.automaton.step(current.state, folded, &mut next),
                None => next.clear(),
            }
            if next.is_empty() && current.scopes.is_empty() && current.route.is_none() {
                continue;
            }
            hits.find(&self.compiled, &next);
            let kind = match kind {
                Kind::Unknown => dir.stat_child(name).map_or(Kind::Unknown, |stat| stat.kind),
                known => known,
            };
            if kind == Kind::Dir {
                self.subdirectory(&mut current, name, &hits, &next);
            } else if !hits.takes.is_empty() || !current.scopes.is_empty() {
                self.file(&mut current, name, kind, &hits);
            }
        }
        (self.folded, self.next) = (folded, next);
    }

    /// Checks whether the directory meets the conditions of the rules that may take it as a whole.
    fn open_scopes(&mut self, current: &mut Current<'_>) {
        let mut state = current.node.state.lock();
        if state.scopes.is_empty() {
            return;
        }
        for scope in &mut state.scopes {
            let markers = &self.rule(scope.rule).conditions.inside;
            scope.is_off |= scope.is_top && !has_marker(markers, current.dir, current.listing);
        }
        if state.scopes.iter().all(|scope| scope.is_off) {
            return;
        }
        let stat = match current.dir.stat() {
            Ok(stat) => stat,
            Err(source) => {
                state.scopes.iter_mut().for_each(|scope| scope.is_off = true);
                drop(state);
                return self.problem(current.node.path.clone(), Op::Stat, source);
            }
        };
        let is_avoided = self.request.avoid.contains(&stat.key());
        let is_bound = self.compiled.kept_dirs.contains(&stat.key());
        for scope in state.scopes.iter_mut().filter(|scope| !scope.is_off) {
            let is_allowed = self.compiled.allowed[scope.rule as usize];
            scope.is_kept |= is_avoided || is_bound && !is_allowed;
            let newest = newest_ns(&stat, self.rule(scope.rule).conditions.older.as_ref());
            scope.sums.newest_ns = scope.sums.newest_ns.max(newest);
            scope.sums.frees += stat.allocated;
            current.scopes.push((scope.rule, scope.extent));
        }
        state.stat = Some(stat);
        (current.stat, current.key) = (Some(stat), Some(stat.key()));
    }

    /// Decides about a subdirectory, and puts it on the stack if a rule can reach something in it.
    fn subdirectory(
        &mut self,
        current: &mut Current<'_>,
        name: &CStr,
        hits: &Hits,
        next: &[NodeId],
    ) {
        let bytes = name.to_bytes();
        let mut scopes = Vec::new();
        let is_kept_whole = bytes.starts_with(QUARANTINE_PREFIX.as_bytes())
            || (!hits.takes.is_empty() || !current.scopes.is_empty()) && self.is_own(current, bytes);
        for &(rule, extent) in &current.scopes {
            let is_inside = extent == Extent::Tree
                || hits.takes.iter().any(|&(other, extent)| rule == other && extent != Extent::Files);
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
        let route = self.compiled.routes.step(current.route, bytes);
        let is_live = route.is_some() || self.compiled.automaton.is_live(next);
        if is_kept_whole || scopes.is_empty() && !is_live {
            return;
        }
        let mut state = next.to_vec();
        self.compiled.arrive(route, &mut state);
        let parent = (!scopes.is_empty() && !current.scopes.is_empty()).then(|| {
            current.node.state.lock().pending += 1;
            Arc::clone(current.node)
        });
        let mut path = current.node.path.clone();
        walk::push_component(&mut path, bytes);
        let child = DirState { pending: 1, stat: None, scopes };
        let node = Arc::new(DirNode { parent, path, state: Mutex::new(child) });
        self.stack.push(Pending { inode: 0, node, state: state.into(), route });
    }

    /// Decides about an entry that is not a directory.
    fn file(&mut self, current: &mut Current<'_>, name: &CStr, kind: Kind, hits: &Hits) {
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
                let mut path = current.node.path.clone();
                walk::push_component(&mut path, name.to_bytes());
                return self.problem(path, Op::Stat, source);
            }
        };
        self.add_to_scopes(current, &stat, hits);
        if let Some(found) = self.take_file(current, name, &stat, &candidates) {
            self.found.matches.push(found);
        }
    }

    /// Returns the rules that may take a file by itself, in ascending order.
    fn candidates(&self, current: &Current<'_>, kind: Kind, hits: &Hits) -> Vec<u32> {
        let mut rules: Vec<u32> = hits
            .takes
            .iter()
            .filter(|(_, extent)| *extent != Extent::Emptied)
            .map(|&(rule, _)| rule)
            .filter(|&rule| {
                let conditions = &self.rule(rule).conditions;
                conditions.may_take(kind)
                    && !self.is_kept(rule, hits)
                    && has_beside(&conditions.beside, current.listing)
                    && has_marker(&conditions.inside, current.dir, current.listing)
            })
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
        let path = || {
            let mut path = current.node.path.clone();
            walk::push_component(&mut path, name.to_bytes());
            path
        };
        let mut taken = None;
        for &rule in candidates {
            let conditions = &self.rule(rule).conditions;
            match file_meets(conditions, current.dir, name, stat, self.request.now_ns) {
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

    /// Passes the results of a finished directory on to its parent, and those of the parent if it is
    /// finished too.
    fn finish(&mut self, node: &Arc<DirNode>) {
        let mut node = Arc::clone(node);
        loop {
            let (scopes, stat) = {
                let mut state = node.state.lock();
                state.pending -= 1;
                if state.pending > 0 {
                    return;
                }
                (std::mem::take(&mut state.scopes), state.stat)
            };
            for scope in scopes {
                self.finish_scope(&node, scope, stat);
            }
            let Some(parent) = &node.parent else { return };
            node = Arc::clone(parent);
        }
    }

    fn finish_scope(&mut self, node: &DirNode, mut scope: Scope, stat: Option<Stat>) {
        let whole = stat.filter(|_| scope.is_whole());
        let taken = match whole {
            Some(stat) => vec![Match::new(node.path.clone(), scope.rule, stat, scope.sums)],
            None if scope.is_off || stat.is_none() => Vec::new(),
            None => {
                let mut taken = std::mem::take(&mut scope.taken);
                if scope.extent == Extent::Tree {
                    taken.extend(self.direct_files(node, scope.rule));
                }
                taken
            }
        };
        if let Some(parent) = &node.parent {
            let mut state = parent.state.lock();
            let above = state.scopes.iter_mut().find(|above| above.rule == scope.rule);
            if let Some(above) = above {
                above.sums.newest_ns = above.sums.newest_ns.max(scope.sums.newest_ns);
                if whole.is_some() {
                    above.sums.add(scope.sums);
                } else {
                    above.is_kept = true;
                }
                above.taken.extend(taken);
                return;
            }
        }
        let age = self.rule(scope.rule).conditions.older;
        if is_old_enough(scope.sums.newest_ns, age.as_ref(), self.request.now_ns) {
            self.found.matches.extend(taken);
        }
    }

    /// Lists a directory again, because something in it is kept, and returns the files directly in
    /// it that a rule takes nevertheless.
    fn direct_files(&mut self, node: &DirNode, rule: u32) -> Vec<Match> {
        let mut taken = Vec::new();
        let mut listing = Listing::default();
        let Ok(dir) = self.open(&node.path) else { return taken };
        if listing.read(&dir, &mut self.buffer).is_err() {
            return taken;
        }
        let state = self.compiled.state_of(&node.path);
        let (mut folded, mut next, mut hits) = (Vec::new(), Vec::new(), Hits::default());
        for (name, _) in listing.names() {
            match fold_into(name.to_bytes(), self.compiled.automaton.folds(), &mut folded) {
                Some(folded) => self.compiled.automaton.step(&state, folded, &mut next),
                None => next.clear(),
            }
            hits.find(self.compiled, &next);
            let Ok(stat) = dir.stat_child(name) else { continue };
            if !matches!(stat.kind, Kind::File | Kind::Symlink)
                || self.is_kept(rule, &hits)
                || dir.stat().is_ok_and(|dir| self.request.own.has(dir.key(), name.to_bytes()))
            {
                continue;
            }
            let newest = newest_ns(&stat, self.rule(rule).conditions.older.as_ref());
            let mut path = node.path.clone();
            walk::push_component(&mut path, name.to_bytes());
            taken.push(Match::new(path, rule, stat, Sums::of_file(&stat, newest)));
        }
        taken
    }

    fn is_kept(&self, rule: u32, hits: &Hits) -> bool {
        hits.keeps.contains(&rule) || hits.is_protected && !self.compiled.allowed[rule as usize]
    }

    /// Returns whether a name in the directory belongs to one of lop's own files.
    fn is_own(&self, current: &mut Current<'_>, name: &[u8]) -> bool {
        if current.key.is_none() {
            current.key = current.dir.stat().ok().map(|stat| stat.key());
        }
        current.key.is_none_or(|key| self.request.own.has(key, name))
    }

    fn rule(&self, rule: u32) -> &'a Rule {
        &self.request.rules[rule as usize]
    }

    fn problem(&mut self, path: Vec<u8>, op: Op, source: io::Error) {
        self.found.problems.push(Problem { path, op, source });
    }
}

impl Hits {
    /// Collects the effects of the patterns that match an entry.
    fn find(&mut self, compiled: &Compiled, state: &[NodeId]) {
        self.takes.clear();
        self.keeps.clear();
        self.is_protected = false;
        for leaf in compiled.automaton.leaves(state) {
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

impl PartialEq for Pending {
    fn eq(&self, other: &Pending) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Pending {}

impl PartialOrd for Pending {
    fn partial_cmp(&self, other: &Pending) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Pending {
    fn cmp(&self, other: &Pending) -> std::cmp::Ordering {
        (self.inode, &self.node.path).cmp(&(other.inode, &other.node.path))
    }
}
