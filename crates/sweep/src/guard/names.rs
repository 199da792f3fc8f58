//! Guard 3: a rule must not name protected files.
//!
//! This check refuses a pattern if all names that it matches are protected. If a pattern also
//! matches other names, the rule may be used, because the walk keeps the protected entries.

use std::sync::LazyLock;

use crate::guard::protected::{BROWSER_BASES, BROWSER_NAMES, MEDIA_DIRS, NAMES, PROGRAM_ENDINGS};
use crate::matcher::fold::fold_into;
use crate::rule::glob::Glob;
use crate::rule::pattern::{Base, Component};
use crate::rule::variable::Variable;
use crate::rule::{Extent, Take};

static PROTECTED: LazyLock<Table> = LazyLock::new(|| Table::new(NAMES));
static PROTECTED_OF_BROWSERS: LazyLock<Table> = LazyLock::new(|| Table::new(BROWSER_NAMES));

/// Names by their first byte. They are folded, because this check ignores case on every layout.
struct Table(Vec<Vec<(Glob, &'static str)>>);

impl Table {
    fn new(names: &'static [&str]) -> Table {
        let mut rows = vec![Vec::new(); 256];
        for &name in names {
            let glob = Glob::new(name.as_bytes()).folded();
            rows[usize::from(glob.text()[0])].push((glob, name));
        }
        Table(rows)
    }

    /// Returns the name that matches everything that a folded sample stands for.
    fn find(&self, sample: &[u8]) -> Option<&'static str> {
        let first = sample.first().copied().unwrap_or_default();
        let mut rows = [first, b'*'].into_iter().flat_map(|byte| &self.0[usize::from(byte)]);
        rows.find(|(name, _)| name.matches(sample)).map(|&(_, text)| text)
    }
}

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
    let mut folded = Vec::new();
    let sample = last.sample();
    let sample = fold_into(&sample, true, &mut folded)?;
    if let Some(name) = PROTECTED.find(sample) {
        return Some(format!("{pattern} names protected entries: {name}"));
    }
    let is_browsers = matches!(pattern.base, Base::Variable(base) if BROWSER_BASES.contains(&base));
    if is_browsers && let Some(name) = PROTECTED_OF_BROWSERS.find(sample) {
        return Some(format!("{pattern} names a browser's user data: {name}"));
    }
    let is_of_programs = matches!(
        pattern.base,
        Base::Variable(Variable::Windows | Variable::ProgramFiles | Variable::Drive)
    );
    let is_program = || {
        let text = last.text();
        let ends_in = |ending: &&str| {
            let end = text.len().checked_sub(ending.len()).map(|at| &text[at..]);
            end.is_some_and(|end| end.eq_ignore_ascii_case(ending.as_bytes()))
        };
        PROGRAM_ENDINGS.iter().any(ends_in)
    };
    (is_of_programs && take.extent == Extent::Files && is_program())
        .then(|| format!("{pattern} names program files"))
}
