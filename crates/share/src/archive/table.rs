//! The recorded entries, packed: the names are in one buffer, and an entry refers to its directory by number.

use std::ffi::CString;
use std::io;

use fsops::{FileKey, Stat, Time};

use super::header::{self, Fields, Type};

/// The number of an entry in a [`Table`].
pub(super) type Index = u32;

/// The recorded entries in the order of the archive. A directory comes before its entries. The first entry is the
/// directory that is archived.
#[derive(Debug, Default)]
pub(super) struct Table {
    entries: Vec<Entry>,
    /// The names of all entries, each followed by the target if it is a symbolic link.
    text: Vec<u8>,
    /// The devices that [`Entry::device`] refers to.
    devices: Vec<u64>,
}

/// An entry of the archive.
#[derive(Debug)]
pub(super) struct Entry {
    /// The offset of the header in the archive.
    pub(super) start: u64,
    /// The length of the contents in the archive: 0 unless it is a regular file.
    pub(super) size: u64,
    /// Modification time, seconds.
    pub(super) mtime_s: i64,
    /// Status change time in nanoseconds since the epoch.
    ctime_ns: i64,
    inode: u64,
    /// Modification time, nanoseconds.
    mtime_ns: u32,
    /// The directory. That of the first entry is the entry itself.
    pub(super) parent: Index,
    /// The offset of the name in the text.
    name_at: u32,
    /// The length of the target of a symbolic link, or the number of the entry that a hard link repeats.
    link: u32,
    name_length: u16,
    device: u16,
    mode: u16,
    pub(super) kind: Type,
}

/// An entry for [`Table::push`].
#[derive(Debug)]
pub(super) struct New<'a> {
    pub(super) start: u64,
    pub(super) parent: Index,
    pub(super) kind: Kind<'a>,
    pub(super) name: &'a [u8],
    pub(super) stat: &'a Stat,
}

/// The kind of a new entry.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind<'a> {
    File,
    Dir,
    /// With the target.
    Symlink(&'a [u8]),
    /// With the earlier entry of the same file.
    HardLink(Index),
}

impl Table {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn get(&self, index: Index) -> &Entry {
        &self.entries[index as usize]
    }

    /// Adds an entry.
    ///
    /// # Errors
    ///
    /// Fails if the names do not fit into the table.
    pub(super) fn push(&mut self, new: &New<'_>) -> io::Result<Index> {
        let stat = new.stat;
        let (kind, target, link) = match new.kind {
            Kind::File => (Type::File, &b""[..], 0),
            Kind::Dir => (Type::Dir, &b""[..], 0),
            Kind::Symlink(target) => (Type::Symlink, target, narrow(target.len())?),
            Kind::HardLink(first) => (Type::HardLink, &b""[..], first),
        };
        let entry = Entry {
            start: new.start,
            size: if kind == Type::File { stat.size } else { 0 },
            mtime_s: stat.mtime.s,
            mtime_ns: stat.mtime.ns,
            ctime_ns: stat.ctime_ns,
            inode: stat.inode,
            parent: new.parent,
            name_at: narrow(self.text.len())?,
            link,
            name_length: narrow(new.name.len())?,
            device: self.device(stat.device)?,
            // Set-id bits and the sticky bit would mean something else for another owner.
            mode: narrow(stat.mode as usize & 0o777)?,
            kind,
        };
        let index = narrow(self.entries.len())?;
        self.entries.push(entry);
        self.text.extend_from_slice(new.name);
        self.text.extend_from_slice(target);
        Ok(index)
    }

    /// Frees the room for more entries.
    pub(super) fn shrink(&mut self) {
        self.entries.shrink_to_fit();
        self.text.shrink_to_fit();
    }

    fn device(&mut self, device: u64) -> io::Result<u16> {
        // Neighbours are on the same device.
        let known = self.devices.iter().rposition(|&known| known == device);
        let index = known.unwrap_or_else(|| {
            self.devices.push(device);
            self.devices.len() - 1
        });
        narrow(index)
    }

