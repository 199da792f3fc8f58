//! Checks the values of the configuration, and expands `~` in them.

use std::num::NonZeroU64;
use std::path::PathBuf;

use action::plan::Rule;
use walk::Globs;

use crate::quantity::{at_least_one, parse_rate};
use crate::settings::environment;
use crate::settings::patterns::at_home;

/// The reason why a value is not valid, and a hint that says what to write instead.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Objection {
    pub(super) why: String,
    pub(super) hint: &'static str,
}

type Checked<T> = Result<T, Objection>;

fn objection<T>(why: impl Into<String>, hint: &'static str) -> Checked<T> {
    Err(Objection { why: why.into(), hint })
}

/// Checks a path, which need not exist.
pub(super) fn path(text: &str) -> Checked<PathBuf> {
    if text.contains('\0') {
        return objection(
            format!("{text:?} contains a NUL byte, and no path can contain one"),
            "correct the path",
        );
    }
    if text == "~" || text.starts_with("~/") {
        let rest = text[1..].trim_start_matches('/');
        return match environment::absolute_path("HOME") {
            Some(home) if rest.is_empty() => Ok(home),
            Some(home) => Ok(home.join(rest)),
            None => objection(
                format!("{text:?} is in a home directory, but HOME is not set"),
                "write an absolute path",
            ),
        };
    }
    let path = PathBuf::from(text);
    if path.is_absolute() {
        return Ok(path);
    }
    objection(format!("{text:?} is not an absolute path"), "begin each path with / or ~/")
}

/// Checks a pattern of `lop scan --exclude`.
pub(super) fn glob(text: &str) -> Checked<String> {
    const HINT: &str = "'lop scan --help' describes the patterns";
    if text.is_empty() {
        return objection("an empty pattern matches nothing", HINT);
    }
    match Globs::new(&[text.to_string()]) {
        Ok(_) => Ok(at_home(text)),
        Err(error) => objection(error.to_string(), HINT),
    }
}

/// Checks a rule of `lop dedupe --keep`. The DIR of a rule `device:DIR` need not exist, because it may be on a disk
/// that is not mounted.
pub(super) fn rule(text: &str) -> Checked<String> {
    if let Some(dir) = text.strip_prefix("device:") {
        return path(dir).map(|dir| format!("device:{}", dir.display()));
    }
    let text = match text.strip_prefix("path:") {
        Some(glob) => format!("path:{}", at_home(glob)),
        None => text.to_string(),
    };
    match Rule::parse(&text, &[]) {
        Ok(_) => Ok(text),
        Err(error) => objection(error.to_string(), "'lop dedupe --help' lists the rules"),
    }
}

/// Checks a rate in bytes per second.
pub(super) fn rate(text: &str) -> Checked<NonZeroU64> {
    parse_rate(text).or_else(|why| {
        objection(
            format!("{text:?}: {why}"),
            "write a number of bytes per second, such as \"20MiB\"",
        )
    })
}

/// Checks a number of entries per second.
pub(super) fn count(text: &str) -> Checked<NonZeroU64> {
    at_least_one(text).or_else(|why| {
        objection(format!("{text:?}: {why}"), "write a number of entries per second, such as 2000")
    })
}
