//! What a store says of itself: beside the files of a run that are in quarantine lies a journal of their own, which
//! tells where each of them was. So they can be listed, restored and purged without the journals of the
//! catalog, which may be lost, or on another machine than the disk is now.
//!
//! It is on the disk before the files that it tells of are moved, and goes when nothing is left beside it. What it
//! does not tell is what became of a file: that the directory itself tells.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::sync::{Mutex, PoisonError};

use fsops::Log;

use crate::journal::json_bytes::JsonBytes;
use crate::journal::lines::{APPEND_MARK, Lines};
use crate::journal::record::Record;
use crate::staging::dir::{MANIFEST, Staging};

/// The manifests of a run, one in each of its stores, shared by its workers.
#[derive(Debug)]
pub(crate) struct Manifests {
    /// What each begins with.
    begin: Record,
    /// By store, whether the last line of its manifest may have been cut off.
    cut: Mutex<BTreeMap<u32, bool>>,
}

/// The manifests that one worker has open: another one's descriptors are not its own.
#[derive(Debug, Default)]
pub(crate) struct OpenManifests(BTreeMap<u32, Log>);

impl Manifests {
    /// Returns none yet.
    pub(crate) fn new(begin: Record) -> Manifests {
        Manifests { begin, cut: Mutex::default() }
    }

    /// Adds intents to the manifest of their store, on the disk.
    pub(crate) fn append(
        &self,
        open: &mut OpenManifests,
        staging: &Staging,
        intents: &Lines,
    ) -> io::Result<()> {
        // One worker at a time: a write may be a partial one.
        let mut all = self.cut.lock().unwrap_or_else(PoisonError::into_inner);
        let Entry::Occupied(mut cut) = all.entry(staging.number) else {
            let log = self.begin(staging, intents)?;
            all.insert(staging.number, false);
            open.0.insert(staging.number, log);
            return Ok(());
        };
        let log = match open.0.entry(staging.number) {
            Entry::Occupied(log) => log.into_mut(),
            Entry::Vacant(none) => none.insert(Log::open(&staging.dir, MANIFEST)?),
        };
        if cut.insert(true) {
            log.append(APPEND_MARK)?;
        }
        log.append(intents.bytes())?;
        cut.insert(false);
        log.sync()
    }

    /// Makes the manifest of a store, with the first intents in it.
    fn begin(&self, staging: &Staging, intents: &Lines) -> io::Result<Log> {
        let fsid = staging.dir.volume()?.fsid;
        let log = Log::create(&staging.dir, MANIFEST)?;
        let mut lines = Lines::default();
        lines.push(&self.begin);
        let path = JsonBytes(staging.path.to_vec());
        lines.push(&Record::Store { store: staging.number, path, fsid });
        lines.append(intents);
        let written = log.append(lines.bytes()).and_then(|()| log.sync());
        written.inspect_err(|_| {
            // Nothing was moved yet, and the next ones begin it anew.
            let _left = staging.dir.remove_name(MANIFEST);
        })?;
        Ok(log)
    }
}
