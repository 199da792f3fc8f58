//! A directory as it is now, and where the catalog knows copies of the files in it.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use catalog::{Catalog, Known, Record};
use content::Digest;
use device::Io;
use dupes::{State, Verdict, dirs_of};
use fsops::{FileKey, Volume, Watch};
use walk::{FileId, Tree, in_system_dir};

use crate::error::CommandError;
use crate::exit::Exit;
use crate::look::Looker;
use crate::monitor::Monitor;
use crate::remembered::{Waiting, open};
use crate::settings::{Settings, Workers};
use crate::sources::files;
use crate::stored::count_stored;
use crate::unknown::Standing;
use crate::verifying::{Counting, Place, Tally, Verified, standing};
use crate::views::{Distinct, Shown};

/// The files of a directory and their copies.
pub(crate) struct Folder {
    /// What is there now.
    pub(crate) tree: Tree,
    /// How many files are in quarantine there.
    pub(crate) stored: u64,
    /// One per file of the tree.
    pub(crate) files: Vec<Copies>,
    distinct: Distinct,
}

/// Where a file's content is besides under its own name. Only files that are there, unchanged
/// since their scan, count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Copies {
    /// What is known of the file and its copies.
    pub(crate) standing: Standing,
    /// Other inodes with the same content.
    pub(crate) duplicates: u64,
    /// Whether the content, as a copy or as a hard link, is outside of the directory.
    pub(crate) outside: bool,
    /// Whether all that is outside of the directory is in folders of systems, such as the trash, and does not count.
    pub(crate) in_system_dir: bool,
    /// Whether there was a copy on a disk that is not mounted.
    pub(crate) offline: bool,
    /// What is known if no copy outside is found: that one is not what it was, or may be the file itself.
    doubt: Option<Standing>,
    pub(crate) digest: Option<Digest>,
    /// Number of the content in the catalog, if the file was compared and has itself no name outside.
    content: Option<i64>,
}

/// The files of one content.
#[derive(Default)]
struct Content {
    /// The live, unchanged ones.
    inodes: HashSet<(i64, u64)>,
    /// Those of them that have a name outside.
    outside: HashSet<(i64, u64)>,
    /// Those of them that have a name outside, in a folder of a system.
    in_system_dirs: HashSet<(i64, u64)>,
    /// Those that may be other paths to the rest.
    views: HashSet<(i64, u64)>,
    /// What is known if no copy outside is found: that one is not what it was, or may be a file inside.
    doubt: Option<Standing>,
    /// Whether a file outside had this content and was found damaged or unreadable.
    bad_outside: bool,
    /// Whether one was on a disk that is not mounted.
    offline: bool,
    digest: Option<Digest>,
}

impl Copies {
    /// Returns whether it is known where else the content is.
    pub(crate) fn known(&self) -> bool {
        self.standing.is_known()
    }

    /// Returns whether there are copies, all of them in the directory.
    pub(crate) fn is_only_inside(&self) -> bool {
        self.duplicates > 0 && !self.outside && !self.in_system_dir
    }

    /// Returns whether there is a copy that counts.
    pub(crate) fn has_copy(&self, counting: Counting) -> bool {
        let anywhere = counting == Counting::Anywhere;
        self.outside || anywhere && self.known() && self.duplicates > 0
    }
}

impl Folder {
    /// Walks `dir` and asks the catalog about each file.
    pub(crate) fn look(
        dir: &Path,
        system_dirs: SystemDirs,
        distinct: Distinct,
        settings: &Settings,
    ) -> Result<Folder, CommandError> {
        let catalog = open(settings)?;
        let mut tree = walk_dir(dir, system_dirs, settings)?;
        let stored = count_stored(&mut tree, settings)?;
        let files = Asker::new(&catalog, &tree, &distinct)?.ask()?;
        Ok(Folder { tree, stored, files, distinct })
    }

