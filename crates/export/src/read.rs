//! Makes a catalog of an export.

use std::collections::HashMap;
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::mpsc::sync_channel;

use bytes::Bytes;
use catalog::{
    FileRow, FileState, Restorer, StoredContent, StoredProblem, StoredScan, StoredVolume, Writer,
};
use content::{Digest, Head};
use runtime::{Progress, Stage};

use crate::dirs::TOP;
use crate::error::Error;
use crate::folder::Folder;
use crate::manifest::Names;
use crate::schema::{CONTENTS, DIRS, INODES, NAMES, PROBLEMS, Table};
use crate::table::reader::{Group, TableReader};

/// A catalog that was made of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The host that exported it.
    pub host: String,
    /// The time of the export in milliseconds since the epoch.
    pub created_ms: i64,
    /// Number of names of files.
    pub names: u64,
}

/// Fills a new catalog with the export in the folder `from`.
///
/// # Errors
///
/// Fails if the export cannot be read, is damaged, has no names or keyed ones, if the catalog is not
/// new or cannot be written, or if the user asked to stop. There is then no new catalog.
pub fn import(from: &Path, writer: Writer, progress: &Progress) -> Result<Imported, Error> {
    progress.enter(Stage::Import);
    let folder = Folder::open(from)?;
    let manifest = &folder.manifest;
    if manifest.bucket.is_some() {
        let reason = "it describes objects in an S3 bucket, and a catalog describes files";
        return Err(Error::Unreadable { path: from.into(), reason });
    }
    if manifest.key_id.is_some() {
        let reason =
            "its digests are keyed, so a catalog made of it could not be compared with files";
        return Err(Error::Unreadable { path: from.into(), reason });
    }
    if manifest.names != Names::Plain {
        let reason = "it was exported without names, which a catalog needs";
        return Err(Error::Unreadable { path: from.into(), reason });
    }
    let import = Import { folder: &folder, progress };
    writer.restore(|restorer| import.fill(restorer))?;
    Ok(Imported {
        host: manifest.host.clone(),
        created_ms: manifest.created_ms,
        names: manifest.rows(NAMES.name),
    })
}

struct Import<'a> {
    folder: &'a Folder,
    progress: &'a Progress,
}

/// The size and the digest of each content, as the inodes state them.
type Sizes = HashMap<i64, (u64, Option<Digest>)>;

