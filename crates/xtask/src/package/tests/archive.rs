//! Tests of the archive.

use std::process::Command;

use super::system::{System, package, packages};

#[test]
fn the_archive_is_installed_into_a_prefix() {
    let Some((system, archive)) = System::with("-x86_64-linux.tar.gz") else { return };
    // Some systems have such a link and such a mode.
    system.run("cd /usr/local; rm -r man; mkdir man; rm -rf share/man; ln -s ../man share; chmod 2775 share");
    system.run(&format!(
        "tar --extract --file {archive} --directory /usr/local --strip-components 1"
    ));
    system.play_the_readme("/usr/local/bin");
    let found = system.run(
        "cd /usr/local; stat --format '%A %U %n' bin/lop man/man1/lop-scan.1 \
         share/bash-completion/completions/lop share/zsh/site-functions/_lop \
         share/fish/vendor_completions.d/lop.fish lib/systemd/system/lop-serve.service \
         share/doc/lop/LICENSE share/doc/lop/THIRD-PARTY-LICENSES.txt share/doc/lop/lop.cdx.json \
         share/doc/lop/docs/systemd.md share",
    );
    let modes: Vec<_> = found.lines().map(|line| &line[..15]).collect();
    assert_eq!(modes[0], "-rwxr-xr-x root");
    assert_eq!(modes[1..10], ["-rw-r--r-- root"; 9]);
    assert_eq!(modes[10], "drwxrwsr-x root", "the mode of an existing folder");
}

/// All packages contain the program that maturin compiled, byte for byte.
#[test]
fn all_packages_contain_the_same_program() {
    let Some((system, archive)) = System::with("-x86_64-linux.tar.gz") else { return };
    let packages = packages().expect("packages");
    let [deb, wheel] = ["_amd64.deb", ".whl"].map(|end| {
        let package = package(&packages, end);
        system.add(&package, "/");
        format!("/{}", package.file_name().expect("a name").to_string_lossy())
    });
    let sums = system.run(&format!(
        "tar --extract --to-stdout --file {archive} --wildcards '*/bin/lop' | sha256sum
         dpkg-deb --fsys-tarfile {deb} | tar --extract --to-stdout ./usr/bin/lop | sha256sum
         python3 -m zipfile --extract {wheel} /wheel; cat /wheel/lop-*.data/scripts/lop | sha256sum"
    ));
    let sums: Vec<_> = sums.lines().collect();
    assert_eq!(sums.len(), 3);
    assert!(sums.iter().all(|sum| *sum == sums[0]), "{sums:?}");
}

/// The program needs only the kernel: no libraries and no system files.
#[test]
fn the_program_runs_in_an_empty_root() {
    let Some((system, archive)) = System::with("-x86_64-linux.tar.gz") else { return };
    system.run(&format!(
        "mkdir -p /empty/data /empty/tmp
         tar --extract --file {archive} --directory /empty --strip-components 2 --wildcards '*/bin/lop'
         cp /etc/os-release /empty/data/one; cp /etc/os-release /empty/data/two"
    ));
    let printed = system.run("TMPDIR=/tmp chroot /empty /lop --catalog /catalog.db scan /data");
    assert!(printed.contains("1 redundant file"), "{printed}");
}

#[test]
fn checksums_match() {
    let Some(packages) = packages() else { return };
    let mut check = Command::new("sha256sum");
    let checked = check.args(["--check", "--strict", "SHA256SUMS"]).current_dir(&packages).output();
    let checked = checked.expect("sha256sum");
    assert!(checked.status.success(), "{checked:?}");
    assert_eq!(String::from_utf8_lossy(&checked.stdout).lines().count(), 5);
}

/// The bill of materials is a `CycloneDX` document, and does not contain the path of the source tree.
#[test]
fn the_bill_of_materials_names_all_crates() {
    let Some(packages) = packages() else { return };
    let text = std::fs::read_to_string(package(&packages, ".cdx.json")).expect("a file");
    let bill: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(bill["bomFormat"], "CycloneDX");
    assert_eq!(bill["metadata"]["component"]["name"], "lop");
    let components = bill["components"].as_array().expect("components");
    let names: Vec<_> =
        components.iter().filter_map(|component| component["name"].as_str()).collect();
    for expected in [
        "glibc",
        "rust-std",
        "lop-walk",
        "lop-action",
        "libsqlite3-sys",
        "rustls",
        "blake3",
        "zstd-sys",
    ] {
        assert!(names.contains(&expected), "{expected} is missing: {names:?}");
    }
    for unexpected in ["lop-testkit", "proptest", "datafusion", "xtask"] {
        assert!(!names.contains(&unexpected), "{unexpected} is not part of lop");
    }
    let source = super::system::source();
    assert!(!text.contains(&*source.to_string_lossy()), "the path of the source tree");
}
