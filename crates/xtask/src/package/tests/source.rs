//! Tests of the source package.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use testkit::TempTree;

use super::system::{package, packages, source};
use crate::package::{TARGET, output};

/// Unpacks the source package.
fn unpacked() -> Option<TempTree> {
    let packages = packages()?;
    let folder = TempTree::new();
    let mut tar = Command::new("tar");
    let sources = format!("lop-{}.tar.gz", env!("CARGO_PKG_VERSION"));
    tar.arg("--extract").arg("--file").arg(package(&packages, &sources));
    tar.arg("--directory").arg(folder.path()).args(["--strip-components", "1"]);
    output(tar).expect("unpacked");
    Some(folder)
}

/// Returns the files that the compiler read for the program, relative to the source tree.
fn compiled() -> Vec<PathBuf> {
    let listed = source().join("target").join(TARGET).join("release/lop.d");
    let listed = fs::read_to_string(listed).expect("a list");
    let (_, files) = listed.split_once(": ").expect("files");
    let files = files.replace("\\ ", "\0");
    let files = files.split_whitespace().map(|file| PathBuf::from(file.replace('\0', " ")));
    files.map(|file| file.strip_prefix(source()).expect("in the source tree").into()).collect()
}

#[test]
fn the_source_package_contains_all_that_the_compiler_reads() {
    let Some(folder) = unpacked() else { return };
    let compiled = compiled();
    assert!(compiled.iter().any(|file| file.ends_with("docs/formats.md")), "a page of lop man");
    for file in compiled {
        let there =
            fs::read(folder.join(&file)).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let here = fs::read(source().join(&file)).expect("a source file");
        assert!(there == here, "{} differs", file.display());
    }
}

/// The lock file fits the manifests, and the package has what `pip` needs.
#[test]
fn the_source_package_is_complete() {
    let Some(folder) = unpacked() else { return };
    for file in ["PKG-INFO", "pyproject.toml", "LICENSE", "README.md", "Cargo.lock"] {
        assert!(folder.join(file).exists(), "{file}");
    }
    let mut cargo = crate::programs::cargo();
    cargo.args(["metadata", "--locked", "--offline", "--format-version", "1"]);
    cargo.current_dir(folder.path());
    assert!(output(cargo).expect("consistent").contains("lop-walk"));
}