    /// Reads each file that the catalog says has a copy, together with one of its copies, and updates `files` with the
    /// result.
    pub(crate) fn verify(
        &mut self,
        counting: Counting,
        settings: &Settings,
    ) -> Result<(Verified, Tally), CommandError> {
        let content = |copies: &Copies| {
            copies.content.filter(|_| copies.known() && copies.has_copy(counting))
        };
        let contents = self.files.iter().filter_map(content).collect();
        let bounds = Bounds::new(&self.tree, &self.distinct);
        let mut looker = Looker::default();
        let place = |path: &[u8]| bounds.place(path, None, &mut looker);
        let catalog = open(settings)?;
        let distinct = &self.distinct;
        let verified = Verified::read(&catalog, &contents, counting, distinct, place, settings)?;
        let mut waiting = Waiting::new(&catalog)?;
        let mut sizes = Vec::new();
        for (file, copies) in files(&self.tree).into_iter().zip(&mut self.files) {
            let Some(content) = content(copies) else { continue };
            copies.duplicates = copies.duplicates.saturating_sub(verified.bad_with(content));
            let size = self.tree.file(file).size;
            copies.standing = match verified.verdict(self.tree.key(file)) {
                Verdict::Copied => {
                    sizes.push(size);
                    continue;
                }
                Verdict::Alone if waiting.has(size, &catalog, &mut looker)? => {
                    Standing::Is(State::Pending)
                }
                Verdict::Alone if copies.doubt.is_some() => copies.doubt.unwrap_or_default(),
                verdict => standing(verdict),
            };
            copies.outside = false;
            if counting == Counting::Anywhere {
                // Those inside were tried as well.
                copies.duplicates = 0;
            }
        }
        let tally = verified.tally(sizes.into_iter());
        Ok((verified, tally))
    }

    /// Returns the sizes together of the files for which `wanted` says so.
    pub(crate) fn bytes(&self, wanted: impl Fn(&Copies) -> bool) -> u64 {
        let files = self.tree.files().iter().zip(&self.files);
        let sizes = files.filter(|(_, copies)| wanted(copies)).map(|(file, _)| file.size);
        sizes.fold(0, u64::saturating_add)
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
    let mut filter = walk::Filter::default();
    filter.system_dirs = system_dirs == SystemDirs::Entered;
    filter.pseudo = false;
    let options = workers.walk(filter, false, settings.own());
    let tree = walk::walk(&[PathBuf::from(dir)], &options, None, &watch)?;
    monitor.finish()?;
    Ok(tree)
}

/// Tells whether a path is inside a directory, by name or through another path to it.
struct Bounds<'a> {
    tree: &'a Tree,
    /// The directories of the tree: another path to one of them is not outside.
    dirs: HashSet<FileKey>,
    shown: Shown<'a>,
}

impl<'a> Bounds<'a> {
    fn new(tree: &'a Tree, distinct: &'a Distinct) -> Bounds<'a> {
        Bounds { tree, dirs: dirs_of(tree), shown: Shown::new(tree, distinct) }
    }

    /// Returns where a name that is there is, on `disk` if that is known. What is in the trash or in a snapshot is
    /// no copy that lets another one go.
    fn place(&self, path: &[u8], disk: Option<Volume>, looker: &mut Looker) -> Place {
        match looker.dir_key(path) {
            Ok(dir) if self.dirs.contains(&dir) => Place::Inside,
            Ok(_) if in_system_dir(path) || self.is_below(path) => Place::Elsewhere,
            Ok(_) if !self.shown.may_have(disk) => Place::Outside,
            Ok(_) => match looker.sight(path) {
                Ok(sight) if self.shown.has(path, &sight) => Place::View,
                Ok(_) => Place::Outside,
                Err(_) => Place::Elsewhere,
            },
            Err(_) => Place::Elsewhere,
        }
    }

    /// Returns whether a name that is there is outside, or may be.
    fn is_outside(&self, path: &[u8], looker: &mut Looker) -> bool {
        matches!(self.place(path, None, looker), Place::Outside | Place::View)
    }

    /// Returns whether a name is outside, in a folder of a system.
    fn is_in_system_dir(&self, path: &[u8]) -> bool {
        in_system_dir(path) && !self.is_below(path)
    }

    fn is_below(&self, path: &[u8]) -> bool {
        self.tree.roots().iter().any(|root| is_below(&root.absolute, path))
    }
}

struct Asker<'a> {
    catalog: &'a Catalog,
    tree: &'a Tree,
    distinct: &'a Distinct,
    bounds: Bounds<'a>,
    contents: HashMap<i64, Content>,
    looker: Looker,
    waiting: Waiting,
}

impl<'a> Asker<'a> {
    fn new(
        catalog: &'a Catalog,
        tree: &'a Tree,
        distinct: &'a Distinct,
    ) -> Result<Self, CommandError> {
        let (contents, looker) = (HashMap::new(), Looker::default());
        let (bounds, waiting) = (Bounds::new(tree, distinct), Waiting::new(catalog)?);
        Ok(Asker { catalog, tree, distinct, bounds, contents, looker, waiting })
    }

    fn ask(mut self) -> Result<Vec<Copies>, CommandError> {
        let records = self.catalog.known(self.tree)?;
        let mut files = Vec::with_capacity(records.len());
        for (file, record) in self.tree.files().iter().zip(&records) {
            let standing = Standing::of(record);
            files.push(match record.known().filter(|_| standing.is_known()) {
                Some(known) => self.copies(&known, file.size)?,
                None => Copies { standing, ..Copies::default() },
            });
        }
        self.find_links(&records, &mut files)?;
        Ok(files)
    }

