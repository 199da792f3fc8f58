//! Makes the archive with the program and everything that belongs to it.
//!
//! Its folder has the layout of a prefix such as `/usr/local`, so `tar --strip-components 1` installs it. The archive
//! contains only files: directories would replace symbolic links and modes in an existing prefix.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{PARTS, Release, output};

/// Paths in the source tree, and the paths below the prefix that they are copied to. Of a folder, only its own files
/// are copied.
const FILES: [(&str, &str); 9] = [
    ("docs/man", "share/man/man1"),
    ("docs/completions/lop.bash", "share/bash-completion/completions/lop"),
    ("docs/completions/_lop", "share/zsh/site-functions/_lop"),
    ("docs/completions/lop.fish", "share/fish/vendor_completions.d/lop.fish"),
    ("packaging/systemd", "lib/systemd/system"),
    ("README.md", "share/doc/lop/README.md"),
    ("CHANGELOG.md", "share/doc/lop/CHANGELOG.md"),
    ("LICENSE", "share/doc/lop/LICENSE"),
    ("docs", "share/doc/lop/docs"),
];

/// Writes the archive.
#[expect(clippy::disallowed_methods, reason = "writes to the build folder, not to a user's files")]
pub(super) fn build(release: &Release, program: &Path) -> io::Result<()> {
    let name = format!("lop-{}-x86_64-linux", release.version);
    let folder = release.packages.join("build");
    let mut files = Files { prefix: folder.join(&name), placed: Vec::new() };
    files.place(program, "bin/lop")?;
    for part in PARTS {
        files.place(&folder.join(part), &format!("share/doc/lop/{part}"))?;
    }
    for (source, to) in FILES {
        files.place_all(&release.root.join(source), to)?;
    }
    files.placed.sort();
    let placed = files.placed.iter().map(|path| format!("{name}/{path}\n"));
    let list = folder.join("archive.txt");
    fs::write(&list, placed.collect::<String>())?;
    let mut tar = release.command("tar");
    let archive = release.packages.join(format!("{name}.tar.gz"));
    tar.arg("--create").arg("--file").arg(archive).arg("--directory").arg(folder);
    tar.args(["--use-compress-program", "gzip --no-name --best", "--format", "ustar"]);
    tar.args(["--owner", "root:0", "--group", "root:0", "--mode", "u=rwX,go=rX", "--mtime"]);
    tar.arg(format!("@{}", release.epoch)).arg("--no-recursion").arg("--files-from").arg(list);
    output(tar).map(drop)
}

/// The files of the archive.
struct Files {
    prefix: PathBuf,
    /// Paths below the prefix.
    placed: Vec<String>,
}

impl Files {
    /// Copies a file, or the files in a folder, to a path below the prefix.
    fn place_all(&mut self, source: &Path, to: &str) -> io::Result<()> {
        if !source.is_dir() {
            return self.place(source, to);
        }
        for entry in fs::read_dir(source)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                let name = entry.file_name();
                self.place(&entry.path(), &format!("{to}/{}", name.to_string_lossy()))?;
            }
        }
        Ok(())
    }

    /// Copies a file to a path below the prefix.
    #[expect(
        clippy::disallowed_methods,
        reason = "writes to the build folder, not to a user's files"
    )]
    fn place(&mut self, source: &Path, to: &str) -> io::Result<()> {
        let target = self.prefix.join(to);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder)?;
        }
        let copied = fs::copy(source, target);
        copied.map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", source.display())))?;
        self.placed.push(to.into());
        Ok(())
    }
}