    /// Returns the last entry that starts at or before `offset`.
    pub(super) fn find(&self, offset: u64) -> Option<Index> {
        let after = self.entries.partition_point(|entry| entry.start <= offset);
        after.checked_sub(1).and_then(|index| Index::try_from(index).ok())
    }

    /// Returns the name of an entry.
    pub(super) fn name(&self, index: Index) -> &[u8] {
        let entry = self.get(index);
        &self.text[entry.name_at as usize..][..entry.name_length.into()]
    }

    /// Returns the name of an entry for system calls.
    ///
    /// # Errors
    ///
    /// Fails if the name contains a NUL, which no listing returns.
    pub(super) fn c_name(&self, index: Index) -> io::Result<CString> {
        Ok(CString::new(self.name(index))?)
    }

    /// Returns the path of an entry. The path of a directory ends with a slash.
    pub(super) fn path(&self, index: Index) -> Vec<u8> {
        let mut names = vec![self.name(index)];
        let mut at = index;
        while at != 0 {
            at = self.get(at).parent;
            names.push(self.name(at));
        }
        names.reverse();
        let mut path = names.join(&b'/');
        if self.get(index).kind == Type::Dir {
            path.push(b'/');
        }
        path
    }

    /// Returns true if `stat` describes the recorded version of a regular file.
    pub(super) fn is_recorded(&self, index: Index, stat: &Stat) -> bool {
        let entry = self.get(index);
        let device = self.devices[usize::from(entry.device)];
        let mtime = Time { s: entry.mtime_s, ns: entry.mtime_ns };
        (stat.key(), stat.size) == (FileKey { device, inode: entry.inode }, entry.size)
            && (stat.mtime, stat.ctime_ns) == (mtime, entry.ctime_ns)
    }

    /// Appends the header of an entry.
    pub(super) fn write_header(&self, index: Index, out: &mut Vec<u8>) {
        let entry = self.get(index);
        let target = match entry.kind {
            Type::HardLink => self.path(entry.link),
            _ => self.target(index).to_vec(),
        };
        let (kind, mode, size, mtime) = (entry.kind, entry.mode, entry.size, entry.mtime_s);
        let path = self.path(index);
        header::write(out, &Fields { kind, path: &path, target: &target, mode, size, mtime });
    }

    /// Returns the target of a symbolic link; empty for other entries.
    fn target(&self, index: Index) -> &[u8] {
        let entry = self.get(index);
        if entry.kind != Type::Symlink {
            return b"";
        }
        &self.text[entry.name_at as usize + usize::from(entry.name_length)..][..entry.link as usize]
    }

    /// Returns a digest of everything that the bytes of the archive depend on. It does not contain device numbers,
    /// which can be different after each boot.
    pub(super) fn digest(&self) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        // Increase this number if the same entries become other bytes.
        hasher.update(b"lop archive 1");
        let mut record = Vec::with_capacity(128);
        for (index, entry) in (0..).zip(&self.entries) {
            record.clear();
            record.push(entry.kind as u8);
            record.extend(entry.start.to_le_bytes());
            record.extend(entry.size.to_le_bytes());
            record.extend(entry.mtime_s.to_le_bytes());
            record.extend(entry.mtime_ns.to_le_bytes());
            record.extend(entry.ctime_ns.to_le_bytes());
            record.extend(entry.inode.to_le_bytes());
            record.extend(entry.parent.to_le_bytes());
            record.extend(entry.link.to_le_bytes());
            record.extend(entry.mode.to_le_bytes());
            record.extend(entry.name_length.to_le_bytes());
            record.extend(self.name(index));
            record.extend(self.target(index));
            hasher.update(&record);
        }
        hasher.finalize()
    }
}

/// Narrows a length or an offset.
fn narrow<T: TryFrom<usize>>(number: usize) -> io::Result<T> {
    let text = "the names in the directory are too long for one archive";
    T::try_from(number).map_err(|_| io::Error::new(io::ErrorKind::FileTooLarge, text))
}

#[cfg(test)]
mod tests {
    use super::Entry;

    #[test]
    fn an_entry_takes_64_bytes() {
        assert_eq!(size_of::<Entry>(), 64);
    }
}
