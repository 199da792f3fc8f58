//! The paths from a target to the directories that are bound to variables.
//!
//! A route consists of the exact names on the disk, so a second directory whose name differs only
//! in case is not mistaken for the bound one.

use std::collections::HashMap;

use crate::bindings::Bindings;
use crate::matcher::automaton::{Automaton, NodeId};

/// A position on a route. [`Routes::START`] is the target.
pub(crate) type Position = u32;

/// The routes to all bound directories.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    next: HashMap<(Position, Vec<u8>), Position>,
    /// The nodes to enter at each position.
    arrivals: Vec<Vec<NodeId>>,
}

impl Routes {
    /// The position of the target itself.
    pub(crate) const START: Position = 0;

    /// Creates the routes to the bound directories for which `automaton` has patterns.
    pub(crate) fn new(bindings: &Bindings, automaton: &Automaton) -> Routes {
        let mut routes = Routes { next: HashMap::new(), arrivals: vec![Vec::new()] };
        for binding in &bindings.bound {
            let Some(root) = automaton.root(binding.variable) else { continue };
            let mut at = Routes::START;
            for name in binding.path.split(|&b| b == b'/').filter(|name| !name.is_empty()) {
                let new = walk::to_u32(routes.arrivals.len());
                at = *routes.next.entry((at, name.to_vec())).or_insert(new);
                if at == new {
                    routes.arrivals.push(Vec::new());
                }
            }
            routes.arrivals[at as usize].push(root);
        }
        routes
    }

    /// Returns the position after a component, if a bound directory is there or below.
    pub(crate) fn step(&self, at: Option<Position>, name: &[u8]) -> Option<Position> {
        self.next.get(&(at?, name.to_vec())).copied()
    }

    /// Returns the nodes to enter at a position.
    pub(crate) fn arrivals(&self, at: Option<Position>) -> &[NodeId] {
        at.map_or(&[], |at| &self.arrivals[at as usize])
    }
}
