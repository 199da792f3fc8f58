//! The patterns of `--include` and `--exclude`, and the report of patterns that matched nothing.

use walk::{AmbiguousPattern, FilterError, Globs, PatternUse, TopDir};

use crate::error::CommandError;
use crate::exit::Exit;
use crate::settings::environment::home;
use crate::settings::{Settings, Verbosity};

/// The patterns of a command.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patterns {
    pub(crate) include: Globs,
    pub(crate) exclude: Globs,
    /// Patterns of the configuration in `exclude`. They apply to all scans, so it is normal that they match nothing.
    configured: Vec<String>,
}

impl Patterns {
    /// Parses patterns and expands `~` in them, because a shell does not expand it after an equals sign or in quotes.
    ///
    /// # Errors
    ///
    /// Fails if a pattern is not valid.
    pub(crate) fn new(
        include: &[String],
        exclude: &[String],
        ignore_case: bool,
    ) -> Result<Patterns, CommandError> {
        let globs = |patterns: &[String]| {
            let patterns: Vec<_> = patterns.iter().map(|p| at_home(p)).collect();
            let bad = |e: FilterError| CommandError::usage(e.to_string());
            Globs::with_case(&patterns, ignore_case).map_err(bad)
        };
        Ok(Patterns { include: globs(include)?, exclude: globs(exclude)?, configured: Vec::new() })
    }

    /// Returns the same patterns. Does not report those of the configuration if they match nothing.
    pub(crate) fn with_configured(self, configured: Vec<String>) -> Patterns {
        Patterns { configured, ..self }
    }

    /// Returns the patterns for the directories `tops`. A pattern that is a path to one of them is matched below it.
    pub(crate) fn below(&self, tops: &[TopDir]) -> Patterns {
        Patterns {
            include: self.include.below(tops, PatternUse::Include),
            exclude: self.exclude.below(tops, PatternUse::Exclude),
            configured: self.configured.clone(),
        }
    }

    /// Refuses an `--include` that can be read in two ways, for commands that destroy what it matches. The error
    /// message ends with `so`, which says what was not done.
    ///
    /// # Errors
    ///
    /// Fails if there is such a pattern.
    pub(crate) fn refuse_ambiguous(&self, so: &str) -> Result<(), CommandError> {
        let Some(AmbiguousPattern { typed, inside, path }) = self.include.ambiguous() else {
            return Ok(());
        };
        let text = format!("--include {typed} can mean {inside} or {path}; {so}");
        Err(CommandError::new(Exit::Refused, text).hint("write the path that you mean"))
    }

    /// Returns the options whose patterns matched nothing, as the user typed them.
    pub(crate) fn unmatched(&self) -> Vec<String> {
        let of = |option: &str, globs: &Globs| -> Vec<String> {
            let typed = globs.unmatched().into_iter();
            let typed = typed.filter(|text| !self.configured.iter().any(|glob| glob == text));
            typed.map(|text| format!("{option} {text}")).collect()
        };
        [of("--include", &self.include), of("--exclude", &self.exclude)].concat()
    }

    /// Reports patterns that matched nothing. A mistyped pattern may fail to protect the files that it was meant for.
    pub(crate) fn report_unmatched(&self, settings: &Settings) {
        if settings.verbosity == Verbosity::Quiet {
            return;
        }
        for option in self.unmatched() {
            settings.complain(format!("{option} matched nothing").as_bytes());
        }
    }
}

/// Expands `~/` at the beginning of a pattern, unless the path of the home directory could be read as a pattern.
pub(super) fn at_home(pattern: &str) -> String {
    let home = || home().filter(|home| !home.contains(['*', '?', '[', '{', '\\']));
    match pattern.strip_prefix("~/").and_then(|rest| Some((home()?, rest))) {
        Some((home, rest)) => format!("{home}/{rest}"),
        None => pattern.into(),
    }
}
