//! Guard 2: a pattern must not be too general.
//!
//! The more valuable the files below a variable are, the more names a pattern needs. Only names
//! before the first `**` count, because `**` matches any directories.

use crate::rule::glob::Glob;
use crate::rule::pattern::{Base, Component};
use crate::rule::variable::Variable;
use crate::rule::{Extent, Risk, Rule, Take};

/// Number of literal characters that a name with wildcards needs.
const LEAST_LITERAL: usize = 3;

/// Number of literal characters that the first name of a pattern needs if it has wildcards, the
/// pattern starts at a variable for valuable files, and the user reviews each match.
const LEAST_LITERAL_FIRST: usize = 6;

/// Number of bytes that a signature needs.
const LEAST_SIGNATURE: usize = 4;

/// Names that many programs and users give to directories with unrelated contents.
const COMMON_NAMES: &[&str] =
    &["backup", "backups", "cache", "data", "files", "log", "logs", "old", "temp", "tmp"];

/// The names that a pattern must have after its variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    /// No name. Everything below is junk.
    Nothing,
    /// The name of a program's directory.
    OneName,
    /// A directory and a name in it. A single literal name is enough if the user reviews each match.
    TwoNames,
}

fn need(variable: Variable) -> Need {
    use Variable as V;
    match variable {
        V::Temp | V::InetCache | V::InetCookies | V::Recent => Need::Nothing,
        V::ProgramFiles
        | V::ProgramData
        | V::Roaming
        | V::Local
        | V::LocalLow
        | V::Cache
        | V::Config
        | V::Data
        | V::Library => Need::OneName,
        V::Top
        | V::Drive
        | V::Windows
        | V::Profile
        | V::Public
        | V::Documents
        | V::Root
        | V::Home => Need::TwoNames,
    }
}

/// Returns why a pattern is too wide, if it is.
pub(crate) fn objection(rule: &Rule, take: &Take) -> Option<String> {
    let pattern = &take.pattern;
    let why = match pattern.base {
        Base::Anywhere => too_wide_anywhere(rule, take)?,
        Base::Variable(variable) => {
            // The names before the first `**`.
            let names: Vec<&Glob> = pattern.components.iter().map_while(name_of).collect();
            let is_deep = names.len() < pattern.components.len();
            match need(variable) {
                Need::Nothing => return None,
                Need::OneName if names.first().is_some_and(|first| is_telling(first)) => {
                    return None;
                }
                Need::OneName => {
                    "is too general: the name after the variable needs 3 literal characters"
                }
                Need::TwoNames => too_wide_root(rule, take, &names, is_deep)?,
            }
        }
    };
    Some(format!("{pattern} {why}"))
}

fn too_wide_anywhere(rule: &Rule, take: &Take) -> Option<&'static str> {
    let conditions = &rule.conditions;
    if take.extent == Extent::Emptied || conditions.only.is_some() {
        return None;
    }
    // If the last component is `*`, the name of its directory counts.
    let mut names = take.pattern.components.iter().rev().filter_map(name_of);
    let last = names.find(|name| !name.is_any());
    if last.is_some_and(is_telling) {
        return None;
    }
    // A rule that requires certain first bytes may have a shorter name.
    let is_signed = take.extent == Extent::Files
        && !conditions.starts.is_empty()
        && conditions.starts.iter().all(|start| start.len() >= LEAST_SIGNATURE);
    if is_signed && last.is_some_and(|last| last.literal_len() >= 2) {
        return None;
    }
    // A bare wildcard needs a marker with a signature, because any directory may contain an entry
    // with the name of a marker.
    let is_proven = conditions.inside.iter().any(|marker| marker.starts.is_some());
    (!is_proven).then_some(
        "is too general: it needs a name with 3 literal characters, or a marker with starts-text",
    )
}

fn too_wide_root(rule: &Rule, take: &Take, names: &[&Glob], is_deep: bool) -> Option<&'static str> {
    let is_first = |first: &&&Glob| {
        let is_reviewed = rule.risk == Risk::Review;
        first.is_literal() || is_reviewed && first.literal_len() >= LEAST_LITERAL_FIRST
    };
    let Some(first) = names.first().filter(is_first) else {
        return Some("is too general: the name after the variable must not have wildcards");
    };
    if names.len() > 1 && is_telling(names[1]) {
        return None;
    }
    let is_common =
        COMMON_NAMES.iter().any(|common| first.text().eq_ignore_ascii_case(common.as_bytes()));
    if is_common {
        return Some("is too general: many programs and users choose the name after the variable");
    }
    let is_hidden = first.text().starts_with(b".") && first.literal_len() > LEAST_LITERAL;
    let is_single_file = names.len() == 1 && !is_deep && take.extent == Extent::Files;
    if is_hidden || is_single_file || rule.risk == Risk::Review {
        return None;
    }
    Some("names only one directory: add a second name, or set risk = \"review\"")
}

fn name_of(component: &Component) -> Option<&Glob> {
    match component {
        Component::Name(glob) => Some(glob),
        Component::AnyDepth => None,
    }
}

/// Returns whether a name is literal, or has enough literal characters.
fn is_telling(name: &Glob) -> bool {
    name.is_literal() || name.literal_len() >= LEAST_LITERAL && !name.text().starts_with(b"*.*")
}
