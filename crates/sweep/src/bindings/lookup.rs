//! Finds directories below the target by name.
//!
//! Windows compares names without regard to case, so the lookup of a Windows name lists the parent.
//! Each directory is listed at most once. A lookup never follows a link and never leaves the mount
//! of the target, so a junction is never found.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::CStr;
use std::io;
use std::rc::Rc;

use fsops::{Dir, DirBuffer, File, FileKey, Kind};

use crate::matcher::fold::fold;

/// Looks up names below a target and remembers what it found.
pub(super) struct Lookup<'t> {
    target: &'t Dir,
    buffer: DirBuffer,
    listings: HashMap<Vec<u8>, Rc<Listing>>,
    keys: HashMap<Vec<u8>, Option<FileKey>>,
    /// Directories that could not be examined, for the user.
    pub(super) remarks: Vec<String>,
}

/// The names in a directory that a lookup needs.
#[derive(Default)]
pub(super) struct Listing {
    /// Subdirectories: the folded name and the name.
    pub(super) dirs: Vec<(Vec<u8>, Vec<u8>)>,
    /// Whether the directory contains the registry hive of a user.
    pub(super) has_user_hive: bool,
}

/// The folded names of the registry hive of a user. `NTUSER.MAN` belongs to a mandatory profile.
const USER_HIVES: [&[u8]; 2] = [b"NTUSER.DAT", b"NTUSER.MAN"];

