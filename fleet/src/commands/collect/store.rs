//! Collects exports from an object store.

use std::error::Error;
use std::path::Path;

use super::HostDocument;
use crate::output::complain;
use crate::stores::{Fetched, Store, each, fetch_newest};

/// Copies the newest complete export of each host at `store` to `dir`, except for hosts that are already in `hosts`.
/// Adds each host to `hosts`. Returns true if a host or an export could not be used.
pub(super) fn collect(store: &Store, dir: &Path, hosts: &mut Vec<HostDocument>) -> bool {
    let found = match store.hosts() {
        Ok(found) => found,
        Err(error) => {
            complain(&error);
            return true;
        }
    };
    if found.is_empty() {
        say(format!("{}: no exports", store.url(&[])));
        return true;
    }
    let (twice, found): (Vec<String>, Vec<String>) =
        found.into_iter().partition(|name| hosts.iter().any(|host| host.name == *name));
    for name in &twice {
        say(format!("{}: left out, because another source has {name}, too", store.url(&[name])));
    }
    let fetched = each(&found, |name| {
        let mut has_problems = false;
        let fetched = fetch_newest(store, name, dir, |reason| {
            has_problems = true;
            say(reason);
        });
        if let Err(reason) = &fetched {
            say(format!("{name}: {reason}"));
        }
        (fetched, has_problems)
    });
    let mut has_problems = !twice.is_empty();
    for (name, (fetched, has_unusable)) in found.into_iter().zip(fetched) {
        has_problems |= has_unusable || fetched.is_err();
        hosts.push(HostDocument::fetched(name, fetched));
    }
    has_problems
}

fn say(reason: String) {
    complain(&*Box::<dyn Error>::from(reason));
}

impl HostDocument {
    fn fetched(name: String, fetched: Result<Fetched, String>) -> HostDocument {
        let (fetched, error) = match fetched {
            Ok(fetched) => (Some(fetched), None),
            Err(reason) => (None, Some(reason)),
        };
        HostDocument {
            name,
            heads_read: 0,
            files_read: 0,
            bytes_read: 0,
            unread: 0,
            fetched_bytes: fetched.as_ref().map_or(0, |fetched| fetched.bytes),
            files: fetched.as_ref().map(|fetched| fetched.files),
            export_id: fetched.map(|fetched| fetched.export_id),
            error,
            is_of_store: true,
        }
    }
}
