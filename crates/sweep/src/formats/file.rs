//! Opens rule files (guard 4). A rule file decides which files lop removes, so lop reads it only if
//! nobody but the user and root could have written it.

use std::path::Path;

use fsops::{TrustError, read_trusted_file};

use super::limits::MAX_FILE_BYTES;
use super::{Format, FormatError};

/// Reads a rule file, and returns its format, which the extension of the name decides.
///
/// The file must meet the conditions of [`read_trusted_file`], and must not exceed 16 MiB.
///
/// # Errors
///
/// Returns [`FormatError::Untrusted`] if the file does not meet these conditions or has an unknown
/// extension, and [`FormatError::Unreadable`] if a system call fails.
pub fn read_rule_file(path: &Path) -> Result<(Format, Vec<u8>), FormatError> {
    let shown = || path.display().to_string();
    let untrusted = |why: String| FormatError::Untrusted { file: shown(), why };
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("");
    let format = Format::of_extension(extension).ok_or_else(|| {
        untrusted("is not a rule file: its name ends in none of .toml, .ini, .xml and .conf".into())
    })?;
    let bytes = read_trusted_file(path, MAX_FILE_BYTES).map_err(|error| match error {
        TrustError::Failed(source) => FormatError::Unreadable { file: shown(), source },
        TrustError::TooLarge => untrusted("is larger than 16 MiB, the limit for rule files".into()),
        objection => untrusted(objection.to_string()),
    })?;
    Ok((format, bytes))
}
