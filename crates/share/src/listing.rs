//! The listing of a directory, as a page for people and as JSON for programs.
//!
//! [`List::read`] examines the entries once; [`List::page`] sorts them and returns one page of rows. Pages work
//! without scripts. The heads of the columns and the download of the archive are buttons of forms, because programs
//! that follow all links, such as `wget -r`, would download every order and every archive.
//!
//! All addresses in a page are relative, and their bytes are those of the names.

mod budget;
mod json;
mod page;
mod read;
#[cfg(test)]
mod tests;
mod view;

use fsops::{Kind, Time};
use httpd::percent;

use budget::Reservation;

pub(crate) use budget::Budget;
pub(crate) use view::{Sort, View, Wanted};

/// The entries of a directory.
#[derive(Debug)]
pub(crate) struct List {
    rows: Vec<Row>,
    totals: Totals,
    reservation: Reservation,
}

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// The name.
    pub name: Box<[u8]>,
    /// The kind of the entry. For a symbolic link, this is the kind of what it leads to, or [`Kind::Symlink`] if the
    /// link cannot be followed. [`Kind::Unknown`] if the entry could not be examined.
    pub kind: Kind,
    /// True for a symbolic link.
    pub is_link: bool,
    /// Size in bytes; meaningful only for a file.
    pub size: u64,
    /// Modification time.
    pub mtime: Time,
    /// The reason why the entry cannot be opened, if there is one.
    pub why: Option<Box<str>>,
}

/// Totals of the entries of a directory. The contents of its folders do not count.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Number of directories.
    pub folders: u64,
    /// Number of files.
    pub files: u64,
    /// Total size of the files in bytes.
    pub bytes: u64,
    /// Number of other entries.
    pub others: u64,
}

/// The size of a directory with everything below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FolderSize {
    /// Total size of the files in bytes.
    pub bytes: u64,
    /// Number of files.
    pub files: u64,
}

/// Returns the size of the folder with this name, if it is known.
pub(crate) type FolderSizes<'a> = &'a dyn Fn(&[u8]) -> Option<FolderSize>;

/// The place of a directory among the addresses of the server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    /// The name under which the directory is shared.
    pub label: &'a [u8],
    /// The path below the shared directory, without slashes at its ends. Empty for the shared directory itself.
    pub path: &'a [u8],
    /// True if the label is the first component of addresses, below a page with all shared directories.
    pub has_top: bool,
    /// True if the directory can be downloaded as an archive.
    pub has_archive: bool,
}

impl Row {
    /// Returns true if the server can show the entry: a directory or a file.
    pub(crate) fn can_open(&self) -> bool {
        self.why.is_none() && matches!(self.kind, Kind::Dir | Kind::File)
    }
}

/// Returns the address of an entry, relative to its directory.
pub(crate) fn href(name: &[u8], is_dir: bool) -> String {
    let slash = if is_dir { "/" } else { "" };
    // The dot keeps a colon in the name from being the end of a scheme.
    format!("./{}{slash}", percent::encode_segment(name))
}
