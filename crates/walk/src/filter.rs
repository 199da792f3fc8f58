//! Which entries a walk takes: sizes, hidden names, patterns ([`crate::Globs`]). An excluded directory is
//! not entered.

use std::path::Path;

use fsops::Volume;

use crate::globs::{FilterError, Globs, Use};
use crate::top::Top;
use crate::tree::Skipped;

/// What the names of directories begin with that lop keeps files in which it took out of trees, and those of
/// such files where there is no room for a directory. A walk leaves both out.
pub const STORE_PREFIX: &str = ".lop-quarantine-";

/// Which entries a walk takes.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a kind of entry that is taken or not")]
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
    /// Whether folders are entered that belong to systems: snapshots, trash, what a NAS keeps for itself. One
    /// that is a root is.
    pub system_dirs: bool,
    /// Whether file systems are walked whose files the kernel makes up, such as /proc.
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

    /// Does the same with patterns that were read already.
    #[must_use]
    pub fn with_globs(self, include: Globs, exclude: Globs) -> Filter {
        Filter { include, exclude, ..self }
    }

    /// Returns what is taken below one root, as patterns may be paths that lead there.
    pub(crate) fn below(&self, root: &Path) -> Filter {
        if !self.has_patterns() {
            return self.clone();
        }
        let tops = [Top::new(root)];
        let include = self.include.below(&tops, Use::Include);
        let exclude = self.exclude.below(&tops, Use::Exclude);
        self.clone().with_globs(include, exclude)
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
        if name.starts_with(STORE_PREFIX.as_bytes()) {
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
        // Both are asked, so that a pattern is not said to match nothing because of another one.
        let includes = !is_dir && self.include.matches(name, path, false);
        let is_included = is_dir || includes || self.include.is_empty();
        let out = self.exclude.matches(name, path, is_dir) || !is_included;
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
