//! Which entries a walk takes: sizes, hidden names, glob patterns.
//!
//! A pattern without a slash is matched against the name; one with a slash against the path
//! below the root. `*` and `?` do not match a slash, `**` does. A pattern that ends in a slash
//! matches directories only. An excluded directory is not entered.

use fsops::Volume;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::tree::Skipped;

/// What the names of directories begin with that lop keeps files in which it took out of trees; they
/// are not entered.
pub const STORE_PREFIX: &str = ".lop-quarantine-";

/// A pattern that cannot be understood.
#[derive(Debug, thiserror::Error)]
#[error("pattern {pattern:?}: {reason}")]
pub struct FilterError {
    /// The pattern as given.
    pub pattern: String,
    /// What is wrong with it.
    pub reason: String,
}

/// Which entries a walk takes.
#[derive(Clone, Debug)]
pub struct Filter {
    /// Smallest size in bytes.
    pub min_size: u64,
    /// Largest size in bytes.
    pub max_size: u64,
    /// Whether names that start with a dot are taken.
    pub hidden: bool,
    /// Whether files of size 0 are taken, but for those in /proc and its like, which are not
    /// empty.
    pub empty: bool,
    include: Globs,
    exclude: Globs,
}

/// Patterns for files and for directories.
#[derive(Clone, Debug, Default)]
pub struct Globs {
    files: Patterns,
    dirs: Patterns,
}

impl Globs {
    /// Reads patterns; those that end in a slash are for directories only.
    pub fn new(patterns: &[String]) -> Result<Globs, FilterError> {
        let files = patterns.iter().filter(|p| !p.ends_with('/'));
        // "name/" has no slash but the last, so it is matched against the name.
        let dirs = patterns.iter().map(|p| p.strip_suffix('/').unwrap_or(p));
        Ok(Globs { files: Patterns::new(files.map(String::as_str))?, dirs: Patterns::new(dirs)? })
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.dirs.is_empty()
    }

    /// Returns whether a path below the root is needed to decide.
    pub fn want_paths(&self) -> bool {
        !self.dirs.paths.is_empty()
    }

    /// Returns whether one of them matches a name, or its path below the root.
    pub fn matches(&self, name: &[u8], path: Option<&[u8]>, is_dir: bool) -> bool {
        let patterns = if is_dir { &self.dirs } else { &self.files };
        patterns.matches(name, path)
    }
}

#[derive(Clone, Debug, Default)]
struct Patterns {
    names: GlobSet,
    paths: GlobSet,
}

impl Patterns {
    fn new<'a>(patterns: impl Iterator<Item = &'a str>) -> Result<Patterns, FilterError> {
        let (mut names, mut paths) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        for pattern in patterns {
            let set = if pattern.contains('/') { &mut paths } else { &mut names };
            set.add(glob(pattern)?);
        }
        let build = |set: GlobSetBuilder| {
            set.build()
                .map_err(|e| FilterError { pattern: String::new(), reason: e.kind().to_string() })
        };
        Ok(Patterns { names: build(names)?, paths: build(paths)? })
    }

    fn is_empty(&self) -> bool {
        self.names.is_empty() && self.paths.is_empty()
    }

    fn matches(&self, name: &[u8], path: Option<&[u8]>) -> bool {
        use std::os::unix::ffi::OsStrExt;
        let os = std::ffi::OsStr::from_bytes;
        self.names.is_match(os(name)) || path.is_some_and(|p| self.paths.is_match(os(p)))
    }
}

fn glob(pattern: &str) -> Result<globset::Glob, FilterError> {
    GlobBuilder::new(pattern.trim_start_matches('/'))
        .literal_separator(true)
        .backslash_escape(true)
        .build()
        .map_err(|e| FilterError { pattern: pattern.into(), reason: e.kind().to_string() })
}

impl Default for Filter {
    fn default() -> Self {
        Filter {
            min_size: 0,
            max_size: u64::MAX,
            hidden: true,
            empty: false,
            include: Globs::default(),
            exclude: Globs::default(),
        }
    }
}

impl Filter {
    /// Takes only files that match one of `include` (any, if there is none) and no file or
    /// directory that matches one of `exclude`.
    pub fn with_patterns(
        mut self,
        include: &[String],
        exclude: &[String],
    ) -> Result<Filter, FilterError> {
        self.include = Globs::new(include)?;
        self.exclude = Globs::new(exclude)?;
        Ok(self)
    }

    /// Returns whether a path below the root is needed to decide.
    pub(crate) fn wants_paths(&self) -> bool {
        self.include.want_paths() || self.exclude.want_paths()
    }

    /// Returns whether any pattern was given.
    pub(crate) fn has_patterns(&self) -> bool {
        !(self.include.is_empty() && self.exclude.is_empty())
    }

    /// Decides on a name before its metadata is known, counting it if it is left out.
    pub(crate) fn takes_name(
        &self,
        name: &[u8],
        path: Option<&[u8]>,
        is_dir: bool,
        skipped: &mut Skipped,
    ) -> bool {
        if is_dir && name.starts_with(STORE_PREFIX.as_bytes()) {
            skipped.excluded += 1;
            return false;
        }
        if !self.hidden && name.first() == Some(&b'.') {
            skipped.hidden += 1;
            return false;
        }
        if !self.has_patterns() {
            return true;
        }
        let out = self.exclude.matches(name, path, is_dir)
            || !is_dir && !self.include.is_empty() && !self.include.matches(name, path, false);
        skipped.excluded += u64::from(out);
        !out
    }

    /// Decides on a file's size, counting the file if it is left out.
    ///
    /// `volume` is asked for only if the answer depends on where the file is.
    pub(crate) fn takes_size(
        &self,
        size: u64,
        volume: impl FnOnce() -> Option<Volume>,
        skipped: &mut Skipped,
    ) -> bool {
        let empty = size == 0 && self.empty && !volume().is_some_and(|v| v.is_synthetic());
        let count = if size == 0 && !empty {
            &mut skipped.empty
        } else if size < self.min_size {
            &mut skipped.too_small
        } else if size > self.max_size {
            &mut skipped.too_large
        } else {
            return true;
        };
        *count += 1;
        false
    }
}
