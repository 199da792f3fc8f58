//! The walk that records the entries of an archive, in the byte order of their names.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::io;
use std::sync::Arc;

use fsops::{Dir, DirBuffer, FileKey, Kind, Stat};
use walk::OwnFiles;

use super::descent::Descent;
use super::table::{self, Index, New, Table};
use super::{Archive, END, LeftOut, header, padded};

/// Maximum number of entries of an archive. It also bounds the memory of a plan: with ordinary names, about 200 MiB,
/// and twice as much during the walk.
pub(crate) const MAX_ENTRIES: usize = 2_000_000;

pub(super) fn plan(
    dir: Dir,
    name: &[u8],
    own: &OwnFiles,
    max_entries: usize,
) -> io::Result<Archive> {
    if matches!(name, b"" | b"." | b"..") || name.iter().any(|byte| matches!(byte, b'/' | 0)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let root = Arc::new(dir);
    let mut walk = Walk {
        table: Table::default(),
        descent: Descent::new(Arc::clone(&root)),
        buffer: DirBuffer::default(),
        frames: Vec::new(),
        linked: HashMap::new(),
        left_out: Vec::new(),
        user: fsops::effective_user(),
        end: 0,
        modified: i64::MIN,
        own,
        max_entries,
    };
    walk.start(&root, name)?;
    while walk.step()? {}
    let length = walk.end.checked_add(END).ok_or(io::ErrorKind::FileTooLarge)?;
    // 128 bits: no two archives have the same tag by chance.
    let tag = walk.table.digest().to_hex()[..32].to_owned();
    walk.table.shrink();
    let (table, modified, left_out) = (walk.table, walk.modified, walk.left_out);
    Ok(Archive { root, table, length, tag, modified, left_out })
}

/// The state of the walk.
struct Walk<'o> {
    table: Table,
    descent: Descent,
    buffer: DirBuffer,
    /// The directories between the root and the one in use, each with its remaining names.
    frames: Vec<Frame>,
    /// The first entries of files with several names.
    linked: HashMap<FileKey, (Index, usize)>,
    left_out: Vec<LeftOut>,
    user: u32,
    /// The offset after the last entry.
    end: u64,
    modified: i64,
    /// The files that do not become part of the archive.
    own: &'o OwnFiles,
    max_entries: usize,
}

/// A directory whose entries are recorded.
struct Frame {
    dir: Index,
    key: FileKey,
    /// The length of the path of the directory, with the final slash.
    path_length: usize,
    names: Names,
}

