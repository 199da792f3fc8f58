//! A directory as it is now, and where the catalog knows copies of the files in it.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use catalog::{Catalog, Entry, Known};
use content::Digest;
use device::Io;
use dupes::State;
use fsops::{FileKey, Watch};
use walk::{DirId, FileId, Tree, in_system_dir};

use crate::error::CommandError;
use crate::exit::Exit;
use crate::look::Looker;
use crate::monitor::Monitor;
use crate::remembered::open;
use crate::settings::{Settings, Workers};

/// The files of a directory and their copies.
pub(crate) struct Folder {
    /// What is there now.
    pub(crate) tree: Tree,
    /// One per file of the tree.
    pub(crate) files: Vec<Copies>,
}

/// Where a file's content is besides under its own name. Only files that are there, unchanged
/// since their scan, count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Copies {
    /// Whether the catalog knows the file as it is now.
    pub(crate) known: bool,
    /// Other inodes with the same content.
    pub(crate) duplicates: u64,
    /// Whether the content, as a copy or as a hard link, is outside of the directory.
    pub(crate) outside: bool,
    pub(crate) digest: Option<Digest>,
}

/// Which file a name is of, and whether it is outside of the directory.
struct Place {
    inode: (i64, u64),
    outside: bool,
}

/// The live, unchanged files of one content.
struct Content {
    inodes: HashSet<(i64, u64)>,
    outside: bool,
    digest: Option<Digest>,
}

impl Folder {
    /// Walks `dir` and asks the catalog about each file.
    pub(crate) fn look(
        dir: &Path,
        system_dirs: SystemDirs,
        settings: &Settings,
    ) -> Result<Folder, CommandError> {
        let catalog = open(settings)?;
        let tree = walk_dir(dir, system_dirs, settings)?;
        let files = Asker::new(&catalog, &tree).ask()?;
        Ok(Folder { tree, files })
    }

    /// Returns the files for which `wanted` says so, sorted by path.
    pub(crate) fn files(&self, wanted: impl Fn(&Copies) -> bool) -> Vec<(Vec<u8>, FileId)> {
        let mut files: Vec<_> = (0u32..)
            .zip(&self.files)
            .filter(|(_, copies)| wanted(copies))
            .map(|(id, _)| (self.tree.path(FileId(id)), FileId(id)))
            .collect();
        files.sort_unstable();
        files
    }
}

/// What is done with folders that belong to systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SystemDirs {
    /// They are entered: what is in them goes with the directory.
    Entered,
    /// They are left out, as by a scan: nobody should count on a copy there.
    LeftOut,
}

/// Walks a directory as it is now.
pub(crate) fn walk_dir(
    dir: &Path,
    system_dirs: SystemDirs,
    settings: &Settings,
) -> Result<Tree, CommandError> {
    let watch = Arc::new(Watch::default());
    let monitor = Monitor::begin(&watch, settings)?;
    let is_dir = std::fs::metadata(dir).and_then(|found| {
        found.is_dir().then_some(()).ok_or_else(|| std::io::ErrorKind::NotADirectory.into())
    });
    is_dir.map_err(|e| CommandError::new(Exit::Failed, dir.display().to_string()).because(e))?;
    let workers = Workers::new(None, Io::Auto);
    let own = Catalog::files(&settings.catalog()?);
    let mut filter = walk::Filter::default();
    filter.system_dirs = system_dirs == SystemDirs::Entered;
    filter.pseudo = false;
    let options = workers.walk(filter, false, own);
    let tree = walk::walk(&[PathBuf::from(dir)], &options, None, &watch)?;
    monitor.finish()?;
    Ok(tree)
}

struct Asker<'a> {
    catalog: &'a Catalog,
    tree: &'a Tree,
    /// The directories of the tree: another path to one of them is not outside.
    dirs: HashSet<FileKey>,
    contents: HashMap<i64, Content>,
    looker: Looker,
}

