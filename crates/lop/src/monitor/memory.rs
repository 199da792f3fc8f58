//! How much memory a run may take, and what is said if that was not enough.

use std::path::PathBuf;

use runtime::memory;

use crate::error::CommandError;
use crate::output::stats::peak_memory_bytes;
use crate::quantity::size;
use crate::settings::Settings;

/// Bounds the memory of the run to what was asked for, or to what is usual, or to a quarter of what there is.
///
/// # Errors
///
/// That what was asked for is not enough to work with.
pub(crate) fn bound(asked: Option<u64>, usual: Option<u64>) -> Result<(), CommandError> {
    if let Some(bytes) = asked.filter(|&bytes| bytes < memory::LEAST) {
        let least = size(memory::LEAST);
        let text = format!("--memory {} is below {least}, the least to work with", size(bytes));
        return Err(CommandError::usage(text));
    }
    let quarter = || (memory::available() / 4).max(memory::LEAST);
    let bytes = asked.or(usual).unwrap_or_else(quarter);
    memory::bound(bytes, &folder());
    Ok(())
}

/// Returns the folder for what exceeds the bound. `/tmp` is in memory on many systems, so that
/// nothing would be won by it.
fn folder() -> PathBuf {
    let set = std::env::var_os("TMPDIR").map(PathBuf::from).filter(|path| path.is_absolute());
    set.unwrap_or_else(|| PathBuf::from("/var/tmp"))
}

/// Says if more memory was taken than asked for.
pub(crate) fn report_excess(asked: Option<u64>, settings: &Settings) {
    if let Some(error) = memory::spilled().failed {
        let error = std::io::Error::from_raw_os_error(error);
        let folder = folder();
        let text = format!("cannot put memory into {}: {error}", folder.display());
        settings.complain(text.as_bytes());
    }
    let peak = peak_memory_bytes();
    if let Some(asked) = asked.filter(|&asked| peak > asked) {
        let text = format!("took {} of memory, more than --memory {}", size(peak), size(asked));
        settings.complain(text.as_bytes());
    }
}
