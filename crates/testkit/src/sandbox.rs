//! Runs a program isolated from the machine, with a separate home, an empty environment and a fixed
//! locale.
//!
//! Each sandbox is a temporary directory with three subdirectories. `home` is `HOME` and contains
//! `XDG_STATE_HOME`. `work` is the working directory, which is empty at first, so that the program
//! does not find its own state when it scans. `tmp` is `TMPDIR`. `LOP_CONFIG` is empty, so that
//! the configuration of the machine has no effect. The umask does not change. Each
//! program gets a new process group, no terminal, and a time limit. A program that hangs is killed
//! and reported.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::TEST_TIMEOUT;
use crate::path_bytes::PathBytes;
use crate::temp::TempTree;
use crate::tree::{Made, TreeBuilder};

/// The user and group `nobody` on Linux.
pub const NOBODY: u32 = 65534;

/// A directory to run one binary in. It is removed on drop.
#[derive(Debug)]
pub struct Sandbox {
    pub(crate) binary: PathBuf,
    pub(crate) root: TempTree,
    pub(crate) timeout: Duration,
}

impl Sandbox {
    /// Creates a sandbox for `binary`: `Sandbox::new(env!("CARGO_BIN_EXE_lop"))`.
    ///
    /// # Panics
    ///
    /// Panics if the directories cannot be created.
    pub fn new(binary: impl AsRef<Path>) -> Self {
        let root = TempTree::new();
        TreeBuilder::new().dir("home/state").dir("work").dir("tmp").make(&root);
        Self { binary: binary.as_ref().to_path_buf(), root, timeout: TEST_TIMEOUT }
    }

    /// Sets the time limit of every run.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Returns the working directory of the program.
    pub fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    /// Returns the program's `HOME`.
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// Returns the program's `XDG_STATE_HOME`.
    pub fn state(&self) -> PathBuf {
        self.root.join("home/state")
    }

    /// Returns the full path of `relative` in the working directory.
    pub fn path(&self, relative: impl PathBytes) -> PathBuf {
        self.work().join(relative.to_path())
    }

    /// Creates a tree in the working directory.
    ///
    /// # Panics
    ///
    /// Same as [`TreeBuilder::make`].
    pub fn lay(&self, tree: &TreeBuilder) -> Made {
        tree.make(self.work())
    }
}
