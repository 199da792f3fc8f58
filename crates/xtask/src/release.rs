//! Prepares a release: sets the version of the workspaces, and moves the unreleased changes of the changelog to a
//! section for this version.
//!
//! `cargo xtask release VERSION` changes only files of the source tree. CONTRIBUTING.md lists the steps before and
//! after it.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use crate::{generated, programs};

/// The manifests that contain the version, and the section of each in which it is.
const MANIFESTS: [(&str, &str); 2] =
    [("Cargo.toml", "[workspace.package]\n"), ("fleet/Cargo.toml", "[package]\n")];

/// The file that contains the date of the man pages, and the beginning of the line with the date.
const PAGES: (&str, &str) = ("crates/lop/src/pages.rs", "const RELEASED: &str = ");

/// The manifests of all workspaces, whose lock files contain the versions of lop's crates.
const WORKSPACES: [&str; 3] = ["Cargo.toml", "fleet/Cargo.toml", "fuzz/Cargo.toml"];

/// The heading of the unreleased changes.
const UNRELEASED: &str = "## Unreleased\n";

/// Sets the version everywhere, and writes the generated files that contain it. If the version or the changelog is not
/// fit for a release, returns a complaint and changes nothing.
#[expect(clippy::disallowed_methods, reason = "writes to the source tree, not to a user's files")]
pub(crate) fn run(root: &Path, version: Option<&str>) -> io::Result<Vec<String>> {
    let Some(version) = version.filter(|version| is_version(version)) else {
        return Ok(vec!["give a version such as 1.2.3: cargo xtask release VERSION".into()]);
    };
    let changelog = fs::read_to_string(root.join("CHANGELOG.md"))?;
    let today = today()?;
    let Some(changelog) = with_section(&changelog, version, &today) else {
        return Ok(vec!["CHANGELOG.md has no changes below '## Unreleased'".into()]);
    };
    let mut changed = vec![("CHANGELOG.md", changelog)];
    let versions =
        MANIFESTS.map(|(name, section)| (name, section, "version = ", format!("\"{version}\"")));
    let date = (PAGES.0, "", PAGES.1, format!("\"{today}\";"));
    for (name, after, key, value) in versions.into_iter().chain([date]) {
        let text = fs::read_to_string(root.join(name))?;
        let Some(text) = with_value(&text, after, key, &value) else {
            return Ok(vec![format!("{name} has no line that begins with '{key}'")]);
        };
        changed.push((name, text));
    }
    for (name, text) in changed {
        fs::write(root.join(name), text)?;
    }
    for name in WORKSPACES {
        // Changes only the versions of the workspace's own packages.
        let mut cargo = programs::cargo();
        cargo.args(["update", "--workspace", "--offline", "--quiet", "--manifest-path"]);
        if !cargo.arg(root.join(name)).status()?.success() {
            return Err(io::Error::other(format!("cargo update --manifest-path {name} failed")));
        }
    }
    generated::of_arguments(root)?.write(&root.join("docs"))?;
    Ok(Vec::new())
}

/// Returns whether a text is a version that consists of three numbers.
fn is_version(text: &str) -> bool {
    let is_number = |part: &str| {
        let is_canonical = part == "0" || !part.starts_with('0');
        is_canonical && !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    text.split('.').count() == 3 && text.split('.').all(is_number)
}

/// Moves the unreleased changes of a changelog to a section for the version. Returns `None` if there are none.
fn with_section(changelog: &str, version: &str, date: &str) -> Option<String> {
    let (before, changes) = changelog.split_once(UNRELEASED)?;
    let newest = changes.split("\n## ").next()?;
    let is_empty = newest.trim().is_empty();
    (!is_empty).then(|| format!("{before}{UNRELEASED}\n## {version} ({date})\n{changes}"))
}

/// Replaces the value in the first line that begins with `key`. Searches only between `after` and the next section of a
/// manifest. Returns `None` if it finds no such line.
fn with_value(text: &str, after: &str, key: &str, value: &str) -> Option<String> {
    let start = text.find(after)? + after.len();
    let (before, rest) = text.split_at(start);
    let line = rest.lines().find(|line| line.starts_with(key) || line.starts_with('['))?;
    let is_found = line.starts_with(key);
    is_found.then(|| [before, &rest.replacen(line, &[key, value].concat(), 1)].concat())
}

/// Returns today's date in UTC, such as `2026-11-30`.
fn today() -> io::Result<String> {
    let date = Command::new("date").args(["--utc", "+%F"]).output()?;
    Ok(String::from_utf8_lossy(&date.stdout).trim().into())
}

#[cfg(test)]
mod tests {
    use super::{is_version, with_section, with_value};

    #[test]
    fn a_version_has_three_numbers() {
        assert!(["0.1.0", "10.20.30"].into_iter().all(is_version));
        let wrong = ["", "1", "1.2", "1.2.3.4", "v1.2.3", "1.2.x", "1..2", "01.2.3", "1.2.3-rc1"];
        assert!(!wrong.into_iter().any(is_version));
    }

    #[test]
    fn unreleased_changes_become_those_of_the_version() {
        let changelog = "# Changelog\n\n## Unreleased\n\n- new\n\n## 0.1.0 (2026-01-01)\n\n- old\n";
        let expected = "# Changelog\n\n## Unreleased\n\n## 0.2.0 (2026-02-02)\n\n- new\n\n\
                        ## 0.1.0 (2026-01-01)\n\n- old\n";
        let released = with_section(changelog, "0.2.0", "2026-02-02");
        assert_eq!(released.as_deref(), Some(expected));
        assert_eq!(with_section(expected, "0.3.0", "2026-03-03"), None, "no changes");
        assert_eq!(with_section("# Changelog\n", "0.3.0", "2026-03-03"), None, "no section");
    }

    #[test]
    fn only_the_value_of_the_section_changes() {
        let manifest = "[package]\nname = \"x\"\nversion = \"0.1.0\"\n\n[dependencies.y]\nversion = \"0.1.0\"\n";
        let expected = manifest.replacen("0.1.0", "0.2.0", 1);
        let set = |section: &str| with_value(manifest, section, "version = ", "\"0.2.0\"");
        assert_eq!(set("[package]\n"), Some(expected));
        assert_eq!(set("[workspace]\n"), None);
        assert_eq!(
            with_value("[a]\n\n[b]\nversion = \"1\"\n", "[a]\n", "version = ", "\"2\""),
            None
        );
        let date = with_value("// const A: of\nconst A: u8 = 1;\n", "", "const A: u8 = ", "2;");
        assert_eq!(date.as_deref(), Some("// const A: of\nconst A: u8 = 2;\n"));
    }
}
