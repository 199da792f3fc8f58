//! Creates the folder of an export, and opens it again.

use std::ffi::{CStr, CString};
use std::io;
use std::path::{Path, PathBuf};

use fsops::{Dir, DirBuffer, NewFile, Op};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::error::{At, Error};
use crate::manifest::{FILE_NAME, Manifest, TableFile};
use crate::schema::Table;
use crate::table::writer::TableWriter;

/// Prefix of the name of a folder that is not complete. Engines ignore such folders.
const UNFINISHED: &[u8] = b"_part-";

/// Largest manifest that is read, in bytes.
const LARGEST_MANIFEST: usize = 64 << 20;

/// The folder of an export that is being written. It is removed on drop, unless it was published.
#[derive(Debug)]
pub(crate) struct NewFolder {
    /// The folder of the host, locked.
    host_dir: Dir,
    dir: Dir,
    /// The name of the folder while it is not complete.
    unfinished: CString,
    path: PathBuf,
    pub(crate) host: String,
    pub(crate) export_id: String,
    published: bool,
}

impl NewFolder {
    /// Creates a folder for an export of `host`, made at the time `created_ms`, below `out`. Removes
    /// the folders that killed exports of the host have left.
    ///
    /// # Errors
    ///
    /// Fails if `host` cannot be the name of a folder, if another process is exporting this host to
    /// `out`, or if a folder cannot be created. Missing parents may have been created.
    pub(crate) fn create(out: &Path, host: &str, created_ms: i64) -> Result<NewFolder, Error> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        let begins_well = host.starts_with(|c: char| c.is_ascii_alphanumeric());
        if !begins_well || !host.chars().all(is_plain) || host.len() > 255 {
            return Err(Error::Host(host.to_owned()));
        }
        let host_path = out.join(host);
        fsops::create_dir_private(&host_path)?;
        let host_dir = Dir::open(&host_path).at(Op::Open, &host_path)?;
        if !host_dir.lock().at(Op::Lock, &host_path)? {
            return Err(Error::Busy(host_path));
        }
        let newest = remove_unfinished(&host_dir).at(Op::Remove, &host_path)?;
        let export_id = export_id(created_ms, newest.as_deref());
        let name = CString::new([UNFINISHED, export_id.as_bytes()].concat()).expect("no NUL");
        let path = host_path.join(name.to_str().expect("ASCII"));
        host_dir.make_private_dir(&name).at(Op::Create, &path)?;
        let dir = host_dir.open_child(&name).at(Op::Open, &path)?;
        Ok(NewFolder {
            host_dir,
            dir,
            unfinished: name,
            path,
            host: host.to_owned(),
            export_id,
            published: false,
        })
    }

    /// Begins a file of a table.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be created.
    pub(crate) fn table(&self, table: &Table, part: Option<usize>) -> Result<TableWriter, Error> {
        let name = match part {
            Some(part) => format!("{}-{part}.parquet", table.name),
            None => format!("{}.parquet", table.name),
        };
        let (file, path) = self.create_file(&name)?;
        TableWriter::new(table, file, path, name, [&self.host, &self.export_id])
    }

    fn create_file(&self, name: &str) -> Result<(NewFile, PathBuf), Error> {
        let path = self.path.join(name);
        let name = CString::new(name).expect("no NUL");
        let file = self.dir.create_private_file(&name).at(Op::Create, &path)?;
        Ok((file, path))
    }

    /// Writes the manifest and gives the folder its final name. Returns its path.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be written, or if the folder cannot be renamed.
    pub(crate) fn publish(mut self, manifest: &Manifest) -> Result<PathBuf, Error> {
        let (file, path) = self.create_file(FILE_NAME)?;
        let mut text = serde_json::to_vec_pretty(manifest).expect("a manifest is valid JSON");
        text.push(b'\n');
        file.write_at(&text, 0).at(Op::Write, &path)?;
        file.sync().at(Op::Sync, &path)?;
        self.dir.sync().at(Op::Sync, &self.path)?;
        let name = CString::new(self.export_id.as_str()).expect("no NUL");
        let published = self.path.with_file_name(&self.export_id);
        self.host_dir.rename_new(&self.unfinished, &name).at(Op::Rename, &published)?;
        self.published = true;
        self.host_dir.sync().at(Op::Sync, &published)?;
        Ok(published)
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        if !self.published {
            // What cannot be removed now is removed by the next export.
            drop(remove_folder(&self.host_dir, &self.unfinished));
        }
        self.host_dir.unlock();
    }
}

