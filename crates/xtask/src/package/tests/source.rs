//! Tests of the source package.

use std::process::Command;

use testkit::TempTree;

use super::system::{package, packages, source};
use crate::package::output;

/// The source package contains everything that the compiler needs.
#[test]
fn the_source_package_compiles() {
    let Some(packages) = packages() else { return };
    let folder = TempTree::new();
    let mut tar = Command::new("tar");
    let sources = format!("lop-{}.tar.gz", env!("CARGO_PKG_VERSION"));
    tar.arg("--extract").arg("--file").arg(package(&packages, &sources));
    tar.arg("--directory").arg(folder.path()).args(["--strip-components", "1"]);
    output(tar).expect("unpacked");
    for file in ["PKG-INFO", "pyproject.toml", "LICENSE", "README.md", "Cargo.lock"] {
        assert!(folder.join(file).exists(), "{file}");
    }
    let mut cargo = crate::programs::cargo();
    cargo.args(["check", "--locked", "--offline", "--package", "lop", "--target-dir"]);
    cargo.arg(source().join("target")).current_dir(folder.path());
    output(cargo).expect("compiles");
}
