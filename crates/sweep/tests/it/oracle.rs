//! The obvious algorithm: for each rule and each path, try all ways to match.

use std::collections::{BTreeMap, BTreeSet};

use sweep::rule::pattern::{Base, Component, Pattern};
use sweep::rule::variable::Variable;
use sweep::rule::{Extent, Rule};

use crate::world::World;

/// The paths of a tree. Each directory is mapped to true.
pub(crate) type Tree = BTreeMap<String, bool>;

/// Returns the entries that the rules take, apart from the `refused` rules, without entries inside
/// of others.
pub(crate) fn taken(
    world: &World,
    tree: &Tree,
    rules: &[Rule],
    refused: &[usize],
) -> Vec<(String, String)> {
    let mut all: BTreeMap<String, usize> = BTreeMap::new();
    for (at, rule) in rules.iter().enumerate().filter(|(at, _)| !refused.contains(at)) {
        let oracle = Oracle { world, tree, rule };
        for path in oracle.taken() {
            let known = all.entry(path).or_insert(at);
            *known = at.min(*known);
        }
    }
    let is_nested =
        |path: &str| path.match_indices('/').any(|(slash, _)| all.contains_key(&path[..slash]));
    let outer = all.iter().filter(|(path, _)| !is_nested(path));
    outer.map(|(path, &at)| (path.clone(), rules[at].id.clone())).collect()
}

struct Oracle<'o> {
    world: &'o World,
    tree: &'o Tree,
    rule: &'o Rule,
}

impl Oracle<'_> {
    fn taken(&self) -> BTreeSet<String> {
        let mut taken = BTreeSet::new();
        for (path, &is_dir) in self.tree {
            if self.is_kept(path) {
                continue;
            }
            for extent in [Extent::Files, Extent::Tree, Extent::Emptied] {
                if !self.matches_take(path, extent) {
                    continue;
                }
                match extent {
                    Extent::Files if !is_dir => drop(taken.insert(path.clone())),
                    Extent::Tree => taken.extend(self.tree_below(path).1),
                    Extent::Emptied if is_dir && self.is_emptied(path) => {
                        taken.insert(path.clone());
                    }
                    _ => {}
                }
            }
        }
        taken
    }

    /// Returns whether everything at and below a path is taken, and the outermost entries taken.
    fn tree_below(&self, path: &str) -> (bool, Vec<String>) {
        if self.is_kept(path) || self.is_valuable(path) {
            return (false, Vec::new());
        }
        if !self.tree[path] {
            return (true, vec![path.into()]);
        }
        let parts: Vec<_> = self.children(path).map(|child| self.tree_below(child)).collect();
        let is_bound = self.stays(path);
        if parts.iter().all(|(is_whole, _)| *is_whole) && !is_bound {
            return (true, vec![path.into()]);
        }
        (false, parts.into_iter().flat_map(|(_, taken)| taken).collect())
    }

    /// Returns whether a directory stays because it is bound to a variable.
    fn stays(&self, path: &str) -> bool {
        let is_bound = self.world.bindings.bound.iter().any(|b| b.path == path.as_bytes());
        is_bound && !self.world.allow.contains(&self.rule.id)
    }

    /// Returns whether a directory stays with everything in it, unless the rule names it.
    fn is_valuable(&self, path: &str) -> bool {
        use Variable::{Cache, InetCache, InetCookies, Recent, Temp};
        let is_junk = |v| matches!(v, Cache | InetCache | InetCookies | Recent | Temp);
        let bound = &self.world.bindings.bound;
        let is_valuable = bound.iter().any(|b| b.path == path.as_bytes() && !is_junk(b.variable));
        is_valuable && !self.world.allow.contains(&self.rule.id)
    }

    fn is_emptied(&self, path: &str) -> bool {
        !self.stays(path)
            && self.children(path).all(|child| {
                let is_tree = || self.matches_take(child, Extent::Tree) && self.tree_below(child).0;
                if self.is_kept(child) {
                    false
                } else if self.tree[child] {
                    is_tree() || self.matches_take(child, Extent::Emptied) && self.is_emptied(child)
                } else {
                    is_tree() || self.matches_take(child, Extent::Files)
                }
            })
    }

    fn children<'s>(&'s self, path: &'s str) -> impl Iterator<Item = &'s String> {
        self.tree.keys().filter(move |other| {
            other
                .strip_prefix(path)
                .and_then(|rest| rest.strip_prefix('/'))
                .is_some_and(|rest| !rest.contains('/'))
        })
    }

    fn matches_take(&self, path: &str, extent: Extent) -> bool {
        let of_extent = self.rule.takes.iter().filter(|take| take.extent == extent);
        of_extent.into_iter().any(|take| self.matches(&take.pattern, path))
    }

    fn is_kept(&self, path: &str) -> bool {
        let ends = path.match_indices('/').map(|(slash, _)| slash).chain([path.len()]);
        ends.into_iter()
            .any(|end| self.rule.keeps.iter().any(|pattern| self.matches(pattern, &path[..end])))
    }

    fn matches(&self, pattern: &Pattern, path: &str) -> bool {
        let names: Vec<&str> = path.split('/').collect();
        match pattern.base {
            Base::Anywhere => {
                (0..names.len()).any(|from| components_match(&pattern.components, &names[from..]))
            }
            Base::Variable(variable) => self.world.bindings.of(variable).any(|binding| {
                let bound = String::from_utf8_lossy(&binding.path).into_owned();
                let rest = if bound.is_empty() {
                    Some(path)
                } else {
                    path.strip_prefix(&bound).and_then(|rest| rest.strip_prefix('/'))
                };
                rest.is_some_and(|rest| {
                    components_match(&pattern.components, &rest.split('/').collect::<Vec<_>>())
                })
            }),
        }
    }
}

fn components_match(components: &[Component], names: &[&str]) -> bool {
    match components.split_first() {
        None => names.is_empty(),
        Some((Component::AnyDepth, rest)) => {
            (0..=names.len()).any(|skipped| components_match(rest, &names[skipped..]))
        }
        Some((Component::Name(glob), rest)) => names.split_first().is_some_and(|(name, others)| {
            name_matches(glob.text(), name.as_bytes()) && components_match(rest, others)
        }),
    }
}

fn name_matches(glob: &[u8], name: &[u8]) -> bool {
    match glob.split_first() {
        None => name.is_empty(),
        Some((b'*', rest)) => (0..=name.len()).any(|skipped| name_matches(rest, &name[skipped..])),
        Some((b'?', rest)) => !name.is_empty() && name_matches(rest, &name[1..]),
        Some((byte, rest)) => name.first() == Some(byte) && name_matches(rest, &name[1..]),
    }
}
