//! Refuses import rings: modules of one crate that use each other in a circle.
//!
//! An edge is a path that begins with `crate`, `super` or `self`, in a `use` or inline, outside of
//! `#[cfg(test)]` modules. A path from a module to one of its ancestors is not an edge, because
//! every module may use its ancestors. An ancestor that names an item of a descendant has an edge to it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{lexer, shown};

/// The path of a module within its crate; empty for the crate root.
type Module = Vec<String>;

/// The modules that each module uses.
type Graph = BTreeMap<Module, BTreeSet<Module>>;

/// File names that stand for the folder around them.
const ROOTS: [&str; 3] = ["lib", "main", "mod"];

pub(super) fn check(root: &Path, files: &[PathBuf]) -> io::Result<Vec<String>> {
    let mut crates: BTreeMap<String, BTreeMap<Module, String>> = BTreeMap::new();
    for path in files.iter().filter(|path| path.extension().is_some_and(|e| e == "rs")) {
        let path_below_root = shown(root, path);
        let Some((name, below)) = path_below_root.split_once("/src/") else { continue };
        if let Some(module) = module_of(below.split('/').map(str::to_owned).collect()) {
            let modules = crates.entry(name.to_owned()).or_default();
            modules.insert(module, fs::read_to_string(path)?);
        }
    }
    let complaints = crates.iter().flat_map(|(name, modules)| {
        of_crate(modules).into_iter().map(move |ring| format!("{name}: import ring: {ring}"))
    });
    Ok(complaints.collect())
}

/// Returns the module of a file, given its path below `src`; `None` for a file of tests.
fn module_of(mut path: Vec<String>) -> Option<Module> {
    let file = path.pop()?;
    let name = file.strip_suffix(".rs")?;
    if name == "tests" {
        return None;
    }
    if !ROOTS.contains(&name) {
        path.push(name.to_owned());
    }
    Some(path)
}

/// Returns a description of each ring among the modules of a crate, given the text of each module.
fn of_crate(modules: &BTreeMap<Module, String>) -> Vec<String> {
    let mut graph = Graph::new();
    for (module, text) in modules {
        let used = paths(&product_code(text)).into_iter();
        let used = used.filter_map(|path| target(module, &path, modules));
        // Uses of the crate root and of ancestors are not edges.
        let used = used.filter(|used| !used.is_empty() && !module.starts_with(used));
        graph.insert(module.clone(), used.collect());
    }
    graph.remove(&Vec::new());
    rings(&graph).iter().map(|ring| describe(&graph, ring)).collect()
}

/// Returns the code of a file before its tests, on one line.
fn product_code(text: &str) -> String {
    let mut code = String::new();
    let mut is_test = false;
    for piece in lexer::parse(text).code {
        let line = piece.text.trim();
        if is_test && line.starts_with("mod ") && line.ends_with('{') {
            break;
        }
        is_test =
            line == "#[cfg(test)]" || (is_test && (line.is_empty() || line.starts_with("#[")));
        code.push_str(line);
        code.push(' ');
    }
    code
}

/// Returns all paths that begin with `crate`, `super` or `self`, with groups expanded.
fn paths(code: &str) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    let mut rest = code;
    while let Some(start) = rest.find(|c: char| c.is_alphabetic() || c == '_') {
        let word = word_at(&rest[start..]);
        let is_start = ["crate", "super", "self"].contains(&word);
        // The `crate` of `pub(crate)` is a path without a module, so it is not an edge.
        let from = &rest[start..];
        rest = if is_start { path_at(from, &[], &mut paths) } else { &from[word.len()..] };
    }
    paths
}

/// Parses the path at the beginning of some code, relative to `base`. Returns the code after it.
fn path_at<'a>(code: &'a str, base: &[String], paths: &mut Vec<Vec<String>>) -> &'a str {
    let mut path = base.to_vec();
    let mut rest = code;
    loop {
        let word = word_at(rest);
        if word.is_empty() {
            return group_at(rest, path, paths);
        }
        // `a::{self}` means `a`.
        if word != "self" || path.is_empty() {
            path.push(word.to_owned());
        }
        rest = &rest[word.len()..];
        match rest.trim_start().strip_prefix("::") {
            Some(more) => rest = more.trim_start(),
            None => break,
        }
    }
    paths.push(path);
    rest
}

/// Parses a group in braces, or anything else that may follow `::`.
fn group_at<'a>(code: &'a str, path: Vec<String>, paths: &mut Vec<Vec<String>>) -> &'a str {
    let Some(mut rest) = code.strip_prefix('{') else {
        paths.push(path);
        return code.strip_prefix('*').unwrap_or(code);
    };
    loop {
        rest = rest.trim_start_matches([' ', ',']);
        if let Some(rest) = rest.strip_prefix('}') {
            return rest;
        }
        let before = rest.len();
        rest = path_at(rest, &path, paths);
        // An alias, or something that is not a path.
        rest = &rest[rest.find([',', '}']).unwrap_or(rest.len())..];
        if rest.is_empty() || rest.len() == before {
            return rest;
        }
    }
}

