//! Glob patterns, with a record of which patterns have matched.
//!
//! A pattern without a slash matches names at any depth. A pattern with a slash matches paths
//! relative to the top directory. It may also be a path that leads into the top directory, as
//! completed by a shell ([`Globs::below`]). A trailing slash restricts a pattern to directories.
//!
//! `*` and `?` do not match a slash, but `**` does. `[...]` matches one of a set of characters,
//! `{a,b}` one of several alternatives, and a backslash escapes the next character.
//!
//! [`Globs::unmatched`] returns the patterns that have not matched anything. All clones of a set of
//! patterns share the record of matches.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::filter::pattern::{AmbiguousPattern, FilterError, PatternUse};
use crate::filter::top::{Readings, TopDir};

/// Compiled patterns for files and directories.
#[derive(Clone, Debug, Default)]
pub struct Globs {
    typed: Arc<Typed>,
    ignore_case: bool,
    /// Additional interpretations of each pattern, relative to the top directory.
    also: Vec<Vec<String>>,
    files: Set,
    dirs: Set,
    /// Indices of the patterns that are paths of the top directory itself.
    of_top: Vec<usize>,
    ambiguous: Option<AmbiguousPattern>,
}

/// Patterns as typed, and whether each has matched.
#[derive(Debug, Default)]
struct Typed {
    texts: Vec<String>,
    met: Vec<AtomicBool>,
    all_met: AtomicBool,
}

impl Globs {
    /// Compiles patterns that match case-sensitively. Patterns with a trailing slash match only
    /// directories.
    ///
    /// # Errors
    ///
    /// Fails if a pattern is invalid.
    pub fn new(patterns: &[String]) -> Result<Globs, FilterError> {
        Globs::with_case(patterns, false)
    }

    /// Compiles patterns. They match case-insensitively if `ignore_case` is true.
    ///
    /// # Errors
    ///
    /// Fails if a pattern is invalid.
    pub fn with_case(patterns: &[String], ignore_case: bool) -> Result<Globs, FilterError> {
        let readings = patterns.iter().map(|text| (text.clone(), Vec::new())).collect();
        Globs::of_readings(readings, ignore_case)
    }

    /// Compiles patterns with additional interpretations, as returned by [`Globs::readings`].
    ///
    /// # Errors
    ///
    /// Fails if a pattern is invalid.
    pub fn of_readings(
        readings: Vec<(String, Vec<String>)>,
        ignore_case: bool,
    ) -> Result<Globs, FilterError> {
        let (texts, also): (Vec<String>, Vec<Vec<String>>) = readings.into_iter().unzip();
        let met = texts.iter().map(|_| AtomicBool::new(false)).collect();
        let typed = Typed { met, all_met: AtomicBool::new(texts.is_empty()), texts };
        let mut globs = Globs { typed: Arc::new(typed), ignore_case, also, ..Globs::default() };
        globs.compile(|_| true)?;
        Ok(globs)
    }

    /// Returns the same patterns for entries below `tops`. Patterns that are paths into a top
    /// directory become relative to it. A pattern also matches an entry whose name is literally the
    /// pattern. The record of matches is shared.
    #[must_use]
    pub fn below(&self, tops: &[TopDir], used: PatternUse) -> Globs {
        let mut globs = self.clone();
        let mut is_inside = vec![true; self.typed.texts.len()];
        for (number, text) in self.typed.texts.iter().enumerate() {
            for top in tops {
                let Readings { also, exists, names_top, paths, is_path_only } =
                    top.readings(text, used, self.ignore_case);
                globs.also[number].extend(also);
                if names_top {
                    globs.of_top.push(number);
                }
                if exists {
                    self.typed.meet(number);
                }
                is_inside[number] &= !is_path_only;
                if !text.starts_with('/') && globs.ambiguous.is_none() {
                    globs.ambiguous = top.ambiguous(text, &paths);
                }
            }
            globs.also[number].sort();
            globs.also[number].dedup();
        }
        // The remainder of a pattern can be invalid, for example if it starts inside braces. It is
        // then dropped.
        for also in &mut globs.also {
            also.retain(|text| glob(text, self.ignore_case).is_ok());
        }
        match globs.compile(|number| is_inside[number]) {
            Ok(()) => globs,
            Err(_) => self.clone(),
        }
    }

    /// Returns an include pattern that has two meanings, if any. [`Globs::below`] detects it.
    pub fn ambiguous(&self) -> Option<&AmbiguousPattern> {
        self.ambiguous.as_ref()
    }

    /// Returns the patterns and their additional interpretations, all relative to the top
    /// directory.
    pub fn readings(&self) -> Vec<(String, Vec<String>)> {
        self.typed.texts.iter().cloned().zip(self.also.iter().cloned()).collect()
    }

    /// Returns whether matching ignores case.
    pub fn ignores_case(&self) -> bool {
        self.ignore_case
    }

    /// Returns whether the set has no patterns.
    pub fn is_empty(&self) -> bool {
        self.typed.texts.is_empty()
    }

    /// Returns whether matching needs the paths of entries below the top directory.
    pub fn want_paths(&self) -> bool {
        !self.dirs.paths.is_empty()
    }

    /// Returns whether a pattern is the path of the top directory or matches its name.
    pub fn match_top(&self, name: &[u8], is_dir: bool) -> bool {
        self.of_top.iter().for_each(|&number| self.typed.meet(number));
        self.matches(name, Some(name), is_dir) || !self.of_top.is_empty()
    }