/// Removes unfinished folders of exports. Returns the greatest name of a finished one.
fn remove_unfinished(host_dir: &Dir) -> io::Result<Option<String>> {
    let (mut newest, mut left) = (None, Vec::new());
    host_dir.for_each(&mut DirBuffer::default(), |item| {
        if item.name.to_bytes().starts_with(UNFINISHED) {
            left.push(item.name.to_owned());
        } else if let Ok(name) = item.name.to_str() {
            newest = newest.take().max(Some(name.to_owned()));
        }
    })?;
    for name in left {
        remove_folder(host_dir, &name)?;
    }
    Ok(newest)
}

/// Removes the folder of an export. Fails if it contains anything that does not belong to an export.
fn remove_folder(parent: &Dir, name: &CStr) -> io::Result<()> {
    let dir = parent.open_child(name)?;
    let mut files = Vec::new();
    dir.for_each(&mut DirBuffer::default(), |item| files.push(item.name.to_owned()))?;
    let is_own = |name: &[u8]| name.ends_with(b".parquet") || name == FILE_NAME.as_bytes();
    for file in files.iter().filter(|file| is_own(file.to_bytes())) {
        dir.remove_name(file)?;
    }
    parent.remove_empty_dir(name)
}

/// Returns the name of an export that was made at the time `created_ms`: the time in UTC, such as
/// `20261127T230151.123Z`. If the clock went back, this is the time right after the newest export.
fn export_id(created_ms: i64, newest: Option<&str>) -> String {
    const FORMAT: &str = "%Y%m%dT%H%M%S%.3fZ";
    let name =
        |ms| Timestamp::from_millisecond(ms).unwrap_or_default().strftime(FORMAT).to_string();
    let after = |newest: &str| {
        let time = DateTime::strptime(FORMAT, newest).ok()?;
        Some(TimeZone::UTC.to_timestamp(time).ok()?.as_millisecond() + 1)
    };
    let wanted = name(created_ms);
    match newest.filter(|newest| *newest >= wanted.as_str()).and_then(after) {
        Some(ms) => name(ms),
        None => wanted,
    }
}

/// Returns whether a folder has the name of a complete export.
pub(crate) fn is_export_id(name: &str) -> bool {
    name.ends_with('Z') && name.starts_with(|c: char| c.is_ascii_digit())
}

/// The folder of a complete export.
#[derive(Debug)]
pub(crate) struct Folder {
    dir: Dir,
    pub(crate) path: PathBuf,
    pub(crate) manifest: Manifest,
}

impl Folder {
    /// Opens the export in the folder `path`.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be read, or if its manifest is missing, invalid, or of a later
    /// version.
    pub(crate) fn open(path: &Path) -> Result<Folder, Error> {
        let dir = Dir::open(path).at(Op::Open, path)?;
        let invalid = |reason: String| Error::invalid(path, reason);
        let manifest_path = path.join(FILE_NAME);
        let name = CString::new(FILE_NAME).expect("no NUL");
        let file = match dir.open_regular(&name) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Err(invalid(format!("not an export: it has no file {FILE_NAME}")));
            }
            Err(e) => return Err(e).at(Op::Open, &manifest_path),
        };
        let size = file.stat().at(Op::Stat, &manifest_path)?.size;
        let size = usize::try_from(size).ok().filter(|&size| size <= LARGEST_MANIFEST);
        let Some(size) = size else {
            return Err(invalid(format!("{FILE_NAME} is too large for a manifest")));
        };
        let mut text = vec![0; size];
        file.read_at(&mut text, 0).at(Op::Read, &manifest_path)?;
        let manifest =
            crate::manifest::parse(&text).map_err(|e| invalid(format!("{FILE_NAME}: {e}")))?;
        Ok(Folder { dir, path: path.into(), manifest })
    }

    /// Reads a file of a table, and checks its digest.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, or if its length or digest differ from the manifest.
    pub(crate) fn read(&self, file: &TableFile) -> Result<Vec<u8>, Error> {
        let path = self.path.join(&file.file);
        let name = CString::new(file.file.as_str())
            .ok()
            .filter(|name| !name.to_bytes().contains(&b'/') && !name.to_bytes().starts_with(b"."));
        let Some(name) = name else {
            return Err(Error::invalid(&self.path, format!("{FILE_NAME} names an invalid file")));
        };
        let open = self.dir.open_regular(&name).at(Op::Open, &path)?;
        let size = open.stat().at(Op::Stat, &path)?.size;
        if size != file.bytes {
            let reason = format!("has {size} bytes, but the manifest has {}", file.bytes);
            return Err(Error::invalid(&path, reason));
        }
        let mut bytes = vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
        let read = open.read_at(&mut bytes, 0).at(Op::Read, &path)?;
        bytes.truncate(read);
        if blake3::hash(&bytes).to_hex().as_str() != file.blake3 {
            return Err(Error::invalid(&path, "its BLAKE3 digest differs from the manifest"));
        }
        Ok(bytes)
    }
}
