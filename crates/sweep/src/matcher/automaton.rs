//! A trie of path patterns that is matched one component at a time.
//!
//! The state of a directory is a sorted list of nodes. [`Automaton::step`] computes the state of an
//! entry from its name. `**` is a node that stays in the state in all directories below.

use std::cell::Cell;

use hashbrown::HashTable;

use crate::matcher::fold::stored;
use crate::rule::Extent;
use crate::rule::glob::Glob;
use crate::rule::pattern::{Base, Component, Pattern};
use crate::rule::variable::Variable;

/// A node of the trie.
pub(crate) type NodeId = u32;

const NONE: NodeId = NodeId::MAX;

/// The patterns of all rules.
pub(crate) struct Automaton {
    folds: bool,
    nodes: Vec<Node>,
    /// The literal names of nodes, one after the other.
    names: Vec<u8>,
    /// The nodes with literal names, by the hash of their parent and name.
    literals: HashTable<NodeId>,
    roots: [NodeId; Variable::ALL.len()],
    anywhere: NodeId,
    /// Whether any pattern matches anywhere.
    has_anywhere: bool,
}

#[derive(Debug)]
struct Node {
    parent: NodeId,
    name_start: u32,
    name_len: u32,
    /// The children that are reached by a glob other than `*`.
    globs: Vec<(Glob, NodeId)>,
    /// The child that is reached by `*`.
    any: NodeId,
    /// The child that is reached by `**`, which is in the state together with this node.
    deep: NodeId,
    /// Whether this node is reached by `**`. It then stays in the state in all directories below.
    loops: bool,
    /// The lengths and first bytes of the children's literal names, modulo 64. They dismiss most
    /// names without a table lookup.
    literal_lengths: u64,
    literal_starts: u64,
    /// Whether a rule may take an entry below an entry at this node.
    is_live: bool,
    leaves: Vec<Leaf>,
}

/// The effect of a pattern that matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Leaf {
    /// The rule takes the entry.
    Take { rule: u32, extent: Extent },
    /// The rule keeps the entry and everything below it.
    Keep { rule: u32 },
    /// All rules keep the entry. Used only in the automaton of protected entries.
    Protect,
}

impl Automaton {
    /// Creates an automaton without patterns. If `folds`, names are compared without regard to case.
    pub(crate) fn new(folds: bool) -> Automaton {
        let mut automaton = Automaton {
            folds,
            nodes: Vec::new(),
            names: Vec::new(),
            literals: HashTable::new(),
            roots: [NONE; Variable::ALL.len()],
            anywhere: NONE,
            has_anywhere: false,
        };
        automaton.anywhere = automaton.add_node(NONE, b"");
        automaton.nodes[0].loops = true;
        automaton
    }

    /// Returns whether names must be folded before [`Automaton::step`].
    pub(crate) fn folds(&self) -> bool {
        self.folds
    }

    /// Returns the node at which the patterns of a variable begin, if there are any.
    pub(crate) fn root(&self, variable: Variable) -> Option<NodeId> {
        Some(self.roots[variable as usize]).filter(|&root| root != NONE)
    }

    /// Adds the nodes that are in every state to `state`.
    pub(crate) fn begin(&self, state: &mut Vec<NodeId>) {
        if self.has_anywhere {
            self.enter(self.anywhere, state);
        }
    }

    /// Adds a node and the nodes that it implies to `state`.
    pub(crate) fn enter(&self, mut node: NodeId, state: &mut Vec<NodeId>) {
        while node != NONE {
            state.push(node);
            node = self.nodes[node as usize].deep;
        }
    }

    /// Adds a pattern. A pattern with a literal component that cannot be folded matches nothing.
    pub(crate) fn add(&mut self, pattern: &Pattern, leaf: Leaf) {
        let takes = matches!(leaf, Leaf::Take { .. });
        let mut at = match pattern.base {
            Base::Anywhere => {
                self.has_anywhere = true;
                self.anywhere
            }
            Base::Variable(variable) => self.root_or_new(variable),
        };
        for component in &pattern.components {
            self.nodes[at as usize].is_live |= takes;
            let Some(next) = self.child(at, component) else { return };
            at = next;
        }
        let node = &mut self.nodes[at as usize];
        node.is_live |= takes && node.loops;
        if !node.leaves.contains(&leaf) {
            node.leaves.push(leaf);
        }
    }

    /// Computes the state of an entry, given the state of its directory and the entry's name, which
    /// must be folded if [`Automaton::folds`].
    pub(crate) fn step(&self, state: &[NodeId], name: &[u8], next: &mut Vec<NodeId>) {
        next.clear();
        let hash = Cell::new(None);
        for &at in state {
            let node = &self.nodes[at as usize];
            if node.loops {
                self.enter(at, next);
            }
            if node.may_have_literal(name) {
                let hash = hash.get().unwrap_or_else(|| {
                    let new = hash_name(name);
                    hash.set(Some(new));
                    new
                });
                if let Some(child) = self.literal_child(at, hash, name) {
                    self.enter(child, next);
                }
            }
            if node.any != NONE {
                self.enter(node.any, next);
            }
            for (glob, child) in &node.globs {
                if glob.matches(name) {
                    self.enter(*child, next);
                }
            }
        }
        if next.len() > 1 {
            next.sort_unstable();
            next.dedup();
        }
    }