impl Import<'_> {
    fn fill(&self, restorer: &Restorer<'_>) -> Result<(), Error> {
        self.scans(restorer)?;
        self.dirs(restorer)?;
        let (inodes, sizes) = self.inodes()?;
        self.contents(restorer, &sizes)?;
        self.names(restorer, &inodes)?;
        self.problems(restorer)
    }

    /// Restores the file systems, scans and roots of the manifest.
    fn scans(&self, restorer: &Restorer<'_>) -> Result<(), Error> {
        let manifest = &self.folder.manifest;
        for volume in &manifest.volumes {
            restorer.volume(&StoredVolume {
                id: volume.id,
                volume: fsops::Volume { magic: volume.magic, fsid: volume.fsid },
                device: volume.device,
            })?;
        }
        for scan in &manifest.scans {
            restorer.scan(&StoredScan {
                id: scan.id,
                started_ms: scan.started_ms,
                finished_ms: scan.finished_ms,
                options: scan.options.clone().unwrap_or_default(),
                files: scan.files,
                bytes: scan.bytes,
                problems: scan.problems,
                complete: scan.complete,
            })?;
        }
        for root in &manifest.roots {
            let path = root.path().filter(|path| path.starts_with(b"/"));
            let invalid = || Error::invalid(&self.folder.path, "a root has no absolute path");
            restorer.root(&path.ok_or_else(invalid)?, root.scan_id)?;
        }
        Ok(())
    }

    fn dirs(&self, restorer: &Restorer<'_>) -> Result<(), Error> {
        let mut last = 0;
        self.each_row(&DIRS, |group, row| {
            let id = group.number("dir_id", row).unwrap_or(0);
            let parent = group.number("parent_id", row);
            if id <= last
                || (id == TOP) != parent.is_none()
                || parent.is_some_and(|above| above >= id)
            {
                return Err(group.invalid(row, "a directory must follow its parent"));
            }
            last = id;
            match parent {
                Some(parent) => Ok(restorer.dir(id, parent, name(group, row)?)?),
                None => Ok(()),
            }
        })
    }

    fn inodes(&self) -> Result<(HashMap<i64, FileRow>, Sizes), Error> {
        let (mut inodes, mut sizes) = (HashMap::new(), Sizes::new());
        self.each_row(&INODES, |group, row| {
            let number = |column| group.number(column, row).unwrap_or(0);
            let size = number("size").cast_unsigned();
            let content = group.number("content_id", row);
            if let Some(content) = content {
                let digest = group.bytes("digest", row).and_then(|bytes| bytes.try_into().ok());
                sizes.insert(content, (size, digest.map(Digest)));
            }
            let head =
                group.number("head", row).and_then(|head| NonZeroU64::new(head.cast_unsigned()));
            let file = FileRow {
                volume: number("volume_id"),
                inode: number("inode").cast_unsigned(),
                size,
                mtime_ns: number("mtime_ns"),
                ctime_ns: number("ctime_ns"),
                head: head.map(Head),
                allocated: number("allocated").cast_unsigned(),
                content,
                state: FileState::of(number("state")),
            };
            match inodes.insert(number("inode_id"), file) {
                Some(_) => Err(group.invalid(row, "another inode has the same inode_id")),
                None => Ok(()),
            }
        })?;
        Ok((inodes, sizes))
    }

    fn contents(&self, restorer: &Restorer<'_>, sizes: &Sizes) -> Result<(), Error> {
        self.each_row(&CONTENTS, |group, row| {
            let number = |column| group.number(column, row).unwrap_or(0);
            // Only damaged files have had the other contents.
            let Some(&(size, digest)) = sizes.get(&number("content_id")) else { return Ok(()) };
            let inodes = u32::try_from(number("inodes")).unwrap_or(0);
            let reclaimable = number("reclaimable").cast_unsigned();
            let id = number("content_id");
            Ok(restorer.content(&StoredContent { id, size, digest, inodes, reclaimable })?)
        })
    }

    /// Restores the names, one row group at a time.
    fn names(&self, restorer: &Restorer<'_>, inodes: &HashMap<i64, FileRow>) -> Result<(), Error> {
        self.each_group(&NAMES, |group| {
            let rows = (0..group.rows).map(|row| {
                let dir = group.number("dir_id", row).unwrap_or(0);
                let inode = group.number("inode_id", row).and_then(|id| inodes.get(&id));
                let inode = *inode.ok_or_else(|| group.invalid(row, "its inode is missing"))?;
                Ok((dir, name(&group, row)?, inode))
            });
            let rows = rows.collect::<Result<Vec<_>, Error>>()?;
            self.progress
                .files_done
                .fetch_add(rows.len() as u64, std::sync::atomic::Ordering::Relaxed);
            let (sender, batches) = sync_channel(1);
            sender.send(rows).expect("the receiver is below");
            drop(sender);
            Ok(restorer.files(batches)?)
        })
    }

    fn problems(&self, restorer: &Restorer<'_>) -> Result<(), Error> {
        self.each_row(&PROBLEMS, |group, row| {
            let text = |column| group.bytes(column, row).unwrap_or_default().to_vec();
            Ok(restorer.problem(&StoredProblem {
                scan: group.number("scan_id", row).unwrap_or(0),
                path: text("path"),
                reason: String::from_utf8_lossy(&text("reason")).into_owned(),
            })?)
        })
    }

    fn each_row(
        &self,
        table: &Table,
        mut each: impl FnMut(&Group, usize) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.each_group(table, |group| (0..group.rows).try_for_each(|row| each(&group, row)))
    }

    /// Calls `each` for the row groups of all files of a table, and checks the number of rows.
    fn each_group(
        &self,
        table: &Table,
        mut each: impl FnMut(Group) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for file in self.folder.manifest.tables.get(table.name).into_iter().flatten() {
            let path = self.folder.path.join(&file.file);
            let reader =
                TableReader::new(*table, Bytes::from(self.folder.read(file)?), path.clone())?;
            let mut rows = 0;
            reader.each_group(|group| {
                self.progress.check()?;
                rows += group.rows as u64;
                each(group)
            })?;
            if rows != file.rows {
                let reason = format!("has {rows} rows, but the manifest has {}", file.rows);
                return Err(Error::invalid(&path, reason));
            }
        }
        Ok(())
    }
}

/// Returns the name in a row.
///
/// # Errors
///
/// Fails if it is not valid for a directory entry. A forged export must not be able to refer to files
/// outside its directories.
fn name(group: &Group, row: usize) -> Result<&[u8], Error> {
    let name = group.bytes("name", row).unwrap_or_default();
    if matches!(name, b"" | b"." | b"..") || name.iter().any(|byte| matches!(byte, 0 | b'/')) {
        return Err(group.invalid(row, "not the name of a directory entry"));
    }
    Ok(name)
}
