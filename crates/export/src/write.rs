//! Exports a catalog.

mod contents;
mod inodes;
mod names;
mod objects;
mod rows;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use catalog::Catalog;
use runtime::{Progress, Stage};

use crate::dirs::{Paths, TOP};
use crate::error::Error;
use crate::folder::NewFolder;
use crate::inodes::{Contents, Inodes};
use crate::key::Key;
use crate::manifest::{Manifest, Names, Root, Scan, TableFile, Volume};
use crate::schema::{DIRS, INODES, PROBLEMS, SCHEMA_VERSION};
use crate::table::writer::Value;

use contents::ContentWriter;

pub use objects::{Object, export_objects};
pub use rows::export_rows;

/// The host, and the form in which its catalog is exported.
#[derive(Clone, Debug)]
pub struct Options {
    /// The name of the host: letters, digits, `.`, `-` and `_`, beginning with a letter or a digit.
    pub host: String,
    /// How names are exported. [`Names::Keyed`] needs a key.
    pub names: Names,
    /// The key for digests, heads and keyed names.
    pub key: Option<Key>,
    /// The time of the export in milliseconds since the epoch.
    pub created_ms: i64,
    /// Whether to remove the older exports of the host when the new one is complete.
    pub replaces: bool,
}

/// An export that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// Its folder.
    pub path: PathBuf,
    /// Number of names of files.
    pub names: u64,
    /// Number of inodes.
    pub inodes: u64,
    /// Number of inodes that are identical to another one, but have no digest. Only files with more
    /// than a gigabyte of holes have none.
    pub undigested: u64,
    /// Number of inodes, except empty ones, without a digest. Other hosts cannot be compared with them.
    pub without_digest: u64,
    /// Size of the tables in bytes.
    pub bytes: u64,
}

/// Exports the catalog to a new folder `HOST/EXPORT_ID` below `out`.
///
/// # Errors
///
/// Fails if the catalog cannot be read, if a file cannot be written, if another process exports the
/// same host to `out`, or if the user asked to stop. There is then no new export. Missing parents
/// of the folder may have been created.
///
/// # Panics
///
/// Panics if `options` asks for keyed names without a key.
pub fn export(
    catalog: &Catalog,
    out: &Path,
    options: &Options,
    progress: &Progress,
) -> Result<Exported, Error> {
    progress.enter(Stage::Export);
    // One connection, so that all tables belong to the same state of the catalog.
    let snapshot = catalog.snapshots(1)?;
    let catalog = &snapshot[0];
    let folder = NewFolder::create(out, &options.host, options.created_ms)?;
    let output = Output { folder: &folder, options, progress };
    let mut tables = BTreeMap::new();
    let mut writer = ContentWriter::new(&output)?;
    catalog.each_content_row(|row| writer.push(&row))?;
    let contents = writer.finish(&mut tables)?;
    let dirs = output.dirs(catalog, &mut tables)?;
    let inodes = output.names(catalog, &dirs, &contents, &mut tables)?;
    output.inodes(&inodes, &contents, &mut tables)?;
    output.problems(catalog, &mut tables)?;
    let manifest = output.manifest_of(catalog, tables)?;
    drop(snapshot);
    progress.check()?;
    let names = progress.files_done.load(Relaxed);
    Exported::publish(folder, options, &manifest, &contents, &inodes, names)
}

impl Exported {
    /// Publishes the folder, and describes the export.
    fn publish(
        folder: NewFolder,
        options: &Options,
        manifest: &Manifest,
        contents: &Contents,
        inodes: &Inodes,
        names: u64,
    ) -> Result<Exported, Error> {
        Ok(Exported {
            path: folder.publish(manifest, options.replaces)?,
            names,
            inodes: manifest.rows(INODES.name),
            undigested: contents.undigested,
            without_digest: inodes.without_digest(contents),
            bytes: manifest.bytes(),
        })
    }
}

/// The files of each table, by its name.
type Tables = BTreeMap<String, Vec<TableFile>>;

/// The folder that is being written, and how.
struct Output<'a> {
    folder: &'a NewFolder,
    options: &'a Options,
    progress: &'a Progress,
}

