//! Files that the user names one by one, as operands or in a list.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use fsops::{Dir, FileKey, Kind, Op, Stat, Volume};
use runtime::{Interrupted, Progress, Stage};

use crate::filter::Filter;
use crate::filter::top::normal;
use crate::tree::Tree;
use crate::tree::assemble::assemble;
use crate::tree::records::{DirId, DirRecord, FileRecord, Problem, Reason, Root, cstr_at, to_u32};
use crate::tree::store::{Store, skip_kind};
use crate::tree::table::{Directories, Table};

/// Examines the files named in `paths` without entering directories.
///
/// Directories and links in the list are skipped and counted. Paths that could not be examined are
/// in [`Tree::problems`]. A path given twice counts once.
///
/// # Errors
///
/// Fails only if a stop was requested.
pub fn from_list(
    paths: impl Iterator<Item = PathBuf>,
    filter: &Filter,
    progress: &Progress,
) -> Result<Tree, Interrupted> {
    progress.enter(Stage::Walk);
    let (mut list, table) = (FileList::default(), Table::default());
    let mut stores = vec![Store::new(0)];
    for path in paths {
        progress.check()?;
        let before = stores[0].bytes;
        list.add(&path, filter, &mut stores[0], &table);
        progress.entries.fetch_add(1, Relaxed);
        progress.bytes_seen.fetch_add(stores[0].bytes - before, Relaxed);
    }
    let mut tree = Tree::default();
    list.finish(&mut tree, &mut stores, &table, &HashMap::new());
    Ok(assemble(tree, table.into_inner(), stores))
}

/// Named files, grouped by directory.
#[derive(Debug, Default)]
pub(crate) struct FileList {
    /// Indices into `folders`, by path as given. Each spelling of a directory has its own entry, so
    /// that files are printed as they were named.
    parents: HashMap<PathBuf, usize>,
    folders: Vec<Folder>,
    /// The filter with patterns relative to the root directory `/`. Set when the first file is
    /// added.
    filter: Option<Filter>,
}

#[derive(Debug)]
struct Folder {
    given: Vec<u8>,
    absolute: Vec<u8>,
    devices: BTreeMap<u64, (u16, Vec<FileRecord>)>,
}

impl FileList {
    /// Returns true if no file was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.folders.is_empty()
    }

    /// Adds one file.
    pub(crate) fn add(&mut self, path: &Path, filter: &Filter, store: &mut Store, table: &Table) {
        store.entries += 1;
        if let Err((op, source)) = self.try_add(path, filter, store, table) {
            let path = path.as_os_str().as_bytes().to_vec();
            store.problems.push(Problem { path, reason: Reason::Failed { op, source } });
        }
    }

    fn try_add(
        &mut self,
        path: &Path,
        filter: &Filter,
        store: &mut Store,
        table: &Table,
    ) -> Result<(), (Op, io::Error)> {
        let stat_error = |e| (Op::Stat, e);
        let stat = fsops::Stat::of_path(path).map_err(stat_error)?;
        match stat.kind {
            Kind::File => {}
            Kind::Dir => {
                store.skipped.directories += 1;
                return Ok(());
            }
            other => {
                skip_kind(other, &mut store.skipped);
                return Ok(());
            }
        }
        let name = path.file_name().unwrap_or_default();
        store.bytes = store.bytes.saturating_add(stat.size);
        let filter = self.filter.get_or_insert_with(|| filter.below(Path::new("/")));
        let from_root = filter.wants_paths().then(|| from_root(path));
        if !filter.takes_name(name.as_bytes(), from_root.as_deref(), false, &mut store.skipped)
            || !filter.takes_size(stat.size, || volume_of_parent(path), &mut store.skipped)
        {
            return Ok(());
        }
        let folder =
            self.folder(path.parent().unwrap_or(Path::new(""))).map_err(|e| (Op::Open, e))?;
        let name = CString::new(name.as_bytes()).map_err(|e| stat_error(e.into()))?;
        let at =
            store.keep_name(&name).ok_or_else(|| stat_error(io::ErrorKind::OutOfMemory.into()))?;
        let record = store.record(&stat, DirId(0), at);
        self.folders[folder].push(stat.device, record, &name, table).map_err(stat_error)
    }

    fn folder(&mut self, parent: &Path) -> io::Result<usize> {
        if let Some(&folder) = self.parents.get(parent) {
            return Ok(folder);
        }
        let here = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        let absolute = here.canonicalize()?.into_os_string().into_vec();
        let given = parent.as_os_str().as_bytes().to_vec();
        self.folders.push(Folder { given, absolute, devices: BTreeMap::new() });
        self.parents.insert(parent.to_path_buf(), self.folders.len() - 1);
        Ok(self.folders.len() - 1)
    }

    /// Makes every directory a root. `listed` contains the directories that were walked. Files that
    /// the walk also found are removed from this list.
    pub(crate) fn finish(
        &mut self,
        tree: &mut Tree,
        stores: &mut [Store],
        table: &Table,
        listed: &HashMap<FileKey, DirId>,
    ) {
        let folders = std::mem::take(&mut self.folders);
        let mut repeats = RepeatedNames::new(&folders);
        let mut dropped = HashSet::new();
        for folder in folders {
            let Folder { given, absolute, devices } = folder;
            let walked = dir_key(&absolute).and_then(|key| listed.get(&key).copied());
            for (_, (device, mut files)) in devices {
                let all: Vec<u32> = files.iter().map(|f| f.name).collect();
                repeats.drop_from(&absolute, &mut files, &stores[0].names);
                if let Some(dir) = walked {
                    let found = names_in(dir, device, &table.read(), stores);
                    files.retain(|f| !found.contains(cstr_at(&stores[0].names, f.name)));
                }
                tree.skipped.seen_before += (all.len() - files.len()) as u64;
                if all.len() > files.len() {
                    let kept: HashSet<u32> = files.iter().map(|f| f.name).collect();
                    dropped.extend(all.into_iter().filter(|name| !kept.contains(name)));
                }
                if files.is_empty() {
                    continue;
                }
                let store = &mut stores[0];
                let first = to_u32(store.files.len());
                let mut table = table.write();
                let dir = table.add_root(tree.roots.len());
                store.files.extend(files.into_iter().map(|f| FileRecord { dir, ..f }));
                let block = store.block_from(first);
                let record = &mut table.records[dir.0 as usize];
                (record.first, record.count, record.shard) = (block.first, block.count, 0);
                record.device = device;
                let (given, absolute) = (given.clone(), absolute.clone());
                tree.roots.push(Root { given, absolute, dir, whole: false });
            }
        }
        if let Some(store) = stores.first_mut().filter(|_| !dropped.is_empty()) {
            store.linked.forget(&dropped);
        }
    }
}

