//! How far what is remembered of a file's bytes can be relied on.

/// What is known of the bytes of a remembered file.
///
/// Questions take a file that is not [`FileState::Known`] for neither a copy nor a file without one: nobody knows until
/// it was read again, which the next scan does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum FileState {
    /// It was compared with every other file of its size, as far as that was needed.
    #[default]
    Known = 0,
    /// It was not compared yet: the scan was interrupted, or it was out of reach when another file of its size came up.
    Pending = 1,
    /// Its bytes are not those that were scanned, although its size and times are the same.
    Damaged = 2,
    /// It could not be read.
    Unreadable = 3,
}

impl FileState {
    /// Returns the number that stands for it in the catalog.
    pub(crate) fn number(self) -> i64 {
        i64::from(self as u8)
    }

    /// Returns the state of a number. One that no version of lop wrote tells nothing of the file.
    pub(crate) fn of(number: i64) -> FileState {
        match number {
            0 => FileState::Known,
            2 => FileState::Damaged,
            3 => FileState::Unreadable,
            _ => FileState::Pending,
        }
    }

    /// Returns whether the file was read and found bad, so that nothing of it can be taken over.
    pub(crate) fn is_bad(self) -> bool {
        matches!(self, FileState::Damaged | FileState::Unreadable)
    }
}
