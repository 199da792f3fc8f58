//! Selects the entries of a walk by size, by name and by patterns ([`crate::Globs`]). Excluded
//! directories are not entered.

pub(crate) mod globs;
pub(crate) mod own;
pub(crate) mod pattern;
pub(crate) mod shard;
pub(crate) mod system;
pub(crate) mod top;

use std::ops::RangeInclusive;
use std::path::Path;

use fsops::Volume;

use crate::filter::globs::Globs;
use crate::filter::pattern::{FilterError, PatternUse};
use crate::filter::shard::Shard;
use crate::filter::top::TopDir;
use crate::tree::records::Skipped;

/// Prefix of the names of quarantine directories. If a disk is too full to create such a directory,
/// the quarantined files themselves have names with this prefix. A walk skips these directories and
/// files.
pub const QUARANTINE_PREFIX: &str = ".lop-quarantine-";

/// Selects the entries of a walk.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a kind of entry that is taken or not")]
pub struct Filter {
    /// Minimum size in bytes.
    pub min_size: u64,
    /// Maximum size in bytes.
    pub max_size: u64,
    /// True to include names that start with a dot.
    pub hidden: bool,
    /// True to include files of size 0. Files in `/proc` and similar file systems are never
    /// included, because their size is 0 even if they have content.
    pub empty: bool,
    /// True to enter system directories, such as snapshots, trash, and the private directories of a
    /// NAS. A root is entered even if it is a system directory.
    pub system_dirs: bool,
    /// True to walk file systems whose files the kernel generates, such as `/proc`.
    pub pseudo: bool,
    /// The part of each root to include; `None` for all of it.
    pub shard: Option<Shard>,
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
            shard: None,
            include: Globs::default(),
            exclude: Globs::default(),
        }
    }
}

impl Filter {
    /// Adds patterns to the filter. Files must match one of `include`, unless `include` is empty.
    /// Files and directories that match one of `exclude` are skipped.
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

    /// Adds compiled patterns, like [`Filter::with_patterns`].
    #[must_use]
    pub fn with_globs(self, include: Globs, exclude: Globs) -> Filter {
        Filter { include, exclude, ..self }
    }

    /// Returns the sizes in bytes of the files to include.
    pub fn sizes(&self) -> RangeInclusive<u64> {
        self.min_size.max(u64::from(!self.empty))..=self.max_size
    }

    /// Returns the filter for one root. Patterns that are paths into the root become relative to
    /// it.
    pub(crate) fn below(&self, root: &Path) -> Filter {
        if !self.has_patterns() {
            return self.clone();
        }
        let tops = [TopDir::new(root)];
        let include = self.include.below(&tops, PatternUse::Include);
        let exclude = self.exclude.below(&tops, PatternUse::Exclude);
        self.clone().with_globs(include, exclude)
    }

    /// Returns whether the filter needs the path of an entry below the root.
    pub(crate) fn wants_paths(&self) -> bool {
        self.shard.is_some() || self.include.want_paths() || self.exclude.want_paths()
    }

    /// Returns whether any pattern was given.
    pub(crate) fn has_patterns(&self) -> bool {
        !(self.include.is_empty() && self.exclude.is_empty())
    }

    /// Returns whether to include an entry whose metadata is not known yet. Counts the entry as
    /// skipped if not.
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
        if self.shard.is_some_and(|shard| !shard.has(path.unwrap_or(name), is_dir)) {
            return false;
        }
        if !self.has_patterns() {
            return true;
        }
        // Both sets of patterns are always matched, so that every pattern that matches is recorded.
        let includes = !is_dir && self.include.matches(name, path, false);
        let is_included = is_dir || includes || self.include.is_empty();
        let out = self.exclude.matches(name, path, is_dir) || !is_included;
        skipped.excluded += u64::from(out);
        !out
    }

    /// Returns whether to include a file of this size. Counts it as skipped if not.
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
