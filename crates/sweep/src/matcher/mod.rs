//! Matches the names of a tree against all rules at once.
//!
//! `automaton` holds the patterns of all rules as one trie per variable. `routes` leads from the
//! target to the directories that the variables are bound to. The time to match a name depends only
//! on the number of patterns that can still match in its directory.

pub(crate) mod automaton;
pub mod fold;
pub(crate) mod routes;

use std::sync::Arc;

use crate::bindings::Bindings;
use crate::matcher::automaton::{Automaton, NodeId};
use crate::matcher::fold::fold_into;
use crate::matcher::routes::{Position, Routes};

/// Patterns, and the routes to the directories where they begin.
pub(crate) struct Matcher {
    pub(crate) automaton: Automaton,
    pub(crate) routes: Routes,
}

/// The position of a directory among patterns.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The nodes of the automaton that its path leads to.
    pub(crate) state: Arc<[NodeId]>,
    /// The position on a route, if a bound directory is here or below.
    pub(crate) route: Option<Position>,
}

impl Matcher {
    pub(crate) fn new(automaton: Automaton, bindings: &Bindings) -> Matcher {
        let routes = Routes::new(bindings, &automaton);
        Matcher { automaton, routes }
    }

    /// Computes the state of an entry from the state of its directory.
    pub(crate) fn step(
        &self,
        state: &[NodeId],
        name: &[u8],
        folded: &mut Vec<u8>,
        next: &mut Vec<NodeId>,
    ) {
        match fold_into(name, self.automaton.folds(), folded) {
            Some(folded) => self.automaton.step(state, folded, next),
            None => next.clear(),
        }
    }

    /// Returns the place of the target.
    pub(crate) fn start(&self) -> Place {
        let (mut state, route) = (Vec::new(), Some(Routes::START));
        self.automaton.begin(&mut state);
        self.arrive(route, &mut state);
        Place { state: state.into(), route }
    }

    /// Returns the place of a directory from that of its parent.
    pub(crate) fn enter(&self, above: &Place, name: &[u8]) -> Place {
        let mut state = Vec::new();
        self.step(&above.state, name, &mut Vec::new(), &mut state);
        let route = self.routes.step(above.route, name);
        self.arrive(route, &mut state);
        Place { state: state.into(), route }
    }

    /// Returns the place of the directory at a path of the target.
    pub(crate) fn place_of(&self, path: &[u8]) -> Place {
        let names = path.split(|&b| b == b'/').filter(|name| !name.is_empty());
        names.fold(self.start(), |above, name| self.enter(&above, name))
    }

    /// Adds the nodes of the variables that are bound to a directory on a route.
    pub(crate) fn arrive(&self, route: Option<Position>, state: &mut Vec<NodeId>) {
        let roots = self.routes.arrivals(route);
        for &root in roots {
            self.automaton.enter(root, state);
        }
        if !roots.is_empty() {
            state.sort_unstable();
            state.dedup();
        }
    }
}
