//! Guard 3: a rule must not name protected files.
//!
//! This check refuses a pattern if all names that it matches are protected. If a pattern also
//! matches other names, the rule may be used, because the walk keeps the protected entries.

use std::sync::LazyLock;

use crate::guard::protected::{BROWSER_BASES, BROWSER_NAMES, MEDIA_DIRS, NAMES, PROGRAM_ENDINGS};
use crate::matcher::fold::fold;
use crate::rule::glob::Glob;
use crate::rule::pattern::{Base, Component};
use crate::rule::variable::Variable;
use crate::rule::{Extent, Take};

/// The tables, folded. This check ignores case on every layout.
struct Tables {
    names: Vec<(Glob, &'static str)>,
    browser_names: Vec<(Glob, &'static str)>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let folded = |names: &'static [&str]| {
        names.iter().map(|&name| (Glob::new(name.as_bytes()).folded(), name)).collect()
    };
    Tables { names: folded(NAMES), browser_names: folded(BROWSER_NAMES) }
});

/// Returns why the names of a pattern are protected, if they are.
pub(crate) fn objection(take: &Take) -> Option<String> {
    let pattern = &take.pattern;
    for component in &pattern.components {
        if let Component::Name(glob) = component
            && MEDIA_DIRS.iter().any(|dir| glob.text().eq_ignore_ascii_case(dir.as_bytes()))
        {
            return Some(format!("{pattern} names a directory for the user's files: {glob}"));
        }
    }
    let last = pattern.components.iter().rev().find_map(|component| match component {
        Component::Name(glob) if !glob.is_any() => Some(glob),
        _ => None,
    })?;
    let sample = fold(&last.sample())?;
    let within = |tables: &[(Glob, &'static str)]| {
        tables.iter().find(|(name, _)| name.matches(&sample)).map(|&(_, text)| text)
    };
    if let Some(name) = within(&TABLES.names) {
        return Some(format!("{pattern} names protected entries: {name}"));
    }
    let is_browsers = matches!(pattern.base, Base::Variable(base) if BROWSER_BASES.contains(&base));
    if let Some(name) = within(&TABLES.browser_names).filter(|_| is_browsers) {
        return Some(format!("{pattern} names a browser's user data: {name}"));
    }
    let is_of_programs = matches!(
        pattern.base,
        Base::Variable(Variable::Windows | Variable::ProgramFiles | Variable::Drive)
    );
    let is_program = || {
        let text = last.text().to_ascii_lowercase();
        PROGRAM_ENDINGS.iter().any(|ending| text.ends_with(ending.as_bytes()))
    };
    (is_of_programs && take.extent == Extent::Files && is_program())
        .then(|| format!("{pattern} names program files"))
}
