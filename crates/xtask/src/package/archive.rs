//! Makes the archive with the program and everything that belongs to it.
//!
//! The folder in the archive has the layout of a prefix such as `/usr/local`, so that `tar --strip-components 1`
//! installs it.

use std::fs;
use std::io;
use std::path::Path;

use super::{LICENCES, Release, SBOM, output};

/// Paths in the source tree, and their destinations below the prefix. A destination that ends with a slash is a folder.
const FILES: [(&str, &str); 8] = [
    ("docs/man", "share/man/man1/"),
    ("docs/completions/lop.bash", "share/bash-completion/completions/lop"),
    ("docs/completions/_lop", "share/zsh/site-functions/_lop"),
    ("docs/completions/lop.fish", "share/fish/vendor_completions.d/lop.fish"),
    ("packaging/systemd", "lib/systemd/system/"),
    ("README.md", "share/doc/lop/README.md"),
    ("CHANGELOG.md", "share/doc/lop/CHANGELOG.md"),
    ("LICENSE", "share/doc/lop/LICENSE"),
];

/// Writes the archive.
pub(super) fn build(release: &Release, program: &Path) -> io::Result<()> {
    let name = format!("lop-{}-x86_64-linux", release.version);
    let folder = release.packages.join("build");
    let prefix = folder.join(&name);
    place(program, &prefix.join("bin/lop"))?;
    for part in [LICENCES, SBOM] {
        place(&folder.join(part), &prefix.join("share/doc/lop").join(part))?;
    }
    for (source, to) in FILES {
        let (source, target) = (release.root.join(source), prefix.join(to));
        if !to.ends_with('/') {
            place(&source, &target)?;
            continue;
        }
        for entry in fs::read_dir(source)? {
            let entry = entry?;
            place(&entry.path(), &target.join(entry.file_name()))?;
        }
    }
    let archive = release.packages.join(format!("{name}.tar.gz"));
    let mut tar = release.command("tar");
    tar.arg("--create").arg("--file").arg(archive).arg("--directory").arg(folder);
    tar.args([
        "--use-compress-program",
        "gzip --no-name --best",
        "--format",
        "ustar",
        "--sort",
        "name",
    ]);
    tar.args(["--owner", "root:0", "--group", "root:0", "--mode", "u=rwX,go=rX", "--mtime"]);
    tar.arg(format!("@{}", release.epoch)).arg("--").arg(name);
    output(tar).map(drop)
}

#[expect(clippy::disallowed_methods, reason = "writes to the build folder, not to a user's files")]
fn place(source: &Path, target: &Path) -> io::Result<()> {
    if let Some(folder) = target.parent() {
        fs::create_dir_all(folder)?;
    }
    let copied = fs::copy(source, target);
    copied.map(drop).map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", source.display())))
}
