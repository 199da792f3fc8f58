//! The manifest beside the files in quarantine: a journal of their former locations.
//!
//! With a manifest, files can be listed, restored and purged without the journals of the catalog.
//! Those journals may be lost, or they may be on another machine if the disk was moved. The
//! manifest is on the disk before any file that it lists is moved. It is removed when it is the
//! only entry left in the directory. It does not record what happened to a file later. The
//! directory itself shows that.

use runtime::Mutex;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;

use fsops::Log;

use crate::journal::json_bytes::JsonBytes;
use crate::journal::lines::{APPEND_MARK, Lines};
use crate::journal::record::Record;
use crate::staging::dir::{MANIFEST, Staging};

/// The manifests of a run, one for each of its staging directories. The workers share them.
#[derive(Debug)]
pub(crate) struct Manifests {
    /// The first record of each manifest.
    begin: Record,
    /// Whether the last line of each manifest may have been cut off. The key is the number of the
    /// staging directory.
    cut: Mutex<BTreeMap<u32, bool>>,
}

/// Intents that wait to be added to the manifest of their staging directory, by the number of the
/// directory.
pub(crate) type PendingIntents = BTreeMap<u32, (Staging, Lines)>;

/// The manifests that one worker has open. Workers do not share descriptor tables.
#[derive(Debug, Default)]
pub(crate) struct OpenManifests(BTreeMap<u32, Log>);

impl Manifests {
    /// Creates an empty set. Each manifest is created with its first intents.
    pub(crate) fn new(begin: Record) -> Manifests {
        Manifests { begin, cut: Mutex::default() }
    }

    /// Adds pending intents to the manifests, and waits until they are on the disk. Returns the error of
    /// each manifest that could not be written, by the number of its staging directory. The caller must
    /// not move the files of these intents.
    pub(crate) fn append_all(
        &self,
        open: &mut OpenManifests,
        pending: PendingIntents,
    ) -> BTreeMap<u32, io::Error> {
        let append = |(number, (staging, intents)): (u32, (Staging, Lines))| {
            Some((number, self.append(open, &staging, &intents).err()?))
        };
        pending.into_iter().filter_map(append).collect()
    }

    /// Adds intents to the manifest of their staging directory, and waits until the manifest is on
    /// the disk.
    ///
    /// # Errors
    ///
    /// Fails if the manifest cannot be created, written or synced. In that case, the caller must not move
    /// the files.
    fn append(
        &self,
        open: &mut OpenManifests,
        staging: &Staging,
        intents: &Lines,
    ) -> io::Result<()> {
        // The lock keeps other workers from appending between the parts of a partial write.
        let mut all = self.cut.lock();
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

    /// Creates the manifest of a staging directory and writes its first intents.
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
            // No file has been moved yet. The next batch of intents creates a new manifest.
            let _left = staging.dir.remove_name(MANIFEST);
        })?;
        Ok(log)
    }
}