impl Output<'_> {
    /// Writes the directories, and returns their ids in ascending order.
    fn dirs(&self, catalog: &Catalog, tables: &mut Tables) -> Result<Vec<i64>, Error> {
        let mut out = match self.options.names {
            Names::None => None,
            Names::Plain | Names::Keyed => Some(self.folder.table(&DIRS, None)?),
        };
        let (mut ids, mut paths) = (vec![TOP], Paths::default());
        if let Some(out) = &mut out {
            let path =
                if self.options.names == Names::Plain { Value::Bytes(b"/") } else { Value::Null };
            out.push(&[Value::Int64(TOP), Value::Null, Value::Bytes(b""), path]);
        }
        let mut written = Ok(());
        catalog.each_dir_row(|id, parent, name| {
            ids.push(id);
            let Some(out) = &mut out else { return };
            let path = match self.options.names {
                Names::Plain => paths.add(id, parent, name).map(String::from_utf8_lossy),
                Names::Keyed | Names::None => None,
            };
            let path = path.as_ref().map_or(Value::Null, |path| Value::Bytes(path.as_bytes()));
            self.with_exported(name, |name| {
                out.push(&[Value::Int64(id), Value::Int64(parent), Value::Bytes(name), path]);
            });
            if out.is_group_full() && written.is_ok() {
                written = out.end_group(&DIRS);
            }
        })?;
        written?;
        let files = out.map(|out| out.finish(&DIRS)).transpose()?;
        tables.insert(DIRS.name.into(), files.into_iter().collect());
        Ok(ids)
    }

    fn problems(&self, catalog: &Catalog, tables: &mut Tables) -> Result<(), Error> {
        let mut out = self.folder.table(&PROBLEMS, None)?;
        catalog.each_problem_row(|problem| {
            let is_plain = self.options.names == Names::Plain;
            let path = if is_plain { Value::Bytes(&problem.path) } else { Value::Null };
            out.push(&[Value::Int64(problem.scan), path, Value::Bytes(problem.reason.as_bytes())]);
            if out.is_group_full() { out.end_group(&PROBLEMS) } else { Ok(()) }
        })?;
        tables.insert(PROBLEMS.name.into(), vec![out.finish(&PROBLEMS)?]);
        Ok(())
    }

    /// Returns the manifest of an export of a catalog.
    fn manifest_of(&self, catalog: &Catalog, tables: Tables) -> Result<Manifest, Error> {
        let is_plain = self.options.names == Names::Plain;
        let root = |(path, scan): (Vec<u8>, i64)| Root::new(is_plain.then_some(&path), scan);
        let scan = |scan: catalog::StoredScan| Scan {
            id: scan.id,
            started_ms: scan.started_ms,
            finished_ms: scan.finished_ms,
            options: is_plain.then_some(scan.options),
            files: scan.files,
            bytes: scan.bytes,
            problems: scan.problems,
            complete: scan.complete,
        };
        let volume = |row: catalog::StoredVolume| Volume {
            id: row.id,
            magic: row.volume.magic,
            fsid: row.volume.fsid,
            device: row.device,
        };
        Ok(Manifest {
            roots: catalog.root_rows()?.into_iter().map(root).collect(),
            scans: catalog.last_scan_rows()?.into_iter().map(scan).collect(),
            volumes: catalog.volume_rows()?.into_iter().map(volume).collect(),
            ..self.manifest(tables)
        })
    }

    /// Returns a manifest without roots, scans and file systems.
    fn manifest(&self, tables: Tables) -> Manifest {
        Manifest {
            schema_version: SCHEMA_VERSION,
            host: self.folder.host.clone(),
            export_id: self.folder.export_id.clone(),
            created_ms: self.options.created_ms,
            lop: env!("CARGO_PKG_VERSION").into(),
            names: self.options.names,
            key_id: self.options.key.as_ref().map(|key| key.id().to_owned()),
            bucket: None,
            roots: Vec::new(),
            scans: Vec::new(),
            volumes: Vec::new(),
            tables,
        }
    }

    /// Calls `use_name` with a name as it is exported.
    fn with_exported(&self, name: &[u8], use_name: impl FnOnce(&[u8])) {
        match self.options.names {
            Names::Keyed => {
                let key = self.options.key.as_ref().expect("keyed names have a key");
                use_name(&key.name(name));
            }
            Names::Plain | Names::None => use_name(name),
        }
    }
}
