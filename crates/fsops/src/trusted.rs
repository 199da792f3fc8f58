//! Reads files that decide what lop does to other files, such as rules and the configuration.
//!
//! Such a file is read only if nobody but root and the user who runs this process could have written
//! it. Otherwise another user could make lop remove files.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::credentials::effective_user;
use crate::dir::Dir;
use crate::file::File;
use crate::operand::OperandError;
use crate::stat::{Kind, Stat};

/// The permissions to write for the group and for others.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// The reason why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// A system call failed.
    #[error(transparent)]
    Failed(#[from] io::Error),
    /// A directory of the path is reached through another user's symbolic link.
    #[error("cannot be trusted: {0}")]
    ForeignLink(OperandError),
    /// The file is a directory, a link, a FIFO, a socket or a device.
    #[error("is not a regular file")]
    NotRegular,
    /// The file belongs to another user, who could change it.
    #[error("belongs to user {owner}; it must belong to you or root")]
    Owner {
        /// The user id of the owner.
        owner: u32,
    },
    /// The permissions of the file let other users change it.
    #[error("is writable by other users; run chmod go-w on it")]
    Writable,
    /// The file exceeds the limit.
    #[error("is too large")]
    TooLarge,
}

/// Reads the file at `path`.
///
/// The file must be a regular file and no link, must belong to the effective user or root, must not
/// be writable by the group or others, and must not exceed `max_bytes`. Links in the directories of
/// the path must belong to the effective user or root. Nothing but a regular file is ever opened.
///
/// # Errors
///
/// Returns [`TrustError::Failed`] if a system call fails, and another error if the file does not meet
/// these conditions.
pub fn read_trusted_file(path: &Path, max_bytes: usize) -> Result<Vec<u8>, TrustError> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput).map_err(io::Error::from)?;
    let name = CString::new(name.as_bytes()).map_err(io::Error::from)?;
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let dir = Dir::open_operand_for_search(parent).map_err(|e| match e {
        OperandError::Failed(source) => TrustError::Failed(source),
        foreign @ OperandError::Foreign { .. } => TrustError::ForeignLink(foreign),
    })?;
    // The type is checked first, because opening a device or a FIFO can have side effects.
    check(&dir.stat_child(&name)?, max_bytes)?;
    let file = dir.open_regular(&name)?;
    check(&file.stat()?, max_bytes)?;
    read(&file, max_bytes)
}

/// Checks the metadata of a file.
fn check(stat: &Stat, max_bytes: usize) -> Result<(), TrustError> {
    if stat.kind != Kind::File {
        return Err(TrustError::NotRegular);
    }
    if stat.uid != 0 && stat.uid != effective_user() {
        return Err(TrustError::Owner { owner: stat.uid });
    }
    if stat.mode & WRITABLE_BY_OTHERS != 0 {
        return Err(TrustError::Writable);
    }
    if stat.size > max_bytes as u64 {
        return Err(TrustError::TooLarge);
    }
    Ok(())
}

/// Reads the file, which may have grown in the meantime.
fn read(file: &File, max_bytes: usize) -> Result<Vec<u8>, TrustError> {
    let size = usize::try_from(file.stat()?.size).unwrap_or(usize::MAX).min(max_bytes);
    let mut bytes = vec![0; size + 1];
    loop {
        let filled = file.read_at(&mut bytes, 0)?;
        if filled < bytes.len() {
            bytes.truncate(filled);
            return Ok(bytes);
        }
        if bytes.len() > max_bytes {
            return Err(TrustError::TooLarge);
        }
        bytes.resize((bytes.len() * 2).min(max_bytes + 1), 0);
    }
}
