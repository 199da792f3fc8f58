//! Makes the Debian package with `cargo-deb`. `[package.metadata.deb]` in `crates/lop/Cargo.toml` describes it.

use std::fs;
use std::io;

use super::tools::Tools;
use super::{Release, TARGET, output};

/// Writes the package, with the program that `maturin` has already compiled.
#[expect(clippy::disallowed_methods, reason = "writes to the build folder, not to a user's files")]
pub(super) fn build(release: &Release, tools: &Tools) -> io::Result<()> {
    fs::write(release.packages.join("build/changelog"), changelog(release)?)?;
    let mut cargo_deb = release.command(&tools.cargo_deb);
    cargo_deb.args(["--no-build", "--no-strip", "--package", "lop", "--target", TARGET]);
    cargo_deb.args(["--maintainer", &release.maintainer, "--output"]);
    cargo_deb.arg(release.packages.join(format!("lop_{}_amd64.deb", release.version)));
    cargo_deb.env("CARGO_TARGET_DIR", release.root.join("target"));
    output(cargo_deb).map(drop)
}

/// Returns a changelog in Debian's format that refers to the changelog of lop.
fn changelog(release: &Release) -> io::Result<String> {
    let mut date = release.command("date");
    date.args(["--utc", "--rfc-email", "--date", &format!("@{}", release.epoch)]);
    let (version, maintainer, date) = (&release.version, &release.maintainer, output(date)?);
    Ok(format!(
        "lop ({version}) unstable; urgency=medium\n\n  * /usr/share/doc/lop/CHANGELOG.md lists the changes.\n\n \
         -- {maintainer}  {date}"
    ))
}
