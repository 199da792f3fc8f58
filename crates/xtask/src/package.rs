//! Builds the packages that install lop without a Rust toolchain, in `target/package`:
//!
//! | file | contents |
//! |---|---|
//! | `lop-VERSION-x86_64-linux.tar.gz` | the program, man pages, completions, systemd units and licences, to be unpacked into a prefix such as `/usr/local` |
//! | `lop_VERSION_amd64.deb` | the same for Debian and its derivatives |
//! | `lop-VERSION-py3-none-….whl` | the program for `pip` and `uvx` |
//! | `lop-VERSION.tar.gz` | the source of lop and all its crates, from which `pip` can build it |
//! | `lop-VERSION.cdx.json` | the software bill of materials (`CycloneDX`) |
//! | `SHA256SUMS` | the checksums of the files above |
//!
//! The program is linked statically with the C library, so it runs on every distribution. `maturin` compiles it once,
//! and all packages contain the same bytes. On one distribution, the build is reproducible: the result depends on
//! neither the folder nor the time ([`reproduce`]). Never add a path, a time or a random name to a package.

mod archive;
mod bare;
mod deb;
mod licences;
mod linked;
mod source_copy;
#[cfg(test)]
mod tests;
mod tools;
mod wheel;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::traces::Temporary;

/// The target that the packages are built for.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// A release that is being packaged.
pub(crate) struct Release {
    /// The root of the source tree.
    root: PathBuf,
    /// The folder of the packages.
    packages: PathBuf,
    /// The version in `Cargo.toml`.
    version: String,
    /// The modification time of all files in the packages, in seconds since 1970.
    epoch: String,
    /// The author of the last commit, who is the maintainer of the Debian package: `Name <address>`.
    maintainer: String,
}

impl Release {
    /// Reads the version, and the time and the author of the last commit. `SOURCE_DATE_EPOCH` overrides the time.
    fn new(root: &Path) -> io::Result<Release> {
        let root = root.canonicalize()?;
        let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
        let version =
            version(&manifest).ok_or_else(|| io::Error::other("Cargo.toml has no version"))?;
        let mut git = Command::new("git");
        git.args(["log", "-1", "--format=%ct %an <%ae>"]).current_dir(&root);
        let commit = output(git)?;
        let (epoch, maintainer) = commit.trim().split_once(' ').unwrap_or_default();
        let epoch = std::env::var("SOURCE_DATE_EPOCH").unwrap_or_else(|_| epoch.into());
        let maintainer = maintainer.into();
        let packages = root.join("target/package");
        Ok(Release { packages, version: version.into(), epoch, maintainer, root })
    }

    /// Returns a command that runs in the source tree with the time of the release in `SOURCE_DATE_EPOCH`.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.root)
            .env("SOURCE_DATE_EPOCH", &self.epoch)
            .env("LC_ALL", "C.UTF-8");
        command
    }
}

/// Builds all packages. Never returns complaints: a failed step is an error.
#[expect(clippy::print_stdout, reason = "a program for the terminal")]
pub(crate) fn run(root: &Path) -> io::Result<Vec<String>> {
    let tools = tools::Tools::install(root)?;
    let release = Release::new(root)?;
    let sums = build(&release, &tools)?;
    println!("{}:\n{sums}", release.packages.display());
    Ok(Vec::new())
}

/// Builds all packages twice: in `target/package`, and in a copy of the source tree in another folder. Returns a
/// complaint if their checksums differ.
pub(crate) fn reproduce(root: &Path) -> io::Result<Vec<String>> {
    let tools = tools::Tools::install(root)?;
    let release = Release::new(root)?;
    let first = build(&release, &tools)?;
    let elsewhere = Temporary::new("lop-reproduced")?;
    let copy = elsewhere.path().join("another folder");
    let again = Release { packages: copy.join("target/package"), root: copy, ..release };
    let second = source_copy::make(root, &again.root).and_then(|()| build(&again, &tools));
    let differs = second.as_ref().is_ok_and(|second| *second != first);
    if differs {
        // The copy is kept, so that the packages can be compared.
        let both = format!("{first}\n{}:\n{}", again.packages.display(), second?);
        return Ok(vec![format!("the packages are not reproducible:\n{both}")]);
    }
    elsewhere.remove()?;
    second.map(|_same| Vec::new())
}

/// Builds the packages, and the bare system in which the tests install them. Returns the folder of the packages.
/// Prints the reason and returns `None` if this machine cannot run these tests.
///
/// # Errors
///
/// Fails if the packages cannot be built although everything that this needs is installed.
#[expect(clippy::print_stdout, reason = "a program for the terminal")]
pub(crate) fn for_tests(root: &Path) -> io::Result<Option<PathBuf>> {
    let prepared = bare::make(root).and_then(|()| tools::Tools::install(root));
    if let Err(reason) = prepared {
        println!("skipped: tests of the packages: {reason}");
        return Ok(None);
    }
    run(root)?;
    Ok(Some(root.canonicalize()?.join("target/package")))
}

/// The variable that names the folder of the packages to the tests.
pub(crate) const VARIABLE: &str = "LOP_TEST_PACKAGES";

/// The file with the checksums.
const SUMS: &str = "SHA256SUMS";

/// The names of files in the folder `build` that several packages contain.
const LICENCES: &str = "THIRD-PARTY-LICENSES.txt";
const RUST: &str = "RUST-COPYRIGHT.html";
const SBOM: &str = "lop.cdx.json";
const PARTS: [&str; 3] = [LICENCES, RUST, SBOM];

/// Builds all packages and returns their checksums.
#[expect(clippy::disallowed_methods, reason = "writes to the build folder, not to a user's files")]
fn build(release: &Release, tools: &tools::Tools) -> io::Result<String> {
    if release.packages.exists() {
        fs::remove_dir_all(&release.packages)?;
    }
    fs::create_dir_all(&release.packages)?;
    let parts = release.packages.join("build");
    fs::create_dir_all(&parts)?;
    let linked = linked::Linked::find()?;
    fs::write(parts.join(LICENCES), licences::collect(&release.root, &linked)?)?;
    fs::copy(&linked.rust_copyright, parts.join(RUST))?;
    let program = wheel::build(release, tools, &linked)?;
    fs::copy(parts.join(SBOM), release.packages.join(format!("lop-{}.cdx.json", release.version)))?;
    archive::build(release, &program)?;
    deb::build(release, tools)?;
    let mut names = Vec::new();
    for entry in fs::read_dir(&release.packages)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            names.push(entry.file_name());
        }
    }
    names.sort();
    let mut sha256sum = release.command("sha256sum");
    sha256sum.arg("--").args(names).current_dir(&release.packages);
    let sums = output(sha256sum)?;
    fs::write(release.packages.join(SUMS), &sums)?;
    Ok(sums)
}

/// Returns the version of the workspace.
fn version(manifest: &str) -> Option<&str> {
    let (_, workspace) = manifest.split_once("[workspace.package]")?;
    let line = workspace.lines().find_map(|line| line.strip_prefix("version = "))?;
    Some(line.trim_matches('"'))
}

/// Runs a command and returns its standard output. If it fails, the error contains the end of its standard error.
fn output(mut command: Command) -> io::Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output =
        command.output().map_err(|e| io::Error::new(e.kind(), format!("{program}: {e}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let messages = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<_> = messages.lines().collect();
    let end = &lines[lines.len().saturating_sub(20)..];
    Err(io::Error::other(format!("{program}: {}\n{}", output.status, end.join("\n"))))
}
