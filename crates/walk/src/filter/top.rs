//! Finds the interpretations of a pattern for one top directory.
//!
//! With shell completion, users enter paths such as `/scratch/keep` or `scratch/keep`. These paths
//! are not relative to `/scratch`. A pattern with a slash is therefore also interpreted as a path.
//! If this path leads into the top directory, the rest of the path is another interpretation of the
//! pattern. The path may use any spelling of the top directory, and may go through another mount of
//! this directory.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use fsops::{FileKey, Kind, Stat};

use crate::filter::pattern::{AmbiguousPattern, PatternUse};

/// A directory to which patterns are relative.
#[derive(Clone, Debug)]
pub struct TopDir {
    /// Path of the directory as named and, if the directory exists, its path with links resolved.
    spelled: Vec<PathBuf>,
    /// The remote host of the directory. A pattern may start with the name of this host.
    host: Option<String>,
    /// Identity of the directory, if it exists on this host.
    key: Option<FileKey>,
}

/// Interpretations of a pattern for a top directory.
#[derive(Debug, Default)]
pub(crate) struct Readings {
    /// Additional interpretations, as patterns relative to the top directory.
    pub(crate) also: Vec<String>,
    /// Elements of `also` that result from interpreting the pattern as a path.
    pub(crate) paths: Vec<String>,
    /// True if the pattern must not be interpreted relative to the top directory.
    pub(crate) is_path_only: bool,
    /// True if the pattern is the literal path of an existing entry.
    pub(crate) exists: bool,
    /// True if the pattern is the path of the top directory itself.
    pub(crate) names_top: bool,
}

/// A path component, and a pattern that matches it.
type Part = (Vec<u8>, String);

impl TopDir {
    /// Returns a directory on this host. It does not have to exist.
    pub fn new(path: &Path) -> TopDir {
        let named = std::path::absolute(path).map_or_else(|_| path.into(), |path| normal(&path));
        let real = path.canonicalize().ok();
        let key = real.as_deref().and_then(|real| Stat::of_path(real).ok()).map(|stat| stat.key());
        let spelled = std::iter::once(named).chain(real).collect();
        TopDir { spelled, host: None, key }
    }

    /// Returns a directory on a remote host. Only its path is known.
    pub fn far(host: &str, path: &Path) -> TopDir {
        TopDir { spelled: vec![normal(path)], host: Some(host.into()), key: None }
    }

    /// Returns the interpretations of a pattern for this directory.
    pub(crate) fn readings(&self, typed: &str, used: PatternUse, ignore_case: bool) -> Readings {
        let prefix = self.host.as_ref().map(|host| format!("{host}:"));
        let text = prefix.and_then(|prefix| typed.strip_prefix(&prefix)).unwrap_or(typed);
        let (bare, slash) = match text.strip_suffix('/') {
            Some(bare) => (bare, "/"),
            None => (text, ""),
        };
        let mut readings = Readings::default();
        let rests = if bare.contains('/') { self.rests(bare, ignore_case) } else { Vec::new() };
        readings.is_path_only = used == PatternUse::Include
            && text.starts_with('/')
            && rests.iter().any(|rest| !rest.is_empty());
        if !readings.is_path_only {
            self.literal_name(bare, slash, &mut readings);
        }
        for rest in rests {
            if rest.is_empty() {
                readings.names_top = true;
                continue;
            }
            let path = joined(&rest);
            if path != bare.trim_start_matches('/') {
                readings.paths.push(format!("/{path}{slash}"));
            }
            self.literal_name(&path, slash, &mut readings);
        }
        readings.also.extend_from_slice(&readings.paths);
        readings
    }

    /// Adds an interpretation for an entry whose name is literally the pattern, if such an entry
    /// exists. Names may contain brackets. If a shell completed the name with a slash, the entry
    /// may be a link to a directory.
    fn literal_name(&self, bare: &str, slash: &str, readings: &mut Readings) {
        let Some(top) = self.real().filter(|_| bare.split('/').all(|part| part != "..")) else {
            return;
        };
        let plain = bare.trim_start_matches('/');
        let Ok(stat) = Stat::of_path(&top.join(plain)) else { return };
        let slash = match stat.kind {
            Kind::Symlink => "",
            Kind::Dir => slash,
            // "name/" must match only directories of that name, at any depth.
            _ if !bare.contains('/') && !slash.is_empty() => return,
            _ => "",
        };
        readings.exists = true;
        readings.also.push(format!("/{}{slash}", globset::escape(plain)));
    }

