//! The libraries in the program that are not crates: the C library and the standard library of Rust.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::output;

/// The versions of the libraries that the compiler links.
pub(super) struct Linked {
    /// The version of Debian's source package `glibc`.
    pub(super) glibc: String,
    /// The version of the compiler and its standard library.
    rust: String,
    /// The path of the copyright notices of the standard library.
    pub(super) rust_copyright: PathBuf,
}

impl Linked {
    /// Asks the package manager and the compiler of this machine.
    pub(super) fn find() -> io::Result<Linked> {
        let printed = |program: &str, args: &[&str]| {
            let mut command = Command::new(program);
            command.args(args);
            output(command).map(|printed| printed.trim().to_string())
        };
        let show = "--showformat=${source:Version}";
        let sysroot = printed("rustc", &["--print", "sysroot"])?;
        let rustc = printed("rustc", &["--version"])?;
        Ok(Linked {
            glibc: printed("dpkg-query", &["--show", show, "libc6-dev"])?,
            rust: rustc.split(' ').nth(1).unwrap_or_default().into(),
            rust_copyright: Path::new(&sysroot).join("share/doc/rust/COPYRIGHT-library.html"),
        })
    }

    /// Adds the libraries to a bill of materials, as dependencies of `lop`.
    pub(super) fn add_to(&self, bill: &mut Value) {
        let (glibc, rust) = (&self.glibc, &self.rust);
        let purl = format!("pkg:deb/debian/glibc@{glibc}");
        let added = [
            json!({
                "type": "library", "bom-ref": purl, "purl": purl, "name": "glibc",
                "version": glibc, "scope": "required",
                "licenses": [{"license": {"id": "LGPL-2.1-or-later"}}],
            }),
            json!({
                "type": "library", "bom-ref": format!("rust-std@{rust}"), "name": "rust-std",
                "version": rust, "scope": "required",
                "licenses": [{"expression": "MIT OR Apache-2.0"}],
            }),
        ];
        let lop = bill["metadata"]["component"]["bom-ref"].clone();
        for component in added {
            let reference = component["bom-ref"].clone();
            let dependencies = bill["dependencies"].as_array_mut().into_iter().flatten();
            for of_lop in dependencies.filter(|dependency| dependency["ref"] == lop) {
                of_lop["dependsOn"]
                    .as_array_mut()
                    .into_iter()
                    .for_each(|on| on.push(reference.clone()));
            }
            bill["components"]
                .as_array_mut()
                .into_iter()
                .for_each(|all| all.push(component.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Linked;

    #[test]
    fn the_bill_of_materials_gets_both_libraries() {
        let linked =
            Linked { glibc: "2.36-9".into(), rust: "1.95.0".into(), rust_copyright: "".into() };
        let mut bill = json!({
            "metadata": {"component": {"bom-ref": "lop"}},
            "components": [],
            "dependencies": [{"ref": "other", "dependsOn": []}, {"ref": "lop", "dependsOn": ["a"]}],
        });
        linked.add_to(&mut bill);
        assert_eq!(bill["components"][0]["name"], "glibc");
        assert_eq!(bill["components"][1]["name"], "rust-std");
        let expected = json!(["a", "pkg:deb/debian/glibc@2.36-9", "rust-std@1.95.0"]);
        assert_eq!(bill["dependencies"][1]["dependsOn"], expected);
        assert_eq!(bill["dependencies"][0]["dependsOn"], json!([]));
    }
}
