//! Prints which directories are watched, and by which means.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;

use catalog::WatchedRoot;
use serde::Serialize;
use watch::{Means, Watched};

use super::roots::WatchedRoots;
use super::schedule::QUIET;
use crate::args::ScanEvery;
use crate::error::CommandError;
use crate::output::formats::{JsonPath, document};
use crate::output::names::Names;
use crate::output::stdout;
use crate::quantity::counted;
use crate::settings::{Settings, Verbosity};

/// The message with which `lop watch` starts.
pub(super) struct Announcement<'a> {
    /// The roots and the mounts below them.
    pub(super) areas: &'a [Watched],
    pub(super) every: &'a ScanEvery,
    pub(super) roots: WatchedRoots<'a>,
}

impl Announcement<'_> {
    /// Prints the message as lines, or as a JSON document.
    pub(super) fn print(&self, settings: &Settings) -> Result<(), CommandError> {
        if settings.json {
            let watched = self.areas.iter().map(WatchedDocument::new).collect();
            let text = document(&Document { watched });
            stdout::print(|out| writeln!(out, "{text}"))?;
            return Ok(());
        }
        if settings.verbosity == Verbosity::Quiet {
            for area in self.areas.iter().filter(|area| area.is_root && is_unwatched(area)) {
                let text = format!(" is not watched: {}", means(area));
                settings.complain(&[&area.path[..], text.as_bytes()].concat());
            }
            return Ok(());
        }
        stdout::print(|out| self.write(out, settings.stdout.names))?;
        if settings.stderr.terminal {
            settings.note("press Ctrl-C to stop");
        }
        Ok(())
    }

    fn write(&self, out: &mut dyn Write, names: Names) -> io::Result<()> {
        let mut line = |title: &str, path: &[u8], text: &str| {
            write!(out, "{title:<10}")?;
            out.write_all(&names.show_line(path))?;
            out.write_all(&[&names.show_text(text.as_bytes()), &b"\n"[..]].concat())
        };
        let mut title = "Watching";
        for area in self.areas.iter().filter(|area| !is_unwatched(area)) {
            line(std::mem::take(&mut title), &area.path, &format!(": {}", means(area)))?;
        }
        let mut title = "Unwatched";
        for area in self.areas.iter().filter(|area| is_unwatched(area)) {
            line(std::mem::take(&mut title), &area.path, &format!(": {}", means(area)))?;
        }
        let ScanEvery(longest, typed) = self.every;
        let when = match longest {
            Some(longest) if *longest <= QUIET => format!("now, then {typed} after a change"),
            Some(_) => {
                format!("now, then 1min after the last change, or {typed} after the first")
            }
            None => "only when you run 'lop scan'".to_owned(),
        };
        if !self.roots.plain.is_empty() {
            line("Scans", b"", &when)?;
        }
        for (path, scanned) in self.roots.with_options.iter().filter(|_| longest.is_some()) {
            let path = path.as_os_str().as_bytes();
            line("", path, &format!(" only when you scan it, {}", reason(path, scanned)))?;
        }
        Ok(())
    }
}

fn is_unwatched(area: &Watched) -> bool {
    matches!(area.means, Means::Unwatched(_))
}

/// Returns the reason why `lop watch` does not scan the root at `path`: the last scan of `scanned` had options.
fn reason(path: &[u8], scanned: &WatchedRoot) -> String {
    if scanned.path == path {
        return format!("with {}", scanned.options);
    }
    let other = String::from_utf8_lossy(&scanned.path);
    format!("because {other} was scanned with {}", scanned.options)
}

/// Returns the means by which an area is watched, or the reason why it is not watched.
fn means(area: &Watched) -> String {
    let kind = &area.file_system;
    match &area.means {
        Means::Fanotify => format!("the whole {kind} file system"),
        Means::Inotify(dirs, reason) => {
            let dirs = counted(*dirs as u64, "directory", "directories");
            format!("{dirs} on {kind}, because {reason}")
        }
        Means::Unwatched(reason) if area.is_root => format!("{reason} ({kind})"),
        Means::Unwatched(reason) => format!("{reason} ({kind}); each scan walks it"),
    }
}

#[derive(Serialize)]
struct Document<'a> {
    watched: Vec<WatchedDocument<'a>>,
}

#[derive(Serialize)]
struct WatchedDocument<'a> {
    #[serde(flatten)]
    path: JsonPath<'a>,
    file_system: &'a str,
    /// `fanotify`, `inotify` or `none`.
    by: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dirs: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

impl WatchedDocument<'_> {
    fn new(area: &Watched) -> WatchedDocument<'_> {
        let (by, dirs, reason) = match &area.means {
            Means::Fanotify => ("fanotify", None, None),
            Means::Inotify(dirs, reason) => ("inotify", Some(*dirs), Some(&reason[..])),
            Means::Unwatched(reason) => ("none", None, Some(&reason[..])),
        };
        let path = JsonPath::new(&area.path);
        WatchedDocument { path, file_system: &area.file_system, by, dirs, reason }
    }
}
