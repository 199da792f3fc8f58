//! The formats `fdupes` and `nul`: each path ends with one byte, and an empty path separates groups.
//!
//! In `nul`, an empty path also follows the last group. In `fdupes`, the empty path is a blank line, which is only
//! written between groups.

use std::io::{self, Write};

use super::{GroupHead, GroupWriter, Names};

/// Writes paths that all end with the same byte.
pub(super) struct Delimited<W> {
    out: W,
    end: u8,
    names: Names,
    /// True if a blank line must be written before the next group.
    due: bool,
}

impl<W: Write> Delimited<W> {
    pub(super) fn new(out: W, end: u8, names: Names) -> Self {
        Delimited { out, end, names, due: false }
    }
}

impl<W: Write> GroupWriter for Delimited<W> {
    fn begin(&mut self, _group: &GroupHead) -> io::Result<()> {
        if std::mem::take(&mut self.due) { self.out.write_all(&[self.end]) } else { Ok(()) }
    }

    fn file(&mut self, path: &[u8], _mark: Option<&str>) -> io::Result<()> {
        // Names in the format `nul` are meant for programs, so they are not escaped even on a terminal.
        let shown = if self.end == 0 { path.into() } else { self.names.show_line(path) };
        self.out.write_all(&shown)?;
        self.out.write_all(&[self.end])
    }

    fn end(&mut self) -> io::Result<()> {
        if self.end == 0 {
            return self.out.write_all(&[0]);
        }
        self.due = true;
        Ok(())
    }

    fn finish(&mut self, _summary: &str) -> io::Result<()> {
        self.out.flush()
    }
}
