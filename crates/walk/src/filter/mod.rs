//! Selects the entries of a walk: by size, hidden names, and patterns ([`crate::Globs`]). An
//! excluded directory is not entered.

pub(crate) mod globs;
pub(crate) mod own;
pub(crate) mod pattern;
pub(crate) mod system;
pub(crate) mod top;

use std::path::Path;

use fsops::Volume;

use crate::filter::globs::Globs;
use crate::filter::pattern::{FilterError, PatternUse};
use crate::filter::top::TopDir;
use crate::tree::records::Skipped;

/// Prefix of the names of quarantine directories, and of quarantined files where a full disk has no
/// room for a directory. A walk skips both.
pub const QUARANTINE_PREFIX: &str = ".lop-quarantine-";

/// Selects the entries of a walk.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a kind of entry that is taken or not")]
pub struct Filter {
    /// Minimum size in bytes.
    pub min_size: u64,
    /// Maximum size in bytes.
    pub max_size: u64,
    /// Whether to take names that start with a dot.
    pub hidden: bool,
    /// Whether to take files of size 0. This excludes files in /proc and similar file systems,
    /// which are not empty.
    pub empty: bool,
    /// Whether to enter system directories: snapshots, trash, and the private directories of a NAS.
    /// A system directory that is a root is always entered.
    pub system_dirs: bool,
    /// Whether to walk file systems whose files the kernel generates, such as /proc.
    pub pseudo: bool,
    include: Globs,
    exclude: Globs,
}

impl Default for Filter {
    fn default() -> Self {
        Filter {
            min_size: 0,
            max_size: u64::MAX,
            hidden: true,
            empty: false,
            system_dirs: true,
            pseudo: true,
            include: Globs::default(),
            exclude: Globs::default(),
        }
    }
}

impl Filter {
    /// Returns a filter that takes only files that match one of `include` (any file if it is
    /// empty), and no file or directory that matches one of `exclude`.
    ///
    /// # Errors
    ///
    /// Fails if a pattern is invalid.
    pub fn with_patterns(
        mut self,
        include: &[String],
        exclude: &[String],
    ) -> Result<Filter, FilterError> {
        self.include = Globs::new(include)?;
        self.exclude = Globs::new(exclude)?;
        Ok(self)
    }

    /// Does the same with compiled patterns.
    #[must_use]
    pub fn with_globs(self, include: Globs, exclude: Globs) -> Filter {
        Filter { include, exclude, ..self }
    }

    /// Returns the filter for one root, as patterns may be paths that lead into it.
    pub(crate) fn below(&self, root: &Path) -> Filter {
        if !self.has_patterns() {
            return self.clone();
        }
        let tops = [TopDir::new(root)];
        let include = self.include.below(&tops, PatternUse::Include);
        let exclude = self.exclude.below(&tops, PatternUse::Exclude);
        self.clone().with_globs(include, exclude)
    }

    /// Returns whether decisions need the path below the root.
    pub(crate) fn wants_paths(&self) -> bool {
        self.include.want_paths() || self.exclude.want_paths()
    }

    /// Returns whether any pattern was given.
    pub(crate) fn has_patterns(&self) -> bool {
        !(self.include.is_empty() && self.exclude.is_empty())
    }

    /// Decides on a name before its metadata is known. Counts a skipped name.
    pub(crate) fn takes_name(
        &self,
        name: &[u8],
        path: Option<&[u8]>,
        is_dir: bool,
        skipped: &mut Skipped,
    ) -> bool {
        if name.starts_with(QUARANTINE_PREFIX.as_bytes()) {
            skipped.quarantine += 1;
            return false;
        }
        if !self.hidden && name.first() == Some(&b'.') {
            skipped.hidden += 1;
            return false;
        }
        if !self.has_patterns() {
            return true;
        }
        // Both sets are matched, so that each pattern's matches are noted.
        let includes = !is_dir && self.include.matches(name, path, false);
        let is_included = is_dir || includes || self.include.is_empty();
        let out = self.exclude.matches(name, path, is_dir) || !is_included;
        skipped.excluded += u64::from(out);
        !out
    }

    /// Decides on a file by its size. Counts a skipped file.
    ///
    /// `volume` is called only if the decision depends on the file system.
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