fn word_at(code: &str) -> &str {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    &code[..code.find(|c| !is_part(c)).unwrap_or(code.len())]
}

/// Returns the innermost module on a path; `None` if the path leads out of the crate.
fn target(from: &Module, path: &[String], modules: &BTreeMap<Module, String>) -> Option<Module> {
    let (mut base, mut rest) = match path.split_first()? {
        (first, rest) if first == "crate" => (Vec::new(), rest),
        (first, rest) if first == "self" => (from.clone(), rest),
        _ => (from.clone(), path),
    };
    while let Some((first, more)) = rest.split_first()
        && first == "super"
    {
        base.pop();
        rest = more;
    }
    let candidates = (0..=rest.len()).rev().map(|parts| [&base, &rest[..parts]].concat());
    candidates.into_iter().find(|module| modules.contains_key(module))
}

/// Returns the sets of two or more modules that reach each other.
fn rings(graph: &Graph) -> BTreeSet<BTreeSet<Module>> {
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        graph.keys().map(|module| (module, reachable(graph, module))).collect();
    let ring = |module: &Module| -> BTreeSet<Module> {
        let others = reached[module].iter().copied();
        others.filter(|other| reached[other].contains(module)).cloned().collect()
    };
    graph.keys().map(ring).filter(|ring| ring.len() > 1).collect()
}

fn reachable<'a>(graph: &'a Graph, from: &Module) -> BTreeSet<&'a Module> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&Module> = graph.get(from).into_iter().flatten().collect();
    while let Some(module) = open.pop() {
        if let Some((module, used)) = graph.get_key_value(module)
            && reached.insert(module)
        {
            open.extend(used);
        }
    }
    reached
}

/// Returns the edges within a ring as text.
fn describe(graph: &Graph, ring: &BTreeSet<Module>) -> String {
    let arrows = ring.iter().flat_map(|module| {
        let used = graph[module].intersection(ring);
        used.map(|used| format!("{} -> {}", module.join("::"), used.join("::")))
    });
    arrows.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::{Module, module_of, of_crate, paths};

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let module = |name: &str| -> Module {
            name.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect()
        };
        of_crate(&files.iter().map(|(name, text)| (module(name), (*text).to_owned())).collect())
    }

    #[test]
    fn modules_are_named_by_their_files() {
        let of = |path: &str| module_of(path.split('/').map(str::to_owned).collect());
        assert_eq!(of("lib.rs"), Some(vec![]));
        assert_eq!(of("a/mod.rs"), Some(vec!["a".to_owned()]));
        assert_eq!(of("a/b.rs"), Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(of("a/tests.rs"), None);
    }

    #[test]
    fn groups_count_each_member() {
        let code = "use crate::{a::X, b::{self, c::{Y, Z as W}}}; crate::d::f(); super::e::*";
        let joined: Vec<String> = paths(code).iter().map(|path| path.join("::")).collect();
        let expected = [
            "crate::a::X",
            "crate::b",
            "crate::b::c::Y",
            "crate::b::c::Z",
            "crate::d::f",
            "super::e",
        ];
        assert_eq!(joined, expected);
    }

    #[test]
    fn a_ring_of_two_is_found_in_uses_and_inline() {
        let ring = found(&[
            ("a", "use crate::b::B;"),
            ("b", "fn f() { super::a::g() }"),
            ("c", "use crate::a;"),
        ]);
        assert_eq!(ring, ["a -> b, b -> a"]);
    }

    #[test]
    fn a_ring_of_three_is_one_ring() {
        let files = [
            ("a", "use crate::b::B;"),
            ("b", "use super::c::C;"),
            ("c", "use crate::{a::A, d::D};"),
        ];
        assert_eq!(found(&[files[0], files[1], files[2], ("d", "")]), ["a -> b, b -> c, c -> a"]);
    }

    #[test]
    fn a_child_may_use_its_ancestors() {
        assert_eq!(
            found(&[("a", "use self::b::B;"), ("a::b", "use super::A; use crate::a::C;")]),
            [""; 0]
        );
    }

    #[test]
    fn siblings_can_form_a_ring() {
        let files = [("a::b", "use super::c::C;"), ("a::c", "use crate::a::b::B;"), ("a", "")];
        assert_eq!(found(&files), ["a::b -> a::c, a::c -> a::b"]);
    }

    #[test]
    fn tests_and_comments_make_no_edge() {
        let tested = "use crate::b::B;\n#[cfg(test)]\nmod tests {\n    use crate::c::C;\n}\n";
        assert_eq!(
            found(&[("a", tested), ("b", "// crate::a\n"), ("c", "use crate::a;")]),
            [""; 0]
        );
    }
}
