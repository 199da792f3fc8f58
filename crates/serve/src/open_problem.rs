//! Tells why a file of the catalog could not be opened or examined.

use std::io;

/// The reason, as far as a page distinguishes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenProblem {
    /// The path does not exist.
    Gone,
    /// This process may not open it.
    Forbidden,
    /// Something else is at the path: a link or a file in place of a directory, or an entry that is
    /// not a regular file.
    Replaced,
    /// The system reported another error.
    Other,
}

impl OpenProblem {
    /// Returns the reason for an error.
    pub(crate) fn of(error: &io::Error) -> OpenProblem {
        use io::ErrorKind::{InvalidInput, NotADirectory, NotFound, PermissionDenied};
        match error.kind() {
            NotFound => OpenProblem::Gone,
            PermissionDenied => OpenProblem::Forbidden,
            NotADirectory | InvalidInput => OpenProblem::Replaced,
            // The standard library has no stable kind for a link that is not followed.
            _ if error.raw_os_error() == Some(libc::ELOOP) => OpenProblem::Replaced,
            _ => OpenProblem::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::OpenProblem;

    #[test]
    fn errors_have_a_reason() {
        for (number, problem) in [
            (libc::ENOENT, OpenProblem::Gone),
            (libc::EACCES, OpenProblem::Forbidden),
            (libc::ELOOP, OpenProblem::Replaced),
            (libc::ENOTDIR, OpenProblem::Replaced),
            (libc::EINVAL, OpenProblem::Replaced),
            (libc::EIO, OpenProblem::Other),
        ] {
            assert_eq!(OpenProblem::of(&io::Error::from_raw_os_error(number)), problem, "{number}");
        }
    }
}
