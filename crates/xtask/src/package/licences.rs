//! Collects the licences of everything that the program contains: the crates and the C library.
//!
//! Most of these licences require that their text accompanies the program.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value;

use super::linked::Linked;
use super::{TARGET, output};
use crate::programs;

/// The file with the licence of the C library, on Debian and its derivatives.
const LGPL: &str = "/usr/share/common-licenses/LGPL-2.1";

/// The words with which the names of licence and notice files begin, in upper or lower case.
const NAMES: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];

/// Folders of a package whose files are not compiled into the program, in upper case.
const UNLINKED: [&str; 4] = ["BENCHES", "EXAMPLES", "FUZZ", "TESTS"];

/// Returns all licences as one text. A licence text that several crates share appears once, below their names.
pub(super) fn collect(root: &Path, libraries: &Linked) -> io::Result<String> {
    let mut cargo = programs::cargo();
    cargo.args(["metadata", "--format-version", "1", "--locked", "--filter-platform", TARGET]);
    cargo.current_dir(root);
    let metadata: Value = serde_json::from_str(&output(cargo)?)?;
    let mut users: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in linked(&metadata) {
        let name =
            ["name", "version"].map(|key| package[key].as_str().unwrap_or_default()).join(" ");
        for text in texts(package)? {
            users.entry(text).or_default().insert(name.clone());
        }
    }
    let mut all = "Licences of the libraries that the program lop contains.\n".to_string();
    let mut add = |names: &str, text: &str| {
        let line = "=".repeat(80);
        all += &format!("\n{line}\n{names}\n{line}\n\n{}\n", text.trim_end());
    };
    for (text, names) in &users {
        add(&names.iter().map(String::as_str).collect::<Vec<_>>().join(", "), text);
    }
    let lgpl = fs::read_to_string(LGPL).map_err(|e| {
        io::Error::new(e.kind(), format!("{LGPL}: {e}; packages are built on Debian"))
    })?;
    let glibc = &libraries.glibc;
    let head = format!(
        "GNU C Library, glibc {glibc}, linked statically\n\
         Source: https://snapshot.debian.org/package/glibc/{glibc}/\n\
         The source package of lop can be linked with a changed library."
    );
    add(&head, &lgpl);
    Ok(all)
}

/// Returns the packages that are linked into `lop`, except those of this workspace.
fn linked(metadata: &Value) -> Vec<&Value> {
    let list = |value: &'_ Value| value.as_array().cloned().unwrap_or_default();
    let nodes = list(&metadata["resolve"]["nodes"]);
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut open: Vec<Value> = packages
        .iter()
        .filter(|package| package["name"] == "lop")
        .map(|lop| lop["id"].clone())
        .collect();
    let mut found = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !found.insert(id.to_string()) {
            continue;
        }
        let node = nodes.iter().find(|node| node["id"] == id);
        for dependency in node.map(|node| list(&node["deps"])).unwrap_or_default() {
            let is_linked =
                list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
            open.extend(is_linked.then(|| dependency["pkg"].clone()));
        }
    }
    let is_foreign = |package: &&Value| !package["source"].is_null();
    let is_found = |package: &&Value| found.contains(&package["id"].to_string());
    packages.iter().filter(is_foreign).filter(is_found).collect()
}

/// Returns the licence texts in a package. If it contains none, returns the name of its licence and its authors.
fn texts(package: &Value) -> io::Result<Vec<String>> {
    let manifest = package["manifest_path"].as_str().unwrap_or_default();
    let mut texts = Vec::new();
    let mut folders = vec![Path::new(manifest).parent().unwrap_or(Path::new("")).to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().to_uppercase();
            if entry.file_type()?.is_dir() {
                folders.extend((!UNLINKED.contains(&&*name)).then(|| entry.path()));
            } else if is_licence(&name) {
                let text = fs::read(entry.path())?;
                texts.push(String::from_utf8_lossy(&text).replace('\r', ""));
            }
        }
    }
    if texts.is_empty() {
        let expression = package["license"].as_str().unwrap_or("unknown licence");
        let authors: Vec<_> =
            package["authors"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let by = authors.join(", ");
        texts.push(format!(
            "{expression}, by {by}. This file contains the texts of these licences."
        ));
    }
    texts.sort();
    texts.dedup();
    Ok(texts)
}

/// Returns whether a file with this name, in upper case, contains a licence.
fn is_licence(name: &str) -> bool {
    let is_code = [".RS", ".C", ".H", ".PY"].iter().any(|end| name.ends_with(end));
    !is_code && NAMES.iter().any(|word| name.starts_with(word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::linked;

    #[test]
    fn only_linked_packages_of_others_are_listed() {
        let package =
            |name: &str, source: Option<&str>| json!({"id": name, "name": name, "source": source});
        let depends =
            |on: &str, kind: Option<&str>| json!({"pkg": on, "dep_kinds": [{"kind": kind}]});
        let registry = Some("registry");
        let metadata = json!({
            "packages": [
                package("lop", None), package("lop-walk", None), package("libc", registry),
                package("cc", registry), package("insta", registry), package("plotters", registry),
            ],
            "resolve": {"nodes": [
                {"id": "lop", "deps": [depends("lop-walk", None), depends("insta", Some("dev"))]},
                {"id": "lop-walk", "deps": [depends("libc", None), depends("cc", Some("build"))]},
                {"id": "plotters", "deps": []},
            ]},
        });
        let names: Vec<_> =
            linked(&metadata).iter().map(|package| package["name"].as_str()).collect();
        assert_eq!(names, [Some("libc")]);
    }
}
