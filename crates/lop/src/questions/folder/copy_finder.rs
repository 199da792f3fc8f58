//! Uses the catalog to find copies of the files in a directory.

use std::collections::{HashMap, HashSet};

use catalog::{Catalog, Entry, FileMatch, KnownFile};
use content::Digest;
use dupes::State;
use walk::{FileId, Tree};

use super::Copies;
use crate::error::CommandError;
use crate::questions::aliases::Distinct;
use crate::questions::copies::PendingSizes;
use crate::questions::inspect::Inspector;
use crate::questions::knowledge::Knowledge;
use crate::questions::location::{Bounds, Location};

/// The files that share one content.
#[derive(Default)]
struct Content {
    /// Unchanged files, except those in `views`.
    inodes: HashSet<(i64, u64)>,
    /// Unchanged files that have a name outside the directory.
    outside: HashSet<(i64, u64)>,
    /// Unchanged files that have a name outside the directory, in the trash or another system directory.
    in_system_dirs: HashSet<(i64, u64)>,
    /// Unchanged files that may be aliases of the files in `inodes`.
    views: HashSet<(i64, u64)>,
    /// If no copy outside the directory is known, the reason why there may be one.
    doubt: Option<Knowledge>,
    /// True if a file outside the directory had this content before it was found damaged or unreadable.
    bad_outside: bool,
    /// True if a file with this content is on a disk that is not mounted.
    offline: bool,
    digest: Option<Digest>,
}

/// Finds the copies of the files in a tree. Files with the same content are looked up only once.
pub(super) struct CopyFinder<'a> {
    catalog: &'a Catalog,
    tree: &'a Tree,
    distinct: &'a Distinct,
    bounds: Bounds<'a>,
    contents: HashMap<i64, Content>,
    inspector: Inspector,
    waiting: PendingSizes,
}

impl Content {
    /// Records the location of an unchanged file.
    fn note_location(&mut self, entry: &Entry, bounds: &Bounds<'_>, inspector: &mut Inspector) {
        let inode = (entry.volume, entry.inode);
        match bounds.place(&entry.path, entry.file_system, inspector) {
            Location::Outside => drop(self.outside.insert(inode)),
            Location::Alias => drop(self.doubt.get_or_insert(Knowledge::CopiesAreAliases)),
            Location::Elsewhere if bounds.is_in_system_dir(&entry.path) => {
                self.in_system_dirs.insert(inode);
            }
            Location::Inside | Location::Elsewhere => {}
        }
    }
}

impl<'a> CopyFinder<'a> {
    /// Creates a finder for copies of the files in `tree`.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read.
    pub(super) fn new(
        catalog: &'a Catalog,
        tree: &'a Tree,
        distinct: &'a Distinct,
    ) -> Result<Self, CommandError> {
        let (contents, inspector) = (HashMap::new(), Inspector::default());
        let (bounds, waiting) = (Bounds::new(tree, distinct), PendingSizes::new(catalog)?);
        Ok(CopyFinder { catalog, tree, distinct, bounds, contents, inspector, waiting })
    }

    /// Returns the copies of each file, in the order of the tree.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read.
    pub(super) fn ask(mut self) -> Result<Vec<Copies>, CommandError> {
        let records = self.catalog.match_files(self.tree)?;
        let mut files = Vec::with_capacity(records.len());
        for (file, record) in self.tree.files().iter().zip(&records) {
            let knowledge = Knowledge::of(record);
            files.push(match record.known().filter(|_| knowledge.is_known()) {
                Some(known) => self.copies(&known, file.size)?,
                None => Copies { knowledge, ..Copies::default() },
            });
        }
        self.find_links(&records, &mut files)?;
        Ok(files)
    }

    /// Returns the copies of an unchanged file.
    fn copies(&mut self, known: &KnownFile, size: u64) -> Result<Copies, CommandError> {
        let alone = Copies { knowledge: Knowledge::Is(State::Same), ..Copies::default() };
        let Some(number) = known.content else { return self.unless_waiting(alone, size) };
        if !self.contents.contains_key(&number) {
            let content = self.content(number)?;
            self.contents.insert(number, content);
        }
        let content = &self.contents[&number];
        let own = (known.volume, known.inode);
        let is_view = content.views.contains(&own);
        let is_there = is_view || content.inodes.contains(&own);
        let doubt = content.doubt.or(is_view.then_some(Knowledge::CopiesAreAliases));
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
        if let Some(knowledge) = doubt.filter(|_| !copies.outside) {
            return Ok(Copies { knowledge, ..copies });
        }
        let bad = !copies.outside && content.bad_outside;
        let knowledge = if bad { Knowledge::CopiesBad } else { copies.knowledge };
        self.unless_waiting(Copies { knowledge, ..copies }, size)
    }

    /// Returns `copies`. If no copy is outside the directory and a pending file has the same size, the result is marked
    /// as pending.
    fn unless_waiting(&mut self, copies: Copies, size: u64) -> Result<Copies, CommandError> {
        let waits = !copies.outside && self.waiting.has(size, self.catalog, &mut self.inspector)?;
        let knowledge = if waits { Knowledge::Is(State::Pending) } else { copies.knowledge };
        Ok(Copies { knowledge, ..copies })
    }

    /// Examines the files with a given content number.
    fn content(&mut self, number: i64) -> Result<Content, CommandError> {
        let entries = self.catalog.files_with(number)?;
        let digest = entries.first().and_then(|entry| entry.digest);
        let mut content = Content { digest, ..Content::default() };
        let mut same = Vec::new();
        for entry in &entries {
            let (bounds, inspector) = (&self.bounds, &mut self.inspector);
            match inspector.state(entry) {
                State::Same => {
                    content.note_location(entry, bounds, inspector);
                    same.push(entry);
                }
                // The file may still have this content even though it changed or could not be examined.
                State::Changed | State::Unknown | State::Alias | State::Pending => {
                    if bounds.is_outside(&entry.path, inspector) {
                        content.doubt = Some(Knowledge::CopiesChanged);
                    }
                }
                State::Offline => content.offline = true,
                State::Damaged | State::Unreadable => {
                    content.bad_outside |= bounds.is_outside(&entry.path, inspector);
                }
                State::Gone => {}
            }
        }
        let are_views = self.inspector.aliases_among(&same, self.distinct);
        for (entry, is_view) in same.iter().zip(are_views) {
            let inodes = if is_view { &mut content.views } else { &mut content.inodes };
            inodes.insert((entry.volume, entry.inode));
        }
        Ok(content)
    }

    /// Finds hard links outside the directory for files that have no copy there.
    fn find_links(
        &mut self,
        records: &[FileMatch],
        files: &mut [Copies],
    ) -> Result<(), CommandError> {
        let mut linked: HashMap<(i64, u64), Vec<usize>> = HashMap::new();
        for (at, record) in records.iter().enumerate() {
            let Some(known) = record.known().filter(|_| !files[at].outside) else { continue };
            let id = FileId(walk::to_u32(at));
            let path = self.tree.absolute_path(id);
            if self.inspector.stat(&path).is_ok_and(|stat| stat.links > 1) {
                linked.entry((known.volume, known.inode)).or_default().push(at);
            }
        }
        if linked.is_empty() {
            return Ok(());
        }
        for entry in self.catalog.names_of(&linked.keys().copied().collect())? {
            // A hard link leads to the same file, so its recorded content does not matter.
            let is_same =
                self.inspector.stat(&entry.path).is_ok_and(|now| entry.is_unchanged(&now));
            if is_same && self.bounds.is_outside(&entry.path, &mut self.inspector) {
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
