//! Tests of the Debian package.

use std::process::Command;

use super::system::{System, package, packages};

#[test]
fn the_deb_is_installed_upgraded_removed_and_purged() {
    let Some((system, deb)) = System::with("_amd64.deb") else { return };
    let before = files(&system);
    system.run(&format!("dpkg --install {deb}"));
    system.play_the_readme("/usr/bin");
    system.run(
        "zcat /usr/share/man/man1/lop-scan.1.gz | grep -q 'SH EXAMPLES'
         bash -c '. /usr/share/bash-completion/completions/lop; complete -p lop'
         zcat /usr/share/doc/lop/changelog.gz | grep -q '^lop ('
         if grep missing /usr/share/doc/lop/copyright; then exit 1; fi
         LOP_CATALOG=/var/lib/lop/catalog.db lop scan /home/me",
    );
    let catalogs = "sha256sum /var/lib/lop/catalog.db /home/me/.local/state/lop/catalog.db";
    let remembered = system.run(catalogs);
    system.run(&format!(
        "dpkg-deb --raw-extract {deb} /newer; sed -i 's/^Version: .*/Version: 999/' /newer/DEBIAN/control
         dpkg-deb --build /newer /newer.deb; dpkg --install /newer.deb; rm -r /newer /newer.deb
         dpkg-query --show lop | grep -q 999; lop --version"
    ));
    assert_eq!(system.run(catalogs), remembered, "an upgrade");
    system.run("dpkg --remove lop; if command -v lop; then exit 1; fi");
    assert_eq!(system.run(catalogs), remembered, "a removal");
    system.run("dpkg --purge lop");
    assert_eq!(system.run(catalogs), remembered, "a purge");
    system.run("rm -r /var/lib/lop /home/me /mnt/backup");
    assert_eq!(files(&system), before, "nothing else is left");
}

/// Returns the paths of all files of the system, except those of the package manager, logs and Python caches.
fn files(system: &System) -> String {
    let all = "find / -xdev -path /proc -prune -o -path /var/lib/dpkg -prune -o -path /var/log -prune -o -print";
    system.run(&format!("{all} | grep -v /__pycache__ | sort"))
}

#[test]
fn lintian_finds_nothing() {
    let Some(packages) = packages() else { return };
    let mut lintian = Command::new("lintian");
    lintian.args(["--allow-root", "--fail-on", "error,warning,info", "--no-tag-display-limit"]);
    // lintian sometimes leaves temporary files.
    let temporary = testkit::TempTree::new();
    lintian.env("TMPDIR", temporary.path());
    match lintian.arg(package(&packages, "_amd64.deb")).output() {
        Ok(checked) if checked.status.success() => {}
        Ok(checked) => panic!("{}", String::from_utf8_lossy(&checked.stdout)),
        Err(e) => testkit::skipped(format!("lintian: {e}")),
    }
}
