//! The current files of a directory, and their copies according to the catalog.

mod copy_finder;

use std::path::{Path, PathBuf};

use content::Digest;
use dupes::{State, Verdict};
use walk::Tree;

use self::copy_finder::CopyFinder;
use crate::questions::location::Bounds;

use crate::error::CommandError;
use crate::monitor::monitored;
use crate::questions::aliases::Distinct;
use crate::questions::catalog::open;
use crate::questions::copies::PendingSizes;
use crate::questions::inspect::Inspector;
use crate::questions::knowledge::Knowledge;
use crate::questions::quarantine::count_quarantined;
use crate::questions::verify::{Counting, Tally, Verified};
use crate::questions::work::files;
use crate::settings::{Resources, Settings};

/// The files of a directory and their copies.
pub(crate) struct Folder {
    /// The files that exist now.
    pub(crate) tree: Tree,
    /// Number of files in quarantine below the directory.
    pub(crate) quarantined: u64,
    /// The copies of each file, in the order of the tree.
    pub(crate) files: Vec<Copies>,
    distinct: Distinct,
}

/// The copies of a file. Only existing files that are unchanged since their scan count as copies.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Copies {
    /// How reliable the answer about the file and its copies is.
    pub(crate) knowledge: Knowledge,
    /// Number of other inodes with the same content.
    pub(crate) duplicates: u64,
    /// True if a copy or a hard link is outside the directory.
    pub(crate) outside: bool,
    /// True if all copies outside the directory are in the trash or another system directory. Such copies do not count.
    pub(crate) in_system_dir: bool,
    /// True if a copy is on a disk that is not mounted.
    pub(crate) offline: bool,
    /// If no copy outside the directory is known, the reason why there may be one.
    doubt: Option<Knowledge>,
    pub(crate) digest: Option<Digest>,
    /// Content number in the catalog. `None` if the file was not compared or has a name outside the directory.
    content: Option<i64>,
}

impl Copies {
    /// Returns whether the catalog has a reliable answer about the file and its copies.
    pub(crate) fn known(&self) -> bool {
        self.knowledge.is_known()
    }

    /// Returns whether the file has copies and all of them are in the directory.
    pub(crate) fn is_only_inside(&self) -> bool {
        self.duplicates > 0 && !self.outside && !self.in_system_dir
    }

    /// Returns whether the file has a copy that counts.
    pub(crate) fn has_copy(&self, counting: Counting) -> bool {
        let anywhere = counting == Counting::Anywhere;
        self.outside || anywhere && self.known() && self.duplicates > 0
    }
}

impl Folder {
    /// Walks `dir` and looks up each file in the catalog.
    ///
    /// # Errors
    ///
    /// Fails if the directory cannot be walked or the catalog cannot be read, or on an interrupt.
    pub(crate) fn load(
        dir: &Path,
        system_dirs: SystemDirs,
        distinct: Distinct,
        settings: &Settings,
    ) -> Result<Folder, CommandError> {
        let catalog = open(settings)?;
        let mut tree = walk_dir(dir, system_dirs, settings)?;
        let quarantined = count_quarantined(&mut tree, settings)?;
        let files = CopyFinder::new(&catalog, &tree, &distinct)?.ask()?;
        Ok(Folder { tree, quarantined, files, distinct })
    }

    /// Compares each file with one of its copies, if the catalog lists any. Updates `files` with the result.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read, or on an interrupt.
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
        let mut inspector = Inspector::default();
        let place = |path: &[u8]| bounds.place(path, None, &mut inspector);
        let catalog = open(settings)?;
        let distinct = &self.distinct;
        let verified = Verified::read(&catalog, &contents, counting, distinct, place, settings)?;
        let mut waiting = PendingSizes::new(&catalog)?;
        let mut sizes = Vec::new();
        for (file, copies) in files(&self.tree).into_iter().zip(&mut self.files) {
            let Some(content) = content(copies) else { continue };
            copies.duplicates = copies.duplicates.saturating_sub(verified.bad_with(content));
            let size = self.tree.file(file).size;
            copies.knowledge = match verified.verdict(self.tree.key(file)) {
                Verdict::Copied => {
                    sizes.push(size);
                    continue;
                }
                Verdict::Alone if waiting.has(size, &catalog, &mut inspector)? => {
                    Knowledge::Is(State::Pending)
                }
                Verdict::Alone if copies.doubt.is_some() => copies.doubt.unwrap_or_default(),
                verdict => Knowledge::from(verdict),
            };
            copies.outside = false;
            if counting == Counting::Anywhere {
                // The comparison also covered the copies inside the directory, so the number from the catalog is
                // outdated.
                copies.duplicates = 0;
            }
        }
        let tally = verified.tally(sizes.into_iter());
        Ok((verified, tally))
    }

    /// Returns the total size of the files for which `wanted` returns true.
    pub(crate) fn bytes(&self, wanted: impl Fn(&Copies) -> bool) -> u64 {
        let files = self.tree.files().iter().zip(&self.files);
        let sizes = files.filter(|(_, copies)| wanted(copies)).map(|(file, _)| file.size);
        sizes.fold(0, u64::saturating_add)
    }
}

/// How a walk treats system directories, such as trash folders and snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SystemDirs {
    /// The walk enters system directories, because deleting the directory deletes them as well.
    Entered,
    /// The walk skips system directories, as a scan does, because copies in them are not permanent.
    LeftOut,
}

/// Walks a directory.
///
/// # Errors
///
/// Fails if `dir` is not a directory, or on an interrupt.
pub(crate) fn walk_dir(
    dir: &Path,
    system_dirs: SystemDirs,
    settings: &Settings,
) -> Result<Tree, CommandError> {
    let mut filter = walk::Filter::default();
    filter.system_dirs = system_dirs == SystemDirs::Entered;
    filter.pseudo = false;
    monitored(settings, |progress| {
        let is_dir = std::fs::metadata(dir).and_then(|found| {
            found.is_dir().then_some(()).ok_or_else(|| std::io::ErrorKind::NotADirectory.into())
        });
        is_dir.map_err(|e| CommandError::failed(dir.display().to_string()).because(e))?;
        let options = Resources::automatic().walk(filter, false, settings.own());
        Ok(walk::walk(&[PathBuf::from(dir)], &options, None, progress)?)
    })
}
