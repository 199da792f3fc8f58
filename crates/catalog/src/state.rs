//! The state of a remembered file, which tells whether the file can be relied on.

/// The state of a remembered file: whether its bytes are known.
///
/// A file that is not [`FileState::Known`] counts neither as a copy nor as unique, because its
/// bytes are unknown until the next scan reads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum FileState {
    /// The file was compared with the other files of its size as far as necessary.
    #[default]
    Known = 0,
    /// The file has not been compared yet, because the scan was interrupted or because the file was
    /// unreachable when another file of its size appeared.
    Pending = 1,
    /// The bytes of the file differ from the scanned ones, even though its size and times are
    /// unchanged.
    Damaged = 2,
    /// It could not be read.
    Unreadable = 3,
}

impl FileState {
    /// Returns the number that represents the state in the catalog.
    pub(crate) fn number(self) -> i64 {
        i64::from(self as u8)
    }

    /// Returns the state for a number in the catalog. A number that no version of lop has written
    /// counts as pending.
    pub fn of(number: i64) -> FileState {
        match number {
            0 => FileState::Known,
            2 => FileState::Damaged,
            3 => FileState::Unreadable,
            _ => FileState::Pending,
        }
    }

    /// Returns whether the file was read and found damaged or unreadable. If so, nothing that is
    /// known about the file may be used.
    pub(crate) fn is_bad(self) -> bool {
        matches!(self, FileState::Damaged | FileState::Unreadable)
    }
}
