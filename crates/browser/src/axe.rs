//! Violations of accessibility rules, found by axe-core.
//!
//! axe-core is fetched with npm when a test first needs it, and kept below the target directory. It
//! is never part of the repository. Its digest MUST match, because it runs in the pages under test.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;
use sha2::{Digest, Sha256};

/// The package, with the version.
const PACKAGE: &str = "axe-core@4.14.1";

/// The SHA-256 of `axe.min.js` in the package.
const SHA256: &str = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c";

/// Checks the page. The result is JSON, because CDP returns only plain values.
pub(crate) const RUN: &str = "axe.run({ resultTypes: ['violations'] }).then(result => \
    JSON.stringify(result.violations))";

/// A rule that a page violates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The name of the rule, such as `color-contrast`.
    pub rule: String,
    /// The severity: `minor`, `moderate`, `serious` or `critical`.
    pub impact: String,
    /// The description of the rule.
    pub help: String,
    /// The source of each element that violates the rule.
    pub elements: Vec<String>,
}

impl Violation {
    /// Reads the output of [`RUN`].
    pub(crate) fn parse(json: &str) -> Result<Vec<Self>, String> {
        let violations: Vec<Value> = serde_json::from_str(json).map_err(|e| e.to_string())?;
        Ok(violations.iter().map(Self::of).collect())
    }

    fn of(violation: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let nodes = violation["nodes"].as_array().into_iter().flatten();
        Self {
            rule: text(&violation["id"]),
            impact: text(&violation["impact"]),
            help: text(&violation["help"]),
            elements: nodes.map(|node| text(&node["html"])).collect(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, impact, help, elements } = self;
        write!(f, "{rule} ({impact}): {help}: {}", elements.join(", "))
    }
}

/// Returns the script, or the reason why there is none.
pub(crate) fn script() -> Result<&'static str, String> {
    static SCRIPT: OnceLock<Result<String, String>> = OnceLock::new();
    let script = SCRIPT.get_or_init(|| {
        let cached = crate::target_directory().join(format!("{PACKAGE}.min.js"));
        read(&cached).or_else(|_| fetch(&cached))
    });
    script.as_deref().map_err(Clone::clone)
}

fn read(path: &Path) -> Result<String, String> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let digest = Sha256::digest(&text);
    let digest = digest.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
    if digest != SHA256 {
        return Err(format!("{} has another digest than expected", path.display()));
    }
    Ok(text)
}

/// Fetches the package, and keeps the script as `cached`.
fn fetch(cached: &Path) -> Result<String, String> {
    let temp = testkit::TempTree::new();
    let mut npm = Command::new("npm");
    npm.args(["pack", PACKAGE, "--silent", "--fetch-retries=1", "--fetch-timeout=30000"]);
    // npm writes logs and a cache to the home directory.
    npm.env("HOME", temp.path()).env("npm_config_cache", temp.join("cache"));
    run(npm.current_dir(temp.path()))?;
    let archive = archive(temp.path())?;
    run(Command::new("tar").arg("-xzf").arg(archive).current_dir(temp.path()))?;
    let text = read(&temp.join("package/axe.min.js"))?;
    // Another test may read the file at any time, so it gets its name when it is complete.
    let unfinished = cached.with_extension(format!("{}.part", std::process::id()));
    let written = fs::write(&unfinished, &text).and_then(|()| fs::rename(&unfinished, cached));
    written.map_err(|e| format!("{}: {e}", cached.display()))?;
    Ok(text)
}

fn archive(folder: &Path) -> Result<PathBuf, String> {
    let entries = fs::read_dir(folder).map_err(|e| e.to_string())?;
    let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths
        .find(|path| path.extension().is_some_and(|extension| extension == "tgz"))
        .ok_or_else(|| format!("npm did not write {PACKAGE}"))
}

fn run(command: &mut Command) -> Result<(), String> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = testkit::spawn(command).and_then(|mut child| child.wait());
    let program = command.get_program().display();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("cannot fetch {PACKAGE}: {program}: {status}")),
        Err(e) => Err(format!("cannot fetch {PACKAGE}: {program}: {e}")),
    }
}