    /// Returns the effects of all patterns that match an entry with this state.
    pub(crate) fn leaves<'a>(&'a self, state: &'a [NodeId]) -> impl Iterator<Item = Leaf> + 'a {
        state.iter().flat_map(|&node| self.nodes[node as usize].leaves.iter().copied())
    }

    /// Returns whether a rule may take an entry below a directory with this state.
    pub(crate) fn is_live(&self, state: &[NodeId]) -> bool {
        state.iter().any(|&node| self.nodes[node as usize].is_live)
    }

    fn root_or_new(&mut self, variable: Variable) -> NodeId {
        if let Some(root) = self.root(variable) {
            return root;
        }
        let root = self.add_node(NONE, b"");
        self.roots[variable as usize] = root;
        root
    }

    /// Returns the child that is reached by a component. Creates it if it is missing.
    fn child(&mut self, at: NodeId, component: &Component) -> Option<NodeId> {
        let Component::Name(glob) = component else {
            let node = &self.nodes[at as usize];
            if node.loops {
                return Some(at);
            }
            if node.deep == NONE {
                let deep = self.add_node(at, b"");
                self.nodes[deep as usize].loops = true;
                self.nodes[at as usize].deep = deep;
            }
            return Some(self.nodes[at as usize].deep);
        };
        if glob.is_any() {
            if self.nodes[at as usize].any == NONE {
                self.nodes[at as usize].any = self.add_node(at, b"");
            }
            return Some(self.nodes[at as usize].any);
        }
        let text = stored(glob.text(), self.folds)?;
        if !glob.is_literal() {
            let glob = Glob::new(&text);
            let known = self.nodes[at as usize].globs.iter().find(|(other, _)| *other == glob);
            if let Some(&(_, child)) = known {
                return Some(child);
            }
            let child = self.add_node(at, b"");
            self.nodes[at as usize].globs.push((glob, child));
            return Some(child);
        }
        let hash = hash_name(&text);
        if let Some(child) = self.literal_child(at, hash, &text) {
            return Some(child);
        }
        let child = self.add_node(at, &text);
        self.nodes[at as usize].note_literal(&text);
        let Automaton { nodes, names, literals, .. } = self;
        literals.insert_unique(mix(at, hash), child, |&child| {
            let node = &nodes[child as usize];
            mix(node.parent, hash_name(node.name(names)))
        });
        Some(child)
    }

    fn literal_child(&self, at: NodeId, hash: u64, name: &[u8]) -> Option<NodeId> {
        let is = |&child: &NodeId| {
            let node = &self.nodes[child as usize];
            node.parent == at && node.name(&self.names) == name
        };
        self.literals.find(mix(at, hash), is).copied()
    }

    fn add_node(&mut self, parent: NodeId, name: &[u8]) -> NodeId {
        let id = walk::to_u32(self.nodes.len());
        let name_start = walk::to_u32(self.names.len());
        self.names.extend_from_slice(name);
        self.nodes.push(Node {
            parent,
            name_start,
            name_len: walk::to_u32(name.len()),
            globs: Vec::new(),
            any: NONE,
            deep: NONE,
            loops: false,
            literal_lengths: 0,
            literal_starts: 0,
            is_live: false,
            leaves: Vec::new(),
        });
        id
    }
}

impl Node {
    fn note_literal(&mut self, name: &[u8]) {
        self.literal_lengths |= bit(name.len());
        self.literal_starts |= bit(name.first().copied().unwrap_or_default().into());
    }

    fn may_have_literal(&self, name: &[u8]) -> bool {
        self.literal_lengths & bit(name.len()) != 0
            && self.literal_starts & bit(name.first().copied().unwrap_or_default().into()) != 0
    }

    fn name<'n>(&self, names: &'n [u8]) -> &'n [u8] {
        &names[self.name_start as usize..][..self.name_len as usize]
    }
}

/// Returns the bit of a number modulo 64.
fn bit(number: usize) -> u64 {
    1 << (number % 64)
}

/// Hashes a name, eight bytes at a time. The table contains only names from rules, so hostile names
/// on the target cannot make it slow.
fn hash_name(name: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut hash = name.len() as u64;
    for chunk in name.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(FACTOR).rotate_left(29);
    }
    hash
}

/// Combines the hash of a name with its parent node.
fn mix(parent: NodeId, hash: u64) -> u64 {
    let mixed = (hash ^ u64::from(parent)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    mixed ^ mixed >> 32
}
