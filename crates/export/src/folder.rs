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

/// The folder of a host in which exports are written. Queries over the exports of a host, such as
/// `HOST/*/inodes*.parquet`, do not find what is in there, because it is one level deeper.
const UNFINISHED: &CStr = c"_part";

/// Largest manifest that is read, in bytes.
pub const LARGEST_MANIFEST: usize = 64 << 20;

/// The folder of an export that is being written. It is removed on drop, unless it was published.
#[derive(Debug)]
pub(crate) struct NewFolder {
    /// The folder of the host, locked.
    host_dir: Dir,
    /// The folder in which exports of the host are written.
    unfinished: Dir,
    dir: Dir,
    path: PathBuf,
    pub(crate) host: String,
    pub(crate) export_id: String,
}

impl NewFolder {
    /// Creates a folder for an export of `host`, made at the time `created_ms`, below `out`. Removes
    /// what killed exports of the host have left.
    ///
    /// # Errors
    ///
    /// Fails if `host` cannot be the name of a folder, if another process is exporting this host to
    /// `out`, or if a folder cannot be created. Missing parents may have been created.
    pub(crate) fn create(out: &Path, host: &str, created_ms: i64) -> Result<NewFolder, Error> {
        NewFolder::named(out, host, |newest| export_id(created_ms, newest))
    }

    /// Creates a folder in the same way for an export whose name `choose` returns. `choose` gets the name of the newest
    /// export of the host.
    ///
    /// # Errors
    ///
    /// Same as for [`NewFolder::create`].
    pub(crate) fn named(
        out: &Path,
        host: &str,
        choose: impl FnOnce(Option<&str>) -> String,
    ) -> Result<NewFolder, Error> {
        check_host(host)?;
        let host_path = out.join(host);
        fsops::create_dir_private(&host_path)?;
        let host_dir = Dir::open(&host_path).at(Op::Open, &host_path)?;
        if !host_dir.lock().at(Op::Lock, &host_path)? {
            return Err(Error::Busy(host_path));
        }
        let newest = export_ids(&host_dir).at(Op::List, &host_path)?.into_iter().max();
        let export_id = choose(newest.as_deref());
        let unfinished_path = host_path.join("_part");
        let unfinished = open_unfinished(&host_dir).at(Op::Create, &unfinished_path)?;
        let path = unfinished_path.join(&export_id);
        let name = CString::new(export_id.as_str()).expect("no NUL");
        unfinished.make_private_dir(&name).at(Op::Create, &path)?;
        let dir = unfinished.open_child(&name).at(Op::Open, &path)?;
        Ok(NewFolder { host_dir, unfinished, dir, path, host: host.to_owned(), export_id })
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

    /// Creates a file, and returns it with its path.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be created.
    pub(crate) fn create_file(&self, name: &str) -> Result<(NewFile, PathBuf), Error> {
        let path = self.path.join(name);
        let name = CString::new(name).expect("no NUL");
        let file = self.dir.create_private_file(&name).at(Op::Create, &path)?;
        Ok((file, path))
    }

    /// Writes the manifest and gives the folder its final name. Then removes the older exports of the host, if
    /// `replaces` is set. Returns its path.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be written, or if the folder cannot be renamed. An older export that cannot be
    /// removed is an error, although the new one is complete.
    pub(crate) fn publish(self, manifest: &Manifest, replaces: bool) -> Result<PathBuf, Error> {
        let mut text = serde_json::to_vec_pretty(manifest).expect("a manifest is valid JSON");
        text.push(b'\n');
        self.publish_bytes(&text, replaces)
    }

    /// Publishes the folder in the same way, with the bytes of a manifest.
    ///
    /// # Errors
    ///
    /// Same as for [`NewFolder::publish`].
    pub(crate) fn publish_bytes(self, manifest: &[u8], replaces: bool) -> Result<PathBuf, Error> {
        let (file, path) = self.create_file(FILE_NAME)?;
        file.write_at(manifest, 0).at(Op::Write, &path)?;
        file.sync().at(Op::Sync, &path)?;
        self.dir.sync().at(Op::Sync, &self.path)?;
        let name = CString::new(self.export_id.as_str()).expect("no NUL");
        let parent = self.path.parent().and_then(Path::parent).unwrap_or(&self.path);
        let published = parent.join(&self.export_id);
        self.unfinished.move_new(&name, &self.host_dir, &name).at(Op::Rename, &published)?;
        self.host_dir.sync().at(Op::Sync, &published)?;
        let all = if replaces { export_ids(&self.host_dir) } else { Ok(Vec::new()) };
        for older in all.at(Op::List, parent)?.iter().filter(|id| **id < self.export_id) {
            let name = CString::new(older.as_str()).expect("no NUL");
            remove_folder(&self.host_dir, &name)
                .at(Op::Remove, &published.with_file_name(older))?;
        }
        Ok(published)
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        remove_unfinished(&self.host_dir, &self.unfinished);
        self.host_dir.unlock();
    }
}

/// Checks that `host` can be the name of the folder of a host.
///
/// # Errors
///
/// Fails if it cannot.
pub fn check_host(host: &str) -> Result<(), Error> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let begins_well = host.starts_with(|c: char| c.is_ascii_alphanumeric());
    if begins_well && host.chars().all(is_plain) && host.len() <= 255 {
        return Ok(());
    }
    Err(Error::Host(host.to_owned()))
}

