//! The one language of patterns, and what each pattern has matched.
//!
//! A pattern without a slash is matched against names, at any depth. One with a slash is matched against
//! paths: the path below the top directory, or, as the shell completes it, a path that leads into the top
//! directory ([`Globs::below`]). One that ends in a slash matches directories only. `*` and `?` match no
//! slash, `**` does; `[...]` is a set of characters, `{a,b}` one or the other, and a backslash takes the
//! meaning from what follows.
//!
//! [`Globs::unmatched`] tells which patterns have matched nothing so far. All clones of a set of patterns
//! note that in one place.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::top::{Readings, Top};

/// A pattern that cannot be understood.
#[derive(Debug, thiserror::Error)]
#[error("pattern {pattern:?}: {reason}")]
pub struct FilterError {
    /// The pattern as given.
    pub pattern: String,
    /// What is wrong with it.
    pub reason: String,
}

/// What patterns are used for, which decides between two readings of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// They choose what something is done to. A path to something in the top directory is only that.
    Include,
    /// They choose what is spared: whatever a pattern may mean is.
    Exclude,
}

/// A pattern that means one thing counted from the top directory and another one as a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Twofold {
    /// The pattern as typed.
    pub typed: String,
    /// What it means counted from the top directory, as an absolute path.
    pub inside: String,
    /// What it means as a path, made absolute.
    pub path: String,
}

/// Patterns for files and for directories.
#[derive(Clone, Debug, Default)]
pub struct Globs {
    typed: Arc<Typed>,
    ignore_case: bool,
    /// By pattern, what it also stands for: patterns too, but counted from the top directory.
    also: Vec<Vec<String>>,
    files: Set,
    dirs: Set,
    /// Patterns that are the path of the top directory.
    of_top: Vec<usize>,
    twofold: Option<Twofold>,
}

/// Patterns as they were typed, and whether each has matched anything.
#[derive(Debug, Default)]
struct Typed {
    texts: Vec<String>,
    met: Vec<AtomicBool>,
    all_met: AtomicBool,
}

impl Globs {
    /// Reads patterns; those that end in a slash are for directories only.
    ///
    /// # Errors
    ///
    /// One of them is no pattern.
    pub fn new(patterns: &[String]) -> Result<Globs, FilterError> {
        Globs::with_case(patterns, false)
    }

    /// Reads patterns that match names in capitals and small letters alike, if `ignore_case`.
    ///
    /// # Errors
    ///
    /// As for [`Globs::new`].
    pub fn with_case(patterns: &[String], ignore_case: bool) -> Result<Globs, FilterError> {
        let readings = patterns.iter().map(|text| (text.clone(), Vec::new())).collect();
        Globs::of_readings(readings, ignore_case)
    }

    /// Puts patterns together with what each also stands for, as [`Globs::readings`] returned it.
    ///
    /// # Errors
    ///
    /// As for [`Globs::new`].
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

    /// Returns the same patterns for what is in one of `tops`, with paths that lead there understood as such,
    /// and what has the very name of a pattern taken for it. What they match is noted in one place.
    #[must_use]
    pub fn below(&self, tops: &[Top], used: Use) -> Globs {
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
                if !text.starts_with('/') && globs.twofold.is_none() {
                    globs.twofold = top.twofold(text, &paths);
                }
            }
            globs.also[number].sort();
            globs.also[number].dedup();
        }
        // A reading that is no pattern by itself, as it begins in the middle of one, is none.
        for also in &mut globs.also {
            also.retain(|text| glob(text, self.ignore_case).is_ok());
        }
        match globs.compile(|number| is_inside[number]) {
            Ok(()) => globs,
            Err(_) => self.clone(),
        }
    }

    /// Returns a pattern of which it is not clear what it includes; see [`Globs::below`].
    pub fn twofold(&self) -> Option<&Twofold> {
        self.twofold.as_ref()
    }

    /// Returns the patterns with what each also stands for, all counted from the top directory.
    pub fn readings(&self) -> Vec<(String, Vec<String>)> {
        self.typed.texts.iter().cloned().zip(self.also.iter().cloned()).collect()
    }

    /// Returns whether capitals and small letters are alike.
    pub fn ignores_case(&self) -> bool {
        self.ignore_case
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.typed.texts.is_empty()
    }

    /// Returns whether a path below the top directory is needed to decide.
    pub fn want_paths(&self) -> bool {
        !self.dirs.paths.is_empty()
    }

    /// Returns whether one of them is the path of the top directory itself, or matches its name.
    pub fn match_top(&self, name: &[u8], is_dir: bool) -> bool {
        self.of_top.iter().for_each(|&number| self.typed.meet(number));
        self.matches(name, Some(name), is_dir) || !self.of_top.is_empty()
    }

    /// Returns whether one of them matches a name, or its path below the top directory.
    pub fn matches(&self, name: &[u8], path: Option<&[u8]>, is_dir: bool) -> bool {
        let set = if is_dir { &self.dirs } else { &self.files };
        let is_match = set.matches(name, path);
        if is_match && !self.typed.all_met.load(Relaxed) {
            set.each_match(name, path, |number| self.typed.meet(number));
        }
        is_match
    }

    /// Returns the patterns, as typed, that have matched nothing so far.
    pub fn unmatched(&self) -> Vec<&str> {
        let typed = self.typed.texts.iter().zip(&self.typed.met);
        typed.filter(|(_, met)| !met.load(Relaxed)).map(|(text, _)| text.as_str()).collect()
    }

    /// Returns which have matched, for [`Globs::note_matched`] on another host: a bit each, of the first 32.
    pub fn matched(&self) -> u32 {
        let met = self.typed.met.iter().take(32).enumerate();
        met.fold(0, |bits, (number, met)| bits | u32::from(met.load(Relaxed)) << number)
    }

    /// Notes which have matched elsewhere. Patterns beyond the 32nd count as such.
    pub fn note_matched(&self, bits: u32) {
        let numbers = 0..self.typed.texts.len();
        let is_met = |number: &usize| *number >= 32 || bits & 1 << number != 0;
        numbers.filter(is_met).for_each(|number| self.typed.meet(number));
    }

    /// Compiles all readings; those of the typed patterns themselves where `is_inside`.
    fn compile(&mut self, is_inside: impl Fn(usize) -> bool) -> Result<(), FilterError> {
        let (mut files, mut dirs) = (SetBuilder::default(), SetBuilder::default());
        for (number, (text, also)) in self.typed.texts.iter().zip(&self.also).enumerate() {
            let inside = is_inside(number).then_some(text);
            for text in inside.into_iter().chain(also) {
                // "name/" has no slash but the last, so it is matched against the name.
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

/// Compiled readings, each with the number of its pattern.
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

/// Reads a pattern without its last slash; a path that is counted from the top directory may begin with a
/// slash, or with a dot and a slash.
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
