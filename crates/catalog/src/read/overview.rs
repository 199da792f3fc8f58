//! Counts the remembered files in total, below each scanned path, and on each file system.

mod hard_links;

use std::collections::{HashMap, HashSet};

use fsops::Volume;
use rusqlite::Row;

use self::hard_links::{Identities, Identity};
use crate::error::{At, Error};
use crate::open::Catalog;
use crate::state::FileState;
use crate::tables::dirs::{Dirs, TOP};

/// A summary of a catalog in numbers.
#[derive(Debug, Default)]
pub struct Overview {
    /// All remembered files.
    pub all: Tally,
    /// The paths that were scanned, in byte order.
    pub roots: Vec<ScannedRoot>,
    /// The file systems of the files. The file systems with the most files come first.
    pub volumes: Vec<VolumeSummary>,
    /// Number of entries that the last scans could not examine.
    pub problems: u64,
}

/// Counts of files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of files. A file with several names counts once, in the lowest directory that contains
    /// all of its names.
    pub files: u64,
    /// Total size in bytes.
    pub bytes: u64,
    /// Number of files whose content has a digest.
    pub digested: u64,
    /// Number of files that have not been compared yet.
    pub pending: u64,
    /// Number of files that were found damaged or unreadable.
    pub damaged: u64,
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.files += other.files;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.digested += other.digested;
        self.pending += other.pending;
        self.damaged += other.damaged;
    }

    fn subtract(&mut self, other: Tally) {
        self.files -= other.files;
        self.bytes = self.bytes.saturating_sub(other.bytes);
        self.digested -= other.digested;
        self.pending -= other.pending;
        self.damaged -= other.damaged;
    }
}

/// Counts of the files in a directory on a file system, given by their rows.
type Tallies = HashMap<(i64, i64), Tally>;

/// A name in the catalog, with the counts of the file that it belongs to.
#[derive(Clone, Copy)]
struct NameRow {
    dir: i64,
    identity: Identity,
    tally: Tally,
}

impl NameRow {
    fn read(row: &Row<'_>, digested: &HashSet<i64>) -> rusqlite::Result<NameRow> {
        let size: i64 = row.get(3)?;
        let content: Option<i64> = row.get(5)?;
        let state = FileState::of(row.get(6)?);
        let tally = Tally {
            files: 1,
            bytes: size.cast_unsigned(),
            digested: content.is_some_and(|content| digested.contains(&content)).into(),
            pending: (state == FileState::Pending).into(),
            damaged: state.is_bad().into(),
        };
        let identity = (row.get(1)?, row.get(2)?, size, row.get(4)?);
        Ok(NameRow { dir: row.get(0)?, identity, tally })
    }

    /// Returns the directory and the file system.
    fn key(&self) -> (i64, i64) {
        (self.dir, self.identity.0)
    }
}

/// The word that precedes the options of the configuration in the record of a scan.
pub const CONFIGURED: &str = "configured:";

/// A path that was scanned.
#[derive(Debug)]
pub struct ScannedRoot {
    /// Its absolute path.
    pub path: Vec<u8>,
    /// End of the last scan of this path, in milliseconds since the epoch.
    pub finished_ms: i64,
    /// True if the last scan finished; false if it was interrupted.
    pub complete: bool,
    /// The options of the last scan that determined which files it read: the typed ones, then [`CONFIGURED`] and those
    /// of the configuration.
    pub options: String,
    /// The files that are remembered below this path.
    pub remembered: Tally,
}

/// Returns whether the user typed options for a scan, given its options in the catalog. Then, only the user can repeat
/// the scan. The options of the configuration do not count, because every scan has them.
pub fn has_typed_options(options: &str) -> bool {
    !(options.is_empty() || options.starts_with(CONFIGURED))
}

/// A file system with remembered files.
#[derive(Debug)]
pub struct VolumeSummary {
    /// The identity of the file system; `None` if the catalog has no row for it.
    pub volume: Option<Volume>,
    /// The lowest directory that contains all remembered files of the file system.
    pub path: Vec<u8>,
    /// The files that are remembered on the file system.
    pub remembered: Tally,
}