/// Removes all exports of `host` below `out`, and the folder of the host if it is then empty.
///
/// # Errors
///
/// Fails at the first folder that cannot be opened, listed or removed.
pub fn remove_exports(out: &Path, host: &str) -> Result<(), Error> {
    check_host(host)?;
    let Ok(name) = CString::new(host) else { return Err(Error::Host(host.to_owned())) };
    let host_path = out.join(host);
    let host_dir = Dir::open(&host_path).at(Op::Open, &host_path)?;
    for export in export_ids(&host_dir).at(Op::List, &host_path)? {
        let removed = CString::new(export.as_str())
            .map_err(io::Error::from)
            .and_then(|name| remove_folder(&host_dir, &name));
        removed.at(Op::Remove, &host_path.join(&export))?;
    }
    let parent = Dir::open(out).at(Op::Open, out)?;
    parent.remove_empty_dir(&name).at(Op::Remove, &host_path)
}

/// Opens the folder in which exports of a host are written, and removes what killed exports have left
/// there.
fn open_unfinished(host_dir: &Dir) -> io::Result<Dir> {
    if let Ok(left) = host_dir.open_child(UNFINISHED) {
        remove_unfinished(host_dir, &left);
    }
    match host_dir.make_private_dir(UNFINISHED) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(e),
        _ => host_dir.open_child(UNFINISHED),
    }
}

/// Removes the unfinished exports of a host, and the folder in which they are. An entry that cannot be
/// removed, or that does not belong to an export, stays.
fn remove_unfinished(host_dir: &Dir, unfinished: &Dir) {
    for export in export_ids(unfinished).unwrap_or_default() {
        drop(CString::new(export).map(|name| remove_folder(unfinished, &name)));
    }
    drop(host_dir.remove_empty_dir(UNFINISHED));
}

/// Returns the names in a folder that are names of exports.
fn export_ids(dir: &Dir) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    // The directory may have been listed before.
    dir.seek(0)?;
    dir.for_each(&mut DirBuffer::default(), |item| {
        let name = item.name.to_str().ok().filter(|name| is_export_id(name));
        names.extend(name.map(str::to_owned));
    })?;
    Ok(names)
}

/// Removes the folder of an export. Fails if it contains anything that does not belong to an export.
fn remove_folder(parent: &Dir, name: &CStr) -> io::Result<()> {
    let dir = parent.open_child(name)?;
    let mut files = Vec::new();
    dir.for_each(&mut DirBuffer::default(), |item| files.push(item.name.to_owned()))?;
    let is_own = |name: &[u8]| name.ends_with(b".parquet") || name == FILE_NAME.as_bytes();
    // Without its manifest, an export is incomplete, so that nobody uses what is left of it.
    files.sort_by_key(|file| file.to_bytes() != FILE_NAME.as_bytes());
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
pub fn is_export_id(name: &str) -> bool {
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
        let name = CString::new(file.file.as_str()).expect("a manifest names no other files");
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
