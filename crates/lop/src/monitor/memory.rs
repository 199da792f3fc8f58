//! The memory limit of a run, and the message if a run exceeds it.

use std::path::PathBuf;

use runtime::memory;

use crate::error::CommandError;
use crate::output::stats::peak_memory_bytes;
use crate::quantity::size;
use crate::settings::Settings;

/// Bounds the memory of the run. The bound is `asked` if the user gave a limit, `usual` if the command has a fixed
/// need, and a quarter of the available memory otherwise.
///
/// # Errors
///
/// Fails if the user asked for less than the minimum.
pub(crate) fn bound(requested: Option<u64>, usual: Option<u64>) -> Result<(), CommandError> {
    if let Some(bytes) = requested.filter(|&bytes| bytes < memory::MIN_BOUND_BYTES) {
        let least = size(memory::MIN_BOUND_BYTES);
        let text = format!("--memory {} is too little: the minimum is {least}", size(bytes));
        return Err(CommandError::usage(text));
    }
    let quarter = || (memory::available() / 4).max(memory::MIN_BOUND_BYTES);
    let bytes = requested.or(usual).unwrap_or_else(quarter);
    memory::bound(bytes, &folder());
    Ok(())
}

/// Returns the directory for temporary data, such as data that exceeds the bound. `/tmp` is not the default because
/// many systems keep it in memory.
pub(crate) fn folder() -> PathBuf {
    let set = std::env::var_os("TMPDIR").map(PathBuf::from).filter(|path| path.is_absolute());
    set.unwrap_or_else(|| PathBuf::from("/var/tmp"))
}

/// Reports a failed attempt to move data from memory to disk, and a peak above the limit that the user gave.
pub(crate) fn report_excess(requested: Option<u64>, settings: &Settings) {
    if let Some(error) = memory::spilled().failed {
        let error = std::io::Error::from_raw_os_error(error);
        let folder = folder();
        let text = format!("cannot move memory to {}: {error}", folder.display());
        settings.complain(text.as_bytes());
    }
    let peak = peak_memory_bytes();
    if let Some(requested) = requested.filter(|&requested| peak > requested) {
        let text = format!("used {} of memory, more than --memory {}", size(peak), size(requested));
        settings.complain(text.as_bytes());
    }
}