impl<'t> Lookup<'t> {
    pub(super) fn new(target: &'t Dir) -> Lookup<'t> {
        Lookup {
            target,
            buffer: DirBuffer::default(),
            listings: HashMap::new(),
            keys: HashMap::new(),
            remarks: Vec::new(),
        }
    }

    /// Returns the directories at `relative` below `base`. Case does not matter, so there can be
    /// more than one. Components are separated by slashes.
    pub(super) fn folded(&mut self, base: &[u8], relative: &str) -> Vec<Vec<u8>> {
        let mut found = vec![base.to_vec()];
        for component in relative.split('/') {
            let Some(wanted) = fold(component.as_bytes()) else { return Vec::new() };
            let parents = std::mem::take(&mut found);
            for parent in parents {
                let listing = self.listing(&parent);
                let names = listing.dirs.iter().filter(|(folded, _)| *folded == wanted);
                found.extend(names.map(|(_, name)| joined(&parent, name)));
            }
        }
        found
    }

    /// Like [`Lookup::folded`], but tries the exact spelling first, which avoids listing a parent
    /// with thousands of names.
    pub(super) fn exact_or_folded(&mut self, base: &[u8], relative: &str) -> Vec<Vec<u8>> {
        let path = joined(base, relative.as_bytes());
        if self.key(&path).is_some() { vec![path] } else { self.folded(base, relative) }
    }

    /// Returns the identity of the directory with exactly this path, or `None` if it is missing, a
    /// link, or on another mount.
    pub(super) fn key(&mut self, path: &[u8]) -> Option<FileKey> {
        if let Some(known) = self.keys.get(path) {
            return *known;
        }
        let stat = self.open(path).and_then(|dir| dir.map(|dir| dir.stat()).transpose());
        let key = self.answer(path, stat).flatten().map(|stat| stat.key());
        self.keys.insert(path.to_vec(), key);
        key
    }

    /// Returns the names in a directory. The listing is empty if the directory is missing, a link,
    /// on another mount, or not readable.
    pub(super) fn listing(&mut self, path: &[u8]) -> Rc<Listing> {
        if let Some(known) = self.listings.get(path) {
            return Rc::clone(known);
        }
        let listed = self.list(path);
        let listing = Rc::new(self.answer(path, listed).unwrap_or_default());
        match self.listings.entry(path.to_vec()) {
            Entry::Occupied(known) => Rc::clone(known.get()),
            Entry::Vacant(free) => Rc::clone(free.insert(listing)),
        }
    }

    /// Returns true if the target has a directory of this name, even one that this process may not
    /// read or that another file system is mounted on.
    pub(super) fn is_child_dir(&self, name: &CStr) -> bool {
        self.target.stat_child(name).is_ok_and(|stat| stat.kind == Kind::Dir)
    }

    /// Reads the start of the regular file `name` in the directory at `path`.
    pub(super) fn read(&mut self, path: &[u8], name: &CStr, most: usize) -> Vec<u8> {
        let read = |dir: Option<Dir>| -> io::Result<Vec<u8>> {
            let Some(dir) = dir else { return Ok(Vec::new()) };
            let file: File = match dir.open_regular(name) {
                Err(error) if is_absent(&error) => return Ok(Vec::new()),
                opened => opened?,
            };
            let mut bytes = vec![0; most];
            let length = file.read_at(&mut bytes, 0)?;
            bytes.truncate(length);
            Ok(bytes)
        };
        let bytes = self.open(path).and_then(read);
        self.answer(&joined(path, name.to_bytes()), bytes).unwrap_or_default()
    }

    /// Returns true if the directory at `path` contains a regular file with exactly this name.
    pub(super) fn has_file(&mut self, path: &[u8], name: &CStr) -> bool {
        let stat = self.open(path).and_then(|dir| match dir.map(|dir| dir.stat_child(name)) {
            Some(Err(error)) if is_absent(&error) => Ok(None),
            stat => stat.transpose(),
        });
        self.answer(path, stat).flatten().is_some_and(|stat| stat.kind == Kind::File)
    }

    fn list(&mut self, path: &[u8]) -> io::Result<Listing> {
        let mut listing = Listing::default();
        let Some(dir) = self.open(path)? else { return Ok(listing) };
        dir.list_quietly();
        dir.for_each(&mut self.buffer, |item| {
            let kind = match item.kind {
                Kind::Unknown => dir.stat_child(item.name).map_or(Kind::Unknown, |stat| stat.kind),
                kind => kind,
            };
            let name = item.name.to_bytes();
            let Some(folded) = fold(name) else { return };
            match kind {
                Kind::Dir => listing.dirs.push((folded, name.to_vec())),
                Kind::File => listing.has_user_hive |= USER_HIVES.contains(&&folded[..]),
                _ => {}
            }
        })?;
        listing.dirs.sort();
        Ok(listing)
    }

    /// Opens the directory at `path`. The result is `None` if it is missing or a link.
    fn open(&self, path: &[u8]) -> io::Result<Option<Dir>> {
        let opened = if path.is_empty() {
            self.target.open_child_same_mount(c".")
        } else {
            self.target.open_below_same_mount(path)
        };
        match opened {
            Err(error) if is_absent(&error) => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// Returns the value, or turns the error into a remark.
    fn answer<T>(&mut self, path: &[u8], result: io::Result<T>) -> Option<T> {
        let error = match result {
            Ok(value) => return Some(value),
            Err(error) => error,
        };
        let shown = if path.is_empty() { ".".into() } else { path.escape_ascii().to_string() };
        let remark = if error.kind() == io::ErrorKind::CrossesDevices {
            format!("{shown} is on another file system and was not searched")
        } else {
            format!("cannot search {shown}: {error}")
        };
        if !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
        None
    }
}

/// Returns true if the error means that the name does not exist, or that the entry is not of the
/// expected type.
fn is_absent(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidInput, NotADirectory, NotFound};
    // A path that leads through a link.
    const ELOOP: i32 = 40;
    matches!(error.kind(), NotFound | NotADirectory | InvalidInput)
        || error.raw_os_error() == Some(ELOOP)
}

/// Joins two paths relative to the target.
pub(super) fn joined(dir: &[u8], rest: &[u8]) -> Vec<u8> {
    let slash: &[u8] = if dir.is_empty() || rest.is_empty() { b"" } else { b"/" };
    [dir, slash, rest].concat()
}
