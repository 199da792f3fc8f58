//! Examines the entries of a directory.

use std::ffi::CStr;
use std::io;

use fsops::{Dir, DirBuffer, Kind, Stat};
use walk::OwnFiles;

use super::{Budget, List, Row, Totals};

impl List {
    /// Examines the entries of `dir`, which is the directory `path` below the shared directory `root`. `dir` MUST be
    /// opened for this call, because two listings of one descriptor disturb each other. lop's own files are left out.
    ///
    /// # Errors
    ///
    /// Fails if the names cannot be listed, or if there are too many for the budget. An entry that cannot be examined
    /// becomes a row with the reason.
    pub(crate) fn read(
        root: &Dir,
        path: &[u8],
        dir: &Dir,
        own: &OwnFiles,
        budget: &Budget,
    ) -> io::Result<List> {
        let (mut names, mut reservation, mut grown) = (Vec::new(), budget.reserve(), Ok(()));
        let key = dir.stat()?.key();
        dir.seek(0)?;
        dir.for_each(&mut DirBuffer::default(), |item| {
            if grown.is_ok() && !own.has(key, item.name.to_bytes()) {
                grown = reservation.grow();
                match grown {
                    Ok(()) => names.push(item.name.to_owned()),
                    Err(_) => names = Vec::new(),
                }
            }
        })?;
        grown?;
        let rows = Vec::with_capacity(names.len());
        let mut list = List { rows, totals: Totals::default(), reservation };
        for name in names {
            if let Some(row) = examine(root, path, dir, &name) {
                list.add(row);
            }
        }
        Ok(list)
    }

    /// Returns a list of directories with their names and modification times.
    pub(crate) fn of_dirs<'n>(dirs: impl Iterator<Item = (&'n [u8], Stat)>) -> List {
        let (rows, reservation) = (Vec::new(), Budget::default().reserve());
        let mut list = List { rows, totals: Totals::default(), reservation };
        for (name, stat) in dirs {
            list.add(row(name, &stat));
        }
        list
    }

    fn add(&mut self, row: Row) {
        match row.kind {
            Kind::Dir => self.totals.folders += 1,
            Kind::File => {
                self.totals.files += 1;
                self.totals.bytes = self.totals.bytes.saturating_add(row.size);
            }
            _ => self.totals.others += 1,
        }
        self.rows.push(row);
    }
}

/// Examines an entry. Returns `None` if it has been removed.
fn examine(root: &Dir, path: &[u8], dir: &Dir, name: &CStr) -> Option<Row> {
    let found = match dir.stat_child(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        found => found,
    };
    let bytes = name.to_bytes();
    let mut row = match &found {
        Ok(stat) => row(bytes, stat),
        Err(error) => Row { why: Some(fsops::io_text(error).into()), ..unknown(bytes) },
    };
    if row.kind == Kind::Symlink {
        row.is_link = true;
        let target = [path, bytes].join(&b'/');
        let target = target.strip_prefix(b"/").unwrap_or(&target);
        match root.find_beneath(target) {
            Ok(found) => row = Row { is_link: true, ..self::row(bytes, &found.stat) },
            Err(error) => row.why = Some(not_followed(&error, dir, name).into()),
        }
    }
    Some(row)
}

fn row(name: &[u8], stat: &Stat) -> Row {
    let (kind, size, mtime) = (stat.kind, stat.size, stat.mtime);
    Row { kind, size, mtime, ..unknown(name) }
}

fn unknown(name: &[u8]) -> Row {
    let mtime = fsops::Time::default();
    Row { name: name.into(), kind: Kind::Unknown, is_link: false, size: 0, mtime, why: None }
}

/// Returns the reason why a link is not followed.
fn not_followed(error: &io::Error, dir: &Dir, name: &CStr) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "leads nowhere".to_owned(),
        io::ErrorKind::CrossesDevices => {
            let is_absolute = dir.read_symlink(name).is_ok_and(|target| target.starts_with(b"/"));
            let text = if is_absolute { "has an absolute target" } else { "leads outside" };
            text.to_owned()
        }
        _ => fsops::io_text(error),
    }
}