/// Returns a path relative to the root directory.
fn from_root(path: &Path) -> Vec<u8> {
    let absolute = normal(&std::path::absolute(path).unwrap_or_else(|_| path.into()));
    let bytes = absolute.as_os_str().as_bytes();
    bytes.strip_prefix(b"/").unwrap_or(bytes).to_vec()
}

fn volume_of_parent(path: &Path) -> Option<Volume> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Dir::open(parent).and_then(|dir| dir.volume()).ok()
}

fn dir_key(absolute: &[u8]) -> Option<FileKey> {
    Stat::of_path(Path::new(OsStr::from_bytes(absolute))).ok().map(|stat| stat.key())
}

/// Returns the names of the files that a walk found in a directory on one device.
fn names_in<'a>(
    dir: DirId,
    device: u16,
    table: &Directories,
    stores: &'a [Store],
) -> HashSet<&'a CStr> {
    let own = &table.records[dir.0 as usize];
    let is_block = |record: &&DirRecord| {
        (record.parent, record.name, record.device) == (own.parent, own.name, device)
    };
    let mut names = HashSet::new();
    for block in table.records.iter().filter(is_block) {
        let store = &stores[block.shard as usize];
        let files = &store.files[block.first as usize..][..block.count as usize];
        names.extend(files.iter().map(|f| cstr_at(&store.names, f.name)));
    }
    names
}

impl Folder {
    fn push(
        &mut self,
        number: u64,
        record: FileRecord,
        name: &CStr,
        table: &Table,
    ) -> io::Result<()> {
        if !self.devices.contains_key(&number) {
            let given = if self.given.is_empty() { b".".as_slice() } else { &self.given };
            let dir = Dir::open(Path::new(OsStr::from_bytes(given)))?;
            let volume = || dir.child_volume(name).or_else(|_| dir.volume());
            let index = table.write().device(number, volume)?;
            self.devices.insert(number, (index, Vec::new()));
        }
        if let Some((_, files)) = self.devices.get_mut(&number) {
            files.push(record);
        }
        Ok(())
    }
}

/// Finds files that are named twice, even by different spellings of their directory.
struct RepeatedNames {
    /// Directories that are named with several spellings, and the names found in them so far.
    met: HashMap<Vec<u8>, HashSet<CString>>,
}

impl RepeatedNames {
    fn new(folders: &[Folder]) -> RepeatedNames {
        let mut seen = HashSet::new();
        let again = folders.iter().filter(|folder| !seen.insert(&folder.absolute));
        RepeatedNames {
            met: again.map(|folder| (folder.absolute.clone(), HashSet::new())).collect(),
        }
    }

    /// Removes the files that were already named, and sorts the others by name.
    fn drop_from(&mut self, dir: &[u8], files: &mut Vec<FileRecord>, names: &[u8]) {
        let name = |f: &FileRecord| cstr_at(names, f.name);
        files.sort_by(|a, b| name(a).cmp(name(b)));
        files.dedup_by(|a, b| name(a) == name(b));
        if let Some(met) = self.met.get_mut(dir) {
            files.retain(|f| met.insert(name(f).to_owned()));
        }
    }
}
