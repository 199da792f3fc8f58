//! Guard 3: a rule must not reach protected entries.
//!
//! The protected paths of a layout form a small automaton. A pattern is followed through it, one
//! component at a time. The rule is refused if the pattern can arrive at a protected path, or if it
//! can arrive at an ancestor and takes everything below. The check compares patterns with patterns,
//! so the result does not depend on the files that exist.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use crate::bindings::Bindings;
use crate::guard::protected::{self, EMPTIABLE};
use crate::matcher::fold::{fold_into, stored};
use crate::rule::glob::Glob;
use crate::rule::pattern::{Base, Component};
use crate::rule::variable::Variable;
use crate::rule::{Extent, Take};

type NodeId = usize;

/// The protected paths of a layout.
pub(crate) struct Protected {
    folds: bool,
    nodes: Vec<Node>,
    /// The nodes of the directories that each variable is bound to.
    starts: [Vec<NodeId>; Variable::ALL.len()],
}

#[derive(Debug, Default)]
struct Node {
    literals: BTreeMap<Vec<u8>, NodeId>,
    globs: Vec<(Glob, NodeId)>,
    /// The protected path that ends here, for messages, and its extent.
    leaf: Option<(String, protected::Extent)>,
    /// A protected path that ends here or below.
    below: Option<String>,
}

/// The nodes that a pattern may have arrived at. Empty if no protected path begins like the
/// pattern. A node may occur twice.
type Arrived = Vec<NodeId>;

impl Node {
    /// Returns whether no protected path goes on from here.
    fn is_end(&self) -> bool {
        self.literals.is_empty() && self.globs.is_empty()
    }
}

impl Protected {
    /// Builds the protected paths of a layout.
    pub(crate) fn new(bindings: &Bindings) -> Protected {
        let mut all = Protected {
            folds: bindings.folds,
            nodes: vec![Node::default()],
            starts: Default::default(),
        };
        let mut bound = HashMap::new();
        for binding in &bindings.bound {
            let mut at = 0;
            for name in binding.path.split(|&b| b == b'/').filter(|name| !name.is_empty()) {
                at = all.child(at, &Glob::new(name), true);
            }
            bound.insert(&binding.path, at);
            all.starts[binding.variable as usize].push(at);
            if !EMPTIABLE.contains(&binding.variable) {
                all.protect(at, binding.variable.to_string(), protected::Extent::Itself);
            }
        }
        for (variable, path, extent) in protected::paths() {
            for binding in bindings.of(variable) {
                let mut at = bound[&binding.path];
                let mut text = variable.to_string();
                for component in &path {
                    if let Component::Name(glob) = component {
                        at = all.child(at, glob, false);
                        text = format!("{text}/{glob}");
                    }
                }
                all.protect(at, text, extent);
            }
        }
        all.spread(0);
        all
    }

    /// Returns a protected path that a pattern can reach from a directory that its variable is bound
    /// to. Patterns that match anywhere reach none: they are checked by name, and the walk keeps
    /// protected entries.
    pub(crate) fn reached(&self, take: &Take) -> Option<&str> {
        let Base::Variable(variable) = take.pattern.base else { return None };
        let mut components = take.pattern.components.iter();
        let mut arrived = Cow::Borrowed(&self.starts[variable as usize]);
        let mut folded = Vec::new();
        loop {
            let is_last = components.len() == 0;
            let passes = arrived.iter().find_map(|&node| self.passes(node, is_last));
            if passes.is_some() {
                return passes;
            }
            let Some(component) = components.next() else { break };
            arrived = Cow::Owned(self.step(&arrived, component, &mut folded));
            if arrived.is_empty() {
                return None;
            }
        }
        let Take { extent, .. } = *take;
        let takes_all = extent == Extent::Tree;
        let is_end = |&&node: &&NodeId| self.nodes[node].leaf.is_some();
        let end = arrived.iter().find(is_end).and_then(|&node| self.nodes[node].leaf.as_ref());
        if let Some((text, _)) = end.filter(|_| extent != Extent::Emptied) {
            return Some(text);
        }
        let below = arrived.iter().find_map(|&node| self.nodes[node].below.as_deref());
        below.filter(|_| takes_all)
    }

    /// Returns the protected path of a node if everything below it is protected and the pattern
    /// continues below it.
    fn passes(&self, node: NodeId, is_last: bool) -> Option<&str> {
        let (text, extent) = self.nodes[node].leaf.as_ref()?;
        (*extent == protected::Extent::Below && !is_last).then_some(text)
    }

    fn step(&self, arrived: &[NodeId], component: &Component, folded: &mut Vec<u8>) -> Arrived {
        let mut next = Arrived::new();
        let Component::Name(glob) = component else {
            // `**` stands for any number of directories.
            let mut open = arrived.to_vec();
            while let Some(node) = open.pop() {
                if !next.contains(&node) {
                    next.push(node);
                    let Node { literals, globs, .. } = &self.nodes[node];
                    open.extend(literals.values().chain(globs.iter().map(|(_, child)| child)));
                }
            }
            return next;
        };
        if arrived.iter().all(|&node| self.nodes[node].is_end()) {
            return next;
        }
        let Some(text) = fold_into(glob.text(), self.folds, folded) else { return next };
        let name = Glob::new(text);
        for &node in arrived {
            let Node { literals, globs, .. } = &self.nodes[node];
            if name.is_literal() {
                next.extend(literals.get(text));
            } else {
                next.extend(literals.iter().filter(|(text, _)| name.matches(text)).map(|(_, n)| n));
            }
            next.extend(globs.iter().filter(|(glob, _)| glob.may_overlap(&name)).map(|(_, n)| n));
        }
        next
    }

    /// Returns the child of a node with a name. `is_exact` means that the name is not a pattern.
    fn child(&mut self, at: NodeId, name: &Glob, is_exact: bool) -> NodeId {
        let new = self.nodes.len();
        // A name that cannot be folded is compared as it is.
        let text = stored(name.text(), self.folds).map_or_else(|| name.text().to_vec(), Into::into);
        let node = &mut self.nodes[at];
        let child = if is_exact || name.is_literal() {
            *node.literals.entry(text).or_insert(new)
        } else {
            let glob = Glob::new(&text);
            let known =
                node.globs.iter().find(|(other, _)| *other == glob).map(|&(_, child)| child);
            known.unwrap_or_else(|| {
                node.globs.push((glob, new));
                new
            })
        };
        if child == new {
            self.nodes.push(Node::default());
        }
        child
    }

    fn protect(&mut self, at: NodeId, text: String, extent: protected::Extent) {
        let leaf = &mut self.nodes[at].leaf;
        // The wider protection wins.
        if leaf.as_ref().is_none_or(|(_, known)| *known == protected::Extent::Itself) {
            *leaf = Some((text, extent));
        }
    }

    /// Sets `below` of a node and of all nodes below it.
    fn spread(&mut self, at: NodeId) -> Option<String> {
        let Node { literals, globs, .. } = &self.nodes[at];
        let children: Vec<NodeId> =
            literals.values().copied().chain(globs.iter().map(|&(_, child)| child)).collect();
        let mut below = self.nodes[at].leaf.as_ref().map(|(text, _)| text.clone());
        for child in children {
            below = below.or(self.spread(child));
        }
        self.nodes[at].below.clone_from(&below);
        below
    }
}