    /// Interprets a pattern as a path and returns its remainders below this directory. A path with
    /// links can have two remainders.
    fn rests(&self, text: &str, ignore_case: bool) -> Vec<Vec<Part>> {
        let own = parts(text);
        if self.host.is_some() {
            return self.rest(text.starts_with('/'), &own, ignore_case).into_iter().collect();
        }
        let Ok(here) = std::env::current_dir() else { return Vec::new() };
        let start = if text.starts_with('/') { Vec::new() } else { literal_parts(&here) };
        let named = normal_parts(start.into_iter().chain(own));
        let real = real_parts(&named);
        let mut rests: Vec<_> = [Some(named), real]
            .into_iter()
            .flatten()
            .filter_map(|parts| self.rest(true, &parts, ignore_case))
            .collect();
        rests.dedup();
        rests
    }

    /// Returns the components of a path that follow this directory, or `None` if the path does not
    /// lead through it.
    fn rest(&self, is_absolute: bool, parts: &[Part], ignore_case: bool) -> Option<Vec<Part>> {
        let is_it = |&upto: &usize| self.is(&path_of(is_absolute, &parts[..upto]), ignore_case);
        let upto = (0..=parts.len()).rev().find(is_it)?;
        Some(parts[upto..].to_vec())
    }

    fn is(&self, path: &Path, ignore_case: bool) -> bool {
        let lower = |path: &Path| path.to_string_lossy().to_lowercase();
        self.spelled.iter().any(|own| own == path || ignore_case && lower(own) == lower(path))
            || self.key.is_some_and(|key| {
                Stat::of_path(path).is_ok_and(|stat| stat.kind == Kind::Dir && stat.key() == key)
            })
    }

    /// Returns both meanings of a relative pattern if entries may exist for both.
    pub(crate) fn ambiguous(&self, typed: &str, paths: &[String]) -> Option<AmbiguousPattern> {
        let top = self.real()?;
        let first = parts(typed).into_iter().next()?;
        let is_there = || Stat::of_path(&top.join(OsStr::from_bytes(&first.0))).is_ok();
        let is_possible = has_wildcards(&first.1) || is_there();
        let named = self.spelled.first()?.display();
        let path = paths.first().filter(|_| is_possible)?;
        let plain = typed.strip_prefix("./").unwrap_or(typed);
        let inside = format!("{named}/{plain}");
        Some(AmbiguousPattern { typed: typed.into(), inside, path: format!("{named}{path}") })
    }

    /// Returns the path of the directory if it exists on this host.
    fn real(&self) -> Option<&Path> {
        self.key?;
        self.spelled.last().map(PathBuf::as_path)
    }
}

fn has_wildcards(text: &str) -> bool {
    text.contains(['*', '?', '[', '{', '\\'])
}

fn joined(parts: &[Part]) -> String {
    parts.iter().map(|(_, glob)| glob.as_str()).collect::<Vec<_>>().join("/")
}

/// Returns the components of a pattern.
fn parts(text: &str) -> Vec<Part> {
    let parts = text.split('/').filter(|part| !part.is_empty() && *part != ".");
    parts.map(|part| (part.into(), part.into())).collect()
}

/// Returns the components of a path, each with a pattern that matches it literally.
fn literal_parts(path: &Path) -> Vec<Part> {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name),
        _ => None,
    });
    let part = |name: &OsStr| {
        // A pattern cannot contain invalid UTF-8, so `*` replaces it.
        let glob = globset::escape(&name.to_string_lossy()).replace('\u{fffd}', "*");
        (name.as_bytes().to_vec(), glob)
    };
    names.map(part).collect()
}

fn normal_parts(parts: impl Iterator<Item = Part>) -> Vec<Part> {
    let mut normal = Vec::new();
    for part in parts {
        if part.0 == b".." {
            normal.pop();
        } else {
            normal.push(part);
        }
    }
    normal
}

/// Resolves the links in the directories of a path.
fn real_parts(parts: &[Part]) -> Option<Vec<Part>> {
    (1..parts.len()).rev().find_map(|upto| {
        let real = path_of(true, &parts[..upto]).canonicalize().ok()?;
        Some(literal_parts(&real).into_iter().chain(parts[upto..].iter().cloned()).collect())
    })
}

fn path_of(is_absolute: bool, parts: &[Part]) -> PathBuf {
    let start = PathBuf::from(if is_absolute { "/" } else { "" });
    parts.iter().fold(start, |path, (name, _)| path.join(OsStr::from_bytes(name)))
}

/// Returns a path without `.` and `..`. Does not access the file system.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(normal.pop()),
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}
