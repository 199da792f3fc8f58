//! Converts a listing from the sender into a batch, and rejects invalid names.

use std::ffi::CString;

use fsops::{Kind, Xattr};
use wire::{ConnectionError, FileList, InodeMetadata, Item};

use crate::engine::batch::{Batch, BatchSizes, RemoteEntry};
use crate::model::attributes::Attributes;
use crate::remote::receiver::connection::ListingCredit;
use crate::remote::receiver::pending::stat_of;

/// Returns the batch of a listing. Every name must be a single path component.
pub(crate) fn batch_of(
    names: &FileList<'_>,
    credit: ListingCredit,
    reuses: bool,
) -> Result<Batch, ConnectionError> {
    // Allocate exact sizes, because up to a mebibyte of names can be queued.
    let all = || names.records.iter().flat_map(|record| &record.names);
    let bytes = all().map(|name| name.len() + 1).sum();
    let sizes =
        BatchSizes { remote_entries: names.records.len(), names: all().count(), name_bytes: bytes };
    let mut batch = Batch::of_remote(names.window, credit, sizes);
    for record in &names.records {
        let mut all = Vec::with_capacity(record.names.len());
        for name in &record.names {
            let is_name = wire::is_name(name) && !crate::model::temp_name::is_temp_name(name);
            let name = CString::new(*name).ok().filter(|_| is_name);
            all.push(
                name.ok_or(ConnectionError::ProtocolViolation("a name that leads elsewhere"))?,
            );
        }
        match &record.item {
            Item::Dir(number) => {
                for name in &all {
                    batch.add_dir(name, *number);
                }
            }
            Item::Other(facts, target) => {
                let stat = stat_of(&facts.meta);
                if matches!(stat.kind, Kind::Dir | Kind::Unknown) {
                    return Err(ConnectionError::ProtocolViolation("an entry of an unknown kind"));
                }
                let (attributes, target) = (attributes_of(facts), target.to_vec());
                let hint = record.content.as_deref().filter(|_| reuses);
                let hint = hint.map(|hint| Box::new(hint.clone()));
                let record = RemoteEntry { stat, attributes, target, hint };
                batch.add_remote(record, all.iter().map(CString::as_c_str));
            }
        }
    }
    Ok(batch)
}

/// Returns the attributes that the sender read.
pub(crate) fn attributes_of(facts: &InodeMetadata<'_>) -> Attributes {
    let xattrs = facts.xattrs.iter();
    let mut owned: Vec<Xattr> =
        xattrs.map(|(name, value)| (name.to_vec(), value.to_vec())).collect();
    // The comparison expects sorted attributes.
    owned.sort_unstable();
    Attributes::new(owned, facts.partial)
}
