//! Files that only their owner can read, for the secrets of the server: the certificate and the token.

use std::ffi::CString;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use fsops::{Dir, Log, publish_new, remove_file};

/// Maximum size of a file in bytes. A certificate and a key take about 1 KiB.
const MAX_SIZE: u64 = 1 << 20;

/// Reads a file.
///
/// # Errors
///
/// Fails if the file cannot be read, is not a regular file, or if another user owns it or may write to
/// it.
pub(crate) fn read(file: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    Log::reader(file)?.take(MAX_SIZE).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Creates a file. It is written under another name first, so that it is never incomplete.
///
/// # Errors
///
/// Fails if the file exists or cannot be written. An incomplete file with the suffix `.new` may be left.
pub(crate) fn create(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut aside = file.as_os_str().to_owned();
    aside.push(".new");
    let aside = PathBuf::from(aside);
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let dir = Dir::open(parent.unwrap_or(Path::new(".")))?;
    remove_file(&aside).map_err(|error| error.source)?;
    let name = aside.file_name().unwrap_or_default().as_bytes();
    Log::create(&dir, &CString::new(name)?)?.append(bytes)?;
    publish_new(&aside, file).map_err(|error| error.source)
}
