//! Determines the directories that `lop watch` watches, and those that it also scans.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use catalog::{Catalog, WatchedRoot, has_typed_options};
use watch::{Means, Watched};

use crate::error::CommandError;
use crate::exit::Exit;
use crate::paths::resolve;
use crate::questions::catalog::open_writer;
use crate::settings::Settings;

/// Returns the roots in the catalog. If the catalog is missing, returns no roots, or fails if `is_needed` is true.
/// Brings a catalog of an older version of lop up to date, because `lop watch` may be the only program that scans.
pub(super) fn known_roots(
    catalog: &Path,
    is_needed: bool,
    settings: &Settings,
) -> Result<Vec<WatchedRoot>, CommandError> {
    match Catalog::open(catalog) {
        Err(catalog::Error::Missing(_)) if !is_needed => Ok(Vec::new()),
        Err(catalog::Error::TooOld { .. }) => {
            Ok(open_writer(catalog, settings)?.catalog().watched_roots()?)
        }
        opened => Ok(opened?.watched_roots()?),
    }
}

/// Returns the directories to watch, as paths without links: the typed ones, or those that were scanned. A scanned
/// directory may be missing. The watcher takes it as soon as it is back.
pub(super) fn roots(
    typed: &[PathBuf],
    scanned: &[WatchedRoot],
) -> Result<Vec<PathBuf>, CommandError> {
    let mut roots = if typed.is_empty() { scanned_roots(scanned)? } else { typed_roots(typed)? };
    roots.sort();
    roots.dedup();
    Ok(roots)
}

fn typed_roots(typed: &[PathBuf]) -> Result<Vec<PathBuf>, CommandError> {
    let root = |path: &PathBuf| {
        let root = as_path(resolve(path)?);
        if root.is_dir() {
            return Ok(root);
        }
        let text = format!("{} is not a directory", path.display());
        Err(CommandError::usage(text).hint("lop watch watches directories"))
    };
    typed.iter().map(root).collect()
}

/// Returns the scanned roots, without those that are files. Fails if there are none.
fn scanned_roots(scanned: &[WatchedRoot]) -> Result<Vec<PathBuf>, CommandError> {
    let root = |root: &WatchedRoot| {
        let path = as_path(root.path.clone());
        match path.canonicalize() {
            Ok(real) => real.is_dir().then_some(real),
            Err(_) => Some(path),
        }
    };
    let roots: Vec<PathBuf> = scanned.iter().filter_map(root).collect();
    if roots.is_empty() {
        let text = "the catalog contains no directory that lop can watch";
        return Err(CommandError::new(Exit::Catalog, text)
            .hint("scan one: lop scan DIR, or name one: lop watch DIR"));
    }
    Ok(roots)
}

fn as_path(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes))
}

/// Returns whether the watcher watches a directory. `areas` are its roots and the mounts below them.
pub(super) fn is_watched(dir: &Path, areas: &[Watched]) -> bool {
    let path = |area: &Watched| as_path(area.path.clone());
    let above = areas.iter().filter(|area| dir.starts_with(path(area)));
    above
        .max_by_key(|area| area.path.len())
        .is_some_and(|area| !matches!(area.means, Means::Unwatched(_)))
}

/// The watched roots.
pub(super) struct WatchedRoots<'k> {
    /// The roots that `lop watch` scans.
    pub(super) plain: Vec<PathBuf>,
    /// The roots that only the user can scan, each with a scanned root that contains it or that it contains, and whose
    /// last scan had typed options. A scan without these options would add other files.
    pub(super) with_options: Vec<(PathBuf, &'k WatchedRoot)>,
}

impl WatchedRoots<'_> {
    /// Divides the roots that are watched.
    pub(super) fn new<'k>(
        roots: &[PathBuf],
        areas: &[Watched],
        scanned: &'k [WatchedRoot],
    ) -> WatchedRoots<'k> {
        let (mut plain, mut with_options) = (Vec::new(), Vec::new());
        for root in roots.iter().filter(|root| is_watched(root, areas)) {
            let overlaps = |other: &&WatchedRoot| {
                let path = Path::new(OsStr::from_bytes(&other.path));
                root.starts_with(path) || path.starts_with(root)
            };
            let typed = scanned.iter().filter(|other| has_typed_options(&other.options));
            match typed.filter(overlaps).max_by_key(|other| other.path.len()) {
                Some(other) => with_options.push((root.clone(), other)),
                None => plain.push(root.clone()),
            }
        }
        WatchedRoots { plain, with_options }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use catalog::WatchedRoot;
    use watch::{Means, Watched};

    use super::{WatchedRoots, is_watched};

    fn area(path: &str, means: Means) -> Watched {
        Watched { path: path.into(), is_root: true, file_system: "ext4".into(), means }
    }

    fn scanned(path: &str, options: &str) -> WatchedRoot {
        WatchedRoot { path: path.into(), position: None, options: options.into() }
    }

    /// Returns the paths of the roots that are scanned, and of the other ones with the roots whose options prevent it.
    fn divided(roots: &[&str], known: &[WatchedRoot]) -> (Vec<String>, Vec<(String, String)>) {
        let paths: Vec<PathBuf> = roots.iter().map(PathBuf::from).collect();
        let found = WatchedRoots::new(&paths, &[area("/", Means::Fanotify)], known);
        let text = |path: PathBuf| path.to_str().expect("text").to_owned();
        let with_options = found
            .with_options
            .into_iter()
            .map(|(path, root)| (text(path), String::from_utf8(root.path.clone()).expect("text")));
        (found.plain.into_iter().map(text).collect(), with_options.collect())
    }

    #[test]
    fn directory_is_watched_if_the_nearest_area_is() {
        let unwatched = || Means::Unwatched("no reason".into());
        let areas = [
            area("/srv", Means::Fanotify),
            area("/srv/nas", unwatched()),
            area("/srv/nas/disk", Means::Inotify(1, "a reason".into())),
        ];
        let is_watched = |path: &str| is_watched(&PathBuf::from(path), &areas);
        assert!(is_watched("/srv") && is_watched("/srv/nas2") && is_watched("/srv/nas/disk/x"));
        assert!(!is_watched("/srv/nas") && !is_watched("/srv/nas/x") && !is_watched("/sr"));
    }

    #[test]
    fn roots_that_overlap_a_scan_with_options_are_left_to_the_user() {
        let with = |path: &str| (path.to_owned(), "/srv/a".to_owned());
        let known =
            [scanned("/srv/a", "--exclude *.o"), scanned("/home", "configured: --exclude x")];
        let (plain, with_options) =
            divided(&["/home", "/srv", "/srv/a", "/srv/a/b", "/srv/ab"], &known);
        assert_eq!(plain, ["/home", "/srv/ab"]);
        assert_eq!(with_options, [with("/srv"), with("/srv/a"), with("/srv/a/b")]);
    }
}