impl Catalog {
    /// Counts what the catalog remembers. Reads every row.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn overview(&self) -> Result<Overview, Error> {
        self.in_one_snapshot(|| {
            let dirs = Dirs::load(self)?;
            let tallies = self.tallies(&dirs)?;
            let mut overview = Overview { problems: self.problems()?, ..Overview::default() };
            for &tally in tallies.values() {
                overview.all.add(tally);
            }
            overview.roots = self.scanned(&dirs, &tallies)?;
            overview.volumes = self.disks(&dirs, &tallies)?;
            Ok(overview)
        })
    }

    /// Counts the files by directory and file system.
    fn tallies(&self, dirs: &Dirs) -> Result<Tallies, Error> {
        let sql = "SELECT id FROM content WHERE digest IS NOT NULL";
        let mut query = self.db.prepare(sql).at(&self.path)?;
        let digested = query.query_map([], |row| row.get(0)).and_then(Iterator::collect);
        let digested: HashSet<i64> = digested.at(&self.path)?;
        let (mut tallies, mut identities) = (Tallies::new(), Identities::new());
        self.each_name(&digested, &mut |name| {
            identities.add(&name.identity);
            tallies.entry(name.key()).or_default().add(name.tally);
        })?;
        hard_links::count_once(&mut tallies, identities, dirs, |each| {
            self.each_name(&digested, each)
        })?;
        Ok(tallies)
    }

    /// Calls `each` for every name. `digested` has the contents that have a digest.
    fn each_name(
        &self,
        digested: &HashSet<i64>,
        each: &mut dyn FnMut(NameRow),
    ) -> Result<(), Error> {
        let sql = "SELECT dir, volume, inode, size, mtime_ns, content, state FROM file";
        let mut query = self.db.prepare(sql).at(&self.path)?;
        let mut rows = query.query([]).at(&self.path)?;
        while let Some(row) = rows.next().at(&self.path)? {
            each(NameRow::read(row, digested).at(&self.path)?);
        }
        Ok(())
    }

    fn problems(&self) -> Result<u64, Error> {
        let sql = "SELECT count(*) FROM problem";
        let count = self.db.query_row(sql, [], |row| row.get::<_, i64>(0)).at(&self.path)?;
        Ok(count.cast_unsigned())
    }

    fn scanned(&self, dirs: &Dirs, tallies: &Tallies) -> Result<Vec<ScannedRoot>, Error> {
        let mut of_dir: HashMap<i64, Tally> = HashMap::new();
        for (&(dir, _), &tally) in tallies {
            of_dir.entry(dir).or_default().add(tally);
        }
        let sql = "SELECT path, finished_ms, options, complete FROM root JOIN scan ON scan.id = root.scan \
                   ORDER BY path";
        let mut query = self.db.prepare(sql).at(&self.path)?;
        let roots = query.query_map([], |row| {
            Ok(ScannedRoot {
                path: row.get(0)?,
                finished_ms: row.get(1)?,
                options: row.get(2)?,
                complete: row.get(3)?,
                remembered: Tally::default(),
            })
        });
        let mut roots: Vec<ScannedRoot> = roots.and_then(Iterator::collect).at(&self.path)?;
        for root in &mut roots {
            let Some(top) = dirs.at_path(&root.path) else { continue };
            let remembered = &mut root.remembered;
            dirs.each_below(top, |dir| {
                remembered.add(of_dir.get(&dir).copied().unwrap_or_default());
            });
        }
        Ok(roots)
    }

    fn disks(&self, dirs: &Dirs, tallies: &Tallies) -> Result<Vec<VolumeSummary>, Error> {
        let sql = "SELECT id, magic, fsid FROM volume";
        let mut query = self.db.prepare(sql).at(&self.path)?;
        let volumes = query.query_map([], |row| {
            let bits = |n| row.get::<_, i64>(n).map(i64::cast_unsigned);
            Ok((row.get(0)?, Volume { magic: bits(1)?, fsid: bits(2)? }))
        });
        let volumes: HashMap<i64, Volume> = volumes.and_then(Iterator::collect).at(&self.path)?;
        // The devices of an overlay share one fsid and count as one file system. Devices without an
        // fsid may be different file systems.
        let key = |id: i64| {
            let volume = volumes.get(&id).copied();
            (volume, if volume.is_some_and(|volume| volume.fsid != 0) { 0 } else { id })
        };
        let mut found: HashMap<(Option<Volume>, i64), (i64, Tally)> = HashMap::new();
        for (&(dir, volume), &tally) in tallies {
            let (top, sum) = found.entry(key(volume)).or_insert((dir, Tally::default()));
            *top = dirs.common(*top, dir);
            sum.add(tally);
        }
        let disk = |((volume, _), (top, remembered))| {
            let path = dirs.path(top).into_os_string().into_encoded_bytes();
            VolumeSummary { volume, path, remembered }
        };
        let mut disks: Vec<VolumeSummary> = found.into_iter().map(disk).collect();
        disks.sort_by(|a, b| {
            b.remembered.files.cmp(&a.remembered.files).then_with(|| a.path.cmp(&b.path))
        });
        Ok(disks)
    }
}

impl Dirs {
    /// Returns the lowest common ancestor of two directories. The result may be one of the two
    /// directories.
    fn common(&self, one: i64, other: i64) -> i64 {
        if one == other {
            return one;
        }
        let above = |id| {
            let mut chain = vec![id];
            while let Some(row) = self.row(chain[chain.len() - 1]) {
                chain.push(row.parent);
            }
            chain
        };
        let (one, other) = (above(one), above(other));
        let pairs = one.iter().rev().zip(other.iter().rev());
        pairs.take_while(|(a, b)| a == b).last().map_or(TOP, |(&id, _)| id)
    }
}