impl Walk<'_> {
    /// Records the root.
    fn start(&mut self, root: &Dir, name: &[u8]) -> io::Result<()> {
        let stat = root.stat()?;
        // The listing must not depend on what was listed before through the same descriptor.
        root.seek(0)?;
        let names = Names::list(root, &mut self.buffer)?;
        self.enter(0, name, &stat, name.len() + 1, names)
    }

    /// Records the next entry. Returns false at the end.
    fn step(&mut self) -> io::Result<bool> {
        let Some(frame) = self.frames.last_mut() else { return Ok(false) };
        let (dir, key, path_length) = (frame.dir, frame.key, frame.path_length);
        let Some(name) = frame.names.next() else {
            self.frames.pop();
            return Ok(true);
        };
        if self.own.has(key, name.to_bytes()) {
            return Ok(true);
        }
        match self.record(dir, path_length, &name) {
            Ok(()) => {}
            // The limits of the archive end the walk.
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => return Err(error),
            // Another process has removed the entry.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.leave_out(dir, &name, fsops::io_text(&error))?,
        }
        Ok(true)
    }

    /// Records the entry `name`. Fails without a record if it cannot be examined.
    fn record(&mut self, parent: Index, parent_length: usize, name: &CStr) -> io::Result<()> {
        let path = parent_length + name.count_bytes();
        let dir = self.descent.open(&self.table, parent)?;
        let stat = dir.stat_child(name)?;
        match stat.kind {
            Kind::Dir => {
                let child = dir.open_child(name)?;
                // This is a different directory if another process exchanged it, or a file system is mounted here.
                let stat = child.stat()?;
                let names = Names::list(&child, &mut self.buffer)?;
                self.enter(parent, name.to_bytes(), &stat, path + 1, names)
            }
            Kind::Symlink => {
                let target = dir.read_symlink(name)?;
                let kind = table::Kind::Symlink(&target);
                self.push(parent, kind, name.to_bytes(), &stat, path, target.len()).map(drop)
            }
            Kind::File => self.record_file(parent, name, &stat, path),
            Kind::Fifo => self.leave_out(parent, name, "it is a FIFO".to_owned()),
            Kind::Socket => self.leave_out(parent, name, "it is a socket".to_owned()),
            Kind::Device | Kind::Unknown => {
                self.leave_out(parent, name, "it is a device".to_owned())
            }
        }
    }

    fn record_file(
        &mut self,
        parent: Index,
        name: &CStr,
        stat: &Stat,
        path: usize,
    ) -> io::Result<()> {
        if let Some(&(first, target)) = self.linked.get(&stat.key()) {
            let kind = table::Kind::HardLink(first);
            return self.push(parent, kind, name.to_bytes(), stat, path, target).map(drop);
        }
        // Owners may read such a file, so it does not have to be opened to find out.
        if stat.uid != self.user || stat.mode & 0o400 == 0 {
            let file = self.descent.open(&self.table, parent)?.open_regular(name)?;
            drop(file);
        }
        let index = self.push(parent, table::Kind::File, name.to_bytes(), stat, path, 0)?;
        if stat.links > 1 {
            self.linked.insert(stat.key(), (index, path));
        }
        Ok(())
    }

    /// Records a directory and continues with its entries.
    fn enter(
        &mut self,
        parent: Index,
        name: &[u8],
        stat: &Stat,
        path_length: usize,
        names: Names,
    ) -> io::Result<()> {
        let dir = self.push(parent, table::Kind::Dir, name, stat, path_length, 0)?;
        self.frames.push(Frame { dir, key: stat.key(), path_length, names });
        Ok(())
    }

    /// Adds an entry whose path and target have these lengths.
    fn push(
        &mut self,
        parent: Index,
        kind: table::Kind<'_>,
        name: &[u8],
        stat: &Stat,
        path: usize,
        target: usize,
    ) -> io::Result<Index> {
        self.check_room()?;
        let contents = if matches!(kind, table::Kind::File) { stat.size } else { 0 };
        let length = header::length(path, target);
        let length = length.zip(padded(contents)).and_then(|(head, body)| head.checked_add(body));
        let end = length.and_then(|length| self.end.checked_add(length));
        let end = end.ok_or(io::ErrorKind::FileTooLarge)?;
        let index = self.table.push(&New { start: self.end, parent, kind, name, stat })?;
        self.end = end;
        self.modified = self.modified.max(stat.mtime.s);
        Ok(index)
    }

    fn leave_out(&mut self, parent: Index, name: &CStr, why: String) -> io::Result<()> {
        self.check_room()?;
        let mut path = self.table.path(parent);
        path.extend_from_slice(name.to_bytes());
        self.left_out.push(LeftOut { path, why });
        Ok(())
    }

    fn check_room(&self) -> io::Result<()> {
        if self.table.len() + self.left_out.len() < self.max_entries {
            return Ok(());
        }
        let text = format!("the directory has more than {} entries", self.max_entries);
        Err(io::Error::new(io::ErrorKind::FileTooLarge, text))
    }
}

/// The names in a directory, packed and sorted in reverse, so that the first one is at the end.
#[derive(Debug, Default)]
struct Names {
    /// All names, each with a final NUL.
    text: Vec<u8>,
    /// The offsets of the names.
    starts: Vec<usize>,
}

impl Names {
    fn list(dir: &Dir, buffer: &mut DirBuffer) -> io::Result<Names> {
        let mut names = Names::default();
        dir.for_each(buffer, |item| {
            names.starts.push(names.text.len());
            names.text.extend_from_slice(item.name.to_bytes_with_nul());
        })?;
        let Names { text, starts } = &mut names;
        starts.sort_unstable_by(|&a, &b| name_at(text, b).cmp(name_at(text, a)));
        starts.dedup_by(|a, b| name_at(text, *a) == name_at(text, *b));
        Ok(names)
    }

    fn next(&mut self) -> Option<CString> {
        self.starts.pop().map(|start| name_at(&self.text, start).to_owned())
    }
}

fn name_at(text: &[u8], start: usize) -> &CStr {
    CStr::from_bytes_until_nul(&text[start..]).unwrap_or_default()
}