    /// Returns whether a pattern matches the name of an entry, or the path of the entry below the
    /// top directory.
    pub fn matches(&self, name: &[u8], path: Option<&[u8]>, is_dir: bool) -> bool {
        let set = if is_dir { &self.dirs } else { &self.files };
        let is_match = set.matches(name, path);
        if is_match && !self.typed.all_met.load(Relaxed) {
            set.each_match(name, path, |number| self.typed.meet(number));
        }
        is_match
    }

    /// Returns the patterns that have not matched anything, as typed.
    pub fn unmatched(&self) -> Vec<&str> {
        let typed = self.typed.texts.iter().zip(&self.typed.met);
        typed.filter(|(_, met)| !met.load(Relaxed)).map(|(text, _)| text.as_str()).collect()
    }

    /// Returns a bit mask of the first 32 patterns, with a bit set for each pattern that has
    /// matched. Pass it to [`Globs::note_matched`] on another host.
    pub fn matched(&self) -> u32 {
        let met = self.typed.met.iter().take(32).enumerate();
        met.fold(0, |bits, (number, met)| bits | u32::from(met.load(Relaxed)) << number)
    }

    /// Records patterns that have matched on another host. Patterns after the 32nd are always
    /// recorded as matched.
    pub fn note_matched(&self, bits: u32) {
        let numbers = 0..self.typed.texts.len();
        let is_met = |number: &usize| *number >= 32 || bits & 1 << number != 0;
        numbers.filter(is_met).for_each(|number| self.typed.meet(number));
    }

    /// Compiles all interpretations. A pattern as typed is compiled only if `is_inside` is true for
    /// its index.
    fn compile(&mut self, is_inside: impl Fn(usize) -> bool) -> Result<(), FilterError> {
        let (mut files, mut dirs) = (SetBuilder::default(), SetBuilder::default());
        for (number, (text, also)) in self.typed.texts.iter().zip(&self.also).enumerate() {
            let inside = is_inside(number).then_some(text);
            for text in inside.into_iter().chain(also) {
                // Without its trailing slash, "name/" contains no slash, so it matches names.
                let bare = text.strip_suffix('/').unwrap_or(text);
                let glob = glob(bare, self.ignore_case)?;
                if bare == text {
                    files.add(number, bare, glob.clone());
                }
                dirs.add(number, bare, glob);
            }
        }
        (self.files, self.dirs) = (files.build()?, dirs.build()?);
        Ok(())
    }
}

impl Typed {
    fn meet(&self, number: usize) {
        if !self.met[number].swap(true, Relaxed) && self.met.iter().all(|met| met.load(Relaxed)) {
            self.all_met.store(true, Relaxed);
        }
    }
}

/// Compiled patterns, each with the index of the pattern as typed.
#[derive(Clone, Debug, Default)]
struct Set {
    names: GlobSet,
    paths: GlobSet,
    of_names: Vec<usize>,
    of_paths: Vec<usize>,
}

impl Set {
    fn matches(&self, name: &[u8], path: Option<&[u8]>) -> bool {
        let os = OsStr::from_bytes;
        self.names.is_match(os(name)) || path.is_some_and(|path| self.paths.is_match(os(path)))
    }

    fn each_match(&self, name: &[u8], path: Option<&[u8]>, mut meet: impl FnMut(usize)) {
        let os = OsStr::from_bytes;
        let mut matched = Vec::new();
        self.names.matches_candidate_into(&Candidate::new(os(name)), &mut matched);
        for &at in &matched {
            meet(self.of_names[at]);
        }
        if let Some(path) = path {
            self.paths.matches_candidate_into(&Candidate::new(os(path)), &mut matched);
            for &at in &matched {
                meet(self.of_paths[at]);
            }
        }
    }
}

#[derive(Default)]
struct SetBuilder {
    names: Vec<(usize, globset::Glob)>,
    paths: Vec<(usize, globset::Glob)>,
}

impl SetBuilder {
    fn add(&mut self, number: usize, text: &str, glob: globset::Glob) {
        let of = if text.contains('/') { &mut self.paths } else { &mut self.names };
        of.push((number, glob));
    }

    fn build(self) -> Result<Set, FilterError> {
        let build = |globs: Vec<(usize, globset::Glob)>| {
            let mut set = GlobSetBuilder::new();
            let mut numbers = Vec::new();
            for (number, glob) in globs {
                set.add(glob);
                numbers.push(number);
            }
            let failed = |e: globset::Error| FilterError {
                pattern: String::new(),
                reason: e.kind().to_string(),
            };
            Ok((set.build().map_err(failed)?, numbers))
        };
        let ((names, of_names), (paths, of_paths)) = (build(self.names)?, build(self.paths)?);
        Ok(Set { names, paths, of_names, of_paths })
    }
}

/// Compiles a pattern without a trailing slash. A leading `/` or `./` is ignored.
fn glob(text: &str, ignore_case: bool) -> Result<globset::Glob, FilterError> {
    let mut plain = text.trim_start_matches('/');
    while let Some(rest) = plain.strip_prefix("./") {
        plain = rest.trim_start_matches('/');
    }
    GlobBuilder::new(plain)
        .literal_separator(true)
        .backslash_escape(true)
        .case_insensitive(ignore_case)
        .build()
        .map_err(|e| FilterError { pattern: text.into(), reason: e.kind().to_string() })
}
