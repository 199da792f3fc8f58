//! Refuses a source without files, because its disk may not be mounted.
//!
//! Directories do not count as files. Even a new file system has one (`lost+found`). Patterns are ignored here.
//! [`crate::Outcome`] records whether they leave anything to mirror.

use std::io;

use fsops::{DirBuffer, Kind};

use crate::roots::Source;
use crate::roots::refusal::Refusal;

impl Source {
    /// Refuses a source that is empty or contains only directories. The search stops at the first entry that is not a
    /// directory.
    ///
    /// # Errors
    ///
    /// Fails with [`Refusal::Empty`] or [`Refusal::OnlyDirs`].
    pub fn check_not_empty(&self) -> Result<(), Refusal> {
        let mut has_dirs = false;
        match self.has_files(&mut has_dirs) {
            Ok(false) if has_dirs => Err(Refusal::OnlyDirs { path: self.top.absolute.clone() }),
            Ok(false) => Err(Refusal::Empty { path: self.top.absolute.clone() }),
            // A directory that cannot be listed may contain files.
            Ok(true) | Err(_) => Ok(()),
        }
    }

    fn has_files(&self, has_dirs: &mut bool) -> io::Result<bool> {
        let (mut dirs, mut buffer) = (vec![Vec::new()], DirBuffer::default());
        while let Some(path) = dirs.pop() {
            let dir = match &path[..] {
                [] => self.top.dir.open_child(c".")?,
                path => self.top.dir.open_below(path)?,
            };
            dir.list_quietly();
            let (mut found, mut more) = (false, true);
            while more && !found {
                let listed = dir.list_some(&mut buffer, |item| {
                    let kind = match item.kind {
                        Kind::Unknown => dir.stat_child(item.name).map_or(Kind::File, |s| s.kind),
                        kind => kind,
                    };
                    if kind == Kind::Dir {
                        let above = if path.is_empty() { &[][..] } else { b"/" };
                        dirs.push([&path, above, item.name.to_bytes()].concat());
                    } else {
                        found = true;
                    }
                });
                more = listed?.is_some();
            }
            if found {
                return Ok(true);
            }
            *has_dirs |= !dirs.is_empty();
        }
        Ok(false)
    }
}
