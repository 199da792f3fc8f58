//! Passes the results of finished directories on to their parents, and turns them into matches.

use std::sync::Arc;

use fsops::{Kind, Stat};

use crate::preview::Match;
use crate::preview::conditions::{is_old_enough, newest_ns};
use crate::preview::decide::{Current, Hits};
use crate::preview::listing::Listing;
use crate::preview::scope::{DirNode, Scope, Sums, TakenDir};
use crate::preview::worker::{Pending, Worker};
use crate::rule::Extent;

impl Worker<'_> {
    /// Passes the results of a finished directory on to its parent. If the parent is then finished
    /// too, passes its results on as well.
    pub(crate) fn finish(&mut self, node: &Arc<DirNode>) {
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
            let Some(parent) = node.parent.as_ref().filter(|_| node.reports) else { return };
            node = Arc::clone(parent);
        }
    }

    fn finish_scope(&mut self, node: &Arc<DirNode>, mut scope: Scope, stat: Option<Stat>) {
        let whole = stat.filter(|_| scope.is_whole());
        if let Some(stat) = whole {
            scope.taken_dirs = vec![TakenDir { node: Arc::clone(node), stat, sums: scope.sums }];
            scope.taken_files.clear();
        } else if scope.is_off || scope.has_repository || stat.is_none() {
            scope.taken_dirs.clear();
            scope.taken_files.clear();
        } else if scope.extent == Extent::Tree {
            scope.taken_files.extend(self.direct_files(node, scope.rule));
        }
        if let Some(parent) = node.parent.as_ref().filter(|_| node.reports) {
            let mut state = parent.state.lock();
            // The rule may match the parent too, and may be off there, because of a marker.
            let is_above = |above: &&mut Scope| above.rule == scope.rule && !above.is_off;
            if let Some(above) = state.scopes.iter_mut().find(is_above) {
                above.has_repository |= scope.has_repository;
                above.sums.newest_ns = above.sums.newest_ns.max(scope.sums.newest_ns);
                if whole.is_some() {
                    above.sums.add(scope.sums);
                } else {
                    above.is_kept = true;
                }
                above.taken_dirs.extend(scope.taken_dirs);
                above.taken_files.extend(scope.taken_files);
                return;
            }
        }
        let age = self.rule(scope.rule).conditions.older;
        if is_old_enough(scope.sums.newest_ns, age.as_ref(), self.request.now_ns) {
            let dirs = scope.taken_dirs.into_iter();
            let dirs = dirs.map(|dir| Match::new(dir.node.path(), scope.rule, dir.stat, dir.sums));
            self.found.matches.extend(dirs.chain(scope.taken_files));
        }
    }

    /// Lists a directory again, because something in it is kept, and returns the files directly in
    /// it that a rule takes nevertheless.
    fn direct_files(&mut self, node: &Arc<DirNode>, rule: u32) -> Vec<Match> {
        let mut taken = Vec::new();
        let mut listing = Listing::default();
        let path = node.path();
        let Ok(dir) = self.open_path(&path) else { return taken };
        dir.list_quietly();
        if listing.read(&dir, &mut self.buffer).is_err() {
            return taken;
        }
        let place = self.compiled.matcher.place_of(&path);
        let pending = Pending { inode: 0, node: Arc::clone(node), place };
        let mut current = Current::new(&pending, &dir, &listing);
        let (mut folded, mut next, mut hits) = (Vec::new(), Vec::new(), Hits::default());
        // A subdirectory may be a mount point whose file system does not respond.
        for (name, ..) in listing.entries().filter(|(_, kind, _)| *kind != Kind::Dir) {
            let bytes = name.to_bytes();
            self.compiled.matcher.step(&pending.place.state, bytes, &mut folded, &mut next);
            hits.find(&self.compiled.matcher.automaton, &next);
            hits.is_protected = self.is_protected(&current, bytes, &mut folded);
            let Ok(stat) = dir.stat_child(name) else { continue };
            let is_file = matches!(stat.kind, Kind::File | Kind::Symlink);
            if !is_file || self.is_kept(rule, &hits) || self.is_own(&mut current, bytes) {
                continue;
            }
            let newest = newest_ns(&stat, self.rule(rule).conditions.older.as_ref());
            let mut entry = path.clone();
            walk::push_component(&mut entry, bytes);
            taken.push(Match::new(entry, rule, stat, Sums::of_file(&stat, newest)));
        }
        taken
    }
}
