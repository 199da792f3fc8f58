//! Compiles the program, and makes the wheel, the source package and the software bill of materials.
//!
//! `maturin` does all of this. This module corrects two of its results: the bill of materials names crates by absolute
//! paths, which differ between folders, and the tags of the wheel exclude distributions with musl, although a
//! statically linked program also runs there.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::linked::Linked;
use super::tools::Tools;
use super::{LICENCES, RUST, Release, SBOM, TARGET, output};
use crate::programs;

/// The tags of the distributions on which pip installs the wheel: the oldest tag that `maturin` accepts for this
/// target, and one for musl. The program does not need the C library of the distribution.
const GLIBC: &str = "manylinux2014";
const MUSL_TAG: &str = "Tag: py3-none-musllinux_1_1_x86_64\n";

/// The path that replaces the root of the source tree in the bill of materials.
const ROOT: &str = "path+file:///lop";

/// Writes the wheel, the source package and the bill of materials. Returns the path of the program.
#[expect(clippy::disallowed_methods, reason = "writes to the build folder, not to a user's files")]
pub(super) fn build(release: &Release, tools: &Tools, linked: &Linked) -> io::Result<PathBuf> {
    let parts = release.packages.join("build");
    let folder = parts.join("wheel");
    maturin(release, tools, "build", &folder)?;
    maturin(release, tools, "sdist", &release.packages)?;
    let contents = unpack(release, tools, &folder)?;
    let info = contents.join(format!("lop-{}.dist-info", release.version));
    let bill = info.join("sboms/lop.cyclonedx.json");
    let absolute = format!("path+file://{}", encoded(&release.root));
    let mut materials = serde_json::from_str(&fs::read_to_string(&bill)?.replace(&absolute, ROOT))?;
    linked.add_to(&mut materials);
    fs::write(parts.join(SBOM), serde_json::to_string_pretty(&materials)? + "\n")?;
    let tags = info.join("WHEEL");
    let text = fs::read_to_string(&tags)? + MUSL_TAG;
    fs::write(&tags, text)?;
    let mut changed = vec![tags, bill.clone()];
    fs::copy(parts.join(SBOM), bill)?;
    for part in [LICENCES, RUST] {
        let licence = info.join("licenses").join(part);
        fs::copy(parts.join(part), &licence)?;
        changed.push(licence);
    }
    for path in changed {
        // The wheel contains the modes, which depend on the umask.
        fs::set_permissions(path, fs::Permissions::from_mode(0o644))?;
    }
    let mut pack = release.command(&tools.python);
    pack.args(["-m", "wheel", "pack", "--dest-dir"]).arg(&release.packages).arg(&contents);
    output(pack)?;
    Ok(contents.join(format!("lop-{}.data/scripts/lop", release.version)))
}

/// Runs a command of `maturin`.
fn maturin(release: &Release, tools: &Tools, task: &str, folder: &Path) -> io::Result<()> {
    let mut maturin = release.command(tools.python.with_file_name("maturin"));
    maturin.arg(task).arg("--out").arg(folder);
    if task == "build" {
        maturin.args(["--release", "--locked", "--target", TARGET]);
        maturin.args(["--compatibility", GLIBC, "--auditwheel", "check"]);
    }
    for (name, _) in programs::cargo().get_envs() {
        maturin.env_remove(name);
    }
    maturin
        .env("CARGO_ENCODED_RUSTFLAGS", rustflags(release)?)
        .env("CARGO_TARGET_DIR", release.root.join("target"));
    output(maturin).map(drop)
}

/// Returns the compiler flags that link the C library statically and keep paths of this machine out of the program.
fn rustflags(release: &Release) -> io::Result<String> {
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo"));
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from).or(home);
    let home = home.ok_or_else(|| io::Error::other("neither CARGO_HOME nor HOME is set"))?;
    let flags = ["-C".into(), "target-feature=+crt-static".into()].into_iter();
    let remap = [(release.root.as_path(), "/lop"), (home.as_path(), "/cargo")];
    let remap = remap.map(|(path, to)| format!("--remap-path-prefix={}={to}", path.display()));
    Ok(flags.chain(remap).collect::<Vec<String>>().join("\u{1f}"))
}

/// Unpacks the wheel that `maturin` made, and returns the folder with its contents.
fn unpack(release: &Release, tools: &Tools, folder: &Path) -> io::Result<PathBuf> {
    let entries: Vec<_> = fs::read_dir(folder)?.collect::<io::Result<_>>()?;
    let [wheel] = entries.as_slice() else {
        return Err(io::Error::other(format!("maturin made {} wheels", entries.len())));
    };
    let mut unpack = release.command(&tools.python);
    unpack.args(["-m", "wheel", "unpack", "--dest"]).arg(folder).arg(wheel.path());
    output(unpack)?;
    Ok(folder.join(format!("lop-{}", release.version)))
}

/// Returns a path as the bill of materials writes it: spaces are percent-encoded.
fn encoded(path: &Path) -> String {
    path.to_string_lossy().replace(' ', "%20")
}