    /// Returns where the copies of a file are that is known as it is.
    fn copies(&mut self, known: &Known, size: u64) -> Result<Copies, CommandError> {
        let alone = Copies { standing: Standing::Is(State::Same), ..Copies::default() };
        let Some(number) = known.content else { return self.unless_waiting(alone, size) };
        if !self.contents.contains_key(&number) {
            let content = self.content(number)?;
            self.contents.insert(number, content);
        }
        let content = &self.contents[&number];
        let own = (known.volume, known.inode);
        let is_view = content.views.contains(&own);
        let is_there = is_view || content.inodes.contains(&own);
        let doubt = content.doubt.or(is_view.then_some(Standing::CopiesAreViews));
        let copies = Copies {
            duplicates: content.inodes.len().saturating_sub(usize::from(is_there)) as u64,
            outside: !content.outside.is_empty(),
            in_system_dir: content.outside.is_empty()
                && content.in_system_dirs.iter().any(|inode| *inode != own),
            offline: content.offline,
            doubt,
            digest: content.digest,
            content: (!content.outside.contains(&own)).then_some(number),
            ..alone
        };
        if let Some(standing) = doubt.filter(|_| !copies.outside) {
            return Ok(Copies { standing, ..copies });
        }
        let bad = !copies.outside && content.bad_outside;
        let standing = if bad { Standing::CopiesBad } else { copies.standing };
        self.unless_waiting(Copies { standing, ..copies }, size)
    }

    /// Returns copies as they are, but for a file without any outside: that is not known as long as a
    /// file of its size waits to be compared.
    fn unless_waiting(&mut self, copies: Copies, size: u64) -> Result<Copies, CommandError> {
        let waits = !copies.outside && self.waiting.has(size, self.catalog, &mut self.looker)?;
        let standing = if waits { Standing::Is(State::Pending) } else { copies.standing };
        Ok(Copies { standing, ..copies })
    }

    fn content(&mut self, number: i64) -> Result<Content, CommandError> {
        let entries = self.catalog.files_with(number)?;
        let digest = entries.first().and_then(|entry| entry.digest);
        let mut content = Content { digest, ..Content::default() };
        let mut same = Vec::new();
        for entry in &entries {
            match self.looker.state(entry) {
                State::Same => {
                    same.push(entry);
                    match self.bounds.place(&entry.path, entry.disk, &mut self.looker) {
                        Place::Outside => {
                            content.outside.insert((entry.volume, entry.inode));
                        }
                        Place::View => {
                            content.doubt.get_or_insert(Standing::CopiesAreViews);
                        }
                        Place::Elsewhere if self.bounds.is_in_system_dir(&entry.path) => {
                            content.in_system_dirs.insert((entry.volume, entry.inode));
                        }
                        Place::Inside | Place::Elsewhere => {}
                    }
                }
                // It may have this content all the same.
                State::Changed | State::Unknown | State::View | State::Pending => {
                    if self.bounds.is_outside(&entry.path, &mut self.looker) {
                        content.doubt = Some(Standing::CopiesChanged);
                    }
                }
                State::Offline => content.offline = true,
                State::Damaged | State::Unreadable => {
                    content.bad_outside |= self.bounds.is_outside(&entry.path, &mut self.looker);
                }
                State::Gone => {}
            }
        }
        let are_views = self.looker.views_among(&same, self.distinct);
        for (entry, is_view) in same.iter().zip(are_views) {
            let inodes = if is_view { &mut content.views } else { &mut content.inodes };
            inodes.insert((entry.volume, entry.inode));
        }
        Ok(content)
    }

    /// Finds hard links outside of the directory to files that have no copy there.
    fn find_links(&mut self, records: &[Record], files: &mut [Copies]) -> Result<(), CommandError> {
        let mut linked: HashMap<(i64, u64), Vec<usize>> = HashMap::new();
        for (at, record) in records.iter().enumerate() {
            let Some(known) = record.known().filter(|_| !files[at].outside) else { continue };
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
            // Whatever is in it, it is the same file.
            let is_same = self.looker.stat(&entry.path).is_ok_and(|now| entry.is(&now));
            if is_same && self.bounds.is_outside(&entry.path, &mut self.looker) {
                let names = linked.get(&(entry.volume, entry.inode));
                for &at in names.into_iter().flatten() {
                    (files[at].outside, files[at].content) = (true, None);
                    files[at].in_system_dir = false;
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
