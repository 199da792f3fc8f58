//! Exports contents and inodes that are in no catalog.

use std::path::Path;

use catalog::{FileRow, StoredContent};
use runtime::{Progress, Stage};

use super::contents::ContentWriter;
use super::{Exported, Options, Output, Tables};
use crate::error::Error;
use crate::folder::NewFolder;
use crate::inodes::Inodes;
use crate::manifest::Names;
use crate::schema::{DIRS, NAMES, PROBLEMS};

/// Exports contents and inodes that are in no catalog to a new folder `HOST/EXPORT_ID` below `out`.
/// Benchmarks make the exports of many hosts in this way.
///
/// The export has no names, scans, file systems and problems, whatever the options say. The ids of
/// `contents` are in ascending order. Files with the same inode number, size and times are one inode.
///
/// # Errors
///
/// Fails if a file cannot be written, if another process exports the same host to `out`, or if the
/// user asked to stop. There is then no new export. Missing parents of the folder may have been
/// created.
pub fn export_rows<'a>(
    contents: impl IntoIterator<Item = &'a StoredContent>,
    files: impl IntoIterator<Item = FileRow>,
    out: &Path,
    options: &Options,
    progress: &Progress,
) -> Result<Exported, Error> {
    progress.enter(Stage::Export);
    let options = &Options { names: Names::None, ..options.clone() };
    let folder = NewFolder::create(out, &options.host, options.created_ms)?;
    let output = Output { folder: &folder, options, progress };
    let mut tables = Tables::from([NAMES, DIRS].map(|table| (table.name.into(), Vec::new())));
    let mut writer = ContentWriter::new(&output)?;
    contents.into_iter().for_each(|content| writer.push(content));
    let contents = writer.finish(&mut tables)?;
    let files = files.into_iter();
    let mut inodes = Inodes::with_capacity(files.size_hint().0);
    for file in files {
        inodes.add(&file, &contents);
    }
    output.inodes(&inodes, &contents, &mut tables)?;
    let problems = folder.table(&PROBLEMS, None)?.finish(&PROBLEMS)?;
    tables.insert(PROBLEMS.name.into(), vec![problems]);
    progress.check()?;
    let manifest = output.manifest(tables);
    Exported::publish(folder, options, &manifest, &contents, &inodes, 0)
}
