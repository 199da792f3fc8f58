//! Finds the exports that a command compares.

use std::error::Error;
use std::path::Path;

use export::{Fleet, Stored};

use crate::output::complain;

/// Returns the newest complete export of each host, and whether others could not be used. If `hosts` is
/// not empty, only these hosts are returned.
///
/// # Errors
///
/// Fails if the folder cannot be listed, has no export or none of a wanted host, or if the exports have
/// different keys.
pub(crate) fn newest(dir: &Path, hosts: &[String]) -> Result<(Vec<Stored>, bool), Box<dyn Error>> {
    let Fleet { exports: mut newest, problems } = Fleet::newest(dir)?;
    for problem in &problems {
        complain(problem);
    }
    if let Some(missing) =
        hosts.iter().find(|host| newest.iter().all(|export| export.host != **host))
    {
        return Err(format!("{}: no complete export of {missing}", dir.display()).into());
    }
    newest.retain(|export| hosts.is_empty() || hosts.contains(&export.host));
    let Some(first) = newest.first() else {
        let text = format!("{}: no complete export; write one with lop export", dir.display());
        return Err(text.into());
    };
    if let Some(other) = newest.iter().find(|export| export.key_id != first.key_id) {
        return Err(format!(
            "the exports of {} and {} have different keys and cannot be compared; choose hosts with --host",
            first.host, other.host
        )
        .into());
    }
    Ok((newest, !problems.is_empty()))
}