impl<'a> Asker<'a> {
    fn new(catalog: &'a Catalog, tree: &'a Tree) -> Self {
        let listed = (0u32..).zip(tree.dirs()).filter(|(_, dir)| dir.inode != 0);
        let key = |(id, dir): (u32, &walk::DirRecord)| FileKey {
            device: tree.device_of(DirId(id)).number,
            inode: dir.inode,
        };
        let dirs = listed.map(key).collect();
        Asker { catalog, tree, dirs, contents: HashMap::new(), looker: Looker::default() }
    }

    fn ask(mut self) -> Result<Vec<Copies>, CommandError> {
        let known = self.catalog.known(self.tree)?;
        let mut files = Vec::with_capacity(known.len());
        for known in &known {
            files.push(match known {
                Some(known) => self.copies(known)?,
                None => Copies::default(),
            });
        }
        self.find_links(&known, &mut files)?;
        Ok(files)
    }

    fn copies(&mut self, known: &Known) -> Result<Copies, CommandError> {
        let Some(number) = known.content else {
            return Ok(Copies { known: true, ..Copies::default() });
        };
        if !self.contents.contains_key(&number) {
            let content = self.content(number)?;
            self.contents.insert(number, content);
        }
        let content = &self.contents[&number];
        let is_there = content.inodes.contains(&(known.volume, known.inode));
        Ok(Copies {
            known: true,
            duplicates: (content.inodes.len() - usize::from(is_there)) as u64,
            outside: content.outside,
            digest: content.digest,
        })
    }

    fn content(&mut self, number: i64) -> Result<Content, CommandError> {
        let entries = self.catalog.files_with(number)?;
        let digest = entries.first().and_then(|entry| entry.digest);
        let places: Vec<Place> =
            entries.into_iter().filter_map(|entry| self.place(&entry)).collect();
        let outside = places.iter().any(|place| place.outside);
        Ok(Content { inodes: places.iter().map(|place| place.inode).collect(), outside, digest })
    }

    /// Returns where a remembered file is, if it still is there.
    fn place(&mut self, entry: &Entry) -> Option<Place> {
        if self.looker.state(entry) != State::Same {
            return None;
        }
        let path = &entry.path;
        // What is in the trash or in a snapshot is no copy that lets another one go.
        let outside = !in_system_dir(path)
            && !self.tree.roots().iter().any(|root| is_below(&root.absolute, path))
            && self.looker.dir_key(path).is_ok_and(|dir| !self.dirs.contains(&dir));
        Some(Place { inode: (entry.volume, entry.inode), outside })
    }

    /// Finds hard links outside of the directory to files that have no copy there.
    fn find_links(
        &mut self,
        known: &[Option<Known>],
        files: &mut [Copies],
    ) -> Result<(), CommandError> {
        let mut linked: HashMap<(i64, u64), Vec<usize>> = HashMap::new();
        for (at, known) in known.iter().enumerate() {
            let Some(known) = known.filter(|_| !files[at].outside) else { continue };
            let id = FileId(u32::try_from(at).unwrap_or(u32::MAX));
            let path = self.tree.absolute_path(id);
            if self.looker.stat(&path).is_ok_and(|stat| stat.links > 1) {
                linked.entry((known.volume, known.inode)).or_default().push(at);
            }
        }
        if linked.is_empty() {
            return Ok(());
        }
        for entry in self.catalog.names_of(&linked.keys().copied().collect())? {
            if let Some(place) = self.place(&entry).filter(|place| place.outside) {
                for &at in linked.get(&place.inode).into_iter().flatten() {
                    files[at].outside = true;
                }
            }
        }
        Ok(())
    }
}

/// Returns whether `path` is below directory `dir`, both absolute.
pub(crate) fn is_below(dir: &[u8], path: &[u8]) -> bool {
    let rest = path.strip_prefix(dir);
    rest.is_some_and(|rest| dir.ends_with(b"/") || rest.starts_with(b"/"))
}

#[cfg(test)]
mod tests {
    use super::is_below;

    #[test]
    fn a_name_that_only_begins_alike_is_not_below() {
        assert!(is_below(b"/a", b"/a/b"));
        assert!(is_below(b"/", b"/a"));
        assert!(!is_below(b"/a", b"/ab/c"));
        assert!(!is_below(b"/a", b"/a"));
    }
}
