//! The exports of many hosts in one folder, and the files of each.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use fsops::{Op, Volume};
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use runtime::Progress;

use crate::error::{At, Error, OfTable};
use crate::folder::{Folder, is_export_id};
use crate::manifest::{Manifest, Names};

/// An export that is complete according to its manifest.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Its folder.
    pub path: PathBuf,
    /// The host that wrote it.
    pub host: String,
    /// Its name, unique for the host. Later exports have greater names.
    pub export_id: String,
    /// The time of the export in milliseconds since the epoch.
    pub created_ms: i64,
    /// How names are exported.
    pub names: Names,
    /// A number that stands for the key, if digests and heads are keyed.
    pub key_id: Option<String>,
    /// The S3 bucket, if the export describes the objects of one.
    pub bucket: Option<String>,
    /// The version of lop that wrote it.
    pub lop: String,
    manifest: Manifest,
}

/// A file of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFile {
    /// Its path.
    pub path: PathBuf,
    /// Number of rows.
    pub rows: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// BLAKE3 digest in hexadecimal digits.
    pub blake3: String,
}

/// Exports in a folder.
#[derive(Debug, Default)]
pub struct Fleet {
    /// Exports that are complete: with a valid manifest, and files of the sizes in the manifest. They
    /// are sorted by host and time.
    pub exports: Vec<Stored>,
    /// Exports that are incomplete or damaged, and hosts whose exports cannot be listed.
    pub problems: Vec<Error>,
}

impl Fleet {
    /// Finds the newest complete export of each host below `dir`.
    ///
    /// # Errors
    ///
    /// Fails if `dir` cannot be listed. An export that cannot be used is a problem, not an error.
    pub fn newest(dir: &Path) -> Result<Fleet, Error> {
        Fleet::of_hosts(dir, |fleet, exports| {
            for export in exports.iter().rev() {
                match Stored::open(export) {
                    Ok(stored) => return fleet.exports.push(stored),
                    Err(error) => fleet.problems.push(error),
                }
            }
        })
    }

    /// Finds all exports below `dir`.
    ///
    /// # Errors
    ///
    /// Same as for [`Fleet::newest`].
    pub fn all(dir: &Path) -> Result<Fleet, Error> {
        Fleet::of_hosts(dir, |fleet, exports| {
            for export in exports {
                match Stored::open(export) {
                    Ok(stored) => fleet.exports.push(stored),
                    Err(error) => fleet.problems.push(error),
                }
            }
        })
    }

    /// Calls `add` with the folders of the exports of each host, oldest first.
    fn of_hosts(dir: &Path, add: impl Fn(&mut Fleet, &[PathBuf])) -> Result<Fleet, Error> {
        let mut fleet = Fleet::default();
        for host in names_in(dir).at(Op::List, dir)? {
            let path = dir.join(&host);
            if host.starts_with(['_', '.']) || !path.is_dir() {
                continue;
            }
            match names_in(&path) {
                Ok(mut names) => {
                    names.retain(|name| is_export_id(name));
                    let exports: Vec<PathBuf> = names.iter().map(|name| path.join(name)).collect();
                    add(&mut fleet, &exports);
                }
                Err(source) => {
                    fleet.problems.push(fsops::Error { op: Op::List, path, source }.into());
                }
            }
        }
        Ok(fleet)
    }
}

/// Returns the names in a directory that are UTF-8, sorted. lop writes no others.
fn names_in(dir: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)? {
        names.extend(entry?.file_name().into_string().ok());
    }
    names.sort_unstable();
    Ok(names)
}

impl Stored {
    /// Opens an export, and checks that its files have the sizes in the manifest.
    ///
    /// # Errors
    ///
    /// Fails if the manifest is missing or invalid, or if a file is missing or has another size.
    pub fn open(path: &Path) -> Result<Stored, Error> {
        let Folder { manifest, .. } = Folder::open(path)?;
        let stored = Stored {
            path: path.into(),
            host: manifest.host.clone(),
            export_id: manifest.export_id.clone(),
            created_ms: manifest.created_ms,
            names: manifest.names,
            key_id: manifest.key_id.clone(),
            bucket: manifest.bucket.clone(),
            lop: manifest.lop.clone(),
            manifest,
        };
        for (_, file) in stored.all_files() {
            let found = match fs::metadata(&file.path) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => {
                    let name = file.path.file_name().unwrap_or_default().display();
                    return Err(Error::invalid(path, format!("incomplete: it has no file {name}")));
                }
                found => found.at(Op::Stat, &file.path)?,
            };
            if !found.is_file() {
                return Err(Error::invalid(&file.path, "not a regular file"));
            }
            let size = found.len();
            if size != file.bytes {
                let reason = format!("has {size} bytes, but the manifest has {}", file.bytes);
                return Err(Error::invalid(&file.path, reason));
            }
        }
        Ok(stored)
    }

    /// Returns the files of a table.
    pub fn files(&self, table: &str) -> Vec<StoredFile> {
        self.all_files().filter(|(of, _)| *of == table).map(|(_, file)| file).collect()
    }

    /// Returns all files, each with the name of its table.
    pub fn all_files(&self) -> impl Iterator<Item = (&str, StoredFile)> {
        self.manifest.tables.iter().flat_map(|(table, files)| {
            files.iter().map(|file| {
                let stored = StoredFile {
                    path: self.path.join(&file.file),
                    rows: file.rows,
                    bytes: file.bytes,
                    blake3: file.blake3.clone(),
                };
                (table.as_str(), stored)
            })
        })
    }

    /// Reads all files, and checks their digests and numbers of rows. Returns the number of bytes read.
    ///
    /// # Errors
    ///
    /// Fails at the first file that cannot be read or that differs from the manifest, or if the user
    /// asked to stop.
    pub fn verify(&self, progress: &Progress) -> Result<u64, Error> {
        let mut bytes = 0;
        for (_, file) in self.all_files() {
            progress.check()?;
            let path = &file.path;
            let open = File::open(path).at(Op::Open, path)?;
            let mut hasher = blake3::Hasher::new();
            bytes += io::copy(&mut &open, &mut hasher).at(Op::Read, path)?;
            if hasher.finalize().to_hex().as_str() != file.blake3 {
                return Err(Error::invalid(path, "its BLAKE3 digest differs from the manifest"));
            }
            let reader = SerializedFileReader::new(open).of(Op::Read, path)?;
            let rows = reader.metadata().file_metadata().num_rows();
            if u64::try_from(rows) != Ok(file.rows) {
                let reason = format!("has {rows} rows, but the manifest has {}", file.rows);
                return Err(Error::invalid(path, reason));
            }
        }
        Ok(bytes)
    }

    /// Returns the file systems, each with its number in the export.
    pub fn volumes(&self) -> impl Iterator<Item = (i64, Volume)> {
        let volumes = self.manifest.volumes.iter();
        volumes.map(|row| (row.id, Volume { magic: row.magic, fsid: row.fsid }))
    }

    /// Returns the device number of a file system.
    pub(crate) fn device(&self, volume_id: i64) -> Option<u64> {
        let volume = self.manifest.volumes.iter().find(|volume| volume.id == volume_id);
        volume.map(|volume| volume.device)
    }

    /// Returns the number of rows of a table.
    pub fn rows(&self, table: &str) -> u64 {
        self.manifest.rows(table)
    }
}
