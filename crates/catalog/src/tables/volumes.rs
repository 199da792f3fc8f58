//! Finds the row of the table `volume` for a live device.

use fsops::Volume;
use walk::Device;

use crate::error::{At, Error};
use crate::open::Catalog;

/// The rows of the table `volume`, and the live devices that belong to them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Volumes {
    known: Vec<Row>,
    /// Indexes of the rows that a commit has to write.
    pub(crate) changed: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) id: i64,
    pub(crate) magic: u64,
    pub(crate) fsid: u64,
    pub(crate) device: u64,
    /// The live device that belongs to this volume.
    live: Option<u64>,
}

impl Volumes {
    pub(crate) fn load(catalog: &Catalog) -> Result<Volumes, Error> {
        let sql = "SELECT id, magic, fsid, device FROM volume ORDER BY id";
        let mut query = catalog.db.prepare(sql).at(&catalog.path)?;
        let rows = query.query_map([], |row| {
            let bits = |n| row.get::<_, i64>(n).map(i64::cast_unsigned);
            let (id, magic, fsid, device) = (row.get(0)?, bits(1)?, bits(2)?, bits(3)?);
            Ok(Row { id, magic, fsid, device, live: None })
        });
        let known = rows.and_then(Iterator::collect).at(&catalog.path)?;
        Ok(Volumes { known, changed: Vec::new() })
    }

    /// Returns the number of rows.
    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

    /// Returns the row of a live device. Adds a row if the file system is new.
    ///
    /// A file system is recognized by its fsid, even under another device number. If two live
    /// devices have the same fsid (copies of one image), their device numbers distinguish them.
    pub(crate) fn id(&mut self, device: &Device) -> i64 {
        let Volume { fsid, magic } = device.volume;
        let same = |row: &Row| row.magic == magic && row.fsid == fsid;
        let exact = |row: &&Row| same(row) && row.device == device.number;
        let free = |row: &Row| same(row) && fsid != 0 && row.live.is_none();
        if let Some(row) = self.known.iter().find(|r| r.live == Some(device.number)) {
            return row.id;
        }
        let found = self
            .known
            .iter()
            .position(|row| exact(&row))
            .or_else(|| self.known.iter().position(free));
        let index = found.unwrap_or_else(|| {
            let id = self.known.last().map_or(1, |row| row.id + 1);
            self.known.push(Row { id, magic, fsid, device: 0, live: None });
            self.known.len() - 1
        });
        let row = &mut self.known[index];
        row.live = Some(device.number);
        if row.device != device.number || found.is_none() {
            row.device = device.number;
            self.changed.push(index);
        }
        row.id
    }

    /// Returns the row of a live device if it is unambiguous.
    ///
    /// The devices of an overlay share one fsid, and the directories of the overlay are not on any
    /// of these devices.
    pub(crate) fn find(&self, device: &Device) -> Option<i64> {
        let Volume { fsid, magic } = device.volume;
        let mut same = self.known.iter().filter(|row| (row.magic, row.fsid) == (magic, fsid));
        let exact = |row: &&Row| row.live.unwrap_or(row.device) == device.number;
        if let Some(row) = same.clone().find(exact) {
            return Some(row.id);
        }
        let only = same.next().filter(|_| fsid != 0 && same.next().is_none())?;
        only.live.is_none().then_some(only.id)
    }

    /// Returns whether files on the file system in row `id` are offline, given that the file system
    /// `here` is now at their path.
    pub(crate) fn is_offline(&self, id: i64, here: &Volume) -> bool {
        let row = self.known.binary_search_by_key(&id, |row| row.id).map(|at| &self.known[at]);
        row.is_ok_and(|row| Volume { magic: row.magic, fsid: row.fsid }.is_offline_at(here))
    }

    pub(crate) fn row(&self, index: usize) -> Row {
        self.known[index]
    }
}
