//! Opens rule files (guard 4). A rule file decides which files lop removes, so lop reads it only if
//! nobody but the user and root could have written it.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use fsops::{Dir, File, Kind, OperandError, Stat, effective_user};

use super::limits::MAX_FILE_BYTES;
use super::{Format, FormatError};

/// The permissions to write for the group and for others.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Reads a rule file, and returns its format, which the extension of the name decides.
///
/// The file must be a regular file and no link, must belong to the effective user or root, must not
/// be writable by the group or others, and must not exceed 16 MiB. Links in the directories of the
/// path must belong to the effective user or root.
///
/// # Errors
///
/// Returns [`FormatError::Untrusted`] if the file does not meet these conditions or has an unknown
/// extension, and [`FormatError::Unreadable`] if a system call fails.
pub fn read_rule_file(path: &Path) -> Result<(Format, Vec<u8>), FormatError> {
    let shown = || path.display().to_string();
    let untrusted = |why: String| FormatError::Untrusted { file: shown(), why };
    let unreadable = |source: io::Error| FormatError::Unreadable { file: shown(), source };
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("");
    let format = Format::of_extension(extension).ok_or_else(|| {
        untrusted("is not a rule file: its name ends in none of .toml, .ini, .xml and .conf".into())
    })?;
    let name = path.file_name().ok_or_else(|| unreadable(io::ErrorKind::InvalidInput.into()))?;
    let name = CString::new(name.as_bytes()).map_err(|e| unreadable(e.into()))?;
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let dir = Dir::open_operand_for_search(parent).map_err(|e| match e {
        OperandError::Failed(source) => unreadable(source),
        foreign @ OperandError::Foreign { .. } => {
            untrusted(format!("cannot be trusted: {foreign}"))
        }
    })?;
    // The type is checked first, because opening a device or a FIFO can have side effects.
    let listed = dir.stat_child(&name).map_err(unreadable)?;
    check(&listed).map_err(untrusted)?;
    let file = dir.open_regular(&name).map_err(unreadable)?;
    check(&file.stat().map_err(unreadable)?).map_err(untrusted)?;
    let bytes = read(&file).map_err(unreadable)?.ok_or_else(|| untrusted(TOO_LARGE.into()))?;
    Ok((format, bytes))
}

const TOO_LARGE: &str = "is larger than 16 MiB, the limit for rule files";

/// Checks the metadata of a rule file. Returns the objection.
fn check(stat: &Stat) -> Result<(), String> {
    if stat.kind != Kind::File {
        return Err("is not a regular file".to_string());
    }
    if stat.uid != 0 && stat.uid != effective_user() {
        return Err(format!("belongs to user {}; it must belong to you or root", stat.uid));
    }
    if stat.mode & WRITABLE_BY_OTHERS != 0 {
        return Err("is writable by other users; run chmod go-w on it".to_string());
    }
    if stat.size > MAX_FILE_BYTES as u64 {
        return Err(TOO_LARGE.to_string());
    }
    Ok(())
}

/// Reads the file. Returns `None` if the file is too large, for example because it has grown.
fn read(file: &File) -> io::Result<Option<Vec<u8>>> {
    let size = usize::try_from(file.stat()?.size).unwrap_or(usize::MAX).min(MAX_FILE_BYTES);
    let mut bytes = vec![0; size + 1];
    loop {
        let filled = file.read_at(&mut bytes, 0)?;
        if filled < bytes.len() {
            bytes.truncate(filled);
            return Ok(Some(bytes));
        }
        if bytes.len() > MAX_FILE_BYTES {
            return Ok(None);
        }
        bytes.resize((bytes.len() * 2).min(MAX_FILE_BYTES + 1), 0);
    }
}
