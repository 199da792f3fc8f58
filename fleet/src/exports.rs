//! Finds the exports that a command compares.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use export::{Fleet, Stored};

use crate::output::complain;

/// Returns the newest complete export of each host, and whether others could not be used. If `hosts` is
/// not empty, only these hosts are returned.
///
/// # Errors
///
/// Fails if the folder cannot be listed, has no export or none of a wanted host, if two exports are of
/// the same host, or if the exports have different keys.
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
    check_once(&newest)?;
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

/// Checks that each host has one export. A second one, in a copy of the folder of the host, would make
/// all of its files look like copies of another host.
fn check_once(exports: &[Stored]) -> Result<(), Box<dyn Error>> {
    let mut hosts = BTreeMap::new();
    for export in exports {
        if let Some(other) = hosts.insert(&export.host, export) {
            let [one, other] = [&other.path, &export.path].map(|path| path.display());
            let host = &export.host;
            return Err(format!("{one} and {other} are both of host {host}; move one away").into());
        }
    }
    Ok(())
}
